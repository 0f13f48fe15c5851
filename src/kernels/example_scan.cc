// What serialized Examples and SequenceExamples hold: each key with the types and numbers of its values.
#include <map>
#include <string>
#include <tuple>

#include "part.h"

namespace feedline {
namespace {

constexpr unsigned char kLists = 0x12;
constexpr size_t kKinds = 4;  // 0: no list

// The values of one Feature.
struct Amount {
  uint8_t kind;
  int64_t count, bytes;
};

// What has been seen under a key with values of one type.
struct Tally {
  int64_t records = 0, first = 0, least = 0, most = 0, values = 0, bytes = 0, steps = 0;
  size_t mark = SIZE_MAX;  // the row that was counted last

  void add(size_t row, const Amount& amount) {
    if (steps == 0) least = most = amount.count;
    least = std::min(least, amount.count);
    most = std::max(most, amount.count);
    if (records == 0) first = static_cast<int64_t>(row);
    records += mark != row;
    mark = row;
    values += amount.count;
    bytes += amount.bytes;
    ++steps;
  }

  void join(const Tally& later) {
    if (later.records == 0) return;
    if (records == 0) {
      *this = later;
      return;
    }
    least = std::min(least, later.least);
    most = std::max(most, later.most);
    records += later.records;
    values += later.values;
    bytes += later.bytes;
    steps += later.steps;
  }
};

struct Known {
  Span key;
  bool listed;
  Tally tallies[kKinds];
  size_t mark = SIZE_MAX;  // the last row that has it
  bool taken = false;      // its values in that row are known
};

// A number of packed varints has as many bytes below 0x80. One has at most ten bytes.
FEEDLINE_WIDE int64_t ends(const unsigned char* at, size_t n) {
  int64_t count = 0;
  for (size_t i = 0; i < n; ++i) count += at[i] < 0x80;
  return count;
}

// Ten bytes in a row of 0x80 and more include four that are looked at together here.
FEEDLINE_WIDE bool maybe_too_long(const unsigned char* at, size_t n) {
  constexpr uint32_t kMore = 0x80808080u;
  uint32_t found = 0;
  for (size_t i = 0; i + 4 <= n; i += 4) found |= (load<uint32_t>(at + i) & kMore) == kMore;
  return found != 0;
}

FEEDLINE_WIDE bool too_long(const unsigned char* at, size_t n) {
  unsigned char found = 0;
  for (size_t i = 0; i + 10 <= n; ++i)
    found |= at[i] & at[i + 1] & at[i + 2] & at[i + 3] & at[i + 4] & at[i + 5] & at[i + 6] & at[i + 7] & at[i + 8] &
             at[i + 9];
  return (found & 0x80) != 0;
}

bool packed_ints(const Wire& piece, int64_t& count) {
  count = ends(piece.at, piece.left());
  if (piece.left() == 0 || static_cast<size_t>(count) == piece.left()) return true;
  if (piece.end[-1] >= 0x80) return false;
  return !maybe_too_long(piece.at, piece.left()) || !too_long(piece.at, piece.left());
}

// The values of a Feature; false where they are damaged.
bool measured(Wire feature, Amount& amount) {
  amount = {0, 0, 0};
  if (feature.empty()) return true;
  const unsigned char tag = *feature.at++;
  amount.kind = static_cast<uint8_t>(tag >> 3);
  Wire items{};
  if ((tag & 7) != kDelimited || amount.kind < kString || amount.kind > kInt || !feature.clipped(items)) return false;
  if (amount.kind == kString) {
    for (; !items.empty(); ++amount.count) {
      Wire item{};
      if (!items.tag(kPacked) || !items.piece(item)) return false;
      amount.bytes += static_cast<int64_t>(item.left());
    }
    return true;
  }
  if (!items.empty() && *items.at == kPacked) {
    Wire piece{};
    ++items.at;
    if (amount.kind == kInt) return items.clipped(piece) && packed_ints(piece, amount.count);
    if (!items.piece(piece)) return false;
    amount.count = static_cast<int64_t>(piece.left() / 4);
    return true;
  }
  for (; !items.empty(); ++amount.count) {
    uint64_t ignored;
    if (amount.kind == kInt) {
      if (!items.tag(kPlainInt) || !items.varint(ignored)) return false;
    } else {
      if (!items.tag(kPlainFloat) || items.left() < 4) return false;
      items.at += 4;
    }
  }
  return true;
}

// Scans some consecutive rows. A thread has one of its own.
class Scan {
 public:
  Scan(const std::vector<Span>& rows, size_t begin, size_t end) : rows_(rows), begin_(begin), end_(end), done(begin) {
    slots_.assign(64, kNowhere);
  }

