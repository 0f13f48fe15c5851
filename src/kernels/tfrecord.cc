// TFRecord frames: length (8 bytes), its checksum (4), data, their checksum (4), little-endian.
#if defined(__unix__) || defined(__APPLE__)
#define FEEDLINE_POSIX 1
#include <sys/stat.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "crc32c.h"
#include "strings.h"
#include "team.h"

namespace feedline {
namespace {

constexpr size_t kLength = 8, kChecksum = 4, kHeader = kLength + kChecksum, kAround = kHeader + kChecksum;

constexpr uint64_t kBytesPerThread = 1 << 19;  // a thread pays where it has at least so much to read

// Why there are no more records; the numbers are those of the reference.
enum Stop : int { kEnough = 0, kHeaderCut = 1, kLengthDamaged = 2, kDataCut = 3, kDataDamaged = 4 };

template <typename T>
T load(const unsigned char* p) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value |= static_cast<T>(p[i]) << (8 * i);
  return value;
}

template <typename T>
void store(unsigned char* p, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) p[i] = static_cast<unsigned char>(value >> (8 * i));
}

struct Frames {
  std::vector<int64_t> offsets;  // where the data of each record begin, and where those of the next one would
  Stop stop = kEnough;
  uint64_t length = 0;  // of the record at which it stopped, where that is known

  // How many of the records from `first` on have the checksum they should.
  size_t good(const unsigned char* p, size_t first, size_t count) const {
    const unsigned char* data[kSums];
    size_t sizes[kSums];
    uint32_t sums[kSums];
    for (size_t k = 0; k < kSums; ++k) {
      const size_t i = first + std::min(k, count - 1);
      data[k] = p + offsets[i];
      sizes[k] = static_cast<size_t>(offsets[i + 1] - offsets[i]) - kAround;
    }
    crc32c_of_each(data, sizes, sums);
    for (size_t k = 0; k < count; ++k)
      if (load<uint32_t>(data[k] + sizes[k]) != masked(sums[k])) return k;
    return count;
  }
};

// The records from `at` on, up to the first that begins at `end` or later.
Frames scan(const unsigned char* p, size_t n, size_t at, size_t want, size_t end = SIZE_MAX) {
  Frames frames;
  frames.offsets.reserve(std::min({want, (n - at) / kAround, size_t{4096}}) + 1);
  frames.offsets.push_back(static_cast<int64_t>(at + kHeader));
  size_t checked = 0;
  for (size_t found = 0; found < want && at < end; ++found) {
    if (n - at < kHeader) {
      frames.stop = kHeaderCut;
      break;
    }
    const uint64_t length = load<uint64_t>(p + at);
    if (masked(crc32c_of(p + at, kLength)) != load<uint32_t>(p + at + kLength)) {
      frames.stop = kLengthDamaged;
      break;
    }
    const size_t left = n - at - kHeader;
    if (left < kChecksum || length > left - kChecksum) {
      frames.stop = kDataCut;
      frames.length = length;
      break;
    }
    at += static_cast<size_t>(length) + kAround;
    frames.offsets.push_back(static_cast<int64_t>(at + kHeader));
    if (found + 1 - checked == kSums) {
      const size_t good = frames.good(p, checked, kSums);
      checked += good;
      if (good < kSums) break;
    }
  }
  const size_t found = frames.offsets.size() - 1;
  if (checked < found && found - checked < kSums) checked += frames.good(p, checked, found - checked);
  if (checked < found) {
    frames.stop = kDataDamaged;
    frames.length = static_cast<uint64_t>(frames.offsets[checked + 1] - frames.offsets[checked]) - kAround;
    frames.offsets.resize(checked + 1);
  }
  return frames;
}

bool good_header(const unsigned char* p) { return masked(crc32c_of(p, kLength)) == load<uint32_t>(p + kLength); }

constexpr size_t kPiece = 1 << 18;  // stays in the nearest cache from the read to the last copy
constexpr size_t kFew = 64;         // so many records tell how long they usually are
constexpr size_t kShort = 1 << 12;  // a header is soon found among records of up to so many bytes

// Adds the frames that begin where the others end.
void append(Frames& frames, const Frames& more, size_t want) {
  const size_t count = std::min(more.offsets.size() - 1, want - (frames.offsets.size() - 1));
  frames.offsets.insert(frames.offsets.end(), more.offsets.begin() + 1, more.offsets.begin() + 1 + count);
  const bool all = count == more.offsets.size() - 1;
  frames.stop = all ? more.stop : kEnough;
  frames.length = all ? more.length : 0;
}

