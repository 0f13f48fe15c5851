// Work that several threads share, without the interpreter.
#pragma once

#include <thread>
#include <vector>

namespace feedline {

// Calls `run` in so many threads, this one among them, or in as many as are to be had. It must not throw.
template <typename Run>
void in_threads(size_t n, const Run& run) {
  std::vector<std::thread> others;
  try {
    for (size_t i = 1; i < n; ++i) others.emplace_back(run);
  } catch (...) {  // no more threads to be had
  }
  run();
  for (std::thread& thread : others) thread.join();
}

}  // namespace feedline
