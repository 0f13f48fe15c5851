// Rows of an array by number, and rows stacked to an array.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>

#include "array.h"
#include "team.h"

namespace feedline {
namespace {

// Numbers are checked and used in runs that stay in the first-level cache.
constexpr size_t kRun = 1024;

// So much a thread copies at least, to be worth waking, and about so much at a time.
constexpr size_t kBytesPerThread = 1 << 18, kBytesAtOnce = 1 << 17;

// The top bit of i is set where i is negative, that of rows - 1 - i where i is too large: one bit to look at for all.
FEEDLINE_WIDE bool all_below(const int64_t* index, size_t m, uint64_t rows) {
  uint64_t bits = 0;
  for (size_t i = 0; i < m; ++i) {
    const uint64_t number = static_cast<uint64_t>(index[i]);
    bits |= number | (rows - 1 - number);
  }
  return bits >> 63 == 0;
}

// Rows up to 32 bytes are single moves, and the processor already has many of those under way at once. Longer ones are
// asked for ahead of time, more rows ahead the shorter they are; beyond four lines the hardware has seen the pattern.
template <size_t Size>
void copy_fixed(const char* source, const int64_t* index, size_t m, char* out) {
  constexpr size_t ahead = Size <= 32 ? 0 : 1024 / Size;
  for (size_t i = 0; i < m; ++i) {
    if (ahead > 0 && i + ahead < m) {
      const char* next = source + static_cast<size_t>(index[i + ahead]) * Size;
      for (size_t line = 0; line < Size; line += 64) FEEDLINE_PREFETCH(next + line);
    }
    std::memcpy(out + i * Size, source + static_cast<size_t>(index[i]) * Size, Size);
  }
}

void copy_any(const char* source, size_t size, const int64_t* index, size_t m, char* out) {
  const size_t early = size < 256 ? size : 256;
  for (size_t i = 0; i < m; ++i) {
    if (i + 4 < m) {
      const char* next = source + static_cast<size_t>(index[i + 4]) * size;
      for (size_t line = 0; line < early; line += 64) FEEDLINE_PREFETCH(next + line);
    }
    std::memcpy(out + i * size, source + static_cast<size_t>(index[i]) * size, size);
  }
}

// memcpy of a size known when compiling is a few moves; of any other size it is a call.
void copy(const char* source, size_t size, const int64_t* index, size_t m, char* out) {
  switch (size) {
    case 0: return;
    case 1: return copy_fixed<1>(source, index, m, out);
    case 2: return copy_fixed<2>(source, index, m, out);
    case 4: return copy_fixed<4>(source, index, m, out);
    case 8: return copy_fixed<8>(source, index, m, out);
    case 12: return copy_fixed<12>(source, index, m, out);
    case 16: return copy_fixed<16>(source, index, m, out);
    case 24: return copy_fixed<24>(source, index, m, out);
    case 32: return copy_fixed<32>(source, index, m, out);
    case 64: return copy_fixed<64>(source, index, m, out);
    case 128: return copy_fixed<128>(source, index, m, out);
    case 256: return copy_fixed<256>(source, index, m, out);
    default: return copy_any(source, size, index, m, out);
  }
}

// Copies the rows, several threads some of them each; false where there is no row with one of the numbers.
bool gather(const char* source, size_t n, size_t size, const int64_t* wanted, size_t m, char* out, size_t threads) {
  const size_t at_once = std::max<size_t>(1, std::min(kRun, size == 0 ? kRun : kBytesAtOnce / size));
  std::atomic<bool> good{true};
  in_team(std::min(threads, m * size / kBytesPerThread), (m + at_once - 1) / at_once, [&](size_t piece) {
    const size_t i = piece * at_once, run = std::min(at_once, m - i);
    if (all_below(wanted + i, run, n))
      copy(source, size, wanted + i, run, out + i * size);
    else
      good = false;
    return good.load();
  });
  return good;
}

nb::object gather_rows(nb::object source, Vector<const int64_t> index, nb::object into, int64_t threads) {
  nb::object dtype = source.attr("dtype");
  if (nb::cast<bool>(dtype.attr("hasobject")))
    throw nb::type_error("gather_rows needs a plain dtype, got one that holds Python objects");
  const Bytes rows(source, false);
  if (rows.ndim() == 0) throw std::invalid_argument("source must have at least one dimension");
  const size_t n = rows.dim(0), m = index.shape(0), most = length(threads, "threads");
  size_t size = static_cast<size_t>(nb::cast<int64_t>(dtype.attr("itemsize")));
  nb::list shape;
  shape.append(m);
  for (int i = 1; i < rows.ndim(); ++i) shape.append(rows.dim(i)), size *= rows.dim(i);
  if (rows.size() != n * size) throw std::invalid_argument("the size of source's buffer does not match its shape");

  nb::object result = into.is_none() ? empty(nb::tuple(shape), dtype) : std::move(into);
  const Bytes out(result, true);
  if (size != 0 && (out.size() / size != m || out.size() % size != 0))
    throw std::invalid_argument("into must have as many bytes as the rows, got " + std::to_string(out.size()));
  bool good;
  {
    const HandedOver release;
    good = gather(rows.data(), n, size, index.data(), m, out.data(), most);
  }
  if (!good) throw nb::index_error(("an index is outside [0, " + std::to_string(n) + ")").c_str());
  return result;
}

void plain(nb::handle array, const char* name) {
  if (nb::cast<bool>(array.attr("dtype").attr("hasobject")))
    throw nb::type_error((std::string(name) + " needs a plain dtype, got one that holds Python objects").c_str());
}

void stack_rows(nb::list rows, nb::object into) {
  plain(into, "stack_rows");
  const Bytes out(into, true);
  std::deque<Bytes> sources;  // keeps them in place: they can be neither copied nor moved
  for (nb::handle row : rows) {
    plain(row, "stack_rows");
    sources.emplace_back(row, false);
  }
  const size_t n = sources.size(), size = n == 0 ? 0 : out.size() / n;
  if (n * size != out.size())
    throw std::invalid_argument("into must have as many bytes as the rows, got " + std::to_string(out.size()));
  for (const Bytes& row : sources)
    if (row.size() != size)
      throw std::invalid_argument("rows must have " + std::to_string(size) + " bytes each, got one of " +
                                  std::to_string(row.size()));
  const HandedOver release(out.size() >= kWorthAThread);
  char* to = out.data();
  for (const Bytes& row : sources) {
    if (size != 0) std::memmove(to, row.data(), size);  // a row may lie in the array that it is copied into
    to += size;
  }
}

}  // namespace

void register_gather(nb::module_& m) {
  using namespace nb::literals;
  m.def("gather_rows", &gather_rows, "source"_a, "index"_a.noconvert(), "into"_a.none() = nb::none(), "threads"_a = 1);
  m.def("stack_rows", &stack_rows, "rows"_a, "into"_a);
}

}  // namespace feedline
