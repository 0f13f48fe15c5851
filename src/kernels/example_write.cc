// Columns to `Example` messages in TFRecord frames.
#include <algorithm>
#include <cstring>
#include <vector>

#include "crc32c.h"
#include "strings.h"

namespace feedline {
namespace {

enum Kind : uint8_t { kStrings = 1, kFloats = 2, kInts = 3 };

constexpr size_t kHeader = 12, kAround = 16;
constexpr char kField1 = 0x0A, kField2 = 0x12;

inline size_t varint_size(uint64_t n) {
#if defined(__GNUC__)
  return (70 - static_cast<size_t>(__builtin_clzll(n | 1))) / 7;
#else
  size_t size = 1;
  while (n >= 0x80) n >>= 7, ++size;
  return size;
#endif
}

inline char* put_varint(char* p, uint64_t n) {
  while (n >= 0x80) *p++ = static_cast<char>(n | 0x80), n >>= 7;
  *p++ = static_cast<char>(n);
  return p;
}

inline char* put(char* p, const void* data, size_t n) {
  if (n > 0) std::memcpy(p, data, n);
  return p + n;
}

template <typename T>
char* put_little(char* p, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) *p++ = static_cast<char>(value >> (8 * i));
  return p;
}

// A field of n bytes: tag, length, bytes.
inline size_t field(size_t n) { return 1 + varint_size(n) + n; }

struct Column {
  std::string key;
  Kind kind;
  const float* floats = nullptr;
  const int64_t* ints = nullptr;
  std::vector<Span> strings;
  size_t size = 0;                  // values per row, where all have the same number
  const int64_t* splits = nullptr;  // else: where the values of each row begin, and where those of the last one end
  std::string head;                 // what stands before the values where that is the same in every row

  size_t begin(size_t row) const { return splits != nullptr ? static_cast<size_t>(splits[row]) : row * size; }
  size_t end(size_t row) const { return splits != nullptr ? static_cast<size_t>(splits[row + 1]) : (row + 1) * size; }

  // The size of the values of a row: of numbers without the field around them, of strings with a field around each.
  size_t payload(size_t row) const {
    const size_t from = begin(row), to = end(row);
    if (kind == kFloats) return 4 * (to - from);
    size_t n = 0;
    if (kind == kInts) {
      for (size_t i = from; i < to; ++i) n += varint_size(static_cast<uint64_t>(ints[i]));
    } else {
      for (size_t i = from; i < to; ++i) n += field(strings[i].size);
    }
    return n;
  }

  // The sizes of a list, of the feature that is this list, and of the entry with key and feature.
  struct Sizes {
    size_t payload, list, feature, entry;
  };
  Sizes sizes(size_t payload) const {
    const size_t list = kind == kStrings || payload == 0 ? payload : field(payload), feature = field(list);
    return {payload, list, feature, field(key.size()) + field(feature)};
  }

  char* put_head(char* p, const Sizes& n) const {
    *p++ = kField1;
    p = put_varint(p, n.entry);
    *p++ = kField1;
    p = put_varint(p, key.size());
    p = put(p, key.data(), key.size());
    *p++ = kField2;
    p = put_varint(p, n.feature);
    *p++ = static_cast<char>(kind << 3 | 2);
    p = put_varint(p, n.list);
    if (kind == kStrings || n.payload == 0) return p;
    *p++ = kField1;
    return put_varint(p, n.payload);
  }

  size_t head_size(const Sizes& n) const { return field(n.entry) - n.payload; }

  void prepare() {
    if (splits != nullptr || kind != kFloats) return;
    const Sizes n = sizes(4 * size);
    head.resize(head_size(n));
    put_head(&head[0], n);
  }

  size_t entry(size_t row) const {
    if (!head.empty()) return head.size() + 4 * size;
    return field(sizes(payload(row)).entry);
  }

  char* put_entry(char* p, size_t row) const {
    const size_t from = begin(row), to = end(row);
    if (!head.empty()) {
      p = put(p, head.data(), head.size());
    } else {
      p = put_head(p, sizes(payload(row)));
    }
    if (kind == kFloats) return put_floats(p, floats + from, to - from);
    if (kind == kInts) {
      for (size_t i = from; i < to; ++i) p = put_varint(p, static_cast<uint64_t>(ints[i]));
      return p;
    }
    for (size_t i = from; i < to; ++i) {
      *p++ = kField1;
      p = put_varint(p, strings[i].size);
      p = put(p, strings[i].data, strings[i].size);
    }
    return p;
  }

