// The compressed pixels of GIF files.
#include <array>
#include <cstring>

#include "array.h"

namespace feedline {
namespace {

constexpr int kCodes = 4096;

// A code stands for the string of another code and one more byte. Strings are written from their end.
struct Table {
  std::array<uint16_t, kCodes> before;
  std::array<uint8_t, kCodes> last, first;
  std::array<uint32_t, kCodes> size;
};

// Gives the number of bytes written: fewer than `room` where the data end or go wrong.
size_t unpack(const uint8_t* in, size_t n, int bits, uint8_t* out, size_t room) {
  Table table;
  const int clear = 1 << bits, end = clear + 1;
  for (int i = 0; i < clear; ++i)
    table.last[i] = table.first[i] = static_cast<uint8_t>(i), table.size[i] = 1, table.before[i] = 0;
  int next = end + 1, width = bits + 1, previous = -1, held = 0;
  uint32_t buffer = 0;
  size_t at = 0, done = 0;
  while (done < room) {
    while (held < width) {
      if (at == n) return done;
      buffer |= static_cast<uint32_t>(in[at++]) << held;
      held += 8;
    }
    const int code = static_cast<int>(buffer & ((1u << width) - 1));
    buffer >>= width;
    held -= width;
    if (code == end) return done;
    if (code == clear) {
      next = end + 1, width = bits + 1, previous = -1;
      continue;
    }
    if (code > next || (previous < 0 && code > end)) return done;
    if (previous >= 0 && next < kCodes) {
      table.before[next] = static_cast<uint16_t>(previous);
      table.first[next] = table.first[previous];
      table.last[next] = table.first[code == next ? previous : code];
      table.size[next] = table.size[previous] + 1;
      ++next;
      if (next == 1 << width && width < 12) ++width;
    }
    const size_t size = table.size[code];
    int now = code;
    for (size_t i = size; i-- > 0; now = table.before[now])
      if (done + i < room) out[done + i] = table.last[now];
    done = size < room - done ? done + size : room;
    previous = code;
  }
  return done;
}

nb::tuple gif_pixels(nb::object data, int64_t bits, int64_t size) {
  if (bits < 1 || bits > 11) throw std::invalid_argument("bits must be from 1 to 11");
  const Bytes source(data, false);
  const Fresh<uint8_t> out(length(size, "size"), "uint8");
  size_t done;
  {
    const HandedOver release;
    std::memset(out.data(), 0, out.bytes.size());
    done = unpack(reinterpret_cast<const uint8_t*>(source.data()), source.size(), static_cast<int>(bits), out.data(),
                  out.bytes.size());
  }
  return nb::make_tuple(out.array, done);
}

}  // namespace

void register_gif(nb::module_& m) {
  using namespace nb::literals;
  m.def("gif_pixels", &gif_pixels, "data"_a, "bits"_a, "size"_a);
}

}  // namespace feedline
