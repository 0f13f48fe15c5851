// Bilinear interpolation, row by row.
#pragma once

#include <utility>
#include <vector>

#include "array.h"

namespace feedline {

// Between which two input positions an output position lies, and how far it is from the first to the second.
struct Tap {
  size_t low, high;
  float weight;
};

// Pixels are squares and their values lie in the middle of them. This is single precision as in TensorFlow: in double
// precision the weights would be others.
std::vector<Tap> taps(size_t in, size_t out);

// One row, scaled across. `scratch` is memory to be used again for the next row.
void scale_row(const float* row, const std::vector<Tap>& columns, size_t width, size_t channels,
               std::vector<float>& scratch, float* out);
void scale_row(const uint8_t* row, const std::vector<Tap>& columns, size_t width, size_t channels,
               std::vector<float>& scratch, float* out);

// Two rows of n values, one above the other.
void mix_rows(const float* top, const float* bottom, float weight, size_t n, float* out);

void widen(const uint8_t* row, size_t n, float* out);

// Rows are scaled across first. Two of them are kept, since the lower one is often the upper one of the next, and the
// other way round from bottom to top.
class Lines {
 public:
  // Calls `across(y, line)` for each input row that is needed, and for each output row `down(top, bottom, weight)` with
  // lines of `wide` values; false as soon as one of those is.
  template <typename Across, typename Down>
  bool scale(const std::vector<Tap>& rows, size_t wide, Across&& across, Down&& down) {
    constexpr size_t kNone = SIZE_MAX;
    size_t held[2] = {kNone, kNone};
    for (std::vector<float>& line : lines_) line.resize(wide);
    const auto line = [&](size_t y, int slot) {
      if (held[slot] == y) return;
      across(y, lines_[slot].data());
      held[slot] = y;
    };
    for (const Tap& tap : rows) {
      if ((held[1] == tap.low && held[0] != tap.low) || (held[0] == tap.high && held[1] != tap.high))
        std::swap(held[0], held[1]), lines_[0].swap(lines_[1]);
      line(tap.low, 0);
      line(tap.high, 1);
      if (!down(lines_[0].data(), lines_[1].data(), tap.weight)) return false;
    }
    return true;
  }

 private:
  std::vector<float> lines_[2];
};

}  // namespace feedline