  static char* put_floats(char* p, const float* values, size_t n) {
    const uint16_t one = 1;
    if (*reinterpret_cast<const char*>(&one) == 1) return put(p, values, 4 * n);
    for (size_t i = 0; i < n; ++i) {
      uint32_t bits;
      std::memcpy(&bits, values + i, sizeof bits);
      p = put_little(p, bits);
    }
    return p;
  }
};

// Headers and checksums of frames whose data are in place. Four sums are had in little more than the time of one.
void close_frames(char* const* at, const size_t* sizes, size_t count) {
  const unsigned char* data[kSums];
  size_t lengths[kSums];
  uint32_t sums[kSums];
  for (size_t k = 0; k < kSums; ++k) {
    const size_t i = std::min(k, count - 1);
    data[k] = reinterpret_cast<const unsigned char*>(at[i]) + kHeader;
    lengths[k] = sizes[i];
  }
  crc32c_of_each(data, lengths, sums);
  for (size_t k = 0; k < count; ++k) {
    put_little<uint64_t>(at[k], sizes[k]);
    const uint32_t of_length = crc32c_of(reinterpret_cast<const unsigned char*>(at[k]), 8);
    put_little<uint32_t>(at[k] + 8, masked(of_length));
    put_little<uint32_t>(at[k] + kHeader + sizes[k], masked(sums[k]));
  }
}

void write(const std::vector<Column>& columns, const std::vector<size_t>& features, char* p) {
  char* at[kSums];
  size_t sizes[kSums], open = 0;
  for (size_t row = 0; row < features.size(); ++row) {
    at[open] = p;
    p += kHeader;
    char* start = p;
    *p++ = kField1;
    p = put_varint(p, features[row]);
    for (const Column& column : columns) p = column.put_entry(p, row);
    sizes[open] = static_cast<size_t>(p - start);
    p += kAround - kHeader;
    if (++open == kSums) close_frames(at, sizes, open), open = 0;
  }
  if (open > 0) close_frames(at, sizes, open);
}

// An array of exactly that dtype: nothing is copied in silence.
template <typename T>
Vector<const T> vector_of(nb::handle array, const char* what) {
  Vector<const T> found;
  if (!nb::try_cast(array, found, false)) throw nb::type_error(what);
  return found;
}

nb::object framed_examples(nb::list keys, Vector<const uint8_t> kinds, nb::list values, Vector<const int64_t> sizes,
                           nb::list splits, int64_t rows) {
  const size_t n = length(rows, "rows"), count = keys.size();
  if (kinds.shape(0) != count || values.size() != count || sizes.shape(0) != count || splits.size() != count)
    throw std::invalid_argument("keys, kinds, values, sizes and splits must have the same length");
  std::vector<Column> columns(count);
  std::vector<nb::object> held;  // what must stay alive while the interpreter is handed over
  for (size_t i = 0; i < count; ++i) {
    Column& column = columns[i];
    const Span key = span_of(keys[i], "a key");
    column.key.assign(reinterpret_cast<const char*>(key.data), key.size);
    if (kinds(i) < kStrings || kinds(i) > kInts) throw std::invalid_argument("a kind must be 1, 2 or 3");
    column.kind = static_cast<Kind>(kinds(i));
    size_t found;
    if (column.kind == kStrings) {
      nb::list strings = own_list(values[i]);
      column.strings.reserve(strings.size());
      for (nb::handle item : strings) column.strings.push_back(span_of(item, "a string"));
      found = strings.size();
      held.push_back(strings);
    } else if (column.kind == kFloats) {
      const auto array = vector_of<float>(values[i], "floats must be a float32 array");
      column.floats = array.data(), found = array.shape(0);
      held.push_back(values[i]);
    } else {
      const auto array = vector_of<int64_t>(values[i], "integers must be an int64 array");
      column.ints = array.data(), found = array.shape(0);
      held.push_back(values[i]);
    }
    nb::object given = splits[i];
    if (given.is_none()) {
      column.size = length(sizes(i), "a size");
      if (column.size > 0 ? found % column.size != 0 || found / column.size != n : found != 0)
        throw std::invalid_argument("the number of values must be rows * size");
    } else {
      const auto array = vector_of<int64_t>(given, "splits must be an int64 array");
      column.splits = array.data();
      if (array.shape(0) != n + 1) throw std::invalid_argument("splits must have one entry more than rows");
      bool good = column.splits[0] >= 0 && static_cast<uint64_t>(column.splits[n]) <= found;
      for (size_t row = 0; row < n && good; ++row) good = column.splits[row] <= column.splits[row + 1];
      if (!good) throw std::invalid_argument("splits must be non-decreasing and within the values");
      held.push_back(given);
    }
  }
  std::vector<size_t> features(n);
  size_t total = 0;
  {
    const HandedOver release;
    for (Column& column : columns) column.prepare();
    for (size_t row = 0; row < n; ++row) {
      size_t inside = 0;
      for (const Column& column : columns) inside += column.entry(row);
      features[row] = inside;
      total += field(inside) + kAround;
    }
  }
  nb::object out = nb::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(total)));
  if (!out.is_valid()) throw nb::python_error();
  char* p = PyBytes_AsString(out.ptr());
  {
    const HandedOver release;
    write(columns, features, p);
  }
  return out;
}

}  // namespace

void register_example_write(nb::module_& m) {
  using namespace nb::literals;
  m.def("framed_examples", &framed_examples, "keys"_a, "kinds"_a.noconvert(), "values"_a, "sizes"_a.noconvert(),
        "splits"_a, "rows"_a);
}

}  // namespace feedline
