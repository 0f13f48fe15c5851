// The thread team. Threads start when a job first has room for them, sleep while there is none, and never end: at the
// exit of the process nobody waits for them. A child process after a fork has none of them, and starts its own.
#include "team.h"

#include <condition_variable>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

#if defined(__unix__) || defined(__APPLE__)
#define FEEDLINE_POSIX 1
#include <pthread.h>
#include <signal.h>
#endif

namespace feedline {
namespace {

constexpr size_t kMostThreads = 1024;

// Each thread that wakes up wakes so many others while there are seats for them, so that all are awake after a few steps.
constexpr size_t kWakes = 2;

class Team {
 public:
  void run(Job& job) {
    const size_t seats = job.seats;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      add(job);
      if (started_ < seats) start(seats);
    }
    wake(seats);
    job.run(job);
    std::unique_lock<std::mutex> lock(mutex_);
    remove(job);
    left_.wait(lock, [&] { return job.inside == 0; });
  }

  size_t started() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return started_;
  }

 private:
  void add(Job& job) {
    job.before = last_;
    (last_ != nullptr ? last_->after : first_) = &job;
    last_ = &job;
  }

  void remove(Job& job) {
    (job.before != nullptr ? job.before->after : first_) = job.after;
    (job.after != nullptr ? job.after->before : last_) = job.before;
  }

  void wake(size_t seats) {
    for (size_t i = 0; i < kWakes && i < seats; ++i) work_.notify_one();
  }

  // The job with a seat in which the fewest threads are: several callers share the team.
  Job* next() {
    Job* found = nullptr;
    for (Job* job = first_; job != nullptr; job = job->after)
      if (job->seats > 0 && (found == nullptr || job->inside < found->inside)) found = job;
    return found;
  }

  // More threads, or as many as are to be had.
  void start(size_t wanted) {
    if (wanted > kMostThreads) wanted = kMostThreads;
#ifdef FEEDLINE_POSIX
    // Signals go to the threads of the program, but for those that a thread causes itself.
    sigset_t most, before;
    sigfillset(&most);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) sigdelset(&most, own);
    pthread_sigmask(SIG_SETMASK, &most, &before);
#endif
    try {
      for (; started_ < wanted; ++started_) std::thread([this] { serve(); }).detach();
    } catch (const std::system_error&) {
    } catch (const std::bad_alloc&) {
    }
#ifdef FEEDLINE_POSIX
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
#endif
  }

  void serve() {
#ifdef __linux__
    pthread_setname_np(pthread_self(), "feedline-team");
#endif
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      Job* job = next();
      if (job == nullptr) {
        work_.wait(lock);
        continue;
      }
      --job->seats;
      ++job->inside;
      const size_t seats = job->seats;
      lock.unlock();
      wake(seats);
      job->run(*job);
      lock.lock();
      // A caller that waits has removed its job; it is gone once the lock is.
      if (--job->inside == 0) left_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable work_, left_;
  Job *first_ = nullptr, *last_ = nullptr;
  size_t started_ = 0;
};

// Never destroyed: its threads may outlive everything else of the program.
alignas(Team) unsigned char memory[sizeof(Team)];

Team& the_team() {
  static Team* const team = [] {
#ifdef FEEDLINE_POSIX
    // The threads of the parent are not here, whatever they held. What is forgotten here was theirs.
    pthread_atfork(nullptr, nullptr, [] { new (memory) Team; });
#endif
    return new (memory) Team;
  }();
  return *team;
}

}  // namespace

void run_in_team(Job& job) { the_team().run(job); }

size_t team_threads() { return the_team().started(); }

}  // namespace feedline
