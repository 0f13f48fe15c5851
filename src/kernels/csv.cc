// CSV: fields of records, straight to columns. One grammar for strings that are a record each, one for files.
#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "number.h"
#include "strings.h"
#include "team.h"

namespace feedline {
namespace {

// Why there are no more rows; the numbers are those of the reference.
enum Stop : int {
  kDone = 0,
  kCut = 1,
  kStray = 2,
  kSingleQuote = 3,
  kOpenQuote = 4,
  kMiscounted = 5,
  kMissing = 6,
  kNoNumber = 7
};
enum Kind : uint8_t { kFloat = 1, kDouble = 2, kInt32 = 3, kInt64 = 4, kString = 5 };

// A thread reads at least so many bytes of records, to be worth waking.
constexpr size_t kBytesPerThread = 1 << 14;

struct Field {
  const char* data = nullptr;
  size_t size = 0;
};

bool same(Field a, Field b) { return a.size == b.size && (a.size == 0 || std::memcmp(a.data, b.data, a.size) == 0); }

class Column {
 public:
  virtual ~Column() = default;
  virtual Stop add(Field field, bool missing) = 0;
  // Takes the values of a column of the same kind, which follow its own.
  virtual void append(const Column& more) = 0;
  virtual nb::object finish(size_t rows) = 0;
};

template <typename T>
bool parse(Field f, T& out) {
  if constexpr (std::is_floating_point_v<T>) return parse_number(f.data, f.data + f.size, out);
  else return parse_integer(f.data, f.data + f.size, out);
}

template <typename T>
class Numbers : public Column {
 public:
  Numbers(nb::handle fallback, const char* dtype) : dtype_(dtype) {
    if (!fallback.is_none()) fallback_ = nb::cast<T>(fallback);
  }
  Stop add(Field field, bool missing) override {
    T value;
    if (missing) {
      if (!fallback_) return kMissing;
      value = *fallback_;
    } else if (!parse(field, value)) {
      return kNoNumber;
    }
    values_.push_back(value);
    return kDone;
  }
  void append(const Column& more) override {
    const auto& other = static_cast<const Numbers&>(more).values_;
    values_.insert(values_.end(), other.begin(), other.end());
  }
  nb::object finish(size_t rows) override {
    Fresh<T> out(rows, dtype_);
    if (rows > 0) std::memcpy(out.data(), values_.data(), rows * sizeof(T));
    return out.array;
  }

 private:
  const char* dtype_;
  std::optional<T> fallback_;
  std::vector<T> values_;
};

class Strings : public Column {
 public:
  explicit Strings(nb::handle fallback) : held_(nb::borrow(fallback)) {
    if (!fallback.is_none()) fallback_ = span_of(fallback, "a default");
  }
  Stop add(Field field, bool missing) override {
    if (missing && !fallback_) return kMissing;
    values_.push_back(missing ? *fallback_ : Span{reinterpret_cast<const unsigned char*>(field.data), field.size});
    return kDone;
  }
  void append(const Column& more) override {
    const auto& other = static_cast<const Strings&>(more).values_;
    values_.insert(values_.end(), other.begin(), other.end());
  }
  nb::object finish(size_t rows) override {
    return bytes_array(rows, [this](size_t i) { return values_[i]; });
  }

 private:
  nb::object held_;
  std::optional<Span> fallback_;
  std::vector<Span> values_;
};

std::unique_ptr<Column> column(uint8_t kind, nb::handle fallback) {
  switch (kind) {
    case kFloat: return std::make_unique<Numbers<float>>(fallback, "float32");
    case kDouble: return std::make_unique<Numbers<double>>(fallback, "float64");
    case kInt32: return std::make_unique<Numbers<int32_t>>(fallback, "int32");
    case kInt64: return std::make_unique<Numbers<int64_t>>(fallback, "int64");
    case kString: return std::make_unique<Strings>(fallback);
  }
  throw std::invalid_argument("a kind must be from 1 to 5");
}

// What the two grammars share: which fields are wanted, and how a record's fields become a row.
class Table {
 public:
  Table(int64_t delimiter, bool quotes, nb::handle na_value, Vector<const uint8_t> kinds, const nb::list& defaults,
        Vector<const uint8_t> wanted, bool rest)
      : delimiter(static_cast<char>(delimiter)), quotes(quotes), rest_(rest) {
    if (delimiter < 0 || delimiter > 255) throw std::invalid_argument("delimiter must be a byte");
    if (defaults.size() != kinds.shape(0)) throw std::invalid_argument("kinds and defaults must have the same length");
    const Span na = span_of(na_value, "na_value");
    na_ = {reinterpret_cast<const char*>(na.data), na.size};
    for (size_t i = 0; i < kinds.shape(0); ++i) columns_.push_back(column(kinds.data()[i], defaults[i]));
    wanted_.assign(wanted.data(), wanted.data() + wanted.shape(0));
    for (int c = 0; c < 256; ++c) special_[c] = c == '\n' || c == '\r' || (quotes && c == '"');
    special_[static_cast<unsigned char>(this->delimiter)] = true;
  }

