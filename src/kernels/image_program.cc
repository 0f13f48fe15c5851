// Programs for images: a file is decoded, cropped, scaled and computed with, and only the result leaves the thread.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>

#include "jpeg.h"
#include "resize.h"
#include "team.h"

namespace feedline {
namespace {

// A slice of Python's along one axis; kOpen stands for a bound that is left out.
constexpr int64_t kOpen = INT64_MIN;

struct Slice {
  int64_t start, stop, step;
};

// The first index, and how many there are.
std::pair<int64_t, int64_t> indices(const Slice& s, int64_t n) {
  const auto bound = [n, &s](int64_t at, int64_t open) {
    if (at == kOpen) return open;
    if (at < 0) return at + n < 0 ? (s.step < 0 ? -1 : 0) : at + n;
    return at >= n ? (s.step < 0 ? n - 1 : n) : at;
  };
  const int64_t start = bound(s.start, s.step < 0 ? n - 1 : 0), stop = bound(s.stop, s.step < 0 ? -1 : n);
  const int64_t count = s.step > 0 ? (stop - start + s.step - 1) / s.step : (start - stop - s.step - 1) / -s.step;
  return {start, count > 0 ? count : 0};
}

enum Code { kAdd, kSubtract, kMultiply, kDivide, kSubtractFrom, kDivideInto, kToBytes };

// A step of single-precision arithmetic: with one number, or with one for each channel.
struct Step {
  int code;
  std::vector<float> operand;
};

// The operation for n values, with one operand or with n.
template <typename Operation>
inline void each(float* line, size_t n, const float* operand, bool many, Operation&& operation) {
  if (many)
    for (size_t i = 0; i < n; ++i) line[i] = operation(line[i], operand[i]);
  else
    for (size_t i = 0; i < n; ++i) line[i] = operation(line[i], operand[0]);
}

FEEDLINE_WIDE void compute(int code, float* line, size_t n, const float* operand, bool many) {
  switch (code) {
    case kAdd: return each(line, n, operand, many, [](float x, float y) { return x + y; });
    case kSubtract: return each(line, n, operand, many, [](float x, float y) { return x - y; });
    case kMultiply: return each(line, n, operand, many, [](float x, float y) { return x * y; });
    case kDivide: return each(line, n, operand, many, [](float x, float y) { return x / y; });
    case kSubtractFrom: return each(line, n, operand, many, [](float x, float y) { return y - x; });
    case kDivideInto: return each(line, n, operand, many, [](float x, float y) { return y / x; });
    default: return;
  }
}

// Whether the cast to a byte is defined for all values.
FEEDLINE_WIDE bool are_bytes(const float* line, size_t n) {
  int bad = 0;
  for (size_t i = 0; i < n; ++i) bad |= !(line[i] > -1.0f) | !(line[i] < 256.0f);
  return bad == 0;
}

FEEDLINE_WIDE void narrow(const float* line, size_t n, uint8_t* out) {
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<uint8_t>(static_cast<int32_t>(line[i]));
}

FEEDLINE_WIDE void truncate(float* line, size_t n) {
  for (size_t i = 0; i < n; ++i) line[i] = static_cast<float>(static_cast<int32_t>(line[i]));
}

// Steps for lines of pixels.
class Arithmetic {
 public:
  // Repeats the operands for a line; false where there is not one for each channel.
  bool prepare(const std::vector<Step>& steps, size_t width, size_t channels) {
    operands_.resize(steps.size());
    for (size_t s = 0; s < steps.size(); ++s) {
      const std::vector<float>& given = steps[s].operand;
      if (given.size() <= 1) continue;
      if (given.size() != channels) return false;
      operands_[s].resize(width * channels);
      for (size_t i = 0; i < operands_[s].size(); ++i) operands_[s][i] = given[i % channels];
    }
    return true;
  }

  // False where a value is outside the range of what it is cast to.
  bool run(const std::vector<Step>& steps, float* line, size_t n) const {
    for (size_t s = 0; s < steps.size(); ++s) {
      const bool many = steps[s].operand.size() > 1;
      if (steps[s].code != kToBytes) {
        compute(steps[s].code, line, n, many ? operands_[s].data() : steps[s].operand.data(), many);
      } else {
        if (!are_bytes(line, n)) return false;
        truncate(line, n);
      }
    }
    return true;
  }

