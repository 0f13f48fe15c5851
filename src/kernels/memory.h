// How NumPy asks for the memory of arrays: through the allocator that is set in the current context. Each array keeps the
// one that it was made by.
#pragma once

#include "array.h"

namespace feedline {

// As numpy/ndarraytypes.h lays it out; NumPy adds fields at the end only, and tells by `version` what is there.
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

// Sets the allocator of the current context, given in a capsule, and gives the one before.
nb::object set_allocator(nb::handle capsule);

}  // namespace feedline
