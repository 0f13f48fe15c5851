// Numbers in text, with the rules of C's strtof and strtod in the "C" locale, whatever the program's locale is.
#pragma once

#include <locale.h>
#include <stdlib.h>
#if defined(__APPLE__)
#include <xlocale.h>
#endif

#include <cfloat>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

namespace feedline {

inline bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
inline unsigned digit(char c) { return static_cast<unsigned>(static_cast<unsigned char>(c)) - '0'; }

inline void trim(const char*& at, const char*& end) {
  while (at != end && is_space(*at)) ++at;
  while (at != end && is_space(end[-1])) --end;
}

// Made once and never freed or changed: what a locale needs to be passed at all.
#if defined(_WIN32)
inline _locale_t plain_locale() {
  static const _locale_t locale = _create_locale(LC_ALL, "C");
  return locale;
}
inline float to_float(const char* text, char** end) { return _strtof_l(text, end, plain_locale()); }
inline double to_double(const char* text, char** end) { return _strtod_l(text, end, plain_locale()); }
#else
inline locale_t plain_locale() {
  static const locale_t locale = newlocale(LC_ALL_MASK, "C", static_cast<locale_t>(nullptr));
  return locale;
}
inline float to_float(const char* text, char** end) { return strtof_l(text, end, plain_locale()); }
inline double to_double(const char* text, char** end) { return strtod_l(text, end, plain_locale()); }
#endif

inline void convert(const char* text, char** end, float& out) { out = to_float(text, end); }
inline void convert(const char* text, char** end, double& out) { out = to_double(text, end); }

// Any number: infinite, hexadecimal, with hundreds of digits. `at` to `end` has no spaces around it and is not empty.
template <typename T>
bool parse_any(const char* at, const char* end, T& out) {
  const std::string text(at, end);  // the C function needs a zero at the end
  char* stop = nullptr;
  convert(text.c_str(), &stop, out);
  return stop == text.c_str() + text.size();
}

inline bool round_to(double value, double& out) {
  out = value;
  return true;
}

// A double that was rounded once may be rounded again, unless it is in the middle between two floats or is no plain
// float: then only the text can tell.
inline bool round_to(double value, float& out) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x1FFFFFFF) == 0x10000000) return false;
  if (value != 0 && !(value >= FLT_MIN && value <= FLT_MAX)) return false;
  out = static_cast<float>(value);
  return true;
}

// A float or double. Up to 2^53 in digits, times or divided by a power of ten that is itself exact, is one operation on
// exact values and so rounds as it must; that is nearly every number in a file.
template <typename T>
bool parse_number(const char* at, const char* end, T& out) {
  static constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                       1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  trim(at, end);
  if (at == end) return false;
  const char* p = at;
  const bool negative = *p == '-';
  if (negative || *p == '+') ++p;
  const char* const first = p;
  uint64_t digits = 0;
  for (; p != end && digit(*p) < 10; ++p) digits = digits * 10 + digit(*p);
  int64_t count = p - first, exponent = 0;
  if (p != end && *p == '.') {
    const char* const point = ++p;
    for (; p != end && digit(*p) < 10; ++p) digits = digits * 10 + digit(*p);
    exponent = point - p;
    count -= exponent;
  }
  if (count == 0 || count > 19) return parse_any(at, end, out);  // 19 digits fit 64 bits
  if (p != end && (*p == 'e' || *p == 'E')) {
    ++p;
    const bool down = p != end && *p == '-';
    if (p != end && (down || *p == '+')) ++p;
    if (p == end || end - p > 4) return parse_any(at, end, out);
    int64_t power = 0;
    for (; p != end && digit(*p) < 10; ++p) power = power * 10 + digit(*p);
    exponent += down ? -power : power;
  }
  if (p != end || digits > (uint64_t{1} << 53) || exponent < -22 || exponent > 22) return parse_any(at, end, out);
  const double whole = static_cast<double>(digits);
  if (!round_to(exponent < 0 ? whole / kPowers[-exponent] : whole * kPowers[exponent], out))
    return parse_any(at, end, out);
  if (negative) out = -out;
  return true;
}

template <typename T>
bool parse_integer(const char* at, const char* end, T& out) {
  trim(at, end);
  const bool negative = at != end && *at == '-';
  if (at != end && (negative || *at == '+')) ++at;
  if (at == end) return false;
  const uint64_t most = static_cast<uint64_t>(std::numeric_limits<T>::max()) + negative;
  uint64_t value = 0;
  for (; at != end; ++at) {
    const unsigned d = digit(*at);
    if (d > 9 || value > (most - d) / 10) return false;
    value = value * 10 + d;
  }
  out = static_cast<T>(negative ? 0 - value : value);
  return true;
}

}  // namespace feedline