 private:
  std::vector<std::vector<float>> operands_;
};

struct Program {
  JpegOptions options;
  std::vector<std::pair<Slice, Slice>> windows;  // rows and columns of the decoded image
  std::vector<Step> before, after;               // the scaling
  size_t height, width;                          // of the scaled image
  std::vector<std::pair<Slice, Slice>> parts;    // rows and columns of it
  Image out;
  bool bytes;  // whether the results are bytes
};

// Those of the positions that a slice picks.
std::vector<Tap> picked(std::vector<Tap> all, const Slice& slice) {
  const auto [start, count] = indices(slice, static_cast<int64_t>(all.size()));
  if (slice.step == 1 && count == static_cast<int64_t>(all.size())) return all;
  std::vector<Tap> some(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    some[static_cast<size_t>(i)] = all[static_cast<size_t>(start + i * slice.step)];
  return some;
}

// What a thread needs for one image after another.
struct Worker {
  JpegDecoder decoder;
  std::vector<uint8_t> pixels, part;
  std::vector<float> line, scratch;
  Arithmetic before, after;
  Lines lines;

  bool run(const Program& program, Span file, char* out) {
    Image image;
    if (!decoder.begin(file, program.options, image)) return false;
    if (image.channels != program.out.channels) return false;
    pixels.resize(image.size());
    if (!decoder.finish(pixels.data())) return false;
    for (const auto& window : program.windows)
      if (!crop(window, image)) return false;
    return scale(program, image, out);
  }

  bool crop(const std::pair<Slice, Slice>& window, Image& image) {
    const auto [top, height] = indices(window.first, static_cast<int64_t>(image.height));
    const auto [left, width] = indices(window.second, static_cast<int64_t>(image.width));
    if (height == 0 || width == 0) return false;
    const size_t c = image.channels, row = image.width * c;
    const Image made{static_cast<size_t>(height), static_cast<size_t>(width), c};
    part.resize(made.size());
    for (int64_t y = 0; y < height; ++y) {
      const uint8_t* from = pixels.data() + static_cast<size_t>(top + y * window.first.step) * row;
      uint8_t* to = part.data() + static_cast<size_t>(y) * made.width * c;
      if (window.second.step == 1) {
        std::memcpy(to, from + static_cast<size_t>(left) * c, made.width * c);
        continue;
      }
      for (int64_t x = 0; x < width; ++x, to += c)
        std::memcpy(to, from + static_cast<size_t>(left + x * window.second.step) * c, c);
    }
    pixels.swap(part);
    image = made;
    return true;
  }

  bool scale(const Program& program, const Image& image, char* out) {
    const size_t c = image.channels, in = image.width * c, wide = program.out.width * c;
    if (!before.prepare(program.before, image.width, c) || !after.prepare(program.after, program.out.width, c))
      return false;
    std::vector<Tap> rows = taps(image.height, program.height), columns = taps(image.width, program.width);
    for (const auto& part : program.parts) {
      rows = picked(std::move(rows), part.first);
      columns = picked(std::move(columns), part.second);
    }
    if (rows.size() != program.out.height || columns.size() != program.out.width) return false;
    line.resize(program.before.empty() ? wide : std::max(wide, in));
    bool good = true;
    const auto across = [&](size_t y, float* scaled) {
      const uint8_t* row = pixels.data() + y * in;
      if (program.before.empty()) return scale_row(row, columns, image.width, c, scratch, scaled);
      widen(row, in, line.data());
      good = before.run(program.before, line.data(), in) && good;
      scale_row(line.data(), columns, image.width, c, scratch, scaled);
    };
    return lines.scale(rows, wide, across, [&](const float* top, const float* bottom, float weight) {
      float* made = program.bytes ? line.data() : reinterpret_cast<float*>(out);
      mix_rows(top, bottom, weight, wide, made);
      good = after.run(program.after, made, wide) && good;
      if (!good) return false;
      if (program.bytes) narrow(made, wide, reinterpret_cast<uint8_t*>(out));
      out += wide * (program.bytes ? 1 : sizeof(float));
      return true;
    });
  }
};

// The workers that no thread uses at the moment: one for each thread, whichever threads take part.
class Workers {
 public:
  std::unique_ptr<Worker> take() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<Worker> found = std::move(idle_.back());
        idle_.pop_back();
        return found;
      }
    }
    return std::make_unique<Worker>();
  }
  void give(std::unique_ptr<Worker> worker) {
    const std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_back(std::move(worker));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Worker>> idle_;
};

JpegOptions options_of(const nb::tuple& given) {
  if (given.size() != 4) throw std::invalid_argument("decoding takes four options");
  JpegOptions options;
  options.channels = nb::cast<int>(nb::object(given[0]));
  options.ratio = nb::cast<int>(nb::object(given[1]));
  options.fancy = nb::cast<bool>(nb::object(given[2]));
  options.fast = nb::cast<bool>(nb::object(given[3]));
  const int c = options.channels, r = options.ratio;
  if (c != 0 && c != 1 && c != 3) throw std::invalid_argument("channels must be 0, 1 or 3");
  if (r != 1 && r != 2 && r != 4 && r != 8) throw std::invalid_argument("ratio must be 1, 2, 4 or 8");
  return options;
}

Slice slice_of(nb::handle given) {
  const auto bound = [](nb::handle at) { return at.is_none() ? kOpen : nb::cast<int64_t>(at); };
  const Slice made{bound(given.attr("start")), bound(given.attr("stop")), bound(given.attr("step"))};
  constexpr int64_t kFar = int64_t{1} << 31;  // no image is larger, and sums cannot overflow
  const auto near = [](int64_t at) { return at == kOpen || (-kFar < at && at < kFar); };
  if (!near(made.start) || !near(made.stop) || !near(made.step) || made.step == 0)
    throw std::invalid_argument("a slice must have bounds of 32 bits and a step that is not 0");
  return {made.start, made.stop, made.step == kOpen ? 1 : made.step};
}

std::vector<std::pair<Slice, Slice>> windows_of(const nb::list& given) {
  std::vector<std::pair<Slice, Slice>> windows;
  for (nb::handle item : given) {
    const nb::tuple window = nb::cast<nb::tuple>(item);
    if (window.size() != 2) throw std::invalid_argument("a window is two slices");
    windows.emplace_back(slice_of(window[0]), slice_of(window[1]));
  }
  return windows;
}

std::vector<Step> steps_of(const nb::list& given) {
  std::vector<Step> steps;
  for (nb::handle item : given) {
    const nb::tuple step = nb::cast<nb::tuple>(item);
    if (step.size() != 2) throw std::invalid_argument("a step is a code and its operand");
    const int code = nb::cast<int>(nb::object(step[0]));
    const auto operand = nb::cast<Vector<const float>>(nb::object(step[1]), false);
    if (code < kAdd || code > kToBytes) throw std::invalid_argument("unknown step " + std::to_string(code));
    if (operand.shape(0) == 0 && code != kToBytes) throw std::invalid_argument("a step needs an operand");
    steps.push_back({code, std::vector<float>(operand.data(), operand.data() + operand.shape(0))});
  }
  return steps;
}

// Strings that lie in one buffer, or are objects.
class Files {
 public:
  explicit Files(const nb::object& given) {
    if (nb::isinstance<nb::tuple>(given)) {
      column_.emplace(nb::cast<nb::tuple>(given));
      for (size_t i = 0; i < column_->count(); ++i) spans.push_back(column_->span(i));
    } else {
      held_ = own_list(given);
      for (nb::handle item : held_) spans.push_back(span_of(item, "a file"));
    }
  }
  std::vector<Span> spans;