// As `scan`, by several threads. Where a record begins is only known from the ones before it, so each thread looks for
// the first header in its piece. What it has found counts if the records of the piece before end there.
Frames scan_in_team(const unsigned char* p, size_t n, size_t at, size_t want, size_t threads) {
  if (threads < 2) return scan(p, n, at, want);
  Frames frames = scan(p, n, at, std::min(want, kFew));
  if (frames.stop != kEnough || want <= kFew) return frames;
  const auto place = [&] { return static_cast<size_t>(frames.offsets.back()) - kHeader; };
  const size_t from = place(), usual = (from - at) / kFew + 1;
  const size_t end = want - kFew < (n - from) / usual ? from + (want - kFew) * usual : n;
  const size_t pieces = usual <= kShort ? (end - from) / kPiece : 0;
  std::vector<Frames> found(pieces);
  if (pieces > 1) {
    in_team(threads, pieces, [&](size_t i) {
      size_t begin = from + i * kPiece;
      const size_t stop = i + 1 == pieces ? end : begin + kPiece;
      if (i > 0)
        while (begin < stop && !(n - begin >= kHeader && good_header(p + begin))) ++begin;
      if (begin < stop) found[i] = scan(p, n, begin, want, stop);
      return true;
    });
  }
  for (size_t i = 0; i < pieces && pieces > 1 && frames.stop == kEnough && frames.offsets.size() <= want; ++i) {
    const size_t stop = i + 1 == pieces ? end : from + (i + 1) * kPiece;
    if (place() >= stop) continue;
    if (found[i].offsets.empty() || found[i].offsets[0] != frames.offsets.back())
      found[i] = scan(p, n, place(), want, stop);  // what looked like a header was in a record
    append(frames, found[i], want);
  }
  if (frames.stop == kEnough && frames.offsets.size() <= want)
    append(frames, scan(p, n, place(), want - (frames.offsets.size() - 1)), want);
  return frames;
}

nb::object frames_found(const Frames& frames) {
  Fresh<int64_t> offsets(frames.offsets.size(), "int64");
  std::copy(frames.offsets.begin(), frames.offsets.end(), offsets.data());
  return nb::make_tuple(offsets.array, static_cast<int>(frames.stop), frames.length);
}

nb::object tfrecord_frames(nb::handle data, int64_t start, int64_t want, int64_t threads) {
  const Bytes buffer(data, false);
  const size_t at = length(start, "start"), most = length(want, "want"), at_once = length(threads, "threads");
  if (at > buffer.size()) throw nb::index_error("start is beyond the end of the data");
  const auto* p = reinterpret_cast<const unsigned char*>(buffer.data());
  Frames frames;
  {
    const HandedOver release;
    frames = scan_in_team(p, buffer.size(), at, most, at_once);
  }
  return frames_found(frames);
}

// All of it, or less where the file ends or cannot be read.
size_t read_at([[maybe_unused]] int file, [[maybe_unused]] unsigned char* out, [[maybe_unused]] size_t n,
               [[maybe_unused]] uint64_t at) {
  size_t done = 0;
#if defined(FEEDLINE_POSIX)
  while (done < n) {
    const ssize_t some = pread(file, out + done, std::min(n - done, size_t{1} << 30), static_cast<off_t>(at + done));
    if (some > 0) {
      done += static_cast<size_t>(some);
    } else if (some == 0 || errno != EINTR) {
      break;
    }
  }
#endif
  return done;
}

uint64_t size_of([[maybe_unused]] int file) {
#if defined(FEEDLINE_POSIX)
  struct stat status {};
  if (fstat(file, &status) == 0 && status.st_size > 0) return static_cast<uint64_t>(status.st_size);
#endif
  return 0;
}

int64_t tfrecord_header(nb::handle data, int64_t start) {
  const Bytes buffer(data, false);
  const size_t n = buffer.size();
  size_t at = length(start, "start");
  if (at > n) throw nb::index_error("start is beyond the end of the data");
  const auto* p = reinterpret_cast<const unsigned char*>(buffer.data());
  const HandedOver release;
  for (; n - at >= kHeader; ++at)
    if (good_header(p + at)) return static_cast<int64_t>(at);
  return -1;
}

// A record of a file: where it begins, how many bytes of data it says it has, and where those go.
struct Record {
  uint64_t at, size;
  unsigned char* data = nullptr;
  bool good = false;
};

