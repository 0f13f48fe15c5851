// A batch of serialized SequenceExamples to columns: the features of the context as those of an Example, and lists
// whose steps are features each.
#include "columns.h"

namespace feedline {
namespace {

constexpr unsigned char kLists = 0x12;

// The values of a list in the rows of one part, step by step.
struct Steps : Values {
  std::vector<int64_t> steps;  // of each row
  size_t count_before = 0, lengths_before = 0;  // when the row that is being read began
};

// The lists beside the context. Of a key that is there twice the last entry counts: none is read before the row ends.
class Lists {
 public:
  static constexpr bool kOrdered = true;  // TensorFlow takes no value before its key here
  using Asked = Request;

  explicit Lists(const Request& request)
      : columns(request.wanted.size()), request_(request), found_(columns.size()), row_of_(columns.size(), 0) {}

  void start() {
    ++mark_;
    for (Steps& s : columns) {
      s.count_before = s.count;
      s.lengths_before = s.lengths.size();
    }
    ended_ = 0;
  }

  bool field(Wire& wire) {
    if (*wire.at != kLists) return wire.skip();
    ++wire.at;
    Wire lists{};
    if (!wire.clipped(lists)) return false;
    while (!lists.empty()) {
      Wire key{}, value{};
      if (!lists.entry(key, value, kOrdered)) return false;
      const size_t c = request_.find({key.at, key.left()});
      if (c == kNowhere) continue;
      found_[c] = value;
      row_of_[c] = mark_;
    }
    return true;
  }

  bool end() {
    for (; ended_ < columns.size(); ++ended_) {
      Steps& s = columns[ended_];
      int64_t steps = 0;
      if (row_of_[ended_] == mark_) {
        if (!read(*request_.wanted[ended_], s, found_[ended_], steps)) return false;
      } else if (request_.wanted[ended_]->needed) {
        return false;
      }
      s.steps.push_back(steps);
    }
    return true;
  }

  void take_back() {
    for (size_t c = 0; c < columns.size(); ++c) {
      Steps& s = columns[c];
      if (c < ended_) s.steps.pop_back();
      s.count = s.count_before;
      s.lengths.resize(s.lengths_before);
      if (request_.wanted[c]->kind == kString) s.strings.resize(s.count);
    }
    ended_ = 0;
  }

  std::vector<Steps> columns;

 private:
  static bool read(Wanted& w, Steps& into, Wire list, int64_t& steps) {
    Sink sink{w, into, 0};
    // Most steps have lengths of one byte: 0A L [T N 0A P] values..   with L = P + 4, N = P + 2, T the list's tag
    const uint32_t around = 0x000A0200u | w.tag();  // for P = 0
    for (; !list.empty(); ++steps) {
      const unsigned char* at = list.at;
      const size_t left = list.left();
      const unsigned size = left < 6 ? kSmall + 1 : at[5];
      if (size <= kSmall && size <= left - 6 && at[0] == kEntry && at[1] == size + 4 &&
          load<uint32_t>(at + 2) == around + size * 0x01000100u) {
        list.at += size + 6;
        if (!sink.packed({at + 6, list.at})) return false;
        continue;
      }
      Wire step{};
      if (!list.tag(kEntry) || !list.piece(step)) return false;
      if (step.empty() ? !sink.missing() : !sink.list(step) || !step.empty()) return false;
    }
    return true;
  }

