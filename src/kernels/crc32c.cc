#include "crc32c.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "array.h"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define FEEDLINE_CRC_SSE42 1
#include <immintrin.h>
#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
#define FEEDLINE_CRC_ARM 1
#include <arm_acle.h>
#endif

namespace feedline {
namespace {

constexpr uint32_t kPolynomial = 0x82F63B78;  // reflected

using Table = std::array<std::array<uint32_t, 256>, 8>;

// table[0] advances the sum by one byte, table[k] by one byte with k zero bytes after it.
Table make_table() {
  Table table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t sum = i;
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? kPolynomial : 0);
    table[0][i] = sum;
  }
  for (size_t k = 1; k < 8; ++k)
    for (size_t i = 0; i < 256; ++i) table[k][i] = (table[k - 1][i] >> 8) ^ table[0][table[k - 1][i] & 0xFF];
  return table;
}

uint32_t by_table(const unsigned char* p, size_t n, uint32_t sum) {
  static const Table table = make_table();
  for (; n >= 8; p += 8, n -= 8) {
    sum ^= static_cast<uint32_t>(p[0]) | static_cast<uint32_t>(p[1]) << 8 | static_cast<uint32_t>(p[2]) << 16 |
           static_cast<uint32_t>(p[3]) << 24;
    sum = table[7][sum & 0xFF] ^ table[6][sum >> 8 & 0xFF] ^ table[5][sum >> 16 & 0xFF] ^ table[4][sum >> 24] ^
          table[3][p[4]] ^ table[2][p[5]] ^ table[1][p[6]] ^ table[0][p[7]];
  }
  for (; n > 0; ++p, --n) sum = (sum >> 8) ^ table[0][(sum ^ *p) & 0xFF];
  return sum;
}

#if defined(FEEDLINE_CRC_SSE42)
__attribute__((target("sse4.2"))) uint32_t by_instruction(const unsigned char* p, size_t n, uint32_t sum) {
  uint64_t wide = sum;
  for (; n >= 8; p += 8, n -= 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    wide = _mm_crc32_u64(wide, word);
  }
  sum = static_cast<uint32_t>(wide);
  if ((n & 4) != 0) {
    uint32_t word;
    std::memcpy(&word, p, 4);
    sum = _mm_crc32_u32(sum, word);
    p += 4;
  }
  if ((n & 2) != 0) {
    uint16_t word;
    std::memcpy(&word, p, 2);
    sum = _mm_crc32_u16(sum, word);
    p += 2;
  }
  return (n & 1) != 0 ? _mm_crc32_u8(sum, *p) : sum;
}

__attribute__((target("sse4.2"))) void words_of_each(const unsigned char* const* p, size_t words, uint64_t* sums) {
  uint64_t wide[kSums];
  std::copy_n(sums, kSums, wide);
  for (size_t at = 0; at < 8 * words; at += 8)
    for (size_t k = 0; k < kSums; ++k) {
      uint64_t word;
      std::memcpy(&word, p[k] + at, 8);
      wide[k] = _mm_crc32_u64(wide[k], word);
    }
  std::copy_n(wide, kSums, sums);
}
bool has_instruction() { return __builtin_cpu_supports("sse4.2") != 0; }

// x^n modulo the polynomial, reflected: bit 31 is x^0.
uint32_t power_of_x(unsigned n) {
  uint32_t power = 1u << 31;
  for (; n > 0; --n) power = (power >> 1) ^ ((power & 1) != 0 ? kPolynomial : 0);
  return power;
}

// Factors that carry 16 bytes on by so many bytes: one for their first half, one for their second. A product of two
// reflected numbers comes out one bit low, and a factor of 32 bits lies 32 bits low in its word: hence the 33.
struct Carry {
  explicit Carry(unsigned bytes) : first(power_of_x(8 * bytes + 64 - 33)), second(power_of_x(8 * bytes - 33)) {}
  int64_t first, second;
};

#define FEEDLINE_FOLDING __attribute__((target("avx512f,avx512vl,vpclmulqdq,pclmul,sse4.2")))

FEEDLINE_FOLDING inline __m512i carried(__m512i sum, __m512i factors, __m512i more) {
  const __m512i first = _mm512_clmulepi64_epi128(sum, factors, 0x00);
  return _mm512_ternarylogic_epi64(first, _mm512_clmulepi64_epi128(sum, factors, 0x11), more, 0x96);
}

FEEDLINE_FOLDING inline __m512i four_times(const Carry& c) {
  return _mm512_set_epi64(c.second, c.first, c.second, c.first, c.second, c.first, c.second, c.first);
}

// The sum as the remainder of a long division, 256 bytes at a time: about three times as fast as the instruction.
constexpr size_t kLine = 64, kStride = 4 * kLine, kWorthFolding = 2 * kStride;

