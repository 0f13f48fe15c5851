// A batch of serialized Examples to columns.
#include "columns.h"

namespace feedline {
namespace {

// An Example has nothing beside its features.
struct Nothing {
  static constexpr bool kOrdered = false;
  struct Asked {};
  explicit Nothing(const Asked&) {}
  void start() {}
  bool field(Wire& wire) { return wire.skip(); }
  bool end() { return true; }
  void take_back() {}
};

nb::object parse_examples(nb::handle strings, nb::list keys, Vector<const uint8_t> kinds, Vector<const int64_t> sizes,
                          nb::list defaults, int64_t threads) {
  const nb::list held_keys = own_list(keys), held_defaults = own_list(defaults);
  const size_t k = held_keys.size();
  if (kinds.shape(0) != k || sizes.shape(0) != k || held_defaults.size() != k)
    throw std::invalid_argument("keys, kinds, sizes and defaults must have the same length");
  const size_t most = length(threads, "threads");
  const Rows rows(strings);
  const Arrays arrays;
  const Request request(arrays, held_keys, kinds.data(), sizes.data(), held_defaults, Extent(rows.spans), In::kExample);
  const auto parts = read_rows<Nothing>(request, rows.spans, most, {});
  const size_t done = rows_done(parts);
  nb::list out;
  for (size_t i = 0; i < k; ++i) out.append(column(arrays, parts, *request.wanted[i], i, done, rows.spans.size()));
  return nb::make_tuple(done, out);
}

}  // namespace

void register_example(nb::module_& m) {
  using namespace nb::literals;
  m.def("parse_examples", &parse_examples, "strings"_a, "keys"_a, "kinds"_a.noconvert(), "sizes"_a.noconvert(),
        "defaults"_a, "threads"_a = 1);
}

}  // namespace feedline