  // Rows are counted as they are read. What takes something back, a bad row or a key that is there twice, has the part
  // read again, row by row.
  void run() {
    for (; done < end_; ++done)
      if (!quick(rows_[done])) return again();
  }

  size_t begin() const { return begin_; }
  size_t end() const { return end_; }

 private:
  struct Entry {
    size_t known;
    Wire value;
  };
  struct Found {
    size_t known;
    Amount amount;
  };

  void again() {
    for (Known& k : known) k = {k.key, k.listed, {}};
    bare = 0;
    for (done = begin_; done < end_; ++done)
      if (!careful(rows_[done])) return;
  }

  bool quick(const Span& data) {
    Wire wire{data.data, data.data + data.size};
    size_t place = 0;
    while (!wire.empty()) {
      if (*wire.at != kEntry) {
        if (*wire.at == kLists || !wire.skip()) return false;
        continue;
      }
      Wire features{};
      ++wire.at;
      if (!wire.clipped(features)) return false;
      for (; !features.empty(); ++place) {
        Wire key{}, value{};
        Amount amount{};
        if (!features.entry(key, value, false)) return false;
        Known& k = known[known_of({key.at, key.left()}, false, place)];
        if (k.mark == done || !measured(value, amount)) return false;
        k.mark = done;
        k.tallies[amount.kind].add(done, amount);
      }
    }
    bare += place == 0;
    return true;
  }

  bool careful(const Span& data) {
    Wire wire{data.data, data.data + data.size};
    entries_.clear();
    found_.clear();
    while (!wire.empty()) {
      const unsigned char tag = *wire.at;
      if (tag != kEntry && tag != kLists) {
        if (!wire.skip()) return false;
        continue;
      }
      Wire features{};
      ++wire.at;
      if (!wire.clipped(features)) return false;
      while (!features.empty()) {
        Wire key{}, value{};
        if (!features.entry(key, value, false)) return false;
        const size_t at = known_of({key.at, key.left()}, tag == kLists, entries_.size());
        entries_.push_back({at, value});
      }
    }
    for (size_t i = entries_.size(); i-- > 0;) {
      Known& k = known[entries_[i].known];
      if (k.mark != done) k.taken = false;
      k.mark = done;
      if (k.taken) continue;
      if (!(k.listed ? list(entries_[i]) : feature(entries_[i], k))) return false;
    }
    for (const Entry& entry : entries_) {
      Known& k = known[entry.known];
      if (k.taken) continue;
      k.taken = true;
      found_.push_back({entry.known, {0, 0, 0}});
    }
    for (const Found& f : found_) known[f.known].tallies[f.amount.kind].add(done, f.amount);
    bare += found_.empty();
    return true;
  }

  // Of several entries the last one that holds a list counts.
  bool feature(const Entry& entry, Known& k) {
    Amount amount{};
    if (!measured(entry.value, amount)) return false;
    if (amount.kind == 0) return true;
    k.taken = true;
    found_.push_back({entry.known, amount});
    return true;
  }

  // Of several lists the last one counts. Each step is a Feature.
  bool list(const Entry& entry) {
    Wire steps = entry.value;
    known[entry.known].taken = !steps.empty();
    while (!steps.empty()) {
      Wire step{};
      Amount amount{};
      if (!steps.tag(kEntry) || !steps.piece(step) || !measured(step, amount)) return false;
      found_.push_back({entry.known, amount});
    }
    return true;
  }

  // Keys mostly come in the order of the row before.
  size_t known_of(Span key, bool listed, size_t place) {
    if (place < order_.size() && matches(known[order_[place]], key, listed)) return order_[place];
    if (order_.size() <= place) order_.resize(place + 1, 0);
    return order_[place] = looked_up(key, listed);
  }

