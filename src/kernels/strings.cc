// Strings that lie in one buffer, or in places of one size.
#include <cstring>
#include <vector>

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

// Copies string i to the place numbers[i].
void strings_put(nb::handle data, Vector<const int64_t> offsets, int64_t gap, Matrix<uint8_t> places, Vector<int64_t> sizes,
                 Vector<const int64_t> numbers) {
  const size_t between = length(gap, "gap"), n = numbers.shape(0), count = places.shape(0), room = places.shape(1);
  if (offsets.shape(0) != n + 1) throw std::invalid_argument("there must be one offset more than numbers");
  if (sizes.shape(0) != count) throw std::invalid_argument("there must be one size per place");
  const Bytes buffer(data, false);
  const int64_t* at = offsets.data();
  size_t bad = n;
  {
    nb::gil_scoped_release release;
    for (size_t i = 0; i < n; ++i) {
      const int64_t from = at[i], next = at[i + 1], number = numbers.data()[i];
      const size_t start = static_cast<size_t>(from), after = static_cast<size_t>(next);
      if (from < 0 || next < from || after - start < between || after - between > buffer.size() || number < 0 ||
          static_cast<size_t>(number) >= count || after - start - between > room) {
        bad = i;
        break;
      }
      const size_t size = after - start - between;
      if (size > 0) std::memcpy(places.data() + static_cast<size_t>(number) * room, buffer.data() + start, size);
      sizes.data()[number] = static_cast<int64_t>(size);
    }
  }
  if (bad < n) throw nb::index_error(("row " + std::to_string(bad) + " is not inside the data, or its place").c_str());
}

// The strings at these places, one after another in fresh memory, and where each begins.
nb::object strings_get(Matrix<const uint8_t> places, Vector<const int64_t> sizes, Vector<const int64_t> numbers) {
  const size_t n = numbers.shape(0), count = places.shape(0), room = places.shape(1);
  if (sizes.shape(0) != count) throw std::invalid_argument("there must be one size per place");
  nb::object offsets = empty(nb::int_(n + 1), nb::str("int64"));
  const Bytes offsets_out(offsets, true);
  auto* ends = reinterpret_cast<int64_t*>(offsets_out.data());
  struct Piece {
    const uint8_t* from;
    size_t size;
  };
  std::vector<Piece> pieces(n);
  int64_t end = ends[0] = 0;
  for (size_t i = 0; i < n; ++i) {
    const int64_t number = numbers.data()[i];
    const int64_t size = number < 0 || static_cast<size_t>(number) >= count ? -1 : sizes.data()[number];
    if (size < 0 || static_cast<size_t>(size) > room)
      throw nb::index_error(("there is no place " + std::to_string(number)).c_str());
    pieces[i] = {places.data() + static_cast<size_t>(number) * room, static_cast<size_t>(size)};
    ends[i + 1] = end += size;
  }
  nb::object data = empty(nb::int_(end), nb::str("uint8"));
  const Bytes out(data, true);
  {
    nb::gil_scoped_release release;
    char* to = out.data();
    for (size_t i = 0; i < n; ++i) {
      if (i + 4 < n)  // rows of a shuffle lie anywhere
        for (size_t line = 0; line < pieces[i + 4].size && line < 1024; line += 64)
          FEEDLINE_PREFETCH(pieces[i + 4].from + line);
      if (pieces[i].size > 0) std::memcpy(to, pieces[i].from, pieces[i].size);
      to += pieces[i].size;
    }
  }
  return nb::make_tuple(data, offsets);
}

}  // namespace

void register_strings(nb::module_& m) {
  using namespace nb::literals;
  m.def("strings_get", &strings_get, "places"_a.noconvert(), "sizes"_a.noconvert(), "numbers"_a.noconvert());
  m.def("strings_put", &strings_put, "data"_a, "offsets"_a.noconvert(), "gap"_a, "places"_a.noconvert(),
        "sizes"_a.noconvert(), "numbers"_a.noconvert());
  m.def("bytes_rows", &bytes_rows, "data"_a, "offsets"_a.noconvert(), "gap"_a = 0);
}

}  // namespace feedline
