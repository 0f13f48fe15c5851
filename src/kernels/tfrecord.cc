// TFRecord frames: length (8 bytes), its checksum (4), data, their checksum (4), little-endian.
#include <algorithm>
#include <vector>

#include "crc32c.h"
#include "strings.h"

namespace feedline {
namespace {

constexpr size_t kLength = 8, kChecksum = 4, kHeader = kLength + kChecksum, kAround = kHeader + kChecksum;

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

Frames scan(const unsigned char* p, size_t n, size_t at, size_t want) {
  Frames frames;
  frames.offsets.reserve(std::min({want, (n - at) / kAround, size_t{4096}}) + 1);
  frames.offsets.push_back(static_cast<int64_t>(at + kHeader));
  size_t checked = 0;
  for (size_t found = 0; found < want; ++found) {
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

nb::object tfrecord_frames(nb::handle data, int64_t start, int64_t want) {
  const Bytes buffer(data, false);
  const size_t at = length(start, "start"), most = length(want, "want");
  if (at > buffer.size()) throw nb::index_error("start is beyond the end of the data");
  const auto* p = reinterpret_cast<const unsigned char*>(buffer.data());
  Frames frames;
  {
    nb::gil_scoped_release release;
    frames = scan(p, buffer.size(), at, most);
  }
  Fresh<int64_t> offsets(frames.offsets.size(), "int64");
  std::copy(frames.offsets.begin(), frames.offsets.end(), offsets.data());
  return nb::make_tuple(offsets.array, static_cast<int>(frames.stop), frames.length);
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
    nb::gil_scoped_release release;
    write();
  }
  return out;
}

}  // namespace

void register_tfrecord(nb::module_& m) {
  using namespace nb::literals;
  m.def("tfrecord_frames", &tfrecord_frames, "data"_a, "start"_a, "want"_a);
  m.def("tfrecord_framed", &tfrecord_framed, "records"_a);
}

}  // namespace feedline
