// Protobuf's wire format, read as TensorFlow's own fast parser reads it. Input is hostile.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace feedline {

constexpr unsigned char kVarint = 0, kFixed64 = 1, kDelimited = 2, kFixed32 = 5;
constexpr unsigned char kEntry = 0x0A, kKey = 0x0A, kValue = 0x12;

// What is left of a message. Each function reads nothing beyond `end` and is false where the bytes are not as expected.
struct Wire {
  const unsigned char* at;
  const unsigned char* end;

  bool empty() const { return at == end; }
  size_t left() const { return static_cast<size_t>(end - at); }

  bool tag(unsigned char expected) {
    if (at == end || *at != expected) return false;
    ++at;
    return true;
  }

  bool varint(uint64_t& value) {
    if (at != end && *at < 0x80) {
      value = *at++;
      return true;
    }
    value = 0;
    for (unsigned shift = 0; shift < 70 && at != end; shift += 7) {
      const unsigned char byte = *at++;
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;  // of the tenth byte only the lowest bit counts
      if (byte < 0x80) return true;
    }
    return false;
  }

  bool piece(Wire& out) {
    uint64_t size;
    if (!varint(size) || size > left()) return false;
    out = {at, at + size};
    at += size;
    return true;
  }

  // A piece that ends here at the latest: around features TensorFlow does not mind a length that is too long.
  bool clipped(Wire& out) {
    uint64_t size;
    if (!varint(size)) return false;
    size = std::min<uint64_t>(size, left());
    out = {at, at + size};
    at += size;
    return true;
  }

  // Passes over a field that nobody knows.
  bool skip() {
    uint64_t tag, ignored;
    Wire inside{};
    if (!varint(tag)) return false;
    const size_t fixed = (tag & 7) == kFixed32 ? 4 : 8;
    switch (tag & 7) {
      case kVarint: return varint(ignored);
      case kDelimited: return clipped(inside);
      case kFixed32:
      case kFixed64:
        if (left() < fixed) return false;
        at += fixed;
        return true;
      default: return false;
    }
  }

  // An entry of a map: a key and a value; unless they must be `ordered`, in any order, or one of them twice.
  bool entry(Wire& key, Wire& value, bool ordered) {
    Wire inside{};
    if (!tag(kEntry) || !clipped(inside)) return false;
    key = value = {inside.at, inside.at};
    for (int i = 0; i < 2; ++i) {
      if (inside.empty()) return false;
      const unsigned char which = *inside.at++;
      if (which != kKey && which != kValue) return false;
      if (ordered && which != (i == 0 ? kKey : kValue)) return false;
      if (!inside.piece(which == kKey ? key : value)) return false;
    }
    return inside.empty();
  }
};

template <typename T>
T load(const unsigned char* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

}  // namespace feedline
