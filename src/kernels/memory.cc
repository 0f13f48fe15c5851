// Arrays that begin at a multiple of 64 bytes, which frameworks take as they are where they would copy others.
#include <cstdlib>
#include <cstring>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "array.h"

namespace feedline {
namespace {

// How NumPy asks for the memory of arrays: through the allocator that is set in the current context. Each array keeps the
// one that it was made by. As numpy/ndarraytypes.h lays it out; NumPy adds fields at the end only, and tells by `version`
// what is there.
struct Allocator {
  char name[127];
  uint8_t version;
  void* context;
  void* (*malloc)(void*, size_t);
  void* (*calloc)(void*, size_t, size_t);
  void* (*realloc)(void*, void*, size_t);
  void (*free)(void*, void*, size_t);
};

// What the capsule around an allocator is called.
constexpr const char* kAllocator = "mem_handler";

constexpr size_t kAlignment = 64;
constexpr size_t kHuge = 4 << 20, kPage = 4096;

// What the C library gives is a multiple of 16, so there is room before the array for where its memory begins.
void* aligned(void* memory, size_t size) {
  if (memory == nullptr) return nullptr;
  const uintptr_t place = (reinterpret_cast<uintptr_t>(memory) + kAlignment) & ~uintptr_t{kAlignment - 1};
  void** array = reinterpret_cast<void**>(place);
  array[-1] = memory;
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  if (size >= kHuge) {  // as NumPy does by itself
    const uintptr_t page = (place + kPage - 1) & ~uintptr_t{kPage - 1};
    madvise(reinterpret_cast<void*>(page), place + size - page, MADV_HUGEPAGE);
  }
#else
  (void)size;
#endif
  return array;
}

void* begin_of(void* array) { return static_cast<void**>(array)[-1]; }

bool too_large(size_t size) { return size > SIZE_MAX - kAlignment; }

void* aligned_malloc(void*, size_t size) {
  return too_large(size) ? nullptr : aligned(std::malloc(size + kAlignment), size);
}

void* aligned_calloc(void*, size_t n, size_t each) {
  if (each != 0 && n > SIZE_MAX / each) return nullptr;
  return too_large(n * each) ? nullptr : aligned(std::calloc(n * each + kAlignment, 1), n * each);
}

void* aligned_realloc(void*, void* array, size_t size) {
  if (array == nullptr) return aligned_malloc(nullptr, size);
  if (too_large(size)) return nullptr;
  const size_t gap = static_cast<size_t>(static_cast<char*>(array) - static_cast<char*>(begin_of(array)));
  char* memory = static_cast<char*>(std::realloc(begin_of(array), size + kAlignment));
  if (memory == nullptr) return nullptr;
  const size_t gap_now = kAlignment - (reinterpret_cast<uintptr_t>(memory) & (kAlignment - 1));
  if (gap_now != gap) std::memmove(memory + gap_now, memory + gap, size);
  return aligned(memory, size);
}

void aligned_free(void*, void* array, size_t) {
  if (array != nullptr) std::free(begin_of(array));
}

Allocator allocator = {"feedline", 1, nullptr, aligned_malloc, aligned_calloc, aligned_realloc, aligned_free};

// Where PyDataMem_SetHandler is in NumPy's table of functions, which programs are compiled against and which stays.
constexpr size_t kSetHandler = 304;

using SetHandler = PyObject* (*)(PyObject*);
SetHandler set_handler;  // both are set once, with the module
PyObject* own;

// Sets the allocator of the current context, given in a capsule, and gives the one before.
nb::object set_allocator(nb::handle capsule) {
  nb::object before = nb::steal(set_handler(capsule.ptr()));
  if (!before.is_valid()) throw nb::python_error();
  return before;
}

class Aligned {
 public:
  void enter() { before_ = set_allocator(own); }
  void exit(nb::args) { set_allocator(before_.is_valid() ? before_ : nb::handle()); }

 private:
  nb::object before_;
};

}  // namespace

void register_memory(nb::module_& m) {
  nb::object table = nb::module_::import_("numpy._core._multiarray_umath").attr("_ARRAY_API");
  void** functions = static_cast<void**>(PyCapsule_GetPointer(table.ptr(), nullptr));
  own = functions == nullptr ? nullptr : PyCapsule_New(&allocator, kAllocator, nullptr);
  if (own == nullptr) throw nb::python_error();
  set_handler = reinterpret_cast<SetHandler>(functions[kSetHandler]);
  nb::class_<Aligned>(m, "aligned")
      .def(nb::init<>())
      .def("__enter__", &Aligned::enter)
      .def("__exit__", &Aligned::exit);
}

}  // namespace feedline