  const Request& request_;
  std::vector<Wire> found_;
  std::vector<size_t> row_of_;  // the mark of the row in which each list was found last
  size_t mark_ = 0, ended_ = 0;
};

using Pieces = std::vector<const Steps*>;

// The steps of each row in a row of its own, filled up with zeros or empty strings to the longest.
nb::object padded(const Arrays& arrays, const Pieces& pieces, const Wanted& w, size_t rows) {
  int64_t most = 0;
  for (const Steps* piece : pieces)
    for (const int64_t steps : piece->steps) most = std::max(most, steps);
  const size_t longest = static_cast<size_t>(most);
  if (longest > 0 && w.size > 0 && rows > SIZE_MAX / 16 / longest / w.size) throw std::bad_alloc();
  const size_t row_values = longest * w.size;
  if (w.kind == kString) {
    std::vector<Span> strings(rows * row_values, Span{nullptr, 0});
    Span* to = strings.data();
    for (const Steps* piece : pieces) {
      const Span* from = piece->strings.data();
      for (const int64_t steps : piece->steps) {
        const size_t count = static_cast<size_t>(steps) * w.size;
        std::copy(from, from + count, to);
        from += count;
        to += row_values;
      }
    }
    return bytes_array(strings.size(), [&](size_t i) { return strings[i]; });
  }
  nb::object array = arrays.fresh(rows * row_values, w.kind);
  const Bytes out(array, true);
  const size_t row_bytes = row_values * w.width();
  copied(rows * row_bytes, [&] {
    char* to = out.data();
    for (const Steps* piece : pieces) {
      const char* from = piece->flat.data();
      for (const int64_t steps : piece->steps) {
        const size_t bytes = static_cast<size_t>(steps) * w.row_bytes;
        if (bytes > 0) std::memcpy(to, from, bytes);
        if (bytes < row_bytes) std::memset(to + bytes, 0, row_bytes - bytes);
        from += bytes;
        to += row_bytes;
      }
    }
  });
  return array;
}

// Where each value is: the numbers of its row, its step, and its place in that.
nb::object places(const Arrays& arrays, const Pieces& pieces) {
  size_t count = 0;
  for (const Steps* piece : pieces) count += piece->count;
  nb::object array = arrays.fresh(3 * count, kInt);
  const Bytes out(array, true);
  copied(24 * count, [&] {
    auto* to = reinterpret_cast<int64_t*>(out.data());
    int64_t row = 0;
    for (const Steps* piece : pieces) {
      const int64_t* length = piece->lengths.data();
      for (const int64_t steps : piece->steps) {
        for (int64_t step = 0; step < steps; ++step, ++length)
          for (int64_t i = 0; i < *length; ++i, to += 3) {
            to[0] = row;
            to[1] = step;
            to[2] = i;
          }
        ++row;
      }
    }
  });
  return array;
}

nb::object list_column(const Arrays& arrays, const Pieces& pieces, const Wanted& w, size_t rows, bool filled) {
  nb::object steps = joined_numbers(arrays, pieces, [](const Steps& s) -> const auto& { return s.steps; });
  if (w.exact && filled) return nb::make_tuple(padded(arrays, pieces, w, rows), steps, nb::none());
  nb::object where = nb::none();
  if (!w.exact) where = w.placed ? places(arrays, pieces) : joined_numbers(arrays, pieces, lengths_of);
  return nb::make_tuple(joined_values(arrays, pieces, w), steps, where);
}

nb::object parse_sequences(nb::handle strings, nb::list keys, Vector<const uint8_t> kinds, Vector<const int64_t> sizes,
                           nb::list defaults, nb::list list_keys, Vector<const uint8_t> list_kinds,
                           Vector<const int64_t> list_sizes, Vector<const uint8_t> needed, int64_t threads,
                           bool filled) {
  const nb::list held_keys = own_list(keys), held_defaults = own_list(defaults), held_lists = own_list(list_keys);
  const size_t k = held_keys.size(), n = held_lists.size();
  if (kinds.shape(0) != k || sizes.shape(0) != k || held_defaults.size() != k)
    throw std::invalid_argument("keys, kinds, sizes and defaults must have the same length");
  if (list_kinds.shape(0) != n || list_sizes.shape(0) != n || needed.shape(0) != n)
    throw std::invalid_argument("list_keys, list_kinds, list_sizes and needed must have the same length");
  const size_t most = length(threads, "threads");
  const Rows rows(strings);
  const Arrays arrays;
  const Extent extent(rows.spans);
  const Request context(arrays, held_keys, kinds.data(), sizes.data(), held_defaults, extent, In::kContext);
  nb::list no_defaults;
  for (size_t i = 0; i < n; ++i) no_defaults.append(nb::none());
  const Request lists(arrays, held_lists, list_kinds.data(), list_sizes.data(), no_defaults, extent, In::kLists);
  for (size_t i = 0; i < n; ++i) lists.wanted[i]->needed = needed.data()[i] != 0;
  const auto parts = read_rows<Lists>(context, rows.spans, most, lists);
  const size_t done = rows_done(parts);
  nb::list in_context, in_lists;
  for (size_t i = 0; i < k; ++i)
    in_context.append(column(arrays, parts, *context.wanted[i], i, done, rows.spans.size()));
  for (size_t i = 0; i < n; ++i) {
    const auto of = [&](const Part<Lists>& part) -> const Steps& { return part.beside.columns[i]; };
    in_lists.append(list_column(arrays, pieces_of(parts, done, of), *lists.wanted[i], done, filled));
  }
  return nb::make_tuple(done, in_context, in_lists);
}

}  // namespace

void register_sequence(nb::module_& m) {
  using namespace nb::literals;
  m.def("parse_sequences", &parse_sequences, "strings"_a, "keys"_a, "kinds"_a.noconvert(), "sizes"_a.noconvert(),
        "defaults"_a, "list_keys"_a, "list_kinds"_a.noconvert(), "list_sizes"_a.noconvert(), "needed"_a.noconvert(),
        "threads"_a = 1, "filled"_a = true);
}

}  // namespace feedline
