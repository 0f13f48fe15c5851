// Strings that lie in one buffer, and strings that lie in the rows of a matrix, each at the beginning of its row.
#include "strings.h"

#include <cstring>
#include <vector>

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
    size_t start, bytes;
    if (!inside(at, i, between, buffer.size(), start, bytes)) refuse_row(i);
    return {base + start, bytes};
  });
}

int64_t strings_to_rows(nb::handle data, Vector<const int64_t> offsets, int64_t gap, Matrix<uint8_t> rows,
                        Vector<int64_t> lengths, Vector<const int64_t> numbers) {
  const size_t n = numbers.shape(0), between = length(gap, "gap");
  if (offsets.shape(0) != n + 1)
    throw std::invalid_argument("offsets must have one entry more than numbers, got " +
                                std::to_string(offsets.shape(0)) + " and " + std::to_string(n));
  const Slots slots = slots_of(rows, lengths);
  const Bytes buffer(data, false);
  const int64_t *at = offsets.data(), *wanted = numbers.data();
  size_t longest = 0, i = 0;
  {
    const HandedOver release(buffer.size() > kWorthAThread);
    for (size_t k = 0; k < n; ++k) {
      const uint64_t size = static_cast<uint64_t>(at[k + 1]) - static_cast<uint64_t>(at[k]) - between;
      if (size <= buffer.size() && size > longest) longest = static_cast<size_t>(size);
    }
    if (longest <= slots.width) {
      for (; i < n; ++i) {
        slots.expect(wanted, i, n);
        const uint64_t row = static_cast<uint64_t>(wanted[i]);
        size_t start, bytes;
        if (row >= slots.count || !inside(at, i, between, buffer.size(), start, bytes) || bytes > slots.width) break;
        std::memcpy(slots.rows + row * slots.width, buffer.data() + start, bytes);
        slots.lengths[row] = static_cast<int64_t>(bytes);
      }
    } else {
      i = n;
    }
  }
  if (i < n) refuse_row(i);
  return static_cast<int64_t>(longest);
}

nb::object strings_from_rows(Matrix<const uint8_t> rows, Vector<const int64_t> lengths, Vector<const int64_t> numbers) {
  const Slots slots = slots_of(rows, lengths);
  const size_t n = numbers.shape(0);
  const int64_t* wanted = numbers.data();
  Fresh<int64_t> offsets(n + 1, "int64");
  int64_t* ends = offsets.data();
  size_t total = 0;
  ends[0] = 0;
  for (size_t i = 0; i < n; ++i) {
    const uint64_t row = static_cast<uint64_t>(wanted[i]);
    const uint64_t size = row < slots.count ? static_cast<uint64_t>(slots.lengths[row]) : UINT64_MAX;
    if (size > slots.width) refuse_row(i);
    total += size;
    ends[i + 1] = static_cast<int64_t>(total);
  }
  Fresh<char> data(total, "uint8");
  size_t i = 0;
  {
    const HandedOver release(total > kWorthAThread);
    for (; i < n; ++i) {
      slots.expect(wanted, i, n);
      const uint64_t row = static_cast<uint64_t>(wanted[i]);
      if (row >= slots.count) break;  // somebody has changed the numbers meanwhile
      const size_t start = static_cast<size_t>(ends[i]);
      std::memcpy(data.data() + start, slots.rows + row * slots.width, static_cast<size_t>(ends[i + 1]) - start);
    }
  }
  if (i < n) refuse_row(i);
  return nb::make_tuple(data.array, offsets.array);
}

nb::object strings_round_robin(nb::list given, int64_t turn) {
  const nb::list held = own_list(given);
  const size_t each = length(turn, "turn"), k = held.size();
  std::vector<StringColumn> columns;
  for (nb::handle item : held) {
    const auto parts = nb::cast<nb::tuple>(item);
    if (parts.size() != 3) throw std::invalid_argument("a column must be (data, offsets, gap)");
    columns.emplace_back(parts);
    if (columns[0].count() != columns.back().count()) throw std::invalid_argument("columns must have the same length");
  }
  const size_t rows = k > 0 ? columns[0].count() : 0;
  if (each == 0 || rows % each != 0) throw std::invalid_argument("the number of rows must be a multiple of turn");
  Fresh<int64_t> offsets(k * rows + 1, "int64");
  int64_t* ends = offsets.data();
  size_t total = 0, out = 0;
  ends[0] = 0;
  for (size_t from = 0; from < rows; from += each)
    for (const StringColumn& column : columns)
      for (size_t i = from; i < from + each; ++i) {
        ends[++out] = static_cast<int64_t>(total += column.span(i).size);
      }
  Fresh<char> data(total, "uint8");
  char* to = data.data();
  bool there = true;
  {
    const HandedOver release(total > kWorthAThread);
    out = 0;
    for (size_t from = 0; from < rows && there; from += each)
      for (const StringColumn& column : columns)
        for (size_t i = from; i < from + each && there; ++i, ++out) {
          const size_t start = static_cast<size_t>(column.offsets.data()[i]), at = static_cast<size_t>(ends[out]);
          const size_t bytes = static_cast<size_t>(ends[out + 1]) - at, size = column.data->size();
          there = start <= size && bytes <= size - start;  // or somebody has changed the offsets meanwhile
          if (there) std::memcpy(to + at, column.data->data() + start, bytes);
        }
  }
  if (!there) refuse_row(out);
  return nb::make_tuple(data.array, offsets.array);
}

}  // namespace

void register_strings(nb::module_& m) {
  using namespace nb::literals;
  m.def("bytes_rows", &bytes_rows, "data"_a, "offsets"_a.noconvert(), "gap"_a = 0);
  m.def("strings_to_rows", &strings_to_rows, "data"_a, "offsets"_a.noconvert(), "gap"_a, "rows"_a.noconvert(),
        "lengths"_a.noconvert(), "numbers"_a.noconvert());
  m.def("strings_round_robin", &strings_round_robin, "columns"_a, "turn"_a);
  m.def("strings_from_rows", &strings_from_rows, "rows"_a.noconvert(), "lengths"_a.noconvert(),
        "numbers"_a.noconvert());
}

}  // namespace feedline
