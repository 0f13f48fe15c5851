// Lines of text that lie in one buffer.
#include <algorithm>
#include <cstring>
#include <vector>

#include "array.h"

namespace feedline {
namespace {

nb::object line_offsets(nb::handle data, int64_t start, int64_t want) {
  const Bytes buffer(data, false);
  const size_t from = length(start, "start"), most = length(want, "want");
  if (from > buffer.size()) throw nb::index_error("start is beyond the end of the data");
  const char* const base = buffer.data();
  std::vector<int64_t> found{static_cast<int64_t>(from)};
  {
    const HandedOver release;
    found.reserve(std::min<size_t>(most, 4096) + 1);
    size_t at = from;
    for (size_t i = 0; i < most && at < buffer.size(); ++i) {
      const void* end = std::memchr(base + at, '\n', buffer.size() - at);
      if (end == nullptr) break;
      at = static_cast<size_t>(static_cast<const char*>(end) - base) + 1;
      found.push_back(static_cast<int64_t>(at));
    }
  }
  Fresh<int64_t> offsets(found.size(), "int64");
  std::copy(found.begin(), found.end(), offsets.data());
  return offsets.array;
}

}  // namespace

void register_lines(nb::module_& m) {
  using namespace nb::literals;
  m.def("line_offsets", &line_offsets, "data"_a, "start"_a, "want"_a);
}

}  // namespace feedline
