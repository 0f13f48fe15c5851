// Images scaled by bilinear interpolation, and by weighted sums of pixels along one axis.
#include "resize.h"

#include <cmath>
#include <cstring>

#if defined(__x86_64__) && defined(__GNUC__)
#define FEEDLINE_AVX2
#include <immintrin.h>
#endif

namespace feedline {

std::vector<Tap> taps(size_t in, size_t out) {
  const float scale = static_cast<float>(in) / static_cast<float>(out);
  std::vector<Tap> all(out);
  for (size_t i = 0; i < out; ++i) {
    const float at = (static_cast<float>(i) + 0.5f) * scale - 0.5f, floor = std::floor(at);
    const auto inside = [in](float x) {
      return x <= 0 ? 0 : x >= static_cast<float>(in - 1) ? in - 1 : static_cast<size_t>(x);
    };
    all[i] = {inside(floor), inside(std::ceil(at)), at - floor};
  }
  return all;
}

namespace {

inline void pixel(const float* row, const Tap& tap, size_t channels, float* out) {
  const float *low = row + tap.low * channels, *high = row + tap.high * channels;
  for (size_t c = 0; c < channels; ++c) out[c] = low[c] + (high[c] - low[c]) * tap.weight;
}

template <size_t Channels>
void few_across(const float* row, const Tap* columns, size_t n, float* out) {
  for (size_t x = 0; x < n; ++x) pixel(row, columns[x], Channels, out + x * Channels);
}

#if defined(__GNUC__)
// Four lanes hold a pixel. Of three channels the fourth lane reads and writes one value too far, which the next pixel
// overwrites.
template <size_t Channels>
void lanes_across(const float* row, const Tap* columns, size_t n, float* out) {
  typedef float Lanes __attribute__((vector_size(16)));
  for (size_t x = 0; x < n; ++x) {
    Lanes low, high;
    std::memcpy(&low, row + columns[x].low * Channels, sizeof low);
    std::memcpy(&high, row + columns[x].high * Channels, sizeof high);
    const Lanes mixed = low + (high - low) * columns[x].weight;
    std::memcpy(out + x * Channels, &mixed, sizeof mixed);
  }
}
#else
template <size_t Channels>
void lanes_across(const float* row, const Tap* columns, size_t n, float* out) {
  few_across<Channels>(row, columns, n, out);
}
#endif

#if defined(FEEDLINE_AVX2)
// The same from bytes, two pixels of three channels at a time: an even number of them.
__attribute__((target("avx2"))) void bytes_across(const uint8_t* row, const Tap* columns, size_t n, float* out) {
  const auto both = [row](size_t a, size_t b) __attribute__((target("avx2"), always_inline)) {
    int32_t left, right;
    std::memcpy(&left, row + a * 3, sizeof left);
    std::memcpy(&right, row + b * 3, sizeof right);
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_insert_epi32(_mm_cvtsi32_si128(left), right, 1)));
  };
  for (size_t x = 0; x < n; x += 2, out += 6) {
    const Tap &left = columns[x], &right = columns[x + 1];
    const __m256 low = both(left.low, right.low), high = both(left.high, right.high);
    const __m256 weight = _mm256_set_m128(_mm_set1_ps(right.weight), _mm_set1_ps(left.weight));
    const __m256 mixed = _mm256_add_ps(low, _mm256_mul_ps(_mm256_sub_ps(high, low), weight));
    _mm_storeu_ps(out, _mm256_castps256_ps128(mixed));
    _mm_storeu_ps(out + 3, _mm256_extractf128_ps(mixed, 1));
  }
}
#endif

// Which pixels of a row can be made in lanes: not those whose fourth lane is beyond the row, which are at one end of
// it, nor the last one of the output.
std::pair<size_t, size_t> in_lanes(const std::vector<Tap>& columns, size_t width) {
  size_t first = 0, last = columns.size() - 1;
  while (last > 0 && columns[last - 1].high == width - 1) --last;
  while (first < last && columns[first].high == width - 1) ++first;
  return {first, last};
}

}  // namespace

