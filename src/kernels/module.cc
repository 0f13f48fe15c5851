// feedline.kernels._native: one register_ line per family of kernels.
#include <nanobind/nanobind.h>

#include "team.h"

namespace feedline {
void register_calls(nanobind::module_& m);
void register_crc32c(nanobind::module_& m);
void register_csv(nanobind::module_& m);
void register_example(nanobind::module_& m);
void register_example_scan(nanobind::module_& m);
void register_example_write(nanobind::module_& m);
void register_gather(nanobind::module_& m);
void register_interrupts(nanobind::module_& m);
void register_lines(nanobind::module_& m);
void register_gif(nanobind::module_& m);
void register_memory(nanobind::module_& m);
void register_image_program(nanobind::module_& m);
void register_png(nanobind::module_& m);
void register_random(nanobind::module_& m);
void register_resize(nanobind::module_& m);
void register_lazy_message(nanobind::module_& m);
void register_sequence(nanobind::module_& m);
void register_shuffle(nanobind::module_& m);
void register_strings(nanobind::module_& m);
void register_tfrecord(nanobind::module_& m);
void register_tfrecord_index(nanobind::module_& m);
}  // namespace feedline

NB_MODULE(_native, m) {
  m.doc() = "feedline's kernels in C++. feedline/kernels/reference.py says in NumPy what each one does.";
  feedline::register_calls(m);
  feedline::register_crc32c(m);
  feedline::register_csv(m);
  feedline::register_example(m);
  feedline::register_example_scan(m);
  feedline::register_example_write(m);
  feedline::register_gather(m);
  feedline::register_interrupts(m);
  feedline::register_lines(m);
  feedline::register_gif(m);
  feedline::register_memory(m);
  feedline::register_image_program(m);
  feedline::register_png(m);
  feedline::register_random(m);
  feedline::register_resize(m);
  feedline::register_lazy_message(m);
  feedline::register_sequence(m);
  feedline::register_shuffle(m);
  feedline::register_strings(m);
  feedline::register_tfrecord(m);
  feedline::register_tfrecord_index(m);
  m.def("team_threads", &feedline::team_threads);
  feedline::team_threads();  // a fork must find the team
}
