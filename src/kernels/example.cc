// A batch of serialized Examples to columns. Everything TensorFlow's own parser takes is read here; at a row it would
// refuse this stops, and who calls it has slower code that knows what to say.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "strings.h"

namespace feedline {
namespace {

enum Kind : uint8_t { kString = 1, kFloat = 2, kInt = 3 };  // the numbers of the lists in a Feature
constexpr unsigned char kVarint = 0, kFixed64 = 1, kDelimited = 2, kFixed32 = 5;
constexpr unsigned char kEntry = 0x0A, kKey = 0x0A, kValue = 0x12;
constexpr unsigned char kPacked = 0x0A, kPlainInt = 0x08, kPlainFloat = 0x0D;
constexpr size_t kNowhere = SIZE_MAX;
// A thread pays where it has at least so many bytes to read. They are handed out in pieces, so that a thread that
// gets no processor keeps nobody waiting.
constexpr size_t kBytesPerThread = 1 << 20, kBytesPerPart = 1 << 17;
// Less than that is read in a few microseconds. To hand the interpreter over would take longer, and getting it back is a
// matter of luck where many threads want it. Of a large example most is one picture, which is not looked at.
constexpr size_t kWorthRelease = 1 << 14, kMostRead = 1 << 10;
// A small piece: its length, and the lengths of what is around it, are one byte each.
constexpr unsigned kSmall = 0x60;

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

