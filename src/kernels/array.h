// What every kernel needs: argument types that refuse a silent copy, fresh NumPy arrays, and clones per instruction set.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>

namespace nb = nanobind;

// The compiler makes one copy of the loop per instruction set and the loader picks one, so that a wheel built for the
// plainest x86-64 still runs wide where it can. It needs GNU's ifunc, hence the narrow condition; ThreadSanitizer is not
// ready yet when the loader picks.
#if defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_THREAD__)
#define FEEDLINE_WIDE __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define FEEDLINE_WIDE
#endif

#if defined(__GNUC__) || defined(__clang__)
#define FEEDLINE_PREFETCH(address) __builtin_prefetch(address)
#else
#define FEEDLINE_PREFETCH(address) ((void)(address))
#endif

namespace feedline {

// Of fewer bytes the checksum costs less than handing over the interpreter.
constexpr size_t kWorthAThread = 1 << 16;

template <typename T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// A C-contiguous buffer of any dtype. Without PyBUF_FORMAT NumPy also lends those no format letter exists for
// (datetime64, bfloat16).
class Bytes {
 public:
  Bytes(nb::handle array, bool writable) {
    if (PyObject_GetBuffer(array.ptr(), &view_, PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0)) != 0)
      throw nb::python_error();
  }
  ~Bytes() { PyBuffer_Release(&view_); }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;

  char* data() const { return static_cast<char*>(view_.buf); }
  size_t size() const { return static_cast<size_t>(view_.len); }
  int ndim() const { return view_.ndim; }
  size_t dim(int i) const { return static_cast<size_t>(view_.shape[i]); }

 private:
  Py_buffer view_;
};

// Hands the interpreter over for as long as this lives, where that is worth it: getting it back may take longer than a
// little work, since whoever has it then keeps it for a while.
class HandedOver {
 public:
  explicit HandedOver(bool worth_it = true) : state_(worth_it ? PyEval_SaveThread() : nullptr) {}

  // Before Python 3.14 a thread that wants the interpreter of a program that ends is unwound, which here would end the
  // program the hard way. It waits for the end instead, as with later versions.
  ~HandedOver() {
    if (state_ == nullptr) return;
    try {
      PyEval_RestoreThread(state_);
    } catch (...) {
      for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
    }
  }
  HandedOver(const HandedOver&) = delete;
  HandedOver& operator=(const HandedOver&) = delete;

 private:
  PyThreadState* state_;
};

// numpy.empty: NumPy owns the memory, so the array is like any other and large ones get huge pages.
inline nb::object empty(nb::handle shape, nb::handle dtype) {
  return nb::module_::import_("numpy").attr("empty")(shape, dtype);
}

template <typename T>
struct Fresh {
  Fresh(size_t n, const char* dtype) : array(empty(nb::int_(n), nb::str(dtype))), bytes(array, true) {}
  T* data() const { return reinterpret_cast<T*>(bytes.data()); }

  nb::object array;
  Bytes bytes;
};

inline size_t length(int64_t n, const char* name) {
  if (n < 0) throw std::invalid_argument(std::string(name) + " must not be negative, got " + std::to_string(n));
  return static_cast<size_t>(n);
}

}  // namespace feedline
