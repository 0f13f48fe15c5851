// Results that NumPy makes where they belong: in their row of a batch, so that nobody has to copy them there.
//
// A function that makes an array of some size often makes several, and which of them it will return is not known. But it
// mostly does the same every time, so the one that was returned last time, counted among those of its size, gets the
// memory of the row. It is a row of the batch only if it is returned and nobody else has kept it; where that is not so,
// the result is copied.
#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "memory.h"

namespace feedline {
namespace {

constexpr int64_t kUnknown = -1;

// One column of a batch, and the row of it that is being made.
struct Column {
  char* begin;
  size_t size, rows;  // bytes of a row, and how many there are
  int64_t* pattern;     // which array of that size is returned
  int64_t made = 0;   // so many have been asked for
  bool given = false, used = false;
  std::vector<const void*> others;  // the arrays of that size that lie elsewhere, null for the one that does not

  char* row(size_t i) const { return begin + i * size; }
  bool holds(const void* p) const { return p >= begin && p < begin + rows * size; }
};

// What the allocator of a `SlotAllocator` works with. All arrays that were made keep it; the batch is kept only as long as the
// call lasts, and by arrays that lie in it.
struct Room {
  Allocator allocator{};
  std::vector<Column> columns;
  std::vector<nb::object> batch;
  nb::object outside;  // the allocator for everything else
  const Allocator* other = nullptr;
  std::mutex lock;
  bool open = false, over = false;
  size_t at = 0, inside = 0;  // the row, and how many arrays lie in the batch

  // The memory of the row, if an array of that size is the one that will be returned.
  char* lend(size_t size) {
    const std::lock_guard<std::mutex> held(lock);
    if (!open) return nullptr;
    for (Column& c : columns) {
      if (c.begin == nullptr || c.size != size || c.given || *c.pattern != c.made) continue;
      c.given = c.used = true;
      ++inside;
      count(size, nullptr);
      return c.row(at);
    }
    return nullptr;
  }

  // Remembers an array that lies elsewhere: it may be the one.
  void* elsewhere(void* array, size_t size) {
    const std::lock_guard<std::mutex> held(lock);
    if (open) count(size, array);
    return array;
  }

  void count(size_t size, const void* array) {
    for (Column& c : columns)
      if (c.begin != nullptr && c.size == size) {
        c.made++;
        c.others.push_back(array);
      }
  }

  // True where memory is that of a row, which is not used any more.
  bool back(const void* array) {
    std::vector<nb::object> gone;  // let go of without the lock
    const std::lock_guard<std::mutex> held(lock);
    for (Column& c : columns)
      if (c.holds(array)) {
        if (array == c.row(at)) c.used = false;
        if (--inside == 0 && over) gone = forgotten();
        return true;
      }
    return false;
  }

  // The call is over: nothing more is made in the batch.
  void leave() {
    std::vector<nb::object> gone;
    const std::lock_guard<std::mutex> held(lock);
    open = false;
    over = true;
    if (inside == 0) gone = forgotten();
  }

  // The memory may be anybody's from now on.
  std::vector<nb::object> forgotten() {
    columns.clear();
    return std::move(batch);
  }