// The records from a place on, as far as their headers are good and they are wanted.
std::vector<Record> headers(int file, uint64_t at, uint64_t records, uint64_t smallest, uint64_t budget) {
  std::vector<Record> found;
  const uint64_t end = size_of(file);
  unsigned char head[kHeader];
  uint64_t taken = 0;
  while (found.size() < records && read_at(file, head, kHeader, at) == kHeader && good_header(head)) {
    const uint64_t n = load<uint64_t>(head);
    // The header is inside the file, so at + kHeader <= end but for a file that shrinks.
    if (at + kHeader + kChecksum > end || n > end - at - kAround) break;
    if (n < smallest || (taken > 0 && n > budget - taken)) break;
    found.push_back({at, n});
    at += n + kAround;
    taken = std::min(budget, taken + n);
  }
  return found;
}

// The data go straight to where they stay. They are summed while they are still in the nearest cache.
void read_data(int file, Record& record) {
  unsigned char sum[kChecksum];
  record.good = read_at(file, record.data, record.size, record.at + kHeader) == record.size &&
                read_at(file, sum, kChecksum, record.at + kHeader + record.size) == kChecksum &&
                load<uint32_t>(sum) == masked(crc32c_of(record.data, record.size));
}

void read_all(int file, std::vector<Record>& records, size_t most) {
  uint64_t bytes = 0;
  for (const Record& record : records) bytes += record.size;
  in_team(std::min<uint64_t>(most, bytes / kBytesPerThread), records.size(), [&](size_t i) {
    read_data(file, records[i]);
    return records[i].good;  // what comes after a bad one is not used
  });
}

nb::object tfrecord_large(int file, int64_t start, int64_t want, int64_t least, int64_t most, int64_t threads) {
  uint64_t at = length(start, "start");
  const uint64_t smallest = length(least, "least"), budget = length(most, "most"), wanted = length(want, "want");
  const size_t at_once = length(threads, "threads");
  std::vector<Record> records;
  {
    const HandedOver release;
    records = headers(file, at, wanted, smallest, budget);
  }
  nb::list held;
  for (Record& record : records) {
    nb::object data = nb::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(record.size)));
    if (!data.is_valid()) {
      if (held.size() == 0) throw nb::python_error();
      PyErr_Clear();
      break;
    }
    record.data = reinterpret_cast<unsigned char*>(PyBytes_AsString(data.ptr()));
    held.append(data);
  }
  records.resize(held.size());
  {
    const HandedOver release;
    read_all(file, records, at_once);
  }
  size_t good = 0;
  for (; good < records.size() && records[good].good; ++good) at = records[good].at + records[good].size + kAround;
  nb::object array = empty(nb::int_(good), nb::str("O"));
  for (size_t i = 0; i < good; ++i) array[i] = held[i];
  return nb::make_tuple(array, at);
}

// As `read_at`, in pieces by several threads.
size_t read_in_team(int file, unsigned char* out, size_t n, uint64_t at, size_t threads) {
  const size_t pieces = (n + kPiece - 1) / kPiece;
  std::vector<size_t> got(pieces);
  in_team(threads, pieces, [&](size_t i) {
    const size_t from = i * kPiece, size = std::min(kPiece, n - from);
    got[i] = read_at(file, out + from, size, at + from);
    return got[i] == size;
  });
  size_t total = 0;
  for (size_t i = 0; i < pieces && total == i * kPiece; ++i) total += got[i];
  return total;
}

nb::object tfrecord_read(int file, int64_t start, int64_t want, nb::handle into, int64_t threads) {
  const Bytes buffer(into, true);
  const uint64_t at = length(start, "start");
  const size_t most = length(want, "want"), at_once = length(threads, "threads");
  auto* p = reinterpret_cast<unsigned char*>(buffer.data());
  Frames frames;
  {
    const HandedOver release;
    const size_t got = read_in_team(file, p, buffer.size(), at, at_once);
    frames = scan_in_team(p, got, 0, most, at_once);
  }
  return frames_found(frames);
}

