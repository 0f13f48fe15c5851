// From what the parts have read to whole columns.
#pragma once

#include "part.h"

namespace feedline {

// Copies, without the interpreter where that pays.
template <typename Copy>
void copied(size_t bytes, Copy&& copy) {
  if (bytes < kWorthAThread) {
    copy();
  } else {
    const HandedOver release;
    copy();
  }
}

// The numbers of several vectors one after another; `of` gives the vector of a piece.
template <typename Piece, typename Of>
nb::object joined_numbers(const Arrays& arrays, const std::vector<Piece>& pieces, Of&& of) {
  size_t count = 0;
  for (const Piece& piece : pieces) count += of(*piece).size();
  nb::object array = arrays.fresh(count, kInt);
  const Bytes out(array, true);
  char* to = out.data();
  copied(8 * count, [&] {
    for (const Piece& piece : pieces) {
      const std::vector<int64_t>& numbers = of(*piece);
      if (!numbers.empty()) std::memcpy(to, numbers.data(), 8 * numbers.size());
      to += 8 * numbers.size();
    }
  });
  return array;
}

// All values one after another.
template <typename Piece>
nb::object joined_values(const Arrays& arrays, const std::vector<Piece>& pieces, const Wanted& w) {
  size_t count = 0;
  for (const Piece& piece : pieces) count += piece->count;
  if (w.kind == kString) {
    std::vector<Span> strings;
    strings.reserve(count);
    for (const Piece& piece : pieces) strings.insert(strings.end(), piece->strings.begin(), piece->strings.end());
    return bytes_array(count, [&](size_t i) { return strings[i]; });
  }
  nb::object array = arrays.fresh(count, w.kind);
  const Bytes out(array, true);
  char* to = out.data();
  copied(count * w.width(), [&] {
    for (const Piece& piece : pieces) {
      const size_t bytes = piece->count * w.width();
      if (bytes > 0) std::memcpy(to, piece->flat.data(), bytes);
      to += bytes;
    }
  });
  return array;
}

inline const std::vector<int64_t>& lengths_of(const Values& values) { return values.lengths; }

// The values of a feature in the first `done` rows; where any number is asked for, also how many each row has.
template <typename Beside>
nb::object column(const Arrays& arrays, const Parts<Beside>& parts, const Wanted& w, size_t number, size_t done,
                  size_t rows) {
  if (w.fixed) {
    if (w.kind == kString)
      return nb::make_tuple(bytes_array(done * w.size, [&](size_t i) { return w.strings[i]; }), nb::none());
    if (done == 0) return nb::make_tuple(arrays.fresh(0, w.kind), nb::none());
    if (done == rows) return nb::make_tuple(w.array, nb::none());
    return nb::make_tuple(w.array[nb::slice(nb::int_(0), nb::int_(done * w.size), nb::none())], nb::none());
  }
  const auto pieces = pieces_of(parts, done, [&](const auto& part) -> const Values& { return part.values[number]; });
  return nb::make_tuple(joined_values(arrays, pieces, w), joined_numbers(arrays, pieces, lengths_of));
}

}  // namespace feedline
