// Features that are asked for, and their values: from a Feature message to the end of a column.
#pragma once

#include <memory>
#include <vector>

#include "strings.h"
#include "wire.h"

namespace feedline {

enum Kind : uint8_t { kString = 1, kFloat = 2, kInt = 3 };  // the numbers of the lists in a Feature
constexpr unsigned char kPacked = 0x0A, kPlainInt = 0x08, kPlainFloat = 0x0D;
constexpr size_t kNowhere = SIZE_MAX;

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

// Where a feature is asked for. TensorFlow reads a SequenceExample with other code than an Example, and in its context
// the last of several entries counts. A list has any number of steps, each of which is a Feature.
enum class In { kExample, kContext, kLists };

// What an entry with no list in it means: that an earlier one counts, that there are no values, or an error.
enum class Hollow { kEarlier, kNone, kBad };

// How many rows there are, and the bytes of the longest.
struct Extent {
  explicit Extent(const std::vector<Span>& spans) : rows(spans.size()) {
    for (const Span& span : spans) longest = std::max(longest, span.size);
  }

  size_t rows, longest = 0;
};

// A feature that is asked for. Where it has one size the values of row i have their place already.
struct Wanted {
  Wanted(const Arrays& arrays, nb::handle name, uint8_t number, int64_t count, nb::handle given, const Extent& extent,
         In place)
      : key(span_of(name, "a key")),
        in(place),
        kind(number),
        exact(count >= 0),
        fixed(exact && in != In::kLists),
        hollow(in == In::kExample ? (count == -2 ? Hollow::kNone : Hollow::kEarlier)
               : fixed            ? Hollow::kBad
                                  : Hollow::kNone),
        placed(in == In::kLists && count == -2),
        has_fallback(!given.is_none()),
        size(exact ? static_cast<size_t>(count) : 0),
        row_bytes(size * width()) {
    if (kind != kString && kind != kFloat && kind != kInt) throw std::invalid_argument("a kind must be 1, 2 or 3");
    if (in == In::kContext && count < -1)
      throw std::invalid_argument("a size must be a number of values, or -1 for any");
    if (count < -2) throw std::invalid_argument("a size must be a number of values, or -1 or -2 for any");
    if (has_fallback && kind == kString) {
      held = own_list(given);
      for (nb::handle item : held) string_fallback.push_back(span_of(item, "a default"));
      must_fit(string_fallback.size());
    } else if (has_fallback) {
      fallback = std::make_unique<Bytes>(given, false);
      must_fit(fallback->size() % width() == 0 ? fallback->size() / width() : SIZE_MAX);
    }
    hopeless = fixed && !has_fallback && size > extent.longest;
    if (!fixed || hopeless) return;
    if (extent.rows > 0 && size > SIZE_MAX / 16 / extent.rows) throw std::invalid_argument("size is too large");
    if (kind == kString) {
      strings.resize(size * extent.rows);
    } else {
      array = arrays.fresh(size * extent.rows, kind);
      memory = std::make_unique<Bytes>(array, true);
      out = memory->data();
    }
  }

  size_t width() const { return kind == kInt ? 8 : 4; }
  unsigned char tag() const { return static_cast<unsigned char>(kind << 3 | kDelimited); }

  Span key;
  In in;
  uint8_t kind;
  bool exact;  // so many values, or it is an error
  bool fixed;  // and so many in a row
  Hollow hollow;
  bool placed;  // each value of a list with its place
  bool has_fallback;
  bool needed = false;  // a list without which a row is bad
  bool hopeless;  // no row can have so many values, so there is no need of memory for them
  size_t size, row_bytes;
  char* out = nullptr;
  std::vector<Span> strings;
  nb::object array;
  std::unique_ptr<Bytes> memory, fallback;
  nb::list held;
  std::vector<Span> string_fallback;

 private:
  void must_fit(size_t values) const {
    if (!fixed || values != size) throw std::invalid_argument("the size of a default differs from its key's");
  }
};

// The features that are asked for, and which one a key belongs to. The keys looked up are anybody's.
class Request {
 public:
  Request(const Arrays& arrays, nb::list keys, const uint8_t* kinds, const int64_t* sizes, nb::list defaults,
          const Extent& extent, In in) {
    for (size_t i = 0; i < keys.size(); ++i)
      wanted.push_back(std::make_unique<Wanted>(arrays, nb::object(keys[i]), kinds[i], sizes[i],
                                                nb::object(defaults[i]), extent, in));
    size_t slots = 16;
    while (slots < 4 * wanted.size()) slots *= 2;
    slots_.assign(slots, kNowhere);
    for (size_t i = 0; i < wanted.size(); ++i) {
      size_t slot = hash(wanted[i]->key);
      for (; slots_[slot] != kNowhere; slot = (slot + 1) & (slots_.size() - 1))
        if (equal(wanted[slots_[slot]]->key, wanted[i]->key)) throw std::invalid_argument("a key is repeated");
      slots_[slot] = i;
    }
  }

  size_t find(Span key) const {
    for (size_t slot = hash(key); slots_[slot] != kNowhere; slot = (slot + 1) & (slots_.size() - 1))
      if (equal(wanted[slots_[slot]]->key, key)) return slots_[slot];
    return kNowhere;
  }

