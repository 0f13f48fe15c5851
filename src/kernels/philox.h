// Philox4x32-10 as TensorFlow uses it: key = seed, upper half of the counter = seed2, lower half = block number.
#pragma once

#include <cstddef>
#include <cstdint>

namespace feedline {

constexpr uint32_t kPhiloxM0 = 0xD2511F53u, kPhiloxM1 = 0xCD9E8D57u;
constexpr uint32_t kPhiloxW0 = 0x9E3779B9u, kPhiloxW1 = 0xBB67AE85u;
constexpr int kPhiloxRounds = 10;

// Words start, start+1, ... start+n-1 of the stream (seed, seed2).
void philox_words(uint64_t seed, uint64_t seed2, uint64_t start, size_t n, uint32_t* out);

// x % m for one m and many x, without a division (Lemire, Kaser, Kurz: Faster remainder by direct computation).
// Where m is beyond 32 bits a 32-bit x is its own remainder.
class Remainder {
 public:
  explicit Remainder(uint64_t m) : m_(m), small_(m <= 0xffffffffu), inverse_(small_ ? UINT64_MAX / m + 1 : 0) {}
  uint32_t operator()(uint32_t x) const {
    if (!small_) return x;
#if defined(__SIZEOF_INT128__)
    return static_cast<uint32_t>((static_cast<unsigned __int128>(inverse_ * x) * m_) >> 64);
#else
    return static_cast<uint32_t>(x % m_);
#endif
  }

 private:
  uint64_t m_;
  bool small_;
  uint64_t inverse_;
};

// x % m where m is another one each time.
inline uint32_t remainder_once(uint32_t x, uint64_t m) {
  return m <= 0xffffffffu ? x % static_cast<uint32_t>(m) : x;
}

}  // namespace feedline
