#include "crc32c.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "array.h"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define FEEDLINE_CRC_SSE42 1
#include <nmmintrin.h>
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
  for (; n > 0; ++p, --n) sum = _mm_crc32_u8(sum, *p);
  return sum;
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
  nb::gil_scoped_release release;
  return ~extend(p, bytes.size(), ~crc);
}

Extend best() {
  static const Extend chosen = has_instruction() ? by_instruction : by_table;
  return chosen;
}

uint32_t crc32c(nb::handle data, uint32_t crc) { return sum_of(data, crc, best()); }

// What a processor without the instruction runs; here so that it can be tested on one that has it.
uint32_t crc32c_by_table(nb::handle data, uint32_t crc) { return sum_of(data, crc, by_table); }

}  // namespace

uint32_t crc32c_of(const unsigned char* p, size_t n, uint32_t crc) { return ~best()(p, n, ~crc); }

void crc32c_of_each(const unsigned char* const* p, const size_t* n, uint32_t* sums) {
  size_t done = 0;
  uint64_t wide[kSums];
  std::fill_n(wide, kSums, uint64_t{0xFFFFFFFF});
#if defined(FEEDLINE_CRC_SSE42)
  if (has_instruction()) {
    const size_t words = *std::min_element(n, n + kSums) / 8;
    words_of_each(p, words, wide);
    done = 8 * words;
  }
#endif
  for (size_t k = 0; k < kSums; ++k) sums[k] = ~best()(p[k] + done, n[k] - done, static_cast<uint32_t>(wide[k]));
}

void register_crc32c(nb::module_& m) {
  using namespace nb::literals;
  m.def("crc32c", &crc32c, "data"_a, "crc"_a = 0);
  m.def("_crc32c_by_table", &crc32c_by_table, "data"_a, "crc"_a = 0);
}

}  // namespace feedline
