// A batch of serialized Examples to columns. This reads what writers write and says "row i is unusual" to everything
// else: who calls it has slower code that knows TensorFlow's answer to each oddity.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "strings.h"

namespace feedline {
namespace {

enum Kind : uint8_t { kString = 1, kFloat = 2, kInt = 3 };  // the numbers of the lists in a Feature
constexpr unsigned char kDelimited = 2, kEntry = 0x0A, kKey = 0x0A, kValue = 0x12;
constexpr unsigned char kPacked = 0x0A, kPlainInt = 0x08, kPlainFloat = 0x0D;
constexpr size_t kAnyNumber = SIZE_MAX;

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
};

// numpy.empty with what it needs looked up once: one example with many features makes many small arrays.
struct Arrays {
  nb::object fresh(size_t n, uint8_t kind) const { return empty(n, kind == kInt ? ints : floats); }

  nb::object numpy = nb::module_::import_("numpy");
  nb::object empty = numpy.attr("empty");
  nb::object ints = numpy.attr("dtype")("<i8"), floats = numpy.attr("dtype")("<f4");
};

// One feature that is asked for, and what has been found of it so far.
class Column {
 public:
  Column(const Arrays& arrays, nb::handle key, uint8_t kind, int64_t size, nb::handle fallback, size_t rows)
      : key_(span_of(key, "a key")), kind_(kind), size_(size < 0 ? kAnyNumber : static_cast<size_t>(size)) {
    if (kind_ != kString && kind_ != kFloat && kind_ != kInt) throw std::invalid_argument("a kind is 1, 2 or 3");
    if (fixed() && rows > 0 && size_ > SIZE_MAX / 16 / rows) throw std::invalid_argument("size is too large");
    has_fallback_ = !fallback.is_none();
    if (has_fallback_ && kind_ == kString) {
      held_ = own_list(fallback);
      for (nb::handle item : held_) strings_fallback_.push_back(span_of(item, "a default"));
      if (strings_fallback_.size() != size_) throw std::invalid_argument("a default has another size than its key");
    } else if (has_fallback_) {
      fallback_ = std::make_unique<Bytes>(fallback, false);
      if (!fixed() || fallback_->size() != size_ * width())
        throw std::invalid_argument("a default has another size than its key");
    }
    if (!fixed()) {
      lengths_.reserve(rows);
    } else if (kind_ != kString) {
      array_ = arrays.fresh(size_ * rows, kind_);
      fixed_ = std::make_unique<Bytes>(array_, true);
      next_ = fixed_->data();
    } else {
      strings_.reserve(size_ * rows);
    }
  }

  const Span& key() const { return key_; }

  // Reads a Feature; `seen` says whether it holds a list.
  bool read(Wire feature, bool& seen) {
    seen = !feature.empty();
    if (!seen) return true;
    Wire list{};
    if (!feature.tag(static_cast<unsigned char>(kind_ << 3 | kDelimited)) || !feature.piece(list)) return false;
    size_t count = 0;
    if (!(kind_ == kString ? strings(list, count) : kind_ == kFloat ? floats(list, count) : ints(list, count)))
      return false;
    if (fixed()) return count == size_;
    lengths_.push_back(static_cast<int64_t>(count));
    return true;
  }

  // The row has no such feature.
  bool missing() {
    if (!fixed()) {
      lengths_.push_back(0);
      return true;
    }
    if (!has_fallback_) return false;
    if (kind_ == kString) {
      strings_.insert(strings_.end(), strings_fallback_.begin(), strings_fallback_.end());
    } else {
      if (fallback_->size() > 0) std::memcpy(next_, fallback_->data(), fallback_->size());
      next_ += fallback_->size();
    }
    return true;
  }

  // The values of all rows; where any number is asked for, also how many each row has.
  nb::object finish(const Arrays& arrays) {
    nb::object values = array_;
    if (kind_ == kString) {
      values = bytes_array(strings_.size(), [&](size_t i) { return strings_[i]; });
    } else if (!fixed()) {
      values = arrays.fresh(flat_.size() / width(), kind_);
      const Bytes out(values, true);
      if (!flat_.empty()) std::memcpy(out.data(), flat_.data(), flat_.size());
    }
    if (fixed()) return nb::make_tuple(values, nb::none());
    nb::object lengths = arrays.fresh(lengths_.size(), kInt);
    const Bytes out(lengths, true);
    if (!lengths_.empty()) std::memcpy(out.data(), lengths_.data(), lengths_.size() * sizeof(int64_t));
    return nb::make_tuple(values, lengths);
  }