  void start() {
    fields_.clear();
    number_ = 0;
    problem_ = kDone;
  }
  // Takes the next field of the record.
  void field(Field f) {
    if (takes()) fields_.push_back(f);
    ++number_;
  }
  bool takes() const { return number_ < wanted_.size() ? wanted_[number_] != 0 : rest_; }
  void wrong(Stop problem) {
    if (problem_ == kDone) problem_ = problem;
  }
  // True when all that is wanted is there, and nothing after it can be.
  bool full() const { return !rest_ && fields_.size() == columns_.size(); }

  // Makes a row of the record; false where it cannot be one.
  bool finish() {
    stop_ = problem_;
    if (stop_ == kDone && fields_.size() != columns_.size()) {
      stop_ = kMiscounted;
      at_ = fields_.size();
    }
    for (size_t i = 0; stop_ == kDone && i < columns_.size(); ++i) {
      const Field f = fields_[i];
      stop_ = columns_[i]->add(f, f.size == 0 || same(f, na_));
      if (stop_ == kDone) continue;
      at_ = i;
      if (stop_ == kNoNumber) text_ = f;
    }
    rows_ += stop_ == kDone;
    return stop_ == kDone;
  }

  // Up to the next delimiter, line end or, where they count, quote.
  const char* plain(const char* at, const char* end) const {
    while (at != end && !special_[static_cast<unsigned char>(*at)]) ++at;
    return at;
  }

  // What is inside quotes, with each pair of them made one.
  Field single(Field f) {
    if (f.size == 0 || std::memchr(f.data, '"', f.size) == nullptr) return f;
    unquoted_.emplace_back();
    std::string& out = unquoted_.back();
    for (size_t i = 0; i < f.size; ++i) {
      out.push_back(f.data[i]);
      if (f.data[i] == '"' && i + 1 < f.size && f.data[i + 1] == '"') ++i;
    }
    return {out.data(), out.size()};
  }

  // Takes the rows of a table of the same form, which follow its own, and why there are no more. Strings stay in the
  // other one.
  void append(const Table& more) {
    for (size_t i = 0; i < columns_.size(); ++i) columns_[i]->append(*more.columns_[i]);
    rows_ += more.rows_;
    stop_ = more.stop_;
    at_ = more.at_;
    text_ = more.text_;
  }

  nb::list columns() {
    nb::list out;
    for (auto& c : columns_) out.append(c->finish(rows_));
    return out;
  }
  nb::object text() const { return nb::bytes(text_.data == nullptr ? "" : text_.data, text_.size); }
  Stop stop() const { return stop_; }
  size_t at() const { return at_; }

  const char delimiter;
  const bool quotes;