FEEDLINE_FOLDING uint32_t by_folding(const unsigned char* p, size_t n, uint32_t sum) {
  if (n < kWorthFolding) return by_instruction(p, n, sum);
  static const Carry stride(kStride), line(kLine), three(48), two(32), one(16);
  __m512i sums[4];
  for (size_t k = 0; k < 4; ++k) sums[k] = _mm512_loadu_si512(p + k * kLine);
  sums[0] = _mm512_xor_si512(sums[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(sum))));
  const __m512i by_stride = four_times(stride), by_line = four_times(line);
  for (p += kStride, n -= kStride; n >= kStride; p += kStride, n -= kStride)
    for (size_t k = 0; k < 4; ++k) sums[k] = carried(sums[k], by_stride, _mm512_loadu_si512(p + k * kLine));
  __m512i all = sums[0];
  for (size_t k = 1; k < 4; ++k) all = carried(all, by_line, sums[k]);
  for (; n >= kLine; p += kLine, n -= kLine) all = carried(all, by_line, _mm512_loadu_si512(p));
  const __m512i to_last =
      _mm512_set_epi64(0, 0, one.second, one.first, two.second, two.first, three.second, three.first);
  alignas(64) uint64_t words[8], last[8];
  _mm512_store_si512(last, all);
  _mm512_store_si512(words, carried(all, to_last, _mm512_setzero_si512()));
  uint64_t wide = _mm_crc32_u64(0, words[0] ^ words[2] ^ words[4] ^ last[6]);
  wide = _mm_crc32_u64(wide, words[1] ^ words[3] ^ words[5] ^ last[7]);
  return by_instruction(p, n, static_cast<uint32_t>(wide));
}

bool can_fold() {
  static const bool can =
      __builtin_cpu_supports("vpclmulqdq") != 0 && __builtin_cpu_supports("avx512vl") != 0 && has_instruction();
  return can;
}
#elif defined(FEEDLINE_CRC_ARM)
uint32_t by_instruction(const unsigned char* p, size_t n, uint32_t sum) {
  for (; n >= 8; p += 8, n -= 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    sum = __crc32cd(sum, word);
  }
  for (; n > 0; ++p, --n) sum = __crc32cb(sum, *p);
  return sum;
}
bool has_instruction() { return true; }
#else
constexpr auto by_instruction = by_table;
bool has_instruction() { return false; }
#endif

using Extend = uint32_t (*)(const unsigned char*, size_t, uint32_t);

uint32_t sum_of(nb::handle data, uint32_t crc, Extend extend) {
  const Bytes bytes(data, false);
  const auto* p = reinterpret_cast<const unsigned char*>(bytes.data());
  if (bytes.size() < kWorthAThread) return ~extend(p, bytes.size(), ~crc);
  const HandedOver release;
  return ~extend(p, bytes.size(), ~crc);
}

Extend best() {
#if defined(FEEDLINE_CRC_SSE42)
  static const Extend chosen = can_fold() ? by_folding : has_instruction() ? by_instruction : by_table;
#else
  static const Extend chosen = has_instruction() ? by_instruction : by_table;
#endif
  return chosen;
}

uint32_t crc32c(nb::handle data, uint32_t crc) { return sum_of(data, crc, best()); }

// What other processors run; here so that it can be tested on one that has everything.
uint32_t crc32c_by_table(nb::handle data, uint32_t crc) { return sum_of(data, crc, by_table); }
uint32_t crc32c_by_instruction(nb::handle data, uint32_t crc) {
  return sum_of(data, crc, has_instruction() ? by_instruction : by_table);
}

}  // namespace

uint32_t crc32c_of(const unsigned char* p, size_t n, uint32_t crc) { return ~best()(p, n, ~crc); }

constexpr size_t kWorthOneByOne = 1 << 10;

void crc32c_of_each(const unsigned char* const* p, const size_t* n, uint32_t* sums) {
  size_t done = 0;
  uint64_t wide[kSums];
  std::fill_n(wide, kSums, uint64_t{0xFFFFFFFF});
#if defined(FEEDLINE_CRC_SSE42)
  const size_t least = *std::min_element(n, n + kSums);
  // Long pieces are folded one after another, which keeps them in the nearest cache.
  if (has_instruction() && (least < kWorthOneByOne || !can_fold())) {
    const size_t words = least / 8;
    words_of_each(p, words, wide);
    done = 8 * words;
  }
#endif
  for (size_t k = 0; k < kSums; ++k) sums[k] = ~best()(p[k] + done, n[k] - done, static_cast<uint32_t>(wide[k]));
}

void register_crc32c(nb::module_& m) {
  using namespace nb::literals;
  m.def("crc32c", &crc32c, "data"_a, "crc"_a = 0);
  m.def("_crc32c_by_instruction", &crc32c_by_instruction, "data"_a, "crc"_a = 0);
  m.def("_crc32c_by_table", &crc32c_by_table, "data"_a, "crc"_a = 0);
}

}  // namespace feedline
