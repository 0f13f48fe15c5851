// The messages of tf.train as their own bytes. Building an Example the usual way makes two objects per feature, so
// these constructors do in a few dozen nanoseconds what is usual, and leave all else, errors included, to Python's
// `_build`.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "array.h"

namespace feedline {
namespace {

struct LazyMessage {
  PyObject_HEAD PyObject* bytes;  // the message on the wire; null where it is kept in Python objects
};

// What a message holds now. Other threads may open the message, and let go of its bytes, while they are looked at.
nb::object held_by(LazyMessage* self) {
  const nb::ft_object_guard guard(reinterpret_cast<PyObject*>(self));
  return nb::borrow(self->bytes);
}

// Takes over a reference to what it holds from now on, which may be null.
void hold(LazyMessage* self, PyObject* bytes) {
  nb::object old;  // let go of when nobody is kept waiting any more
  const nb::ft_object_guard guard(reinterpret_cast<PyObject*>(self));
  old = nb::steal(self->bytes);
  self->bytes = bytes;
}

// What a constructor can make of its argument.
enum class Made { kYes, kNo, kError };

constexpr char kBytesList = 1, kFloatList = 2, kInt64List = 3;
constexpr char kField1 = 0x0A, kField2 = 0x12;  // a field of bytes with that number

// The types are made once, with the module, and live as long as the process.
PyTypeObject *base_type, *bytes_type, *floats_type, *ints_type, *feature_type, *features_type, *example_type;

size_t varint_size(uint64_t n) {
  size_t size = 1;
  while (n >= 0x80) n >>= 7, ++size;
  return size;
}

char* put_varint(char* p, uint64_t n) {
  while (n >= 0x80) *p++ = static_cast<char>(n | 0x80), n >>= 7;
  *p++ = static_cast<char>(n);
  return p;
}

char* put(char* p, const char* data, size_t n) {
  if (n > 0) std::memcpy(p, data, n);
  return p + n;
}

// A bytes object of n bytes, the first of which is at `p`; null with an error set where there is no memory.
PyObject* fresh(size_t n, char** p) {
  PyObject* made = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(n));
  if (made != nullptr) *p = PyBytes_AsString(made);
  return made;
}

size_t size_of(PyObject* bytes) { return static_cast<size_t>(PyBytes_Size(bytes)); }

Made keep(LazyMessage* self, PyObject* made) {
  if (made == nullptr) return Made::kError;
  hold(self, made);
  return Made::kYes;
}

// One field that holds `n` bytes, for the caller to fill in.
PyObject* delimited(char tag, size_t n, char** p) {
  PyObject* made = fresh(1 + varint_size(n) + n, p);
  if (made != nullptr) *(*p)++ = tag, *p = put_varint(*p, n);
  return made;
}

// The items of a list or tuple. Other threads may change a list where no lock keeps them from it: it is copied there.
struct Items {
  explicit Items(PyObject* value) {
    if (!PyList_CheckExact(value) && !PyTuple_CheckExact(value)) return;
#ifdef Py_GIL_DISABLED
    held = PySequence_Tuple(value);
#else
    held = Py_NewRef(value);
#endif
    if (held == nullptr) {
      PyErr_Clear();
    } else {
      list = PyList_CheckExact(held);
      count = static_cast<size_t>(list ? PyList_Size(held) : PyTuple_Size(held));
    }
  }
  ~Items() { Py_XDECREF(held); }
  Items(const Items&) = delete;
  Items& operator=(const Items&) = delete;
  PyObject* operator[](size_t i) const {
    const auto at = static_cast<Py_ssize_t>(i);
    return list ? PyList_GetItem(held, at) : PyTuple_GetItem(held, at);
  }