 private:
  bool rest_;
  Field na_;
  std::vector<std::unique_ptr<Column>> columns_;
  std::vector<uint8_t> wanted_;
  bool special_[256];
  std::vector<Field> fields_;  // of the record at hand, those that are wanted
  size_t number_ = 0;
  Stop problem_ = kDone;
  std::deque<std::string> unquoted_;  // fields point into these strings, which never move
  size_t rows_ = 0;
  Stop stop_ = kDone;
  size_t at_ = 0;
  Field text_;
};

bool line_end(char c) { return c == '\n' || c == '\r'; }

// A string that is one record. Line ends before a field are skipped.
bool read_string(Table& table, const char* at, const char* const end) {
  const char* const begin = at;
  table.start();
  while (at < end) {
    if (line_end(*at)) {
      ++at;
      continue;
    }
    Field field;
    if (table.quotes && *at == '"') {
      const char* const inside = ++at;
      // It ends at a quote before a delimiter, or at the very end.
      while (at < end - 1 && !(*at == '"' && at[1] == table.delimiter)) {
        if (*at == '"' && at[1] != '"') {
          table.wrong(kSingleQuote);
          return table.finish();
        }
        at += *at == '"' ? 2 : 1;
      }
      if (at >= end || *at != '"') {
        table.wrong(kOpenQuote);
        return table.finish();
      }
      field = table.single({inside, static_cast<size_t>(at - inside)});
      at += 2;
    } else {
      const char* const after = table.plain(at, end);
      if (after != end && *after != table.delimiter) {
        table.wrong(kStray);
        return table.finish();
      }
      field = {at, static_cast<size_t>(after - at)};
      at = after + 1;
    }
    table.field(field);
    if (table.full()) return table.finish();
  }
  if (begin != end && end[-1] == table.delimiter) table.field({});
  return table.finish();
}

// A record of a file, from `at` on, which is not the end; nullptr where it may go on after what is there.
const char* read_record(Table& table, const char* at, const char* const end, bool final) {
  table.start();
  while (true) {
    if (at == end) {
      if (!final) return nullptr;
      table.field({});
      return at;
    }
    if (table.quotes && *at == '"') {
      const char* const inside = ++at;
      const char* quote;
      while (true) {
        const size_t left = at < end ? static_cast<size_t>(end - at) : 0;
        quote = left > 0 ? static_cast<const char*>(std::memchr(at, '"', left)) : nullptr;
        if (quote == nullptr || quote + 1 == end || quote[1] == table.delimiter || line_end(quote[1])) break;
        if (quote[1] != '"') table.wrong(kSingleQuote);
        at = quote + 2;
      }
      if (quote == nullptr) {
        table.wrong(kOpenQuote);
        table.field({});
        at = end;
      } else {
        table.field(table.single({inside, static_cast<size_t>(quote - inside)}));
        at = quote + 1;
      }
    } else {
      const char* after = table.plain(at, end);
      while (after != end && table.quotes && *after == '"' && table.delimiter != '"') {
        table.wrong(kStray);
        after = table.plain(after + 1, end);
      }
      table.field({at, static_cast<size_t>(after - at)});
      at = after;
    }
    if (at == end) return final ? at : nullptr;
    if (*at == table.delimiter) {
      ++at;
      continue;
    }
    if (*at == '\r') {
      if (at + 1 == end && !final) return nullptr;
      if (at + 1 != end && at[1] == '\n') ++at;
    }
    return at + 1;
  }
}

nb::object csv_strings(nb::handle records, int64_t delimiter, bool quotes, nb::bytes na_value,
                       Vector<const uint8_t> kinds, nb::list defaults, Vector<const uint8_t> wanted, bool rest,
                       int64_t threads) {
  const nb::list held_defaults = own_list(defaults);
  const Rows held(records, "a record");
  const std::vector<Span>& rows = held.spans;
  size_t total = 0;
  for (const Span& row : rows) total += row.size;
  // Each thread reads a part of the records into a table of its own.
  const size_t parts = std::max<size_t>(1, std::min({length(threads, "threads"), total / kBytesPerThread, rows.size()}));
  std::vector<std::unique_ptr<Table>> tables;
  for (size_t i = 0; i < parts; ++i)
    tables.push_back(std::make_unique<Table>(delimiter, quotes, na_value, kinds, held_defaults, wanted, rest));
  {
    const HandedOver release(total >= kWorthAThread);
    in_team(parts, parts, [&](size_t part) {
      const size_t first = rows.size() * part / parts, end = rows.size() * (part + 1) / parts;
      for (size_t i = first; i < end; ++i) {
        const char* const at = reinterpret_cast<const char*>(rows[i].data);
        if (!read_string(*tables[part], at, at + rows[i].size)) return false;
      }
      return true;
    });
    for (size_t i = 1; i < parts && tables[0]->stop() == kDone; ++i) tables[0]->append(*tables[i]);
  }
  const Table& all = *tables[0];
  return nb::make_tuple(tables[0]->columns(), static_cast<int>(all.stop()), all.at(), all.text());
}

nb::object csv_records(nb::handle data, int64_t start, int64_t want, bool final, int64_t delimiter, bool quotes,
                       nb::bytes na_value, Vector<const uint8_t> kinds, nb::list defaults,
                       Vector<const uint8_t> wanted, bool rest) {
  const Bytes buffer(data, false);
  const size_t from = length(start, "start"), most = length(want, "want");
  if (from > buffer.size()) throw nb::index_error("start is beyond the end of the data");
  const nb::list held_defaults = own_list(defaults);
  Table table(delimiter, quotes, na_value, kinds, held_defaults, wanted, rest);
  const char* const begin = buffer.data();
  const char* const end = begin + buffer.size();
  const char* at = begin + from;
  std::vector<int64_t> found;
  int stop = kDone;
  const auto read = [&] {
    while (found.size() < most && at != end) {
      const char* const after = read_record(table, at, end, final);
      if (after == nullptr) {
        stop = kCut;
        return;
      }
      at = after;
      if (!table.finish()) {
        stop = table.stop();
        return;
      }
      found.push_back(at - begin);
    }
  };
  if (most < 256) {
    read();
  } else {
    const HandedOver release;
    read();
  }
  Fresh<int64_t> ends(found.size(), "int64");
  if (!found.empty()) std::memcpy(ends.data(), found.data(), found.size() * sizeof(int64_t));
  return nb::make_tuple(table.columns(), ends.array, stop, table.at(), table.text(), at - begin);
}

}  // namespace

void register_csv(nb::module_& m) {
  using namespace nb::literals;
  m.def("csv_strings", &csv_strings, "records"_a, "delimiter"_a, "quotes"_a, "na_value"_a, "kinds"_a.noconvert(),
        "defaults"_a, "wanted"_a.noconvert(), "rest"_a, "threads"_a = 1);
  m.def("csv_records", &csv_records, "data"_a, "start"_a, "want"_a, "final"_a, "delimiter"_a, "quotes"_a,
        "na_value"_a, "kinds"_a.noconvert(), "defaults"_a, "wanted"_a.noconvert(), "rest"_a);
}

}  // namespace feedline
