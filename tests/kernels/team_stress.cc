// Stress test of the thread team for ThreadSanitizer: `make tsan` builds and runs it.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

#include "team.h"

namespace {

void check(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "failed: %s\n", what);
  std::abort();
}

// Every piece is worked on once, and what it has written is seen by the caller without a lock of its own.
void sums(size_t threads, size_t pieces) {
  std::vector<size_t> squares(pieces);
  feedline::in_team(threads, pieces, [&](size_t i) {
    squares[i] += i * i;
    return true;
  });
  for (size_t i = 0; i < pieces; ++i) check(squares[i] == i * i, "a piece was left out or done twice");
}

// No piece before one that failed is left out.
void stops(size_t threads, size_t pieces, size_t bad) {
  std::vector<char> done(pieces);
  feedline::in_team(threads, pieces, [&](size_t i) {
    done[i] = 1;
    return i != bad;
  });
  for (size_t i = 0; i <= bad && i < pieces; ++i) check(done[i] == 1, "a piece before the failure was left out");
}

void throws(size_t threads, size_t pieces, size_t bad) {
  bool caught = false;
  try {
    feedline::in_team(threads, pieces, [&](size_t i) -> bool {
      if (i >= bad && i % 2 == 0) throw std::bad_alloc();
      if (i >= bad) throw std::runtime_error("odd");
      return true;
    });
  } catch (const std::exception&) {
    caught = true;
  }
  check(caught == (bad < pieces), "an exception was lost, or there was none");
}

void nested(size_t threads) {
  std::atomic<size_t> count{0};
  feedline::in_team(threads, 8, [&](size_t) {
    feedline::in_team(threads, 8, [&](size_t) {
      ++count;
      return true;
    });
    return true;
  });
  check(count == 64, "nested calls");
}

void everything(size_t rounds, size_t salt) {
  for (size_t k = 0; k < rounds; ++k) {
    const size_t threads = (k * 7 + salt) % 33, pieces = (k * 13 + salt) % 97;
    sums(threads, pieces);
    stops(threads, pieces, k % 50);
    throws(threads, pieces, k % 120);
    if (k % 16 == 0) nested(threads);
  }
}

void callers(size_t n, size_t rounds) {
  std::vector<std::thread> all;
  for (size_t i = 0; i < n; ++i) all.emplace_back(everything, rounds, i);
  for (std::thread& thread : all) thread.join();
}

}  // namespace

int main(int argc, char**) {
  callers(12, 300);
  check(feedline::team_threads() == 31, "the number of threads");
  if (argc > 1) return 0;  // ThreadSanitizer does not follow threads into a child
  for (int k = 0; k < 20; ++k) {
    std::atomic<bool> stop{false};
    std::thread busy([&] {
      while (!stop) sums(8, 64);
    });
    const pid_t child = fork();
    if (child == 0) {
      check(feedline::team_threads() == 0, "a child begins without threads");
      everything(20, 3);
      std::_Exit(feedline::team_threads() > 0 ? 0 : 1);
    }
    int status = 1;
    check(waitpid(child, &status, 0) == child && status == 0, "the child");
    stop = true;
    busy.join();
  }
  std::puts("good");
  return 0;
}