  static bool matches(const Known& k, const Span& key, bool listed) {
    if (k.listed != listed || k.key.size != key.size) return false;
    return key.size < 4 ? equal(k.key, key) : same(k.key.data, key.data, key.size);
  }

  size_t looked_up(Span key, bool listed) {
    size_t slot = hash(key, listed);
    for (; slots_[slot] != kNowhere; slot = (slot + 1) & (slots_.size() - 1))
      if (matches(known[slots_[slot]], key, listed)) return slots_[slot];
    slots_[slot] = known.size();
    known.push_back({key, listed, {}});
    if (4 * known.size() > slots_.size()) {
      slots_.assign(4 * slots_.size(), kNowhere);
      for (size_t i = 0; i < known.size(); ++i) {
        size_t to = hash(known[i].key, known[i].listed);
        while (slots_[to] != kNowhere) to = (to + 1) & (slots_.size() - 1);
        slots_[to] = i;
      }
    }
    return known.size() - 1;
  }

  size_t hash(const Span& key, bool listed) const {
    uint64_t h = 0xCBF29CE484222325u ^ static_cast<uint64_t>(listed);
    for (size_t i = 0; i < key.size; ++i) h = (h ^ key.data[i]) * 0x100000001B3u;
    return static_cast<size_t>(h ^ h >> 29) & (slots_.size() - 1);
  }

  const std::vector<Span>& rows_;
  size_t begin_, end_;
  std::vector<size_t> slots_, order_;
  std::vector<Entry> entries_;
  std::vector<Found> found_;

 public:
  std::vector<Known> known;
  int64_t bare = 0;
  size_t done;
};

using Scans = std::vector<std::unique_ptr<Scan>>;

Scans scanned(const std::vector<Span>& rows, size_t most) {
  size_t bytes = 0;
  for (const Span& row : rows) bytes += row.size;
  const size_t threads = std::max<size_t>(1, std::min(most, bytes / kBytesPerThread));
  std::vector<size_t> ends;
  size_t size = 0;
  for (size_t i = 0; i + 1 < rows.size() && threads > 1; ++i) {
    size += rows[i].size;
    if (size < kMostPart) continue;
    ends.push_back(i + 1);
    size = 0;
  }
  ends.push_back(rows.size());
  Scans scans(ends.size());
  std::atomic<bool> bad{false};
  in_team(threads, scans.size(), [&](size_t i) {
    scans[i] = std::make_unique<Scan>(rows, i > 0 ? ends[i - 1] : 0, ends[i]);
    scans[i]->run();
    if (scans[i]->done < scans[i]->end()) bad = true;
    return !bad;
  });
  while (!scans.empty() && scans.back() == nullptr) scans.pop_back();
  return scans;
}

nb::object scan_examples(nb::handle strings, int64_t threads) {
  const size_t most = length(threads, "threads");
  const Rows rows(strings);
  size_t bytes = 0;
  for (const Span& row : rows.spans) bytes += row.size;
  Scans scans;
  std::map<std::tuple<std::string, bool, size_t>, Tally> all;
  size_t done = 0;
  int64_t bare = 0;
  {
    const HandedOver release(bytes >= kWorthRelease);
    scans = scanned(rows.spans, most);
    for (const auto& scan : scans) {
      for (const Known& k : scan->known)
        for (size_t kind = 0; kind < kKinds; ++kind) {
          if (k.tallies[kind].records == 0) continue;
          const std::string key(reinterpret_cast<const char*>(k.key.data), k.key.size);
          all[{key, k.listed, kind}].join(k.tallies[kind]);
        }
      done = scan->done;
      bare += scan->bare;
      if (done < scan->end()) break;
    }
  }
  nb::list out;
  for (const auto& [name, t] : all) {
    const auto& [key, listed, kind] = name;
    out.append(nb::make_tuple(nb::bytes(key.data(), key.size()), listed, kind, t.records, t.first, t.least, t.most,
                              t.values, t.bytes, t.steps));
  }
  return nb::make_tuple(done, bare, out);
}

}  // namespace

void register_example_scan(nb::module_& m) {
  using namespace nb::literals;
  m.def("scan_examples", &scan_examples, "strings"_a, "threads"_a = 1);
}

}  // namespace feedline
