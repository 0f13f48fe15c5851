// The thread team: the threads of this process that share the work of its kernels, without the interpreter.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>

namespace feedline {

// Work that threads of the team may join. It lies in its caller's stack, so that nothing is allocated for it.
struct Job {
  void (*run)(Job&);  // called by each thread that joins; must not throw
  size_t seats;       // how many more may join
  size_t inside = 0;  // how many threads of the team are in it
  Job* before = nullptr;
  Job* after = nullptr;
};

// Runs the job in this thread, and in those of the team that are free meanwhile. Returns when no thread is in it.
void run_in_team(Job& job);

// How many threads of the team have been started in this process.
size_t team_threads();

template <typename Work>
struct Pieces : Job {
  Pieces(size_t others, size_t n, const Work& what) : Job{&join, others}, count(n), work(what) {}

  static void join(Job& job) {
    auto& self = static_cast<Pieces&>(job);
    try {
      for (size_t i = self.next++; i < self.count; i = self.next++)
        if (!self.work(i)) self.next = self.count;
    } catch (...) {
      if (!self.failed.exchange(true)) self.error = std::current_exception();
      self.next = self.count;
    }
  }

  size_t count;
  const Work& work;
  std::atomic<size_t> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr error;
};

// Calls `work(i)` for all i below `count`, in up to so many threads at once, this one among them. The numbers are handed
// out in ascending order, and no more of them after `work` has returned false or thrown; what it has thrown in any
// thread is thrown in this one.
template <typename Work>
void in_team(size_t threads, size_t count, const Work& work) {
  if (threads > count) threads = count;
  Pieces<Work> pieces(threads > 1 ? threads - 1 : 0, count, work);
  if (pieces.seats > 0) run_in_team(pieces);
  else pieces.run(pieces);
  if (pieces.failed) std::rethrow_exception(pieces.error);
}

}  // namespace feedline