void scale_row(const float* row, const std::vector<Tap>& columns, size_t width, size_t channels, std::vector<float>&,
               float* out) {
  const Tap* taps = columns.data();
  const size_t n = columns.size();
  if (channels == 1) return few_across<1>(row, taps, n, out);
  if (channels == 4) return lanes_across<4>(row, taps, n, out);
  const auto [first, last] = channels == 3 ? in_lanes(columns, width) : std::pair<size_t, size_t>{0, 0};
  lanes_across<3>(row, taps + first, last - first, out + first * 3);
  for (size_t x = 0; x < first; ++x) pixel(row, taps[x], channels, out + x * channels);
  for (size_t x = last; x < n; ++x) pixel(row, taps[x], channels, out + x * channels);
}

FEEDLINE_WIDE void mix_rows(const float* top, const float* bottom, float weight, size_t n, float* out) {
  for (size_t i = 0; i < n; ++i) out[i] = top[i] + (bottom[i] - top[i]) * weight;
}

FEEDLINE_WIDE void widen(const uint8_t* row, size_t n, float* out) {
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<float>(row[i]);
}

void scale_row(const uint8_t* row, const std::vector<Tap>& columns, size_t width, size_t channels,
               std::vector<float>& scratch, float* out) {
#if defined(FEEDLINE_AVX2)
  static const bool avx2 = __builtin_cpu_supports("avx2");
  if (channels == 3 && avx2) {
    const auto [first, last] = in_lanes(columns, width);
    const size_t pairs = (last - first) / 2 * 2;
    bytes_across(row, columns.data() + first, pairs, out + first * 3);
    const auto one_by_one = [&columns = columns, row, out](size_t from, size_t to) {
      for (size_t x = from; x < to; ++x)
        for (size_t c = 0; c < 3; ++c) {
          const float low = row[columns[x].low * 3 + c], high = row[columns[x].high * 3 + c];
          out[x * 3 + c] = low + (high - low) * columns[x].weight;
        }
    };
    one_by_one(0, first);
    one_by_one(first + pairs, columns.size());
    return;
  }
#endif
  scratch.resize(width * channels);
  widen(row, scratch.size(), scratch.data());
  scale_row(scratch.data(), columns, width, channels, scratch, out);
}