 private:
  std::optional<StringColumn> column_;
  nb::list held_;
};

size_t decode_images(nb::object files, nb::tuple decode, nb::list windows, nb::list before, nb::list after,
                     nb::object out, int64_t threads, nb::object size, nb::list parts) {
  Program program;
  program.options = options_of(decode);
  program.windows = windows_of(windows);
  program.parts = windows_of(parts);
  program.before = steps_of(before);
  program.after = steps_of(after);
  const nb::object name = out.attr("dtype").attr("name");
  const std::string dtype = nb::cast<const char*>(name);
  program.bytes = dtype == "uint8";
  if (!program.bytes && dtype != "float32") throw nb::type_error("out must be uint8 or float32");
  if (program.bytes && (program.after.empty() || program.after.back().code != kToBytes))
    throw std::invalid_argument("bytes must be cast to");
  const Bytes made(out, true);
  const Files all(files);
  if (made.ndim() != 4 || made.dim(0) != all.spans.size() || made.dim(1) == 0 || made.dim(2) == 0)
    throw std::invalid_argument("out must have an image for each file");
  program.out = {made.dim(1), made.dim(2), made.dim(3)};
  program.height = program.out.height;
  program.width = program.out.width;
  if (!size.is_none()) {
    const nb::tuple scaled = nb::cast<nb::tuple>(size);
    if (scaled.size() != 2) throw std::invalid_argument("a size is a height and a width");
    program.height = length(nb::cast<int64_t>(nb::object(scaled[0])), "height");
    program.width = length(nb::cast<int64_t>(nb::object(scaled[1])), "width");
    constexpr size_t kFar = size_t{1} << 31;
    if (program.height - 1 >= kFar || program.width - 1 >= kFar) throw std::invalid_argument("no size of an image");
  }
  const size_t row = program.out.size() * (program.bytes ? 1 : sizeof(float));
  if (made.size() != row * all.spans.size()) throw std::invalid_argument("out must be contiguous");
  const size_t most = length(threads, "threads");

  std::atomic<size_t> failed{all.spans.size()};
  nb::gil_scoped_release release;
  Workers workers;
  in_team(most, all.spans.size(), [&](size_t i) {
    std::unique_ptr<Worker> worker = workers.take();
    const bool good = worker->run(program, all.spans[i], made.data() + i * row);
    workers.give(std::move(worker));
    if (!good)
      for (size_t first = failed; i < first && !failed.compare_exchange_weak(first, i);) continue;
    return good;
  });
  return failed;
}

}  // namespace

void register_image_program(nb::module_& m) {
  using namespace nb::literals;
  m.def("decode_images", &decode_images, "files"_a, "decode"_a, "windows"_a, "before"_a, "after"_a, "out"_a,
        "threads"_a = 1, "size"_a = nb::none(), "parts"_a = nb::list());
  m.def(
      "jpeg_channels",
      [](nb::bytes file, nb::tuple decode) { return jpeg_channels(span_of(file, "a file"), options_of(decode)); },
      "file"_a, "decode"_a);
  m.def("load_jpeg", [](const char* file) { return JpegDecoder::load(file); }, "file"_a);
}

}  // namespace feedline
