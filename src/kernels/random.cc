// Random words and the pseudo-random permutation behind index_shuffle.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "array.h"
#include "philox.h"

namespace feedline {
namespace {

constexpr size_t kLanes = 16;  // one AVX-512 register of 32-bit words per counter word

// kLanes consecutive blocks, written as 4 * kLanes words in stream order.
FEEDLINE_WIDE void philox_lanes(uint64_t seed, uint64_t seed2, uint64_t block, size_t groups, uint32_t* out) {
  for (size_t g = 0; g < groups; ++g, block += kLanes, out += 4 * kLanes) {
    uint32_t c0[kLanes], c1[kLanes], c2[kLanes], c3[kLanes];
    for (size_t l = 0; l < kLanes; ++l) {
      c0[l] = static_cast<uint32_t>(block + l);
      c1[l] = static_cast<uint32_t>((block + l) >> 32);
      c2[l] = static_cast<uint32_t>(seed2);
      c3[l] = static_cast<uint32_t>(seed2 >> 32);
    }
    uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
    for (int r = 0; r < kPhiloxRounds; ++r, k0 += kPhiloxW0, k1 += kPhiloxW1) {
      for (size_t l = 0; l < kLanes; ++l) {
        const uint64_t p0 = static_cast<uint64_t>(kPhiloxM0) * c0[l];
        const uint64_t p1 = static_cast<uint64_t>(kPhiloxM1) * c2[l];
        const uint32_t n0 = static_cast<uint32_t>(p1 >> 32) ^ c1[l] ^ k0;
        const uint32_t n2 = static_cast<uint32_t>(p0 >> 32) ^ c3[l] ^ k1;
        c1[l] = static_cast<uint32_t>(p1);
        c3[l] = static_cast<uint32_t>(p0);
        c0[l] = n0;
        c2[l] = n2;
      }
    }
    for (size_t l = 0; l < kLanes; ++l) {
      out[4 * l] = c0[l];
      out[4 * l + 1] = c1[l];
      out[4 * l + 2] = c2[l];
      out[4 * l + 3] = c3[l];
    }
  }
}

void philox_block(const uint32_t* counter, uint32_t k0, uint32_t k1, uint32_t* out) {
  uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
  for (int r = 0; r < kPhiloxRounds; ++r, k0 += kPhiloxW0, k1 += kPhiloxW1) {
    const uint64_t p0 = static_cast<uint64_t>(kPhiloxM0) * c0;
    const uint64_t p1 = static_cast<uint64_t>(kPhiloxM1) * c2;
    c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<uint32_t>(p1);
    c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<uint32_t>(p0);
  }
  out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

constexpr size_t kFewWords = 1 << 13;  // made in about 10 microseconds

nb::object philox(uint64_t seed, uint64_t seed2, int64_t start, int64_t n) {
  const uint64_t from = length(start, "start");
  const size_t count = length(n, "n");
  Fresh<uint32_t> out(count, "uint32");
  {
    const HandedOver release(count > kFewWords);
    philox_words(seed, seed2, from, count, out.data());
  }
  return out.array;
}

nb::object philox_blocks(Matrix<const uint32_t> counters, Matrix<const uint32_t> keys) {
  const size_t n = counters.shape(0);
  if (counters.shape(1) != 4 || keys.shape(1) != 2 || keys.shape(0) != n)
    throw std::invalid_argument("counters must be [n, 4] and keys [n, 2]");
  nb::object array = empty(nb::make_tuple(n, 4), nb::str("uint32"));
  {
    Bytes bytes(array, true);
    uint32_t* out = reinterpret_cast<uint32_t*>(bytes.data());
    const uint32_t* c = counters.data();
    const uint32_t* k = keys.data();
    const HandedOver release;
    for (size_t i = 0; i < n; ++i) philox_block(c + 4 * i, k[2 * i], k[2 * i + 1], out + 4 * i);
  }
  return array;
}

// The Simon block cipher on a block of 2 * half bits, walked until the value is back in [0, max]. From 2**60 on the bits
// are counted as TensorFlow does, in floating point, which may be too few for some of the indices.
class Simon {
 public:
  Simon(uint32_t k0, uint32_t k1, uint32_t k2, uint64_t max, size_t rounds) {
    int bits = 0;
    if (max >> 60)
      bits = static_cast<int>(std::ceil(std::log2(static_cast<double>(max))));
    else
      while ((max >> bits) != 0) ++bits;
    bits = std::max(16, bits + (bits & 1));
    half_ = bits / 2;
    mask_ = static_cast<uint32_t>((uint64_t{1} << half_) - 1);
    const uint32_t constant = 0xfffffffcu & mask_;
    uint32_t z = static_cast<uint32_t>(0x7369f885192c0ef5u) & mask_;
    keys_ = {k0 & mask_, k1 & mask_, k2 & mask_};
    for (size_t i = 3; i < rounds; ++i, z >>= 1) {
      const uint32_t last = keys_[i - 1];
      keys_.push_back(constant ^ (z & 1) ^ keys_[i - 3] ^ rotate(last, half_ - 3) ^ rotate(last, half_ - 4));
    }
    keys_.resize(rounds);
  }

  uint64_t operator()(uint64_t value, uint64_t max) const {
    do {
      uint32_t left = static_cast<uint32_t>(value >> half_) & mask_, right = static_cast<uint32_t>(value) & mask_;
      for (size_t i = 0; i < keys_.size(); i += 2) {
        left ^= mix(right) ^ keys_[i];
        right ^= mix(left) ^ keys_[i + 1];
      }
      value = (static_cast<uint64_t>(left) << half_) | right;
    } while (value > max);
    return value;
  }

 private:
  uint32_t rotate(uint32_t x, int n) const { return ((x << n) | (x >> (half_ - n))) & mask_; }
  uint32_t mix(uint32_t x) const { return (rotate(x, 1) & rotate(x, 8 % half_)) ^ rotate(x, 2); }

  int half_;
  uint32_t mask_;
  std::vector<uint32_t> keys_;
};

nb::object permute(Vector<const int64_t> index, uint32_t k0, uint32_t k1, uint32_t k2, nb::int_ max_index,
                   int64_t rounds) {
  const uint64_t max = PyLong_AsUnsignedLongLong(max_index.ptr());
  if (PyErr_Occurred()) {
    PyErr_Clear();
    throw std::invalid_argument("max_index must be from 0 to 2**64 - 1, got " +
                                std::string(nb::str(max_index).c_str()));
  }
  if (rounds < 4 || rounds % 2 != 0 || rounds > 1024)
    throw std::invalid_argument("rounds must be an even number from 4 to 1024, got " + std::to_string(rounds));
  const size_t n = index.shape(0);
  const int64_t* in = index.data();
  Fresh<int64_t> out(n, "int64");
  bool bad = false;
  {
    const HandedOver release;
    for (size_t i = 0; i < n; ++i) bad |= static_cast<uint64_t>(in[i]) > max;
    if (!bad) {
      const Simon simon(k0, k1, k2, max, static_cast<size_t>(rounds));
      for (size_t i = 0; i < n; ++i) out.data()[i] = max == 0 ? 0 : static_cast<int64_t>(simon(in[i], max));
    }
  }
  if (bad) throw nb::index_error(("an index is outside [0, " + std::to_string(max) + "]").c_str());
  return out.array;
}

}  // namespace

void philox_words(uint64_t seed, uint64_t seed2, uint64_t start, size_t n, uint32_t* out) {
  constexpr size_t group = 4 * kLanes;
  uint64_t block = start / 4;
  uint32_t edge[group];
  // The words before the first whole block and after the last whole group go through `edge`.
  if (start % 4 != 0 && n > 0) {
    const uint32_t counter[4] = {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                                 static_cast<uint32_t>(seed2), static_cast<uint32_t>(seed2 >> 32)};
    philox_block(counter, static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32), edge);
    const size_t skip = start % 4, take = std::min<size_t>(n, 4 - skip);
    std::memcpy(out, edge + skip, take * sizeof(uint32_t));
    out += take, n -= take, ++block;
  }
  const size_t groups = n / group;
  philox_lanes(seed, seed2, block, groups, out);
  out += groups * group, n -= groups * group, block += groups * kLanes;
  if (n > 0) {
    philox_lanes(seed, seed2, block, 1, edge);
    std::memcpy(out, edge, n * sizeof(uint32_t));
  }
}

void register_random(nb::module_& m) {
  using namespace nb::literals;
  m.def("philox", &philox, "seed"_a, "seed2"_a, "start"_a, "n"_a);
  m.def("philox_blocks", &philox_blocks, "counters"_a.noconvert(), "keys"_a.noconvert());
  m.def("permute", &permute, "index"_a.noconvert(), "k0"_a, "k1"_a, "k2"_a, "max_index"_a, "rounds"_a);
}

}  // namespace feedline