 private:
  bool fixed() const { return size_ != kAnyNumber; }
  size_t width() const { return kind_ == kInt ? 8 : 4; }

  // Room for so many more values; false where a fixed number is asked for and this is another one.
  bool room(size_t count, char*& to) {
    if (fixed()) {
      if (count != size_) return false;
      to = next_;
      next_ += count * width();
      return true;
    }
    const size_t before = flat_.size();
    flat_.resize(before + count * width());
    to = flat_.data() + before;
    return true;
  }

  bool strings(Wire list, size_t& count) {
    while (!list.empty()) {
      Wire item{};
      if (!list.tag(kPacked) || !list.piece(item)) return false;
      if (fixed() && count == size_) return false;
      strings_.push_back({item.at, item.left()});
      ++count;
    }
    return true;
  }

  bool floats(Wire list, size_t& count) {
    if (list.tag(kPacked)) {  // what comes after the first piece is not looked at
      Wire packed{};
      if (!list.piece(packed) || packed.left() % 4 != 0) return false;
      count = packed.left() / 4;
      char* to;
      if (!room(count, to)) return false;
      if (count > 0) std::memcpy(to, packed.at, packed.left());
      return true;
    }
    if (list.left() % 5 != 0) return false;
    count = list.left() / 5;
    char* to;
    if (!room(count, to)) return false;
    for (; !list.empty(); list.at += 4, to += 4) {
      if (!list.tag(kPlainFloat)) return false;
      std::memcpy(to, list.at, 4);
    }
    return true;
  }

  bool ints(Wire list, size_t& count) {
    const bool packed = list.tag(kPacked);
    if (packed) {
      Wire inside{};
      if (!list.piece(inside)) return false;
      list = inside;
    }
    // Each number has one byte below 0x80, its last; a tag is such a byte too.
    size_t small = 0;
    for (const unsigned char* p = list.at; p != list.end; ++p) small += *p < 0x80;
    count = packed ? small : small / 2;
    char* to;
    if (!room(count, to)) return false;
    size_t read = 0;
    for (; !list.empty(); ++read, to += 8) {
      uint64_t value;
      if (read == count || (!packed && !list.tag(kPlainInt)) || !list.varint(value)) return false;
      std::memcpy(to, &value, 8);
    }
    return read == count;
  }

  Span key_;
  uint8_t kind_;
  size_t size_;
  bool has_fallback_ = false;
  nb::list held_;
  std::vector<Span> strings_fallback_;
  std::unique_ptr<Bytes> fallback_;
  nb::object array_;
  std::unique_ptr<Bytes> fixed_;
  char* next_ = nullptr;
  std::vector<char> flat_;
  std::vector<Span> strings_;
  std::vector<int64_t> lengths_;
};

// Which column a key belongs to. The keys are the caller's; those looked up are anybody's.
class Keys {
 public:
  explicit Keys(const std::vector<std::unique_ptr<Column>>& columns) {
    size_t slots = 16;
    while (slots < 4 * columns.size()) slots *= 2;
    slots_.assign(slots, kNone);
    for (size_t i = 0; i < columns.size(); ++i) {
      keys_.push_back(columns[i]->key());
      size_t slot = hash(keys_[i]);
      for (; slots_[slot] != kNone; slot = (slot + 1) & (slots_.size() - 1))
        if (same(keys_[static_cast<size_t>(slots_[slot])], keys_[i]))
          throw std::invalid_argument("a key is there twice");
      slots_[slot] = static_cast<int32_t>(i);
    }
  }

  // The column of the key that is entry `position` of its example: mostly that of the example before.
  int32_t find(Span key, size_t position) {
    if (position < before_.size() && same(before_[position].key, key)) return before_[position].column;
    int32_t column = kNone;
    for (size_t slot = hash(key); slots_[slot] != kNone; slot = (slot + 1) & (slots_.size() - 1))
      if (same(keys_[static_cast<size_t>(slots_[slot])], key)) {
        column = slots_[slot];
        break;
      }
    if (position == before_.size()) before_.push_back({key, column});
    else before_[position] = {key, column};
    return column;
  }

