// CRC-32C (Castagnoli), the checksum of TFRecord files.
#pragma once

#include <cstddef>
#include <cstdint>

namespace feedline {

// The sum of `n` bytes; `crc` is that of what came before them.
uint32_t crc32c_of(const unsigned char* p, size_t n, uint32_t crc = 0);

// The sums of kSums pieces at once: the instruction takes three cycles but a new one can begin every cycle.
constexpr size_t kSums = 4;
void crc32c_of_each(const unsigned char* const* p, const size_t* n, uint32_t* sums);

// As TFRecord files store it: turned and shifted, so that the checksum of a checksum is an ordinary number.
inline uint32_t masked(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u; }
inline uint32_t unmasked(uint32_t sum) { return ((sum - 0xA282EAD8u) >> 17) | ((sum - 0xA282EAD8u) << 15); }

}  // namespace feedline
