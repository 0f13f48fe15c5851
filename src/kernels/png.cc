// The filters of PNG files.
#include <cstdlib>
#include <cstring>

#include "array.h"

namespace feedline {
namespace {

// Left, above and above left: the one that is nearest to left + above - corner.
inline uint8_t nearest(int left, int above, int corner) {
  const int to_left = std::abs(above - corner), to_above = std::abs(left - corner);
  const int to_corner = std::abs(left + above - 2 * corner);
  if (to_left <= to_above && to_left <= to_corner) return static_cast<uint8_t>(left);
  return static_cast<uint8_t>(to_above <= to_corner ? above : corner);
}

FEEDLINE_WIDE void add(const uint8_t* in, const uint8_t* above, size_t n, uint8_t* out) {
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<uint8_t>(in[i] + above[i]);
}

// Undoes one row; false for a filter that does not exist. A step known when compiling lets values stay in registers.
template <size_t Known>
bool row(int filter, const uint8_t* in, const uint8_t* above, size_t n, size_t given, uint8_t* out) {
  const size_t step = Known > 0 ? Known : given, first = step < n ? step : n;
  switch (filter) {
    case 0:
      std::memcpy(out, in, n);
      return true;
    case 1:
      std::memcpy(out, in, first);
      for (size_t i = step; i < n; ++i) out[i] = static_cast<uint8_t>(in[i] + out[i - step]);
      return true;
    case 2:
      add(in, above, n, out);
      return true;
    case 3:
      for (size_t i = 0; i < first; ++i) out[i] = static_cast<uint8_t>(in[i] + above[i] / 2);
      for (size_t i = step; i < n; ++i) out[i] = static_cast<uint8_t>(in[i] + (out[i - step] + above[i]) / 2);
      return true;
    case 4:
      for (size_t i = 0; i < first; ++i) out[i] = static_cast<uint8_t>(in[i] + above[i]);
      for (size_t i = step; i < n; ++i)
        out[i] = static_cast<uint8_t>(in[i] + nearest(out[i - step], above[i], above[i - step]));
      return true;
    default:
      return false;
  }
}

nb::object png_rows(nb::object data, int64_t rows, int64_t size, int64_t step) {
  const size_t height = length(rows, "rows"), n = length(size, "size"), pixel = length(step, "step");
  if (pixel == 0) throw std::invalid_argument("step must be positive");
  const Bytes source(data, false);
  if (n >= SIZE_MAX / 2 || (height > 0 && source.size() / height < n + 1))
    throw std::invalid_argument("the data is shorter than its rows");
  nb::object result = empty(nb::make_tuple(height, n), nb::str("uint8"));
  const Bytes made(result, true);
  const uint8_t* in = reinterpret_cast<const uint8_t*>(source.data());
  uint8_t* out = reinterpret_cast<uint8_t*>(made.data());
  bool good = true;
  int filter = 0;
  {
    const HandedOver release;
    const std::string zeros(n, '\0');
    const uint8_t* above = reinterpret_cast<const uint8_t*>(zeros.data());
    for (size_t y = 0; y < height && good; ++y) {
      filter = in[0];
      switch (pixel) {
        case 3: good = row<3>(filter, in + 1, above, n, pixel, out); break;
        case 4: good = row<4>(filter, in + 1, above, n, pixel, out); break;
        case 1: good = row<1>(filter, in + 1, above, n, pixel, out); break;
        default: good = row<0>(filter, in + 1, above, n, pixel, out);
      }
      above = out;
      in += n + 1;
      out += n;
    }
  }
  if (!good) throw std::invalid_argument("unknown filter " + std::to_string(filter));
  return result;
}

}  // namespace

void register_png(nb::module_& m) {
  using namespace nb::literals;
  m.def("png_rows", &png_rows, "data"_a, "rows"_a, "size"_a, "step"_a);
}

}  // namespace feedline