  static constexpr int32_t kNone = -1;

 private:
  struct Seen {
    Span key;
    int32_t column;
  };

  static bool same(const Span& a, const Span& b) {
    return a.size == b.size && (a.size == 0 || std::memcmp(a.data, b.data, a.size) == 0);
  }

  size_t hash(const Span& key) const {
    uint64_t h = 0xCBF29CE484222325u;
    for (size_t i = 0; i < key.size; ++i) h = (h ^ key.data[i]) * 0x100000001B3u;
    return static_cast<size_t>(h ^ h >> 29) & (slots_.size() - 1);
  }

  std::vector<Span> keys_;
  std::vector<int32_t> slots_;
  std::vector<Seen> before_;
};

class Parser {
 public:
  explicit Parser(std::vector<std::unique_ptr<Column>>& columns)
      : columns_(columns), keys_(columns), row_of_(columns.size(), 0) {}

  bool read(Span example) {
    ++row_;
    position_ = 0;
    Wire wire{example.data, example.data + example.size};
    while (!wire.empty()) {
      const unsigned char tag = *wire.at++;
      Wire inside{};
      if (tag >= 0x80 || (tag & 7) != kDelimited || !wire.piece(inside)) return false;
      if (tag == kEntry && !features(inside)) return false;  // other fields are skipped
    }
    for (size_t i = 0; i < columns_.size(); ++i)
      if (row_of_[i] != row_ && !columns_[i]->missing()) return false;
    return true;
  }

 private:
  bool features(Wire wire) {
    while (!wire.empty()) {
      Wire entry{}, key{}, value{};
      if (!wire.tag(kEntry) || !wire.piece(entry)) return false;
      if (entry.tag(kKey)) {
        if (!entry.piece(key) || !entry.tag(kValue) || !entry.piece(value)) return false;
      } else if (!entry.tag(kValue) || !entry.piece(value) || !entry.tag(kKey) || !entry.piece(key)) {
        return false;
      }
      if (!entry.empty()) return false;
      const int32_t found = keys_.find({key.at, key.left()}, position_++);
      if (found == Keys::kNone) continue;
      const auto i = static_cast<size_t>(found);
      // A key that is there twice, even with nothing in it, has rules of its own.
      if (row_of_[i] == row_) return false;
      bool seen = false;
      if (!columns_[i]->read(value, seen) || (!seen && !columns_[i]->missing())) return false;
      row_of_[i] = row_;
    }
    return true;
  }

  std::vector<std::unique_ptr<Column>>& columns_;
  Keys keys_;
  std::vector<size_t> row_of_;  // the last row in which each column was found, counted from 1
  size_t row_ = 0, position_ = 0;
};

nb::object parse_examples(nb::list strings, nb::list keys, Vector<const uint8_t> kinds, Vector<const int64_t> sizes,
                          nb::list defaults) {
  const size_t k = keys.size();
  if (kinds.shape(0) != k || sizes.shape(0) != k || defaults.size() != k)
    throw std::invalid_argument("keys, kinds, sizes and defaults must have one length");
  const nb::list held = own_list(strings), held_keys = own_list(keys);
  std::vector<Span> rows;
  rows.reserve(held.size());
  for (nb::handle item : held) rows.push_back(span_of(item, "an example"));
  const Arrays arrays;
  std::vector<std::unique_ptr<Column>> columns;
  for (size_t i = 0; i < k; ++i)
    columns.push_back(std::make_unique<Column>(arrays, nb::object(held_keys[i]), kinds.data()[i], sizes.data()[i],
                                               nb::object(defaults[i]), rows.size()));
  Parser parser(columns);
  size_t row = 0;
  {
    nb::gil_scoped_release release;
    while (row < rows.size() && parser.read(rows[row])) ++row;
  }
  nb::list out;
  if (row == rows.size())
    for (auto& column : columns) out.append(column->finish(arrays));
  return nb::make_tuple(row, out);
}

}  // namespace

void register_example(nb::module_& m) {
  using namespace nb::literals;
  m.def("parse_examples", &parse_examples, "strings"_a, "keys"_a, "kinds"_a.noconvert(), "sizes"_a.noconvert(),
        "defaults"_a);
}

}  // namespace feedline
