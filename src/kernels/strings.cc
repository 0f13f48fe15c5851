// Strings that lie in one buffer.
#include "strings.h"

namespace feedline {
namespace {

nb::object bytes_rows(nb::handle data, Vector<const int64_t> offsets, int64_t gap) {
  const size_t between = length(gap, "gap");
  if (offsets.shape(0) == 0) throw std::invalid_argument("offsets must not be empty");
  const size_t n = offsets.shape(0) - 1;
  const Bytes buffer(data, false);
  const auto* base = reinterpret_cast<const unsigned char*>(buffer.data());
  const int64_t* at = offsets.data();
  return bytes_array(n, [&](size_t i) -> Span {
    // Checked and used from one reading: another thread may write to the array of offsets.
    const int64_t from = at[i], next = at[i + 1];
    const size_t start = static_cast<size_t>(from), after = static_cast<size_t>(next);
    if (from < 0 || next < from || after - start < between || after - between > buffer.size())
      throw nb::index_error(("row " + std::to_string(i) + " is not inside the data").c_str());
    return {base + start, after - start - between};
  });
}

}  // namespace

void register_strings(nb::module_& m) {
  using namespace nb::literals;
  m.def("bytes_rows", &bytes_rows, "data"_a, "offsets"_a.noconvert(), "gap"_a = 0);
}

}  // namespace feedline