  // True where no row can be good.
  bool hopeless() const {
    return std::any_of(wanted.begin(), wanted.end(), [](const auto& w) { return w->hopeless; });
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

// Memory that grows, without the zeros that a vector would write first.
class Growing {
 public:
  // Room for so many bytes after the first `kept`, which stay; some even for none.
  char* room(size_t kept, size_t bytes) {
    if (capacity_ - kept <= bytes) grow(kept, bytes);
    return memory_.get() + kept;
  }

  const char* data() const { return memory_.get(); }

 private:
  void grow(size_t kept, size_t bytes) {
    const size_t capacity = std::max<size_t>(2 * capacity_, kept + bytes + 64);
    std::unique_ptr<char[]> larger(new char[capacity]);
    if (kept > 0) std::memcpy(larger.get(), memory_.get(), kept);
    memory_ = std::move(larger);
    capacity_ = capacity;
  }

  std::unique_ptr<char[]> memory_;
  size_t capacity_ = 0;
};

// The values of a feature that has no place in each row, in the rows of one part. What comes after the first `count`
// belongs to no row yet. There is a length for each row, or for each step of a list, unless all must have one.
struct Values {
  Growing flat;
  std::vector<Span> strings;
  std::vector<int64_t> lengths;
  size_t count = 0;
};

// Where the values of one Feature message go: to their place in `row`, or to the end of `values`. The functions are
// false where the message is damaged, or has another type or number of values than asked for.
struct Sink {
  // A Feature that holds something; `feature` is then what comes after its list.
  bool list(Wire& feature) {
    Wire items{};
    if (!feature.tag(w.tag()) || !feature.clipped(items)) return false;
    if (w.kind == kString) return all_strings(items);
    if (!items.empty() && *items.at == kPacked) {  // what comes after the first piece is not looked at, or refused
      Wire piece{};
      ++items.at;
      if (w.kind == kInt ? !items.clipped(piece) : !items.piece(piece)) return false;
      return (items.empty() || w.in != In::kLists) && packed(piece);
    }
    return w.kind == kInt ? plain_ints(items) : plain_floats(items);
  }

  // The packed numbers, or the one string, in `piece`.
  bool packed(Wire piece) {
    return w.kind == kFloat ? packed_floats(piece) : w.kind == kInt ? packed_ints(piece) : one_string(piece);
  }

  // No such feature.
  bool missing() {
    if (!w.fixed) {
      if (w.exact && w.size > 0) return false;
      took(0);
      return true;
    }
    if (!w.has_fallback) return false;
    if (w.kind == kString)
      std::copy(w.string_fallback.begin(), w.string_fallback.end(), strings_at());
    else if (w.row_bytes > 0)
      std::memcpy(w.out + row * w.row_bytes, w.fallback->data(), w.row_bytes);
    return true;
  }

  Wanted& w;
  Values& values;
  size_t row;

 private:
  Span* strings_at() { return w.strings.data() + row * w.size; }

  // Room for so many more values; null where another number is asked for.
  char* room(size_t count) {
    if (w.exact && count != w.size) return nullptr;
    if (w.fixed) return w.out + row * w.row_bytes;
    return values.flat.room(values.count * w.width(), count * w.width());
  }

  void took(size_t count) {
    if (w.fixed) return;
    if (!w.exact) values.lengths.push_back(static_cast<int64_t>(count));
    values.count += count;
  }

  bool packed_floats(Wire piece) {
    const size_t count = piece.left() / 4;
    char* to = piece.left() % 4 != 0 && w.in != In::kExample ? nullptr : room(count);
    if (to == nullptr) return false;
    if (count == 1) std::memcpy(to, piece.at, 4);
    else if (count > 0) std::memcpy(to, piece.at, 4 * count);
    took(count);
    return true;
  }

  bool plain_floats(Wire items) {
    const size_t count = items.left() / 5;
    char* to = items.left() % 5 == 0 ? room(count) : nullptr;
    if (to == nullptr) return false;
    for (; !items.empty(); items.at += 4, to += 4) {
      if (!items.tag(kPlainFloat)) return false;
      std::memcpy(to, items.at, 4);
    }
    took(count);
    return true;
  }

  bool packed_ints(Wire piece) {
    size_t count = w.size;
    if (!w.exact) {  // each number has one byte below 0x80, its last
      count = 0;
      for (const unsigned char* p = piece.at; p != piece.end; ++p) count += *p < 0x80;
    } else if (count > piece.left()) {
      return false;
    }
    return numbers(piece, count, false);
  }

  bool plain_ints(Wire items) {
    size_t count = 0;  // a tag is such a byte too
    for (const unsigned char* p = items.at; p != items.end; ++p) count += *p < 0x80;
    return numbers(items, count / 2, true);
  }

  bool numbers(Wire items, size_t count, bool tagged) {
    char* to = room(count);
    if (to == nullptr) return false;
    for (size_t i = 0; i < count; ++i, to += 8) {
      uint64_t value;
      if ((tagged && !items.tag(kPlainInt)) || !items.varint(value)) return false;
      std::memcpy(to, &value, 8);
    }
    if (!items.empty()) return false;
    took(count);
    return true;
  }

  bool one_string(Wire piece) {
    if (w.exact && w.size != 1) return false;
    if (w.fixed) *strings_at() = {piece.at, piece.left()};
    else values.strings.push_back({piece.at, piece.left()});
    took(1);
    return true;
  }

  bool all_strings(Wire items) {
    size_t count = 0;
    for (; !items.empty(); ++count) {
      Wire item{};
      if (!items.tag(kPacked) || !items.piece(item) || (w.exact && count == w.size)) return false;
      if (w.fixed) strings_at()[count] = {item.at, item.left()};
      else values.strings.push_back({item.at, item.left()});
    }
    if (w.exact && count != w.size) return false;
    took(count);
    return true;
  }
};

}  // namespace feedline