// Copies records to rows, up to the first that has no place there, whose number among them it gives.
size_t copy_in_team(const unsigned char* p, const Frames& frames, const Slots& slots, const int64_t* wanted,
                    size_t threads) {
  const size_t found = frames.offsets.size() - 1;
  if (found == 0) return 0;
  const size_t usual = static_cast<size_t>(frames.offsets[found] - frames.offsets[0]) / found + 1;
  const size_t at_once = threads > 1 ? std::max<size_t>(1, kPiece / 4 / usual) : found;
  std::vector<size_t> done((found + at_once - 1) / at_once);
  in_team(threads, done.size(), [&](size_t piece) {
    const size_t end = std::min(found, (piece + 1) * at_once);
    size_t k = piece * at_once;
    for (; k < end; ++k) {
      slots.expect(wanted, k, found);
      const uint64_t row = static_cast<uint64_t>(wanted[k]);
      const size_t size = static_cast<size_t>(frames.offsets[k + 1] - frames.offsets[k]) - kAround;
      if (row >= slots.count || size > slots.width || size > kPiece - kAround) break;
      std::memcpy(slots.rows + row * slots.width, p + frames.offsets[k], size);
      slots.lengths[row] = static_cast<int64_t>(size);
    }
    done[piece] = k;
    return k == end;
  });
  for (size_t piece = 0; piece < done.size(); ++piece)
    if (done[piece] < std::min(found, (piece + 1) * at_once)) return done[piece];
  return found;
}

constexpr size_t kMostPieces = 16;  // of a file in memory at once

nb::object tfrecord_to_rows(int file, int64_t start, Matrix<uint8_t> rows, Vector<int64_t> lengths,
                            Vector<const int64_t> numbers, int64_t threads) {
  const Slots slots = slots_of(rows, lengths);
  const size_t n = numbers.shape(0), at_once = length(threads, "threads");
  const size_t space = kPiece * std::max<size_t>(1, std::min(at_once, kMostPieces));
  const int64_t* wanted = numbers.data();
  uint64_t at = length(start, "start");
  const uint64_t first = at;
  std::vector<int64_t> begins{start};
  bool inside = true;
  {
    const HandedOver release;
    thread_local std::vector<unsigned char> memory;
    if (memory.size() < space) memory.resize(space);
    unsigned char* p = memory.data();
    begins.reserve(std::min<size_t>(n, 1 << 16) + 1);
    for (size_t i = 0, have = 0; i < n;) {
      // What is read beyond the last record that is wanted is read in vain. The first records tell how much that is.
      const size_t usual = i > 0 ? static_cast<size_t>((at - first) / i + 1) : kPiece;
      const size_t most = i > 0 ? space : kPiece;
      const size_t room = std::min(most - have, n - i < most / usual ? (n - i) * usual + kHeader : most);
      const size_t got = read_in_team(file, p + have, room, at + have, at_once);
      have += got;
      const Frames frames = scan_in_team(p, have, 0, n - i, at_once);
      const size_t found = frames.offsets.size() - 1;
      const size_t k = copy_in_team(p, frames, slots, wanted + i, at_once);
      inside = k == found || static_cast<uint64_t>(wanted[i + k]) < slots.count;
      for (size_t j = 0; j < k; ++j)
        begins.push_back(static_cast<int64_t>(at) + frames.offsets[j + 1] - static_cast<int64_t>(kHeader));
      i += k;
      const size_t used = static_cast<size_t>(frames.offsets[k]) - kHeader;
      const bool damaged = frames.stop == kLengthDamaged || frames.stop == kDataDamaged;
      if (k < found || damaged || got < room || (used == 0 && have >= kPiece)) break;
      have -= used;
      at += used;
      std::memmove(p, p + used, have);
    }
  }
  if (!inside) refuse_row(begins.size() - 1);
  Fresh<int64_t> out(begins.size(), "int64");
  std::copy(begins.begin(), begins.end(), out.data());
  return out.array;
}

// Good records of a file: where each begins, and where the next one would; and the checksums of their data.
struct Places {
  std::vector<int64_t> begins;
  std::vector<uint32_t> sums;

  void add(uint64_t after, const unsigned char* sum) {
    begins.push_back(static_cast<int64_t>(after));
    sums.push_back(unmasked(load<uint32_t>(sum)));
  }
};

// Whether the data of the record at `at`, of `size` bytes, have the checksum they should, which is left in `piece`. They
// are read in pieces.
bool good_data(int file, uint64_t at, uint64_t size, unsigned char* piece) {
  uint32_t sum = 0;
  for (uint64_t done = 0; done < size;) {
    const size_t some = static_cast<size_t>(std::min<uint64_t>(size - done, kPiece));
    if (read_at(file, piece, some, at + kHeader + done) < some) return false;
    sum = crc32c_of(piece, some, sum);
    done += some;
  }
  return read_at(file, piece, kChecksum, at + kHeader + size) == kChecksum && load<uint32_t>(piece) == masked(sum);
}

