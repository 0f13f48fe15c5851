// Signals that wait: while the main thread is in the middle of something, the handlers of a Python program, which may
// raise, do not run. They do at safe points, and when it lets go.
//
// A small handler stands in front of Python's own, which notes the signal for the interpreter. While `held` is set the
// small one notes it here instead. Python does not see the difference: signal.getsignal says what it did before.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <vector>

#ifndef _WIN32
#include <pthread.h>
#include <time.h>
#endif

#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace feedline {
namespace {

#ifndef _WIN32

constexpr int kSignals = 64;
constexpr int64_t kPatience = 1'000'000'000;  // nanoseconds after which a second signal does not wait any more

using Handler = void (*)(int);

std::atomic<bool> held{false};
std::atomic<uint64_t> waiting{0};
std::atomic<int64_t> since{0};
std::atomic<Handler> behind[kSignals];
pthread_t main_thread;
bool locked = false;  // the main thread's: while it is set `pause` does nothing
bool known = false;  // whether `main_thread` is

bool in_main() { return known && pthread_equal(pthread_self(), main_thread); }

int64_t now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// Tells Python of the signals that wait; true where there were any.
bool pass_on() {
  const uint64_t found = waiting.exchange(0);
  for (int s = 0; s < kSignals; ++s) {
    if ((found >> s & 1) == 0) continue;
    if (const Handler to = behind[s].load()) to(s);
  }
  return found != 0;
}

void on_signal(int s) {
  const int error = errno;
  const uint64_t bit = uint64_t{1} << s;
  const int64_t time = now();
  const bool again = (waiting.fetch_or(bit) & bit) != 0;
  if (!again) since.store(time);
  // One who has waited for long and asks again is in earnest.
  if (!held.load() || (again && time - since.load() > kPatience)) pass_on();
  errno = error;
}

// What Python has noted comes up now, if it raises.
void raise_noted() {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

// Puts the small handler in front of those of these signals. To be called by the main thread.
void guard(const std::vector<int>& signals) {
  main_thread = pthread_self();
  known = true;
  for (const int s : signals) {
    struct sigaction old{};
    if (s < 1 || s >= kSignals || sigaction(s, nullptr, &old) != 0) continue;
    const bool plain = (old.sa_flags & SA_SIGINFO) == 0 && old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN;
    if (!plain || old.sa_handler == on_signal) continue;
    behind[s].store(old.sa_handler);
    struct sigaction ours = old;
    ours.sa_handler = on_signal;
    sigaction(s, &ours, nullptr);
  }
}

bool hold() {
  if (!in_main() || held.exchange(true)) return true;
  if (PyErr_CheckSignals() != 0) {  // noted before: it would come up when this returns
    held.store(false);
    throw nb::python_error();
  }
  return false;
}

void release(bool before) {
  if (before) return;
  held.store(false);
  if (waiting.load() != 0 && pass_on()) raise_noted();
}

void check() {
  if (waiting.load() != 0 && in_main() && !locked && pass_on()) raise_noted();
}

bool pause() {
  if (!in_main() || !held.load() || locked) return false;
  check();
  held.store(false);
  if (waiting.load() != 0) pass_on();
  return true;
}

void resume(bool before) {
  if (!before) return;
  held.store(true);
  raise_noted();  // else it would come up when this returns
}

bool lock() {
  if (!in_main() || !held.load() || locked) return false;
  locked = true;
  return true;
}

void unlock(bool before) {
  if (before) locked = false;
}

// Calls a function with signals not waiting. What it gives is in the list before any of them can come up.
void call_into(nb::list into, nb::handle function) {
  const bool before = pause();
  PyObject* got = PyObject_CallNoArgs(function.ptr());
  if (before) held.store(true);
  if (got == nullptr) throw nb::python_error();
  const int failed = PyList_Append(into.ptr(), got);
  Py_DECREF(got);
  if (failed != 0) throw nb::python_error();
  if (before) raise_noted();
}

// In a child process: the thread that forked is the main one, and whoever held is not there.
void forked() {
  held.store(false);
  waiting.store(0);
  locked = false;
  main_thread = pthread_self();
}

#else

void guard(const std::vector<int>&) {}
bool hold() { return true; }
void release(bool) {}
bool pause() { return false; }
void resume(bool) {}
bool lock() { return false; }
void unlock(bool) {}
void call_into(nb::list into, nb::handle function) { into.append(function()); }
void check() {}
void forked() {}

#endif

}  // namespace

void register_interrupts(nb::module_& m) {
  m.def("guard", &guard, nb::arg("signals"));
  m.def("hold", &hold);
  m.def("release", &release, nb::arg("before"));
  m.def("pause", &pause);
  m.def("resume", &resume, nb::arg("before"));
  m.def("lock", &lock);
  m.def("unlock", &unlock, nb::arg("before"));
  m.def("call_into", &call_into, nb::arg("into"), nb::arg("function"));
  m.def("check", &check);
  m.def("forked", &forked);
}

}  // namespace feedline