namespace {

template <typename T>
void scale(const T* image, size_t width, size_t channels, const std::vector<Tap>& rows,
           const std::vector<Tap>& columns, float* out) {
  const size_t wide = columns.size() * channels;
  std::vector<float> scratch;
  Lines lines;
  lines.scale(
      rows, wide, [&](size_t y, float* line) { scale_row(image + y * width * channels, columns, width, channels, scratch, line); },
      [&](const float* top, const float* bottom, float weight) {
        mix_rows(top, bottom, weight, wide, out);
        out += wide;
        return true;
      });
}

using Images = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

nb::object resize_bilinear(Images images, int64_t height, int64_t width) {
  const bool bytes = images.dtype() == nb::dtype<uint8_t>();
  if (!bytes && images.dtype() != nb::dtype<float>()) throw nb::type_error("images must be uint8 or float32");
  if (height < 1 || width < 1) throw std::invalid_argument("height and width must be positive");
  const size_t many = images.ndim() - 3;  // 1 for a batch, 0 for a single image
  if (images.ndim() < 3 || many > 1) throw nb::type_error("images must have 3 or 4 dimensions");
  const size_t n = many ? images.shape(0) : 1;
  const size_t h = images.shape(many), w = images.shape(many + 1), c = images.shape(many + 2);
  if (h == 0 || w == 0) throw std::invalid_argument("an image without pixels cannot be scaled");
  const size_t tall = static_cast<size_t>(height), wide = static_cast<size_t>(width);
  nb::object result =
      empty(many ? nb::make_tuple(n, tall, wide, c) : nb::make_tuple(tall, wide, c), nb::str("float32"));
  const Bytes out(result, true);
  if (n == 0 || c == 0) return result;
  float* at = reinterpret_cast<float*>(out.data());
  {
    const HandedOver release;
    const std::vector<Tap> rows = taps(h, tall), columns = taps(w, wide);
    for (size_t i = 0; i < n; ++i) {
      if (bytes)
        scale(static_cast<const uint8_t*>(images.data()) + i * h * w * c, w, c, rows, columns, at);
      else
        scale(static_cast<const float*>(images.data()) + i * h * w * c, w, c, rows, columns, at);
      at += tall * wide * c;
    }
  }
  return result;
}

FEEDLINE_WIDE void times(const float* row, float weight, size_t n, float* out) {
  for (size_t i = 0; i < n; ++i) out[i] = row[i] * weight;
}

FEEDLINE_WIDE void plus(const float* row, float weight, size_t n, float* out) {
  for (size_t i = 0; i < n; ++i) out[i] += row[i] * weight;
}

using Lines = nb::ndarray<nb::ro, float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

// Row o of each output is the sum of counts[o] input rows from starts[o] on, each times its weight, added in their
// order: the order decides the last bits.
nb::object weighted_sums(Lines data, Vector<const int64_t> starts, Vector<const int64_t> counts,
                         Matrix<const float> weights) {
  const size_t many = data.shape(0), rows = data.shape(1), n = data.shape(2);
  const size_t out_rows = starts.shape(0), taps = weights.shape(1);
  if (counts.shape(0) != out_rows || weights.shape(0) != out_rows)
    throw std::invalid_argument("starts, counts and weights must have one entry per output row");
  for (size_t o = 0; o < out_rows; ++o) {
    const int64_t start = starts.data()[o], count = counts.data()[o];
    if (start < 0 || count < 0 || static_cast<uint64_t>(count) > taps || static_cast<uint64_t>(start) > rows ||
        static_cast<uint64_t>(count) > rows - static_cast<uint64_t>(start))
      throw std::invalid_argument("a span is outside the rows");
  }
  nb::object result = empty(nb::make_tuple(many, out_rows, n), nb::str("float32"));
  const Bytes out(result, true);
  float* at = reinterpret_cast<float*>(out.data());
  const HandedOver release;
  for (size_t i = 0; i < many; ++i) {
    const float* image = data.data() + i * rows * n;
    for (size_t o = 0; o < out_rows; ++o, at += n) {
      const float *row = image + static_cast<size_t>(starts.data()[o]) * n, *weight = weights.data() + o * taps;
      const size_t count = static_cast<size_t>(counts.data()[o]);
      if (count == 0) std::memset(at, 0, n * sizeof(float));
      if (n < 8) {  // a pixel: a call for each would cost more than the sum
        for (size_t t = 0; t < count; ++t)
          for (size_t c = 0; c < n; ++c) at[c] = t ? at[c] + row[t * n + c] * weight[t] : row[c] * weight[0];
        continue;
      }
      if (count) times(row, weight[0], n, at);
      for (size_t t = 1; t < count; ++t) plus(row + t * n, weight[t], n, at);
    }
  }
  return result;
}

// The sine is that of the C library in single precision: its last bits are those that TensorFlow gets.
nb::object lanczos(Matrix<const float> places, float radius) {
  const size_t n = places.shape(0) * places.shape(1);
  nb::object result = empty(nb::make_tuple(places.shape(0), places.shape(1)), nb::str("float32"));
  const Bytes out(result, true);
  float* at = reinterpret_cast<float*>(out.data());
  const float pi = 3.14159265359f;
  for (size_t i = 0; i < n; ++i) {
    const float x = places.data()[i];
    if (x > radius)
      at[i] = 0;
    else if (x <= 1e-3f)
      at[i] = 1;
    else
      at[i] = radius * std::sin(pi * x) * std::sin(pi * x / radius) / (pi * pi * x * x);
  }
  return result;
}

}  // namespace

void register_resize(nb::module_& m) {
  using namespace nb::literals;
  m.def("lanczos", &lanczos, "places"_a.noconvert(), "radius"_a);
  m.def("weighted_sums", &weighted_sums, "data"_a.noconvert(), "starts"_a.noconvert(), "counts"_a.noconvert(),
        "weights"_a.noconvert());
  m.def("resize_bilinear", &resize_bilinear, "images"_a.noconvert(), "height"_a, "width"_a);
}

}  // namespace feedline