  size_t size_of(const void* array) {
    const std::lock_guard<std::mutex> held(lock);
    for (const Column& c : columns)
      if (c.holds(array)) return c.size;
    return 0;
  }
};

Room& room_of(void* context) { return *static_cast<Room*>(context); }

void* lending_malloc(void* context, size_t size) {
  Room& room = room_of(context);
  if (char* row = room.lend(size)) return row;
  return room.elsewhere(room.other->malloc(room.other->context, size), size);
}

void* lending_calloc(void* context, size_t n, size_t each) {
  Room& room = room_of(context);
  const bool fits = each == 0 || n <= SIZE_MAX / each;
  if (char* row = fits ? room.lend(n * each) : nullptr) return std::memset(row, 0, n * each);
  void* array = room.other->calloc(room.other->context, n, each);
  return fits ? room.elsewhere(array, n * each) : array;
}

void* lending_realloc(void* context, void* array, size_t size) {
  Room& room = room_of(context);
  const size_t before = array == nullptr ? 0 : room.size_of(array);
  if (before == 0) return room.other->realloc(room.other->context, array, size);
  void* moved = room.other->malloc(room.other->context, size);
  if (moved != nullptr) {
    std::memcpy(moved, array, std::min(before, size));
    room.back(array);
  }
  return moved;
}

void lending_free(void* context, void* array, size_t size) {
  Room& room = room_of(context);
  if (array != nullptr && !room.back(array)) room.other->free(room.other->context, array, size);
}

void forget(PyObject* capsule) {
  auto* allocator = static_cast<Allocator*>(PyCapsule_GetPointer(capsule, kAllocator));
  delete static_cast<Room*>(allocator->context);
}

// The rows of a batch that one call makes. Within it, in this thread, arrays are made as above.
class SlotAllocator {
 public:
  SlotAllocator(nb::sequence arrays, Vector<int64_t> alloc_pattern) {
    auto room = std::make_unique<Room>();
    room->batch.push_back(alloc_pattern.cast());
    const size_t n = nb::len(arrays);
    if (n != alloc_pattern.shape(0)) throw std::invalid_argument("there must be a pattern for each column");
    for (size_t j = 0; j < n; j++) {
      nb::object array = arrays[j];
      if (array.is_none()) {
        room->columns.push_back({nullptr, 0, 0, alloc_pattern.data() + j});
        continue;
      }
      const Bytes memory(array, true);
      if (memory.ndim() < 1) throw std::invalid_argument("a batch must have rows");
      const size_t rows = memory.dim(0);
      room->columns.push_back({memory.data(), rows == 0 ? 0 : memory.size() / rows, rows, alloc_pattern.data() + j});
      room->batch.push_back(std::move(array));
    }
    room->allocator = {"feedline rows", 1,         room.get(), lending_malloc, lending_calloc, lending_realloc,
                       lending_free};
    capsule_ = nb::steal(PyCapsule_New(&room->allocator, kAllocator, forget));
    if (!capsule_.is_valid()) throw nb::python_error();
    room_ = room.release();
  }

  SlotAllocator& enter() {
    nb::object before = set_allocator(capsule_);
    if (room_->other == nullptr) {
      room_->other = static_cast<const Allocator*>(PyCapsule_GetPointer(before.ptr(), kAllocator));
      if (room_->other == nullptr) {
        set_allocator(before);
        throw nb::python_error();
      }
      room_->outside = before;
    }
    before_ = std::move(before);
    return *this;
  }

  void exit(nb::args) {
    room_->leave();
    nb::object before = std::move(before_);
    set_allocator(before.is_valid() ? before : nb::handle());
  }

  // Row `at` is made from now on.
  void begin(size_t at) {
    const std::lock_guard<std::mutex> held(room_->lock);
    for (Column& c : room_->columns) {
      if (c.begin != nullptr && at >= c.rows) throw std::out_of_range("no such row");
      c.made = 0;
      c.given = c.used = false;
      c.others.clear();
    }
    room_->at = at;
    room_->open = true;
  }

  // The row has been made: arrays are made elsewhere.
  void end() {
    const std::lock_guard<std::mutex> held(room_->lock);
    room_->open = false;
  }

  // True where an array that was returned begins where its row of column j does. Learns from one that does not.
  bool made(size_t j, nb::handle array) {
    Column& c = column(j);
    Py_buffer view;
    if (PyObject_GetBuffer(array.ptr(), &view, PyBUF_STRIDES) != 0) throw nb::python_error();
    const void* place = view.buf;
    PyBuffer_Release(&view);
    if (c.given && place == c.row(room_->at)) return true;
    const auto found = std::find(c.others.begin(), c.others.end(), place);
    *c.pattern = found == c.others.end() ? kUnknown : found - c.others.begin();
    return false;
  }

  // True where nobody uses the memory of the row of column j.
  bool unused(size_t j) {
    const std::lock_guard<std::mutex> held(room_->lock);
    return !column(j).used;
  }

 private:
  Column& column(size_t j) { return room_->columns.at(j); }

  Room* room_;  // the capsule's
  nb::object capsule_, before_;
};

}  // namespace

void register_slot_allocator(nb::module_& m) {
  nb::class_<SlotAllocator>(m, "SlotAllocator")
      .def(nb::init<nb::sequence, Vector<int64_t>>(), nb::arg("arrays"), nb::arg("alloc_pattern").noconvert())
      .def("__enter__", &SlotAllocator::enter, nb::rv_policy::none)
      .def("__exit__", &SlotAllocator::exit)
      .def("begin", &SlotAllocator::begin, nb::arg("at"))
      .def("end", &SlotAllocator::end)
      .def("made", &SlotAllocator::made, nb::arg("column"), nb::arg("array"))
      .def("unused", &SlotAllocator::unused, nb::arg("column"));
}

}  // namespace feedline
