// The order of a shuffle: positions are moved, rows are not.
#include <algorithm>
#include <cstring>

#include "array.h"
#include "philox.h"

namespace feedline {
namespace {

// A slot is written in one step and read in a later one, so only those far enough ahead are worth fetching early.
constexpr size_t kAhead = 16;
constexpr size_t kChunk = 1024;
constexpr size_t kFewDraws = 1 << 12;  // made in about 20 microseconds

struct Ring {
  int64_t* slots;
  int64_t size;
  int64_t start, stop, end;
};

// Draws n values. In front of every draw but the first one value comes in where `Refill`; the ring is then full and the
// hole left at `start` is the slot that value goes to. Where `Shrinking` the slice is not the one that grows, so each
// draw has one value less to choose from; else it is as large as the ring each time and the division is precomputed.
template <bool Refill, bool Shrinking>
void draw(Ring& ring, const int64_t* incoming, const uint32_t* words, size_t n, int64_t* out) {
  const size_t size = static_cast<size_t>(ring.size);
  const uint64_t rows = static_cast<uint64_t>(ring.stop - ring.start);
  const Remainder remainder(rows);
  size_t first = static_cast<size_t>(ring.start % ring.size);
  size_t picks[kChunk + kAhead];
  for (size_t done = 0; done < n;) {
    const size_t count = std::min(n - done, kChunk);
    size_t slot = first;
    for (size_t t = 0; t < count; ++t) {
      const uint32_t word = words[done + t];
      const size_t i = slot + (Shrinking ? remainder_once(word, rows - done - t) : remainder(word));
      picks[t] = i >= size ? i - size : i;
      slot = slot + 1 == size ? 0 : slot + 1;
    }
    std::fill_n(picks + count, kAhead, first);
    for (size_t t = 0; t < count; ++t) {
      FEEDLINE_PREFETCH(ring.slots + picks[t + kAhead]);
      const size_t i = picks[t];
      out[done + t] = ring.slots[i];
      ring.slots[i] = ring.slots[first];
      if (Refill && done + t + 1 < n) ring.slots[first] = incoming[done + t];
      first = first + 1 == size ? 0 : first + 1;
    }
    done += count;
  }
  ring.start += static_cast<int64_t>(n);
  if (Refill) ring.end += static_cast<int64_t>(n - 1);
  if (!Shrinking) ring.stop = ring.end;
}

nb::tuple ring_draw(Vector<int64_t> ring_slots, int64_t start, int64_t stop, int64_t end, bool growing,
                    Vector<const int64_t> incoming, Vector<const uint32_t> words) {
  Ring ring{ring_slots.data(), static_cast<int64_t>(ring_slots.shape(0)), start, stop, end};
  if (ring.size == 0) throw std::invalid_argument("the ring has no slots");
  if (start < 0 || start > stop || stop > end || end - start > ring.size)
    throw std::invalid_argument("positions must satisfy 0 <= start <= stop <= end <= start + " +
                                std::to_string(ring.size) + ", got " + std::to_string(start) + ", " +
                                std::to_string(stop) + ", " + std::to_string(end));
  if (growing && stop != end) throw std::invalid_argument("a growing slice must be the last one (stop == end)");
  const size_t n_in = incoming.shape(0), n_words = words.shape(0);
  if (end > INT64_MAX - static_cast<int64_t>(n_in)) throw std::invalid_argument("end is too large");
  const int64_t* in = incoming.data();
  const uint32_t* w = words.data();
  Fresh<int64_t> result(n_words, "int64");
  int64_t* out = result.data();
  size_t used = 0, drawn = 0;
  {
    const HandedOver release(n_words > kFewDraws || n_in > kFewDraws);
    while (drawn < n_words) {
      const size_t room = static_cast<size_t>(ring.size - (ring.end - ring.start));
      for (size_t fill = std::min(room, n_in - used); fill > 0;) {
        const int64_t slot = ring.end % ring.size;
        const size_t run = std::min(fill, static_cast<size_t>(ring.size - slot));
        std::memcpy(ring.slots + slot, in + used, run * sizeof(int64_t));
        ring.end += static_cast<int64_t>(run), used += run, fill -= run;
      }
      if (growing) ring.stop = ring.end;
      if (ring.start == ring.stop) break;
      // Now either the ring is full or nothing more comes in.
      const size_t words_left = n_words - drawn, rows = static_cast<size_t>(ring.stop - ring.start);
      const size_t values_left = n_in - used;
      if (values_left == 0) {
        const size_t n = std::min(words_left, rows);
        draw<false, true>(ring, nullptr, w + drawn, n, out + drawn);
        drawn += n;
      } else if (growing) {
        const size_t n = std::min(words_left, values_left + 1);
        draw<true, false>(ring, in + used, w + drawn, n, out + drawn);
        drawn += n, used += n - 1;
      } else {
        const size_t n = std::min({words_left, values_left + 1, rows});
        draw<true, true>(ring, in + used, w + drawn, n, out + drawn);
        drawn += n, used += n - 1;
      }
    }
  }
  nb::object drawn_part = result.array;
  if (drawn < n_words) drawn_part = result.array[nb::slice(nb::int_(0), nb::int_(drawn), nb::int_(1))].attr("copy")();
  return nb::make_tuple(drawn_part, ring.start, ring.stop, ring.end, used);
}

nb::object fisher_yates(int64_t n, uint64_t seed, uint64_t seed2) {
  const size_t count = length(n, "n");
  Fresh<int64_t> result(count, "int64");
  {
    const HandedOver release;
    int64_t* p = result.data();
    for (size_t k = 0; k < count; ++k) p[k] = static_cast<int64_t>(k);
    uint32_t words[kChunk];
    size_t picks[kChunk + kAhead];
    for (size_t from = 0; from < count; from += kChunk) {
      const size_t run = std::min(count - from, kChunk);
      philox_words(seed, seed2, from, run, words);
      for (size_t t = 0; t < run; ++t) picks[t] = from + t + remainder_once(words[t], count - from - t);
      std::fill_n(picks + run, kAhead, from);
      for (size_t t = 0; t < run; ++t) {
        FEEDLINE_PREFETCH(p + picks[t + kAhead]);
        std::swap(p[from + t], p[picks[t]]);
      }
    }
  }
  return result.array;
}

}  // namespace

void register_shuffle(nb::module_& m) {
  using namespace nb::literals;
  m.def("ring_draw", &ring_draw, "ring"_a.noconvert(), "start"_a, "stop"_a, "end"_a, "growing"_a,
        "incoming"_a.noconvert(), "words"_a.noconvert());
  m.def("fisher_yates", &fisher_yates, "n"_a, "seed"_a, "seed2"_a);
}

}  // namespace feedline