// The records from `at` on, as far as they are good. `p` is room for a piece.
Places good_places(int file, uint64_t at, size_t want, uint64_t most, unsigned char* p) {
  Places places;
  places.begins.push_back(static_cast<int64_t>(at));
  const uint64_t first = at;
  const auto enough = [&] {
    return places.sums.size() >= want || static_cast<uint64_t>(places.begins.back()) - first >= most;
  };
  for (size_t have = 0; !enough();) {
    // What is read beyond the last record that is wanted is read in vain.
    const size_t found = places.sums.size(), left = want - found;
    const size_t usual = found > 0 ? static_cast<size_t>((at - first) / found + 1) : kPiece;
    const size_t some = left < kPiece / usual ? left * usual + kHeader : kPiece;
    const uint64_t limit = std::max<uint64_t>(most - (at - first), kHeader);
    const size_t room = std::max(have, static_cast<size_t>(std::min<uint64_t>({kPiece, some, limit}))) - have;
    const size_t got = read_at(file, p + have, room, at + have);
    have += got;
    const Frames frames = scan(p, have, 0, left);
    for (size_t k = 1; k < frames.offsets.size() && !enough(); ++k) {
      const size_t after = static_cast<size_t>(frames.offsets[k]) - kHeader;
      places.add(at + after, p + after - kChecksum);
    }
    const size_t used = static_cast<size_t>(frames.offsets.back()) - kHeader;
    if (frames.stop == kLengthDamaged || frames.stop == kDataDamaged) break;
    if (used == 0 && frames.stop == kDataCut) {  // it is longer than was read
      const uint64_t size = frames.length, end = size_of(file);
      if (at + kAround > end || size > end - at - kAround || !good_data(file, at, size, p)) break;
      at += size + kAround;
      places.add(at, p);
      have = 0;
      continue;
    }
    if (got < room) break;
    have -= used;
    at += used;
    std::memmove(p, p + used, have);
  }
  return places;
}

nb::object tfrecord_places(int file, int64_t start, int64_t want, int64_t most) {
  const uint64_t at = length(start, "start"), bytes = length(most, "most");
  const size_t records = length(want, "want");
  Places places;
  {
    nb::gil_scoped_release release;
    thread_local std::vector<unsigned char> piece(kPiece);
    places = good_places(file, at, records, bytes, piece.data());
  }
  Fresh<int64_t> begins(places.begins.size(), "int64");
  std::copy(places.begins.begin(), places.begins.end(), begins.data());
  Fresh<uint32_t> sums(places.sums.size(), "uint32");
  std::copy(places.sums.begin(), places.sums.end(), sums.data());
  return nb::make_tuple(begins.array, sums.array);
}

nb::object tfrecord_framed(nb::list given) {
  const nb::list records = own_list(given);
  std::vector<Span> spans;
  spans.reserve(records.size());
  size_t total = 0;
  for (nb::handle record : records) {
    spans.push_back(span_of(record, "a record"));
    total += spans.back().size + kAround;
  }
  nb::object out = nb::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(total)));
  if (!out.is_valid()) throw nb::python_error();
  auto* p = reinterpret_cast<unsigned char*>(PyBytes_AsString(out.ptr()));
  const auto write = [&] {
    for (const Span& s : spans) {
      store<uint64_t>(p, s.size);
      store<uint32_t>(p + kLength, masked(crc32c_of(p, kLength)));
      if (s.size > 0) std::copy_n(s.data, s.size, p + kHeader);
      store<uint32_t>(p + kHeader + s.size, masked(crc32c_of(s.data, s.size)));
      p += s.size + kAround;
    }
  };
  if (total < kWorthAThread) {
    write();
  } else {
    const HandedOver release;
    write();
  }
  return out;
}

}  // namespace

void register_tfrecord(nb::module_& m) {
  using namespace nb::literals;
  m.def("tfrecord_frames", &tfrecord_frames, "data"_a, "start"_a, "want"_a, "threads"_a = 1);
  m.def("tfrecord_framed", &tfrecord_framed, "records"_a);
  m.def("tfrecord_header", &tfrecord_header, "data"_a, "start"_a);
  m.def("tfrecord_to_rows", &tfrecord_to_rows, "file"_a, "start"_a, "rows"_a.noconvert(), "lengths"_a.noconvert(),
        "numbers"_a.noconvert(), "threads"_a = 1);
  m.def("tfrecord_read", &tfrecord_read, "file"_a, "start"_a, "want"_a, "into"_a, "threads"_a = 1);
  m.def("tfrecord_places", &tfrecord_places, "file"_a, "start"_a, "want"_a, "most"_a);
  m.def("tfrecord_large", &tfrecord_large, "file"_a, "start"_a, "want"_a, "least"_a, "most"_a, "threads"_a = 1);
}

}  // namespace feedline
