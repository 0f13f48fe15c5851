// Python's `bytes`, and object arrays of them.
#pragma once

#include <memory>
#include <vector>

#include "array.h"

namespace feedline {

struct Span {
  const unsigned char* data;
  size_t size;
};

// A list nobody else can change: what it holds stays alive while the interpreter is handed over.
inline nb::list own_list(nb::handle list) {
  PyObject* copy = PySequence_List(list.ptr());
  if (copy == nullptr) throw nb::python_error();
  return nb::steal<nb::list>(copy);
}

// The memory of a `bytes` object, which stays where it is as long as someone holds the object.
inline Span span_of(nb::handle item, const char* what) {
  char* data = nullptr;
  Py_ssize_t size = 0;
  if (!PyBytes_Check(item.ptr())) throw nb::type_error((std::string(what) + " must be bytes").c_str());
  if (PyBytes_AsStringAndSize(item.ptr(), &data, &size) != 0) throw nb::python_error();
  return {reinterpret_cast<const unsigned char*>(data), static_cast<size_t>(size)};
}

constexpr size_t kObjectsAhead = 8;

// A fresh object array of n new `bytes`; `span(i)` says what is in each.
template <typename Spans>
nb::object bytes_array(size_t n, Spans&& span) {
  nb::object array = empty(nb::int_(n), nb::str("O"));
  const Bytes slots(array, true);
  auto** items = reinterpret_cast<PyObject**>(slots.data());
  for (size_t i = 0; i < n && i < kObjectsAhead; ++i) FEEDLINE_PREFETCH(span(i).data);
  for (size_t i = 0; i < n; ++i) {
    if (i + kObjectsAhead < n) FEEDLINE_PREFETCH(span(i + kObjectsAhead).data);
    const Span s = span(i);
    PyObject* item =
        PyBytes_FromStringAndSize(reinterpret_cast<const char*>(s.data), static_cast<Py_ssize_t>(s.size));
    if (item == nullptr) throw nb::python_error();
    PyObject* before = items[i];
    items[i] = item;
    Py_XDECREF(before);
  }
  return array;
}

[[noreturn]] inline void refuse_row(size_t i) {
  throw nb::index_error(("row " + std::to_string(i) + " is not inside the data").c_str());
}

// Where string i lies in a buffer of `size` bytes; false where it does not.
inline bool inside(const int64_t* at, size_t i, size_t between, size_t size, size_t& start, size_t& bytes) {
  const int64_t from = at[i], next = at[i + 1];  // read once: another thread may write to the array of offsets
  start = static_cast<size_t>(from);
  const size_t after = static_cast<size_t>(next);
  if (from < 0 || next < from || after - start < between || after - between > size) return false;
  bytes = after - start - between;
  return true;
}

// A column of strings in one buffer.
struct StringColumn {
  explicit StringColumn(const nb::tuple& parts)
      : data(std::make_unique<Bytes>(nb::object(parts[0]), false)),
        offsets(nb::cast<Vector<const int64_t>>(nb::object(parts[1]), false)),
        gap(length(nb::cast<int64_t>(nb::object(parts[2])), "gap")) {
    if (offsets.shape(0) == 0) throw std::invalid_argument("offsets must not be empty");
  }
  size_t count() const { return offsets.shape(0) - 1; }
  Span span(size_t i) const {
    size_t start, bytes;
    if (!inside(offsets.data(), i, gap, data->size(), start, bytes)) refuse_row(i);
    return {reinterpret_cast<const unsigned char*>(data->data()) + start, bytes};
  }

  std::unique_ptr<Bytes> data;
  Vector<const int64_t> offsets;
  size_t gap;
};

// Strings in a list, an object array, or one buffer, held so that they stay there while the interpreter is handed over.
// `one` is what an error calls one of them.
class Rows {
 public:
  explicit Rows(nb::handle strings, const char* one = "an example") : one_(one) {
    if (nb::isinstance<nb::tuple>(strings)) in_one_buffer(nb::borrow<nb::tuple>(strings));
    else if (nb::isinstance<nb::list>(strings)) in_a_list(strings);
    else in_an_array(strings);
  }

  std::vector<Span> spans;

 private:
  void in_a_list(nb::handle strings) {
    held_ = own_list(strings);
    spans.reserve(held_.size());
    for (nb::handle item : held_) spans.push_back(span_of(item, one_));
  }

  // Rows of a shuffle lie anywhere, so each is asked for some time before it is looked at.
  void in_an_array(nb::handle array) {
    if (!nb::hasattr(array, "dtype") || !array.attr("dtype").attr("char").equal(nb::str("O")))
      throw nb::type_error((std::string(one_) + " must be bytes: in a list, an object array, or one buffer").c_str());
    const Bytes slots(array, false);
    const size_t n = slots.size() / sizeof(PyObject*);
    auto** items = reinterpret_cast<PyObject**>(slots.data());
    spans.reserve(n);
    objects_.reserve(n);
    for (size_t i = 0; i < n; ++i) {
      if (i + 12 < n) FEEDLINE_PREFETCH(items[i + 12]);
      if (items[i] == nullptr) throw nb::type_error((std::string(one_) + " must be bytes").c_str());
      objects_.push_back(nb::borrow(items[i]));
      spans.push_back(span_of(objects_.back(), one_));
    }
  }

  void in_one_buffer(const nb::tuple& parts) {
    if (parts.size() != 3) throw std::invalid_argument("strings in one buffer must be (data, offsets, gap)");
    column_ = std::make_unique<StringColumn>(parts);
    spans.reserve(column_->count());
    for (size_t i = 0; i < column_->count(); ++i) spans.push_back(column_->span(i));
  }

  const char* one_;
  nb::list held_;
  std::vector<nb::object> objects_;
  std::unique_ptr<StringColumn> column_;
};

constexpr size_t kEarly = 4;

// A matrix whose rows begin with a string each, and how long those are.
struct Slots {
  char* rows;
  int64_t* lengths;
  uint64_t count;
  size_t width;

  // Rows are wanted in random order: the hardware sees the pattern only within a row.
  void expect(const int64_t* numbers, size_t i, size_t n) const {
    if (i + kEarly >= n || static_cast<uint64_t>(numbers[i + kEarly]) >= count) return;
    const char* next = rows + static_cast<uint64_t>(numbers[i + kEarly]) * width;
    for (size_t line = 0; line < width && line < 256; line += 64) FEEDLINE_PREFETCH(next + line);
  }
};

template <typename Byte, typename Length>
Slots slots_of(const Matrix<Byte>& rows, const Vector<Length>& lengths) {
  if (lengths.shape(0) != rows.shape(0))
    throw std::invalid_argument("lengths and rows must have the same length, got " + std::to_string(lengths.shape(0)) +
                                " and " + std::to_string(rows.shape(0)));
  return {const_cast<char*>(reinterpret_cast<const char*>(rows.data())), const_cast<int64_t*>(lengths.data()),
          rows.shape(0), rows.shape(1)};
}

}  // namespace feedline
