// What an index of a TFRecord file is made with: a scan that only looks at headers, and reads of many places at once.
#include <algorithm>
#include <cerrno>
#include <limits>
#include <vector>

#include "array.h"
#include "crc32c.h"

#if defined(_WIN32)
#include <io.h>
#include <windows.h>
#else
#include <unistd.h>
#endif

namespace feedline {
namespace {

constexpr size_t kLength = 8, kHeader = 12, kAround = 16;
constexpr size_t kMostAtOnce = size_t{1} << 30;  // some systems read no more than 2 GiB at a time

// Why there are no more lengths; the numbers are those of tfrecord_frames.
enum Stop : int { kGoOn = 0, kHeaderCut = 1, kLengthDamaged = 2, kDataCut = 3 };

template <typename T>
T little(const unsigned char* p) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value |= static_cast<T>(p[i]) << (8 * i);
  return value;
}

struct Hops {
  std::vector<int64_t> lengths;
  size_t after = 0;  // where the next header is, from the beginning of the data; possibly beyond their end
  Stop stop = kGoOn;
  uint64_t length = 0;
};

// Records whose headers are among the n bytes at p, in a file that has `left` bytes from there on.
Hops hop(const unsigned char* p, size_t n, size_t at, size_t left) {
  Hops hops;
  while (at < left) {
    if (left - at < kHeader) {
      hops.stop = kHeaderCut;
      break;
    }
    if (at > n || n - at < kHeader) break;
    const uint64_t length = little<uint64_t>(p + at);
    if (masked(crc32c_of(p + at, kLength)) != little<uint32_t>(p + at + kLength)) {
      hops.stop = kLengthDamaged;
      break;
    }
    if (left - at < kAround || length > left - at - kAround) {
      hops.stop = kDataCut;
      hops.length = length;
      break;
    }
    hops.lengths.push_back(static_cast<int64_t>(length));
    at += static_cast<size_t>(length) + kAround;
  }
  hops.after = at;
  return hops;
}

nb::object tfrecord_lengths(nb::handle data, int64_t start, int64_t left) {
  const Bytes buffer(data, false);
  const size_t at = length(start, "start"), size = length(left, "left");
  const auto* p = reinterpret_cast<const unsigned char*>(buffer.data());
  Hops hops;
  {
    const HandedOver release;
    hops = hop(p, std::min(buffer.size(), size), at, size);
  }
  Fresh<int64_t> lengths(hops.lengths.size(), "int64");
  std::copy(hops.lengths.begin(), hops.lengths.end(), lengths.data());
  return nb::make_tuple(lengths.array, hops.after, static_cast<int>(hops.stop), hops.length);
}

// One read at a place of its own, so that threads do not share a position: bytes read, 0 at the end, below 0 on failure.
int64_t read_at(int fd, char* out, size_t size, int64_t at) {
  size = std::min(size, kMostAtOnce);
#if defined(_WIN32)
  OVERLAPPED place = {};
  place.Offset = static_cast<DWORD>(static_cast<uint64_t>(at));
  place.OffsetHigh = static_cast<DWORD>(static_cast<uint64_t>(at) >> 32);
  DWORD got = 0;
  if (ReadFile(reinterpret_cast<HANDLE>(_get_osfhandle(fd)), out, static_cast<DWORD>(size), &got, &place)) return got;
  if (GetLastError() == ERROR_HANDLE_EOF) return 0;
  errno = EIO;
  return -1;
#else
  ssize_t got;
  do got = pread(fd, out, size, static_cast<off_t>(at));
  while (got < 0 && errno == EINTR);
  return got;
#endif
}

// Reads all of it; the number of bytes that could be read, and what the system said where it failed.
size_t read_whole(int fd, char* out, size_t size, int64_t at, int* failure) {
  size_t done = 0;
  while (done < size) {
    const int64_t got = read_at(fd, out + done, size - done, at + static_cast<int64_t>(done));
    if (got < 0) *failure = errno;
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

nb::object read_spans(Vector<const int64_t> files, Vector<const int64_t> starts, Vector<const int64_t> sizes) {
  const size_t n = starts.shape(0);
  if (sizes.shape(0) != n || files.shape(0) != n)
    throw std::invalid_argument("files, starts and sizes must have the same length");
  // Copies, checked: another thread may write to the arrays.
  const std::vector<int64_t> in(files.data(), files.data() + n), from(starts.data(), starts.data() + n),
      many(sizes.data(), sizes.data() + n);
  int64_t total = 0;
  for (size_t i = 0; i < n; ++i) {
    if (in[i] < 0 || in[i] > std::numeric_limits<int>::max() || from[i] < 0 || many[i] < 0 || many[i] > std::numeric_limits<int64_t>::max() - std::max(total, from[i]))
      throw nb::index_error(("span " + std::to_string(i) + " is not inside a file").c_str());
    total += many[i];
  }
  Fresh<char> data(static_cast<size_t>(total), "uint8");
  size_t whole = 0;
  int failure = 0;
  {
    const HandedOver release;
    char* out = data.data();
    while (whole < n) {
      // Neighbours in the file are read together.
      size_t last = whole + 1;
      int64_t size = many[whole];
      for (; last < n && in[last] == in[whole] && from[last] == from[whole] + size; ++last) size += many[last];
      const size_t got = read_whole(static_cast<int>(in[whole]), out, static_cast<size_t>(size), from[whole], &failure);
      if (got < static_cast<size_t>(size)) {
        for (size_t left = got; whole < last && static_cast<size_t>(many[whole]) <= left; ++whole)
          left -= static_cast<size_t>(many[whole]);
        break;
      }
      out += got;
      whole = last;
    }
  }
  return nb::make_tuple(data.array, whole, failure);
}

}  // namespace

void register_tfrecord_index(nb::module_& m) {
  using namespace nb::literals;
  m.def("tfrecord_lengths", &tfrecord_lengths, "data"_a, "start"_a, "left"_a);
  m.def("read_spans", &read_spans, "files"_a.noconvert(), "starts"_a.noconvert(), "sizes"_a.noconvert());
}

}  // namespace feedline