  PyObject* held = nullptr;
  size_t count = 0;
  bool list = false;
};

// The memory of an array of one dimension whose items are of the given kinds, in the machine's own order.
struct Numbers {
  Numbers(PyObject* value, const char* formats) {
    if (!PyObject_CheckBuffer(value)) return;
    held = PyObject_GetBuffer(value, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) == 0;
    if (held) {
      good = view.ndim == 1 && view.format != nullptr && std::strlen(view.format) == 1 &&
             std::strchr(formats, view.format[0]) != nullptr;
    } else {
      PyErr_Clear();
    }
  }
  ~Numbers() {
    if (held) PyBuffer_Release(&view);
  }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;
  size_t count() const { return static_cast<size_t>(view.shape[0]); }
  template <typename T>
  T at(size_t i) const {
    T value;
    std::memcpy(&value, static_cast<const char*>(view.buf) + i * sizeof(T), sizeof(T));
    return value;
  }

  Py_buffer view;
  bool held = false, good = false;
};

char* put_float(char* p, float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  for (int i = 0; i < 4; ++i) *p++ = static_cast<char>(bits >> (8 * i));
  return p;
}

Made encode_floats(LazyMessage* self, PyObject* value) {
  const Items items(value);
  char* p;
  if (items.held != nullptr) {
    if (items.count == 0) return keep(self, fresh(0, &p));
    PyObject* made = delimited(kField1, 4 * items.count, &p);
    if (made == nullptr) return Made::kError;
    for (size_t i = 0; i < items.count; ++i) {
      PyObject* item = items[i];
      const bool number = PyFloat_CheckExact(item) || PyLong_CheckExact(item);
      const double wide = number ? PyFloat_AsDouble(item) : -1;
      if (!number || (wide == -1 && PyErr_Occurred())) {
        PyErr_Clear();
        Py_DECREF(made);
        return Made::kNo;
      }
      p = put_float(p, static_cast<float>(wide));
    }
    return keep(self, made);
  }
  const Numbers numbers(value, "fd");
  if (!numbers.good) return Made::kNo;
  if (numbers.count() == 0) return keep(self, fresh(0, &p));
  PyObject* made = delimited(kField1, 4 * numbers.count(), &p);
  if (made == nullptr) return Made::kError;
  const bool wide = numbers.view.format[0] == 'd';
  for (size_t i = 0; i < numbers.count(); ++i)
    p = put_float(p, wide ? static_cast<float>(numbers.at<double>(i)) : numbers.at<float>(i));
  return keep(self, made);
}

Made keep_ints(LazyMessage* self, const int64_t* numbers, size_t n) {
  char* p;
  if (n == 0) return keep(self, fresh(0, &p));
  size_t size = 0;
  for (size_t i = 0; i < n; ++i) size += varint_size(static_cast<uint64_t>(numbers[i]));
  PyObject* made = delimited(kField1, size, &p);
  if (made == nullptr) return Made::kError;
  for (size_t i = 0; i < n; ++i) p = put_varint(p, static_cast<uint64_t>(numbers[i]));
  return keep(self, made);
}

Made encode_ints(LazyMessage* self, PyObject* value) {
  const Items items(value);
  if (items.held != nullptr) {
    constexpr size_t kFew = 32;
    int64_t few[kFew];
    std::vector<int64_t> many(items.count > kFew ? items.count : 0);
    int64_t* numbers = items.count > kFew ? many.data() : few;
    for (size_t i = 0; i < items.count; ++i) {
      if (!PyLong_CheckExact(items[i])) return Made::kNo;
      int overflow = 0;
      numbers[i] = PyLong_AsLongLongAndOverflow(items[i], &overflow);
      if (overflow != 0) return Made::kNo;
    }
    return keep_ints(self, numbers, items.count);
  }
  const Numbers array(value, "lqi");
  if (!array.good) return Made::kNo;
  std::vector<int64_t> numbers(array.count());
  const bool wide = array.view.itemsize == sizeof(int64_t);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = wide ? array.at<int64_t>(i) : array.at<int32_t>(i);
  return keep_ints(self, numbers.data(), numbers.size());
}

Made encode_bytes(LazyMessage* self, PyObject* value) {
  const Items items(value);
  if (items.held == nullptr) return Made::kNo;
  size_t size = 0;
  for (size_t i = 0; i < items.count; ++i) {
    if (!PyBytes_CheckExact(items[i])) return Made::kNo;
    size += 1 + varint_size(size_of(items[i])) + size_of(items[i]);
  }
  char* p;
  PyObject* made = fresh(size, &p);
  if (made == nullptr) return Made::kError;
  for (size_t i = 0; i < items.count; ++i) {
    *p++ = kField1;
    p = put_varint(p, size_of(items[i]));
    p = put(p, PyBytes_AsString(items[i]), size_of(items[i]));
  }
  return keep(self, made);
}

// The bytes of a message of that kind; none where it is another, or kept in Python objects.
nb::object bytes_of(PyObject* message, PyTypeObject* type) {
  return PyObject_TypeCheck(message, type) ? held_by(reinterpret_cast<LazyMessage*>(message)) : nb::object();
}

Made encode_message(LazyMessage* self, char tag, PyObject* message, PyTypeObject* type) {
  const nb::object inner = bytes_of(message, type);
  if (!inner.is_valid()) return Made::kNo;
  char* p;
  PyObject* made = delimited(tag, size_of(inner.ptr()), &p);
  if (made == nullptr) return Made::kError;
  put(p, PyBytes_AsString(inner.ptr()), size_of(inner.ptr()));
  return keep(self, made);
}

struct Entry {
  const char* key;
  size_t key_size;
  nb::object value;
  size_t size() const {
    const size_t n = size_of(value.ptr());
    return 2 + varint_size(key_size) + key_size + varint_size(n) + n;
  }
  bool operator<(const Entry& other) const {
    const int order = std::memcmp(key, other.key, std::min(key_size, other.key_size));
    return order != 0 ? order < 0 : key_size < other.key_size;
  }
};

Made encode_features(LazyMessage* self, PyObject* map) {
  if (!PyDict_CheckExact(map)) return Made::kNo;
#ifdef Py_GIL_DISABLED
  nb::object copy = nb::steal(PyDict_Copy(map));
  if (!copy.is_valid()) return Made::kError;
  map = copy.ptr();
#endif
  std::vector<Entry> entries;
  entries.reserve(static_cast<size_t>(PyDict_Size(map)));
  PyObject *key, *value;
  Py_ssize_t at = 0;
  size_t total = 0;
  while (PyDict_Next(map, &at, &key, &value)) {
    Entry entry{nullptr, 0, bytes_of(value, feature_type)};
    if (!PyUnicode_CheckExact(key) || !entry.value.is_valid()) return Made::kNo;
    Py_ssize_t n;
    entry.key = PyUnicode_AsUTF8AndSize(key, &n);
    if (entry.key == nullptr) {
      PyErr_Clear();
      return Made::kNo;
    }
    entry.key_size = static_cast<size_t>(n);
    total += 1 + varint_size(entry.size()) + entry.size();
    entries.push_back(std::move(entry));
  }
  if (!std::is_sorted(entries.begin(), entries.end())) std::sort(entries.begin(), entries.end());
  char* p;
  PyObject* made = fresh(total, &p);
  if (made == nullptr) return Made::kError;
  for (const Entry& entry : entries) {
    *p++ = kField1;
    p = put_varint(p, entry.size());
    *p++ = kField1;
    p = put_varint(p, entry.key_size);
    p = put(p, entry.key, entry.key_size);
    *p++ = kField2;
    p = put_varint(p, size_of(entry.value.ptr()));
    p = put(p, PyBytes_AsString(entry.value.ptr()), size_of(entry.value.ptr()));
  }
  return keep(self, made);
}

bool is(PyObject* name, const char* text) { return PyUnicode_CompareWithASCIIString(name, text) == 0; }

Made bytes_list(LazyMessage* self, PyObject* name, PyObject* value) {
  return is(name, "value") ? encode_bytes(self, value) : Made::kNo;
}
Made float_list(LazyMessage* self, PyObject* name, PyObject* value) {
  return is(name, "value") ? encode_floats(self, value) : Made::kNo;
}
Made int64_list(LazyMessage* self, PyObject* name, PyObject* value) {
  return is(name, "value") ? encode_ints(self, value) : Made::kNo;
}
Made feature(LazyMessage* self, PyObject* name, PyObject* value) {
  if (is(name, "float_list")) return encode_message(self, kFloatList << 3 | 2, value, floats_type);
  if (is(name, "int64_list")) return encode_message(self, kInt64List << 3 | 2, value, ints_type);
  if (is(name, "bytes_list")) return encode_message(self, kBytesList << 3 | 2, value, bytes_type);
  return Made::kNo;
}
Made features(LazyMessage* self, PyObject* name, PyObject* value) {
  return is(name, "feature") ? encode_features(self, value) : Made::kNo;
}
Made example(LazyMessage* self, PyObject* name, PyObject* value) {
  return is(name, "features") ? encode_message(self, kField1, value, features_type) : Made::kNo;
}
Made nothing(LazyMessage*, PyObject*, PyObject*) { return Made::kNo; }

// __init__: one keyword argument is tried; everything else, and what cannot be kept as bytes, is `_build`'s.
template <Made (*Encode)(LazyMessage*, PyObject*, PyObject*)>
int init(PyObject* object, PyObject* args, PyObject* kwargs) {
  auto* self = reinterpret_cast<LazyMessage*>(object);
  if (kwargs != nullptr && PyDict_Size(kwargs) == 1 && PyTuple_Size(args) == 0) {
    PyObject *name, *value;
    Py_ssize_t at = 0;
    PyDict_Next(kwargs, &at, &name, &value);
    const Made made = Encode(self, name, value);
    if (made != Made::kNo) return made == Made::kYes ? 0 : -1;
  }
  hold(self, nullptr);
  PyObject* build = PyObject_GetAttrString(object, "_build");
  if (build == nullptr) return -1;
  PyObject* done = PyObject_Call(build, args, kwargs);
  Py_DECREF(build);
  Py_XDECREF(done);
  return done == nullptr ? -1 : 0;
}

void dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  Py_XDECREF(reinterpret_cast<LazyMessage*>(object)->bytes);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

PyObject* get_serialized(PyObject* object, void*) {
  nb::object bytes = held_by(reinterpret_cast<LazyMessage*>(object));
  return bytes.is_valid() ? bytes.release().ptr() : Py_NewRef(Py_None);
}

// Only None can be set: from then on the message is kept in Python objects.
int set_serialized(PyObject* object, PyObject* value, void*) {
  if (value != Py_None) {
    PyErr_SetString(PyExc_TypeError, "serialized can only be set to None");
    return -1;
  }
  hold(reinterpret_cast<LazyMessage*>(object), nullptr);
  return 0;
}

template <Made (*Encode)(LazyMessage*, PyObject*, PyObject*)>
PyTypeObject* make(nb::module_& m, const char* name) {
  static PyGetSetDef properties[] = {{"serialized", get_serialized, set_serialized, nullptr, nullptr},
                                     {nullptr, nullptr, nullptr, nullptr, nullptr}};
  PyType_Slot slots[] = {{Py_tp_init, reinterpret_cast<void*>(&init<Encode>)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(&dealloc)},
                         {Py_tp_getset, properties},
                         {0, nullptr}};
  const std::string full = std::string("feedline.kernels._native.") + name;
  PyType_Spec spec = {full.c_str(), sizeof(LazyMessage), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  PyObject* type = PyType_FromSpecWithBases(&spec, reinterpret_cast<PyObject*>(base_type));
  if (type == nullptr) throw nb::python_error();
  m.attr(name) = nb::handle(type);
  return reinterpret_cast<PyTypeObject*>(type);
}

}  // namespace

void register_lazy_message(nb::module_& m) {
  base_type = make<nothing>(m, "LazyMessage");
  bytes_type = make<bytes_list>(m, "LazyBytesList");
  floats_type = make<float_list>(m, "LazyFloatList");
  ints_type = make<int64_list>(m, "LazyInt64List");
  feature_type = make<feature>(m, "LazyFeature");
  features_type = make<features>(m, "LazyFeatures");
  example_type = make<example>(m, "LazyExample");
}

}  // namespace feedline
