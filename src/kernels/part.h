// Serialized messages with features in them, in rows, read by one thread or by several. Everything TensorFlow's own
// parser takes is read here; at a row it would refuse this stops, and who calls it has slower code that knows what to
// say.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "feature.h"
#include "team.h"

namespace feedline {

// A thread pays where it has at least so many bytes to read. They are handed out in pieces, so that a thread that
// gets no processor keeps nobody waiting.
constexpr size_t kBytesPerThread = 1 << 18, kLeastPart = 1 << 16, kMostPart = 1 << 18, kPartsPerThread = 4;
// Less than that is read in a few microseconds. To hand the interpreter over would take longer, and getting it back is
// a matter of luck where many threads want it. Of a large example most is one picture, which is not looked at.
constexpr size_t kWorthRelease = 1 << 14, kMostRead = 1 << 10;
// A small piece: its length, and the lengths of what is around it, are one byte each.
constexpr unsigned kSmall = 0x60;

// Equality of at least four bytes in few loads, which may overlap.
inline bool same(const unsigned char* a, const unsigned char* b, size_t n) {
  if (n < 8) return load<uint32_t>(a) == load<uint32_t>(b) && load<uint32_t>(a + n - 4) == load<uint32_t>(b + n - 4);
  uint64_t differ = load<uint64_t>(a + n - 8) ^ load<uint64_t>(b + n - 8);
  for (size_t i = 0; i + 8 < n; i += 8) differ |= load<uint64_t>(a + i) ^ load<uint64_t>(b + i);
  return differ == 0;
}

// Reads some consecutive rows. A thread has a part of its own. What is beside the features of a row is read by a
// `Beside`: it is called for each row and each field, and completes the row, or reverts what it has read of it.
template <typename Beside>
class Part {
 public:
  Part(const Request& request, const std::vector<Span>& rows, size_t begin, size_t end,
       const typename Beside::Asked& asked)
      : request_(request),
        rows_(rows),
        begin_(begin),
        end_(end),
        values(request.wanted.size()),
        beside(asked),
        done(begin) {
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
      if (rows_[done].size < kNoForm) {
        if (quick(rows_[done])) continue;
        take_back();
        ++mark_;
      }
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
  static constexpr uint32_t kNoForm = 0x40000000;  // constant bytes of an entry of another form: more than a row has

  static void fetch(const Span& row) {
    const size_t size = std::min<size_t>(row.size, 2048);
    for (size_t i = 0; i < size; i += 64) FEEDLINE_PREFETCH(row.data + i);
  }

  // Calls `next(features)` for one entry after the other. False for what is wrong with the row, or where that is.
  template <typename Next>
  bool each_entry(const Span& row, Next&& next) {
    Wire wire{row.data, row.data + row.size};
    beside.start();
    while (!wire.empty()) {
      if (*wire.at != kEntry) {
        if (!beside.field(wire)) return false;
        continue;
      }
      Wire features{};
      ++wire.at;
      if (!wire.clipped(features)) return false;
      while (!features.empty())
        if (!next(features)) return false;
    }
    return true;
  }

  // Each entry is written to its place as it comes. False for what is wrong, and for a key that is there twice.
  bool quick(const Span& row) {
    size_t found = 0;
    next_ = 0;
    surprises_ = 0;
    const bool good = each_entry(row, [&](Wire& features) {
      size_t column;
      if (!expected(features, column) && !surprise(features, column)) return false;
      found += column != kNowhere;
      return true;
    });
    if (!good) return false;
    if (found < wanted_.size())
      for (size_t c = 0; c < wanted_.size(); ++c)
        if (row_of_[c] != mark_ && !sink(c).missing()) return false;
    if (!beside.end()) return false;
    // Another order from here on, as in the files of another writer; one odd row alone is not worth it.
    if (2 * surprises_ > slots_.size() && surprises_ > 1 && done % 8 == 7) {
      slots_.clear();
      slot_of_.assign(wanted_.size(), kNowhere);
    }
    return true;
  }

  // The next entry, if it is the one the row before had next. It is skipped, and its column returned.
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
      if (!sink(column).packed(piece)) return false;
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
    if (!features.entry(key, value, Beside::kOrdered)) return false;
    column = request_.find({key.at, key.left()});
    ++surprises_;
    remember(at, key, value, column);
    if (column == kNowhere) return true;
    if (row_of_[column] == mark_) return false;
    if (value.empty() ? hollow_is_bad(column) : !sink(column).list(value)) return false;
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
    // An entry of another form has a slot, too, so that its neighbours keep their places.
    const uint32_t constant = usual ? static_cast<uint32_t>(n) : kNoForm;
    Slot slot{at + 2, constant, 0x0A020004u, column, nullptr, UINT32_MAX, false};
    if (column != kNowhere) {
      const Wanted& w = *wanted_[column];
      slot.around |= static_cast<uint32_t>(w.tag()) << 8;
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
    const bool good = each_entry(row, [&](Wire& features) {
      Wire key{}, value{};
      if (!features.entry(key, value, Beside::kOrdered)) return false;
      const size_t column = request_.find({key.at, key.left()});
      if (column != kNowhere) found.emplace_back(column, value);
      return true;
    });
    if (!good) return false;
    for (auto item = found.rbegin(); item != found.rend(); ++item) {
      const size_t column = item->first;
      if (row_of_[column] == mark_) continue;
      if (item->second.empty()) {
        if (wanted_[column]->hollow == Hollow::kEarlier) continue;
        if (hollow_is_bad(column)) return false;
      } else if (!sink(column).list(item->second)) {
        return false;
      }
      row_of_[column] = mark_;
    }
    for (size_t c = 0; c < wanted_.size(); ++c)
      if (row_of_[c] != mark_) {
        if (!sink(c).missing()) return false;
        row_of_[c] = mark_;
      }
    return beside.end();
  }

  // Forgets what the row that is being read has given so far.
  void take_back() {
    beside.take_back();
    for (size_t c = 0; c < wanted_.size(); ++c) {
      const Wanted& w = *wanted_[c];
      if (w.fixed) continue;
      Values& v = values[c];
      if (v.lengths.size() > done - begin_) {
        v.count -= static_cast<size_t>(v.lengths.back());
        v.lengths.pop_back();
      }
      if (w.kind == kString) v.strings.resize(v.count);
    }
  }

  // An entry with no list in it, or as if it were not there.
  bool hollow_is_bad(size_t column) {
    return wanted_[column]->hollow == Hollow::kBad || !sink(column).missing();
  }

  Sink sink(size_t column) { return {*wanted_[column], values[column], done}; }

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
  Beside beside;
  size_t done;
};

template <typename Beside>
using Parts = std::vector<std::unique_ptr<Part<Beside>>>;

// Reads all rows, in one part, or with several threads in many that whoever is free takes next.
template <typename Beside>
Parts<Beside> read(const Request& request, const std::vector<Span>& rows, size_t most,
                   const typename Beside::Asked& asked) {
  size_t bytes = 0;
  for (const Span& row : rows) bytes += row.size;
  const size_t threads = std::max<size_t>(1, std::min(most, bytes / kBytesPerThread));
  // A part learns the form of its rows anew, so there are few of them.
  const size_t part_bytes = std::min(kMostPart, std::max(kLeastPart, bytes / (kPartsPerThread * threads)));
  std::vector<size_t> ends;
  size_t size = 0;
  for (size_t i = 0; i + 1 < rows.size() && threads > 1; ++i) {
    size += rows[i].size;
    if (size < part_bytes) continue;
    ends.push_back(i + 1);
    size = 0;
  }
  ends.push_back(rows.size());

  Parts<Beside> parts(ends.size());
  std::atomic<bool> bad{false};
  in_team(threads, parts.size(), [&](size_t i) {
    parts[i] = std::make_unique<Part<Beside>>(request, rows, i > 0 ? ends[i - 1] : 0, ends[i], asked);
    parts[i]->run();
    if (parts[i]->done < parts[i]->end()) bad = true;  // rows after it are not asked for
    return !bad;
  });
  while (!parts.empty() && parts.back() == nullptr) parts.pop_back();
  return parts;
}

// As `read`; large inputs without the interpreter.
template <typename Beside>
Parts<Beside> read_rows(const Request& request, const std::vector<Span>& rows, size_t most,
                        const typename Beside::Asked& asked) {
  if (request.hopeless()) return {};
  size_t bytes = 0;
  for (const Span& row : rows) bytes += std::min<size_t>(row.size, kMostRead);
  if (bytes < kWorthRelease) return read<Beside>(request, rows, most, asked);
  const HandedOver release;
  return read<Beside>(request, rows, most, asked);
}

// How many rows are good before the first that is not.
template <typename Beside>
size_t rows_done(const Parts<Beside>& parts) {
  size_t done = 0;
  for (const auto& part : parts) {
    done = part->done;
    if (done < part->end()) break;
  }
  return done;
}

// What each part has of one column, where it has read any of the first `done` rows; `of` gives the column of a part.
template <typename Beside, typename Of>
auto pieces_of(const Parts<Beside>& parts, size_t done, Of&& of) {
  std::vector<decltype(&of(*parts[0]))> pieces;
  for (const auto& part : parts)
    if (part->begin() <= done) pieces.push_back(&of(*part));
  return pieces;
}

}  // namespace feedline