  // An entry of a map: a key and a value in any order, or one of them twice.
  bool entry(Wire& key, Wire& value) {
    Wire inside{};
    if (!tag(kEntry) || !clipped(inside)) return false;
    key = value = {inside.at, inside.at};
    for (int i = 0; i < 2; ++i) {
      if (inside.empty()) return false;
      const unsigned char which = *inside.at++;
      if ((which != kKey && which != kValue) || !inside.piece(which == kKey ? key : value)) return false;
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

// Equality of at least four bytes in few loads, which may overlap.
inline bool same(const unsigned char* a, const unsigned char* b, size_t n) {
  if (n < 8) return load<uint32_t>(a) == load<uint32_t>(b) && load<uint32_t>(a + n - 4) == load<uint32_t>(b + n - 4);
  uint64_t differ = load<uint64_t>(a + n - 8) ^ load<uint64_t>(b + n - 8);
  for (size_t i = 0; i + 8 < n; i += 8) differ |= load<uint64_t>(a + i) ^ load<uint64_t>(b + i);
  return differ == 0;
}

inline bool equal(const Span& a, const Span& b) {
  return a.size == b.size && (a.size == 0 || std::memcmp(a.data, b.data, a.size) == 0);
}

// numpy.empty with what it needs looked up once: one example with many features makes many small arrays.
struct Arrays {
  nb::object fresh(size_t n, uint8_t kind) const { return empty(n, kind == kInt ? ints : floats); }

  nb::object numpy = nb::module_::import_("numpy");
  nb::object empty = numpy.attr("empty");
  nb::object ints = numpy.attr("dtype")("<i8"), floats = numpy.attr("dtype")("<f4");
};

// A feature that is asked for. Where it has one size the values of row i have their place already.
struct Wanted {
  Wanted(const Arrays& arrays, nb::handle name, uint8_t number, int64_t count, nb::handle given, size_t rows)
      : key(span_of(name, "a key")),
        kind(number),
        fixed(count >= 0),
        emptied(count == -2),
        has_fallback(!given.is_none()),
        size(fixed ? static_cast<size_t>(count) : 0),
        row_bytes(size * width()) {
    if (kind != kString && kind != kFloat && kind != kInt) throw std::invalid_argument("a kind is 1, 2 or 3");
    if (count < -2) throw std::invalid_argument("a size is a number of values, or -1 or -2 for any");
    if (fixed && rows > 0 && size > SIZE_MAX / 16 / rows) throw std::invalid_argument("size is too large");
    if (has_fallback && kind == kString) {
      held = own_list(given);
      for (nb::handle item : held) string_fallback.push_back(span_of(item, "a default"));
      if (!fixed || string_fallback.size() != size) throw std::invalid_argument("a default has another size than its key");
    } else if (has_fallback) {
      fallback = std::make_unique<Bytes>(given, false);
      if (!fixed || fallback->size() != row_bytes)
        throw std::invalid_argument("a default has another size than its key");
    }
    if (fixed && kind == kString) {
      strings.resize(size * rows);
    } else if (fixed) {
      array = arrays.fresh(size * rows, kind);
      memory = std::make_unique<Bytes>(array, true);
      out = memory->data();
    }
  }

  size_t width() const { return kind == kInt ? 8 : 4; }

  Span key;
  uint8_t kind;
  bool fixed;
  bool emptied;  // of several entries the last counts, even one that holds no list
  bool has_fallback;
  size_t size, row_bytes;
  char* out = nullptr;
  std::vector<Span> strings;
  nb::object array;
  std::unique_ptr<Bytes> memory, fallback;
  nb::list held;
  std::vector<Span> string_fallback;
};

// The features that are asked for, and which one a key belongs to. The keys looked up are anybody's.
class Request {
 public:
  Request(const Arrays& arrays, nb::list keys, const uint8_t* kinds, const int64_t* sizes, nb::list defaults,
          size_t rows) {
    for (size_t i = 0; i < keys.size(); ++i)
      wanted.push_back(std::make_unique<Wanted>(arrays, nb::object(keys[i]), kinds[i], sizes[i],
                                                nb::object(defaults[i]), rows));
    size_t slots = 16;
    while (slots < 4 * wanted.size()) slots *= 2;
    slots_.assign(slots, kNowhere);
    for (size_t i = 0; i < wanted.size(); ++i) {
      size_t slot = hash(wanted[i]->key);
      for (; slots_[slot] != kNowhere; slot = (slot + 1) & (slots_.size() - 1))
        if (equal(wanted[slots_[slot]]->key, wanted[i]->key)) throw std::invalid_argument("a key is there twice");
      slots_[slot] = i;
    }
  }

  size_t find(Span key) const {
    for (size_t slot = hash(key); slots_[slot] != kNowhere; slot = (slot + 1) & (slots_.size() - 1))
      if (equal(wanted[slots_[slot]]->key, key)) return slots_[slot];
    return kNowhere;
  }

  std::vector<std::unique_ptr<Wanted>> wanted;

 private:
  size_t hash(const Span& key) const {
    uint64_t h = 0xCBF29CE484222325u;
    for (size_t i = 0; i < key.size; ++i) h = (h ^ key.data[i]) * 0x100000001B3u;
    return static_cast<size_t>(h ^ h >> 29) & (slots_.size() - 1);
  }

  std::vector<size_t> slots_;
};

// The values of a feature of any size, in the rows of one part. Values after the first `count` belong to no row yet.
struct Values {
  std::vector<char> flat;
  std::vector<Span> strings;
  std::vector<int64_t> lengths;
  size_t count = 0;
};

// Reads some consecutive rows. A thread has a part of its own.
class Part {
 public:
  Part(const Request& request, const std::vector<Span>& rows, size_t begin, size_t end)
      : request_(request), rows_(rows), begin_(begin), end_(end), values(request.wanted.size()), done(begin) {
    for (const auto& w : request.wanted) wanted_.push_back(w.get());
    row_of_.assign(wanted_.size(), 0);
    slot_of_.assign(wanted_.size(), kNowhere);
  }

  // Reads rows up to the first that is bad: `done` is its number, or that after the last.
  void run() {
    for (size_t c = 0; c < wanted_.size(); ++c)
      if (!wanted_[c]->fixed) values[c].lengths.reserve(end_ - begin_);
    for (; done < end_; ++done) {
      if (done + 1 < end_) fetch(rows_[done + 1]);
      ++mark_;
      if (quick(rows_[done])) continue;
      take_back();
      ++mark_;
      if (!careful(rows_[done])) {
        take_back();
        return;
      }
    }
  }

  size_t begin() const { return begin_; }
  size_t end() const { return end_; }

 private:
  // What an entry of the row before looked like whose lengths are one byte each, around `n` constant bytes.
  //   0A L [0A K key.. 12] M T N 0A P values..      with M = P + 4, N = P + 2, L = K + 8 + P, T the list's tag
  struct Slot {
    const unsigned char* middle;
    uint32_t n;
    uint32_t around;  // M T N 0A for P = 0
    size_t column;
    char* out;           // where the values of row 0 belong, for numbers of a fixed size
    uint32_t row_bytes;  // of such floats, otherwise more than there can be
    bool number;         // it is a single integer
  };

  static void fetch(const Span& row) {
    const size_t size = std::min<size_t>(row.size, 2048);
    for (size_t i = 0; i < size; i += 64) FEEDLINE_PREFETCH(row.data + i);
  }

  // Each entry is written to its place as it comes. False for what is wrong, and for a key that is there twice.
  bool quick(const Span& row) {
    Wire wire{row.data, row.data + row.size};
    size_t found = 0;
    next_ = 0;
    surprises_ = 0;
    while (!wire.empty()) {
      if (*wire.at != kEntry) {
        if (!wire.skip()) return false;
        continue;
      }
      Wire features{};
      ++wire.at;
      if (!wire.clipped(features)) return false;
      while (!features.empty()) {
        size_t column;
        if (!expected(features, column) && !surprise(features, column)) return false;
        found += column != kNowhere;
      }
    }
    if (found < wanted_.size())
      for (size_t c = 0; c < wanted_.size(); ++c)
        if (row_of_[c] != mark_ && !missing(c)) return false;
    // Another order from here on, as in the files of another writer; one odd row alone is not worth it.
    if (2 * surprises_ > slots_.size() && surprises_ > 1 && done % 8 == 7) {
      slots_.clear();
      slot_of_.assign(wanted_.size(), kNowhere);
    }
    return true;
  }

  // The next entry, if it is the one the row before had next. It is passed over, and its column told.
  bool expected(Wire& features, size_t& column) {
    if (next_ == slots_.size()) return false;
    const Slot& slot = slots_[next_];
    const unsigned char* at = features.at;
    const size_t left = features.left();
    if (left < slot.n + 8 || at[0] != kEntry || !same(at + 2, slot.middle, slot.n)) return false;
    const unsigned char* inside = at + 2 + slot.n;
    const size_t size = at[1];
    if (size >= 0x80 || left < size + 2) return false;
    column = slot.column;
    if (column == kNowhere) {
      if (size != slot.n + 1 + inside[0]) return false;
      features.at += size + 2;
      ++next_;
      return true;
    }
    const uint32_t length = inside[4];
    if (length > kSmall || size != slot.n + 5 + length) return false;
    if (load<uint32_t>(inside) != slot.around + length * 0x00010001u || row_of_[column] == mark_) return false;
    Wire piece{inside + 5, inside + 5 + length};
    if (length == slot.row_bytes) {
      if (length == 4) std::memcpy(slot.out + 4 * done, piece.at, 4);
      else std::memcpy(slot.out + length * done, piece.at, length);
    } else if (slot.number) {
      uint64_t value;
      if (!piece.varint(value) || !piece.empty()) return false;
      std::memcpy(slot.out + 8 * done, &value, 8);
    } else {
      const Wanted& w = *wanted_[column];
      if (!(w.kind == kFloat ? packed_floats(w, column, piece)
            : w.kind == kInt ? packed_ints(w, column, piece)
                             : one_string(w, column, piece)))
        return false;
    }
    row_of_[column] = mark_;
    features.at += size + 2;
    ++next_;
    return true;
  }

  // Any other entry.
  bool surprise(Wire& features, size_t& column) {
    Wire key{}, value{};
    const unsigned char* at = features.at;
    if (!features.entry(key, value)) return false;
    column = request_.find({key.at, key.left()});
    ++surprises_;
    remember(at, key, value, column);
    if (column == kNowhere) return true;
    if (row_of_[column] == mark_) return false;
    if (value.empty() ? !missing(column) : !list(column, value)) return false;
    row_of_[column] = mark_;
    return true;
  }

  // Says what to expect after the entry at `at`, and at its place in the next row if it has none yet.
  void remember(const unsigned char* at, const Wire& key, const Wire& value, size_t column) {
    if (column != kNowhere && slot_of_[column] != kNowhere) {
      next_ = slot_of_[column] + 1;
      return;
    }
    if (next_ < slots_.size()) {  // most likely the same entry that nobody wants, with other lengths
      if (column == kNowhere && slots_[next_].column == kNowhere) ++next_;
      return;
    }
    if (slots_.size() >= 4 * wanted_.size() + 64 || end_ - begin_ == 1) return;
    const size_t n = key.left() + 3;
    const bool usual = at[1] < 0x80 && key.at == at + 4 && value.at == key.end + 2 && n > 3;
    if (column != kNowhere) slot_of_[column] = slots_.size();
    // An entry of another form has a slot of a length that no row has, so that its neighbours keep their places.
    Slot slot{at + 2, usual ? static_cast<uint32_t>(n) : 0x40000000u, 0x0A020004u, column, nullptr, UINT32_MAX, false};
    if (column != kNowhere) {
      const Wanted& w = *wanted_[column];
      slot.around |= static_cast<uint32_t>(w.kind << 3 | kDelimited) << 8;
      slot.out = w.out;
      if (w.fixed && w.kind == kFloat && w.size <= kSmall / 4) slot.row_bytes = static_cast<uint32_t>(w.row_bytes);
      slot.number = w.fixed && w.kind == kInt && w.size == 1;
    }
    slots_.push_back(slot);
    ++next_;
  }

  // A row as TensorFlow reads it: of a key that is there twice, the last entry with a list counts.
  bool careful(const Span& row) {
    std::vector<std::pair<size_t, Wire>> found;
    Wire wire{row.data, row.data + row.size};
    while (!wire.empty()) {
      if (*wire.at != kEntry) {
        if (!wire.skip()) return false;
        continue;
      }
      Wire features{};
      ++wire.at;
      if (!wire.clipped(features)) return false;
      while (!features.empty()) {
        Wire key{}, value{};
        if (!features.entry(key, value)) return false;
        const size_t column = request_.find({key.at, key.left()});
        if (column != kNowhere) found.emplace_back(column, value);
      }
    }
    for (auto item = found.rbegin(); item != found.rend(); ++item) {
      const size_t column = item->first;
      if (row_of_[column] == mark_) continue;
      if (item->second.empty()) {
        if (!wanted_[column]->emptied) continue;
        if (!missing(column)) return false;
      } else if (!list(column, item->second)) {
        return false;
      }
      row_of_[column] = mark_;
    }
    for (size_t c = 0; c < wanted_.size(); ++c)
      if (row_of_[c] != mark_) {
        if (!missing(c)) return false;
        row_of_[c] = mark_;
      }
    return true;
  }

  // Forgets what the row that is being read has given so far.
  void take_back() {
    for (size_t c = 0; c < wanted_.size(); ++c) {
      const Wanted& w = *wanted_[c];
      if (w.fixed) continue;
      Values& v = values[c];
      if (v.lengths.size() > done - begin_) {
        v.count -= static_cast<size_t>(v.lengths.back());
        v.lengths.pop_back();
      }
      if (w.kind == kString) v.strings.resize(v.count);
      else v.flat.resize(v.count * w.width());
    }
  }

  // The row has no such feature.
  bool missing(size_t column) {
    const Wanted& w = *wanted_[column];
    if (!w.fixed) {
      values[column].lengths.push_back(0);
      return true;
    }
    if (!w.has_fallback) return false;
    if (w.kind == kString)
      std::copy(w.string_fallback.begin(), w.string_fallback.end(), strings_at(column));
    else if (w.row_bytes > 0)
      std::memcpy(w.out + done * w.row_bytes, w.fallback->data(), w.row_bytes);
    return true;
  }

  Span* strings_at(size_t column) { return request_.wanted[column]->strings.data() + done * wanted_[column]->size; }

  // A Feature that holds something. What comes after its list is not looked at.
  bool list(size_t column, Wire feature) {
    const Wanted& w = *wanted_[column];
    Wire items{};
    if (!feature.tag(static_cast<unsigned char>(w.kind << 3 | kDelimited)) || !feature.clipped(items)) return false;
    if (w.kind == kString) return strings(w, column, items);
    if (!items.empty() && *items.at == kPacked) {  // nor is what comes after the first piece
      Wire piece{};
      ++items.at;
      if (w.kind == kInt) return items.clipped(piece) && packed_ints(w, column, piece);
      return items.piece(piece) && packed_floats(w, column, piece);
    }
    return w.kind == kInt ? plain_ints(w, column, items) : plain_floats(w, column, items);
  }

  // Room for so many more values; null where a fixed number is asked for and this is another one.
  char* room(const Wanted& w, size_t column, size_t count) {
    if (w.fixed) return count == w.size ? w.out + done * w.row_bytes : nullptr;
    Values& v = values[column];
    const size_t before = v.count * w.width();
    v.flat.resize(before + count * w.width() + 1);  // one more, so that there is a place even for none
    return v.flat.data() + before;
  }

  void took(const Wanted& w, size_t column, size_t count) {
    if (w.fixed) return;
    values[column].lengths.push_back(static_cast<int64_t>(count));
    values[column].count += count;
  }

  bool packed_floats(const Wanted& w, size_t column, Wire piece) {
    const size_t count = piece.left() / 4;
    char* to = room(w, column, count);
    if (to == nullptr) return false;
    if (count == 1) std::memcpy(to, piece.at, 4);
    else if (count > 0) std::memcpy(to, piece.at, 4 * count);
    took(w, column, count);
    return true;
  }

  bool plain_floats(const Wanted& w, size_t column, Wire items) {
    const size_t count = items.left() / 5;
    char* to = items.left() % 5 == 0 ? room(w, column, count) : nullptr;
    if (to == nullptr) return false;
    for (; !items.empty(); items.at += 4, to += 4) {
      if (!items.tag(kPlainFloat)) return false;
      std::memcpy(to, items.at, 4);
    }
    took(w, column, count);
    return true;
  }

  bool packed_ints(const Wanted& w, size_t column, Wire piece) {
    size_t count = w.size;
    if (!w.fixed) {  // each number has one byte below 0x80, its last
      count = 0;
      for (const unsigned char* p = piece.at; p != piece.end; ++p) count += *p < 0x80;
    }
    return numbers(w, column, piece, count, false);
  }

  bool plain_ints(const Wanted& w, size_t column, Wire items) {
    size_t count = 0;  // a tag is such a byte too
    for (const unsigned char* p = items.at; p != items.end; ++p) count += *p < 0x80;
    return numbers(w, column, items, count / 2, true);
  }

  bool numbers(const Wanted& w, size_t column, Wire items, size_t count, bool tagged) {
    char* to = room(w, column, count);
    if (to == nullptr) return false;
    for (size_t i = 0; i < count; ++i, to += 8) {
      uint64_t value;
      if ((tagged && !items.tag(kPlainInt)) || !items.varint(value)) return false;
      std::memcpy(to, &value, 8);
    }
    if (!items.empty()) return false;
    took(w, column, count);
    return true;
  }

  bool one_string(const Wanted& w, size_t column, Wire piece) {
    if (w.fixed && w.size != 1) return false;
    if (w.fixed) *strings_at(column) = {piece.at, piece.left()};
    else values[column].strings.push_back({piece.at, piece.left()});
    took(w, column, 1);
    return true;
  }

  bool strings(const Wanted& w, size_t column, Wire items) {
    size_t count = 0;
    for (; !items.empty(); ++count) {
      Wire item{};
      if (!items.tag(kPacked) || !items.piece(item) || (w.fixed && count == w.size)) return false;
      if (w.fixed) strings_at(column)[count] = {item.at, item.left()};
      else values[column].strings.push_back({item.at, item.left()});
    }
    if (w.fixed && count != w.size) return false;
    took(w, column, count);
    return true;
  }

  const Request& request_;
  const std::vector<Span>& rows_;
  size_t begin_, end_;
  std::vector<Wanted*> wanted_;
  std::vector<size_t> row_of_;  // the mark of the row in which each column was found last
  std::vector<Slot> slots_;
  std::vector<size_t> slot_of_;
  size_t mark_ = 0, next_ = 0, surprises_ = 0;

 public:
  std::vector<Values> values;
  size_t done;
};

// The examples, wherever they lie, held so that they stay there while the interpreter is handed over.
class Rows {
 public:
  explicit Rows(nb::handle strings) {
    if (nb::isinstance<nb::tuple>(strings)) in_one_buffer(nb::borrow<nb::tuple>(strings));
    else if (nb::isinstance<nb::list>(strings)) in_a_list(strings);
    else in_an_array(strings);
  }

  std::vector<Span> spans;

 private:
  void in_a_list(nb::handle strings) {
    held_ = own_list(strings);
    spans.reserve(held_.size());
    for (nb::handle item : held_) spans.push_back(span_of(item, "an example"));
  }

  // Rows of a shuffle lie anywhere, so each is asked for some time before it is looked at.
  void in_an_array(nb::handle array) {
    if (!nb::hasattr(array, "dtype") || !array.attr("dtype").attr("char").equal(nb::str("O")))
      throw nb::type_error("examples must be bytes: in a list, an object array, or one buffer");
    const Bytes slots(array, false);
    const size_t n = slots.size() / sizeof(PyObject*);
    auto** items = reinterpret_cast<PyObject**>(slots.data());
    spans.reserve(n);
    objects_.reserve(n);
    for (size_t i = 0; i < n; ++i) {
      if (i + 12 < n) FEEDLINE_PREFETCH(items[i + 12]);
      if (items[i] == nullptr) throw nb::type_error("an example must be bytes");
      objects_.push_back(nb::borrow(items[i]));
      spans.push_back(span_of(objects_.back(), "an example"));
    }
  }

  void in_one_buffer(const nb::tuple& parts) {
    if (parts.size() != 3) throw std::invalid_argument("examples in one buffer are (data, offsets, gap)");
    data_ = std::make_unique<Bytes>(nb::object(parts[0]), false);
    const auto offsets = nb::cast<Vector<const int64_t>>(nb::object(parts[1]), false);
    const size_t gap = length(nb::cast<int64_t>(nb::object(parts[2])), "gap");
    if (offsets.shape(0) == 0) throw std::invalid_argument("offsets must not be empty");
    const auto* base = reinterpret_cast<const unsigned char*>(data_->data());
    spans.reserve(offsets.shape(0) - 1);
    for (size_t i = 0; i + 1 < offsets.shape(0); ++i) {
      const int64_t from = offsets.data()[i], next = offsets.data()[i + 1];
      const size_t start = static_cast<size_t>(from), after = static_cast<size_t>(next);
      if (from < 0 || next < from || after - start < gap || after - gap > data_->size())
        throw nb::index_error(("row " + std::to_string(i) + " is not inside the data").c_str());
      spans.push_back({base + start, after - start - gap});
    }
  }

  nb::list held_;
  std::vector<nb::object> objects_;
  std::unique_ptr<Bytes> data_;
};

// Reads all rows, in one part, or with several threads in many that whoever is free takes next.
std::vector<std::unique_ptr<Part>> read(const Request& request, const std::vector<Span>& rows, size_t most) {
  size_t bytes = 0;
  for (const Span& row : rows) bytes += row.size;
  const size_t threads = std::max<size_t>(1, std::min(most, bytes / kBytesPerThread));
  std::vector<std::unique_ptr<Part>> parts;
  size_t begin = 0, size = 0;
  for (size_t i = 0; i < rows.size() && threads > 1; ++i) {
    size += rows[i].size;
    if (size < kBytesPerPart) continue;
    parts.push_back(std::make_unique<Part>(request, rows, begin, i + 1));
    begin = i + 1;
    size = 0;
  }
  parts.push_back(std::make_unique<Part>(request, rows, begin, rows.size()));

  std::atomic<size_t> next{0};
  std::vector<std::exception_ptr> failed(parts.size());
  const auto run = [&] {
    for (size_t i = next++; i < parts.size(); i = next++) try {
        parts[i]->run();
        if (parts[i]->done < parts[i]->end()) next = parts.size();  // rows after a bad one are not asked for
      } catch (...) {
        failed[i] = std::current_exception();
      }
  };
  std::vector<std::thread> others;
  try {
    for (size_t i = 1; i < threads; ++i) others.emplace_back(run);
  } catch (...) {  // no more threads to be had
  }
  run();
  for (std::thread& thread : others) thread.join();
  for (const std::exception_ptr& e : failed)
    if (e) std::rethrow_exception(e);
  return parts;
}

// The values of the first `done` rows; where any number is asked for, also how many each row has.
nb::object finish(const Arrays& arrays, const std::vector<std::unique_ptr<Part>>& parts, Wanted& w, size_t column,
                  size_t done, size_t rows) {
  if (w.fixed) {
    if (w.kind != kString && done == rows) return nb::make_tuple(w.array, nb::none());
    if (w.kind != kString)
      return nb::make_tuple(w.array[nb::slice(nb::int_(0), nb::int_(done * w.size), nb::none())], nb::none());
    return nb::make_tuple(bytes_array(done * w.size, [&](size_t i) { return w.strings[i]; }), nb::none());
  }
  size_t count = 0;
  std::vector<Span> strings;
  for (const auto& part : parts) {
    if (part->begin() > done) break;
    const Values& v = part->values[column];
    count += v.count;
    strings.insert(strings.end(), v.strings.begin(), v.strings.end());
  }
  nb::object lengths = arrays.fresh(done, kInt);
  nb::object flat = w.kind == kString ? bytes_array(count, [&](size_t i) { return strings[i]; })
                                      : arrays.fresh(count, w.kind);
  const Bytes lengths_out(lengths, true);
  const auto flat_out = w.kind == kString ? nullptr : std::make_unique<Bytes>(flat, true);
  size_t row = 0, bytes = 0;
  for (const auto& part : parts) {
    if (part->begin() > done) break;
    const Values& v = part->values[column];
    if (!v.lengths.empty())
      std::memcpy(lengths_out.data() + 8 * row, v.lengths.data(), 8 * v.lengths.size());
    row += v.lengths.size();
    if (flat_out == nullptr || v.count == 0) continue;
    std::memcpy(flat_out->data() + bytes, v.flat.data(), v.count * w.width());
    bytes += v.count * w.width();
  }
  return nb::make_tuple(flat, lengths);
}

nb::object parse_examples(nb::handle strings, nb::list keys, Vector<const uint8_t> kinds, Vector<const int64_t> sizes,
                          nb::list defaults, int64_t threads) {
  const nb::list held_keys = own_list(keys), held_defaults = own_list(defaults);
  const size_t k = held_keys.size();
  if (kinds.shape(0) != k || sizes.shape(0) != k || held_defaults.size() != k)
    throw std::invalid_argument("keys, kinds, sizes and defaults must have one length");
  const size_t most = length(threads, "threads");
  const Rows rows(strings);
  const Arrays arrays;
  const Request request(arrays, held_keys, kinds.data(), sizes.data(), held_defaults, rows.spans.size());
  std::vector<std::unique_ptr<Part>> parts;
  size_t bytes = 0;
  for (const Span& row : rows.spans) bytes += std::min<size_t>(row.size, kMostRead);
  if (bytes < kWorthRelease) {
    parts = read(request, rows.spans, most);
  } else {
    nb::gil_scoped_release release;
    parts = read(request, rows.spans, most);
  }
  size_t done = 0;
  for (const auto& part : parts) {
    done = part->done;
    if (done < part->end()) break;
  }
  nb::list out;
  for (size_t i = 0; i < k; ++i) out.append(finish(arrays, parts, *request.wanted[i], i, done, rows.spans.size()));
  return nb::make_tuple(done, out);
}

}  // namespace

void register_example(nb::module_& m) {
  using namespace nb::literals;
  m.def("parse_examples", &parse_examples, "strings"_a, "keys"_a, "kinds"_a.noconvert(), "sizes"_a.noconvert(),
        "defaults"_a, "threads"_a = 1);
}

}  // namespace feedline
