// Strings that lie in one buffer, and strings that lie in the rows of a matrix, each at the beginning of its row.
#include "strings.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "team.h"

namespace feedline {
namespace {

// A thread copies at least so many bytes, to be worth waking, and about so many at a time.
constexpr size_t kBytesPerThread = 1 << 18, kBytesAtOnce = 1 << 16;

// Calls `copy(i)` for each of n strings of `total` bytes, until it is false, on the team. Gives the first such i, or n.
template <typename Copy>
size_t each_in_team(size_t n, size_t total, size_t threads, const Copy& copy) {
  threads = std::min(threads, total / kBytesPerThread);
  const size_t at_once = threads > 1 ? std::max<size_t>(1, kBytesAtOnce / (total / n + 1)) : std::max<size_t>(1, n);
  std::atomic<size_t> bad{n};
  in_team(threads, (n + at_once - 1) / at_once, [&](size_t piece) {
    const size_t end = std::min(n, (piece + 1) * at_once);
    for (size_t i = piece * at_once; i < end; ++i) {
      if (copy(i)) continue;
      for (size_t now = bad; i < now && !bad.compare_exchange_weak(now, i);) continue;
      return false;
    }
    return true;
  });
  return bad;
}

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
                        Vector<int64_t> lengths, Vector<const int64_t> numbers, int64_t threads) {
  const size_t n = numbers.shape(0), between = length(gap, "gap"), most = length(threads, "threads");
  if (offsets.shape(0) != n + 1)
    throw std::invalid_argument("offsets must have one entry more than numbers, got " +
                                std::to_string(offsets.shape(0)) + " and " + std::to_string(n));
  const Slots slots = slots_of(rows, lengths);
  const Bytes buffer(data, false);
  const int64_t *at = offsets.data(), *wanted = numbers.data();
  size_t longest = 0, total = 0, i = n;
  {
    const HandedOver release(buffer.size() > kWorthAThread);
    for (size_t k = 0; k < n; ++k) {
      const uint64_t size = static_cast<uint64_t>(at[k + 1]) - static_cast<uint64_t>(at[k]) - between;
      if (size > buffer.size()) continue;
      longest = std::max(longest, static_cast<size_t>(size));
      total += static_cast<size_t>(size);
    }
    if (longest <= slots.width) {
      i = each_in_team(n, total, most, [&](size_t k) {
        slots.expect(wanted, k, n);
        const uint64_t row = static_cast<uint64_t>(wanted[k]);
        size_t start, bytes;
        if (row >= slots.count || !inside(at, k, between, buffer.size(), start, bytes) || bytes > slots.width)
          return false;
        std::memcpy(slots.rows + row * slots.width, buffer.data() + start, bytes);
        slots.lengths[row] = static_cast<int64_t>(bytes);
        return true;
      });
    }
  }
  if (i < n) refuse_row(i);
  return static_cast<int64_t>(longest);
}

nb::object strings_from_rows(Matrix<const uint8_t> rows, Vector<const int64_t> lengths, Vector<const int64_t> numbers,
                             int64_t threads) {
  const Slots slots = slots_of(rows, lengths);
  const size_t n = numbers.shape(0), most = length(threads, "threads");
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
  size_t i;
  {
    const HandedOver release(total > kWorthAThread);
    i = each_in_team(n, total, most, [&](size_t k) {
      slots.expect(wanted, k, n);
      const uint64_t row = static_cast<uint64_t>(wanted[k]);
      if (row >= slots.count) return false;  // somebody has changed the numbers meanwhile
      const size_t start = static_cast<size_t>(ends[k]);
      std::memcpy(data.data() + start, slots.rows + row * slots.width, static_cast<size_t>(ends[k + 1]) - start);
      return true;
    });
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
        "lengths"_a.noconvert(), "numbers"_a.noconvert(), "threads"_a = 1);
  m.def("strings_round_robin", &strings_round_robin, "columns"_a, "turn"_a);
  m.def("strings_from_rows", &strings_from_rows, "rows"_a.noconvert(), "lengths"_a.noconvert(),
        "numbers"_a.noconvert(), "threads"_a = 1);
}

}  // namespace feedline
