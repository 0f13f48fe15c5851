// The loop over calls of a user's function whose results are plain values: with a short function the interpreter would
// spend more time between two calls than in them.
#include <chrono>

#include "array.h"

namespace feedline {
namespace {

using Clock = std::chrono::steady_clock;

// As kernels/reference_calls.py says. The rows and results are lists that no other thread sees.
nb::object call_rows(nb::object call, nb::list rows, nb::list results, nb::handle kind, nb::handle scope, double seconds) {
  const bool timed = seconds < 1e9;
  const Clock::time_point begun = timed ? Clock::now() : Clock::time_point();
  const nb::object used = nb::steal(PyUnicode_InternFromString("used"));
  const size_t n = nb::len(rows);
  while (nb::len(results) < n) {
    const nb::object row = nb::borrow(rows[nb::len(results)]);
    const bool unpacked = PyTuple_CheckExact(row.ptr());
    nb::object result = unpacked ? nb::steal(PyObject_CallObject(call.ptr(), row.ptr())) : call(row);
    if (!result.is_valid()) throw nb::python_error();
    if (!result.type().is(kind)) return result;
    results.append(result);
    const nb::object count = scope.attr(used);
    const int is_used = PyObject_IsTrue(count.ptr());
    if (is_used < 0) throw nb::python_error();
    if (is_used) break;
    if (timed && std::chrono::duration<double>(Clock::now() - begun).count() > seconds) break;
  }
  return results;
}

}  // namespace

void register_calls(nb::module_& m) {
  m.def("call_rows", &call_rows, nb::arg("call"), nb::arg("rows"), nb::arg("results"), nb::arg("kind"), nb::arg("scope"),
        nb::arg("seconds"));
}

}  // namespace feedline
