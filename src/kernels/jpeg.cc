// The decoder of JPEG files. libjpeg-turbo is linked where the build was given it (FEEDLINE_LINKED_JPEG); elsewhere it is
// loaded from a shared library, such as the one in Pillow's wheels.
#include "jpeg.h"

#include <atomic>
#include <csetjmp>
#include <cstring>
#include <vector>

#include "jpeg_abi.h"

#if defined(__unix__) || defined(__APPLE__)
#define FEEDLINE_DLOPEN 1
#include <dlfcn.h>
#endif

#if defined(FEEDLINE_LINKED_JPEG)
extern "C" {
feedline::jpeg62::Errors* jpeg_std_error(feedline::jpeg62::Errors*);
void jpeg_CreateDecompress(feedline::jpeg62::Decompress*, int, size_t);
int jpeg_read_header(feedline::jpeg62::Decompress*, int);
int jpeg_start_decompress(feedline::jpeg62::Decompress*);
unsigned jpeg_read_scanlines(feedline::jpeg62::Decompress*, unsigned char**, unsigned);
int jpeg_finish_decompress(feedline::jpeg62::Decompress*);
void jpeg_abort_decompress(feedline::jpeg62::Decompress*);
void jpeg_destroy_decompress(feedline::jpeg62::Decompress*);
int jpeg_resync_to_restart(feedline::jpeg62::Decompress*, int);
}
#endif

namespace feedline {
namespace {

using jpeg62::Decompress;
using jpeg62::Errors;
using jpeg62::Library;
using jpeg62::Source;

std::atomic<const Library*> library{nullptr};

// The functions of a library; null where it lacks one.
const Library* linked() {
#if defined(FEEDLINE_LINKED_JPEG)
  static const Library found{jpeg_std_error,        jpeg_CreateDecompress,  jpeg_read_header,
                             jpeg_start_decompress, jpeg_read_scanlines,    jpeg_finish_decompress,
                             jpeg_abort_decompress, jpeg_destroy_decompress, jpeg_resync_to_restart};
  return &found;
#else
  return nullptr;
#endif
}

#if defined(FEEDLINE_DLOPEN)
template <typename Function>
bool look_up(void* handle, const char* name, Function*& into) {
  into = reinterpret_cast<Function*>(dlsym(handle, name));
  return into != nullptr;
}

const Library* loaded(const std::string& file) {
  // Never closed: threads may be in it.
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return nullptr;
  auto found = std::make_unique<Library>();
  const bool whole = look_up(handle, "jpeg_std_error", found->std_error) &&
                     look_up(handle, "jpeg_CreateDecompress", found->create) &&
                     look_up(handle, "jpeg_read_header", found->read_header) &&
                     look_up(handle, "jpeg_start_decompress", found->start) &&
                     look_up(handle, "jpeg_read_scanlines", found->read_rows) &&
                     look_up(handle, "jpeg_finish_decompress", found->finish) &&
                     look_up(handle, "jpeg_abort_decompress", found->abort) &&
                     look_up(handle, "jpeg_destroy_decompress", found->destroy) &&
                     look_up(handle, "jpeg_resync_to_restart", found->resync);
  return whole ? found.release() : nullptr;
}
#else
const Library* loaded(const std::string&) { return nullptr; }
#endif

// The header of the frame, read without the library: the kind of compression decides whether it is asked at all.
struct Frame {
  unsigned height = 0, width = 0, components = 0;
  bool usual = false;  // 8 bits, Huffman codes, and the sampling factors that everyone uses
};

bool read_frame(Span file, Frame& frame) {
  const unsigned char* at = file.data;
  size_t left = file.size;
  const auto skip = [&](size_t n) { at += n, left -= n; };
  if (left < 4 || at[0] != 0xFF || at[1] != 0xD8 || at[2] != 0xFF) return false;
  skip(2);
  while (left >= 4 && at[0] == 0xFF) {
    const unsigned marker = at[1];
    if (marker == 0xFF) {  // padding
      skip(1);
      continue;
    }
    const size_t size = 2 + (size_t{at[2]} << 8 | at[3]);
    if (size < 4 || size > left || marker == 0xDA || marker == 0xD8 || marker == 0xD9) return false;
    if (marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC) {
      if (size < 10 || size < 10 + 3 * size_t{at[9]}) return false;
      frame.height = unsigned{at[5]} << 8 | at[6];
      frame.width = unsigned{at[7]} << 8 | at[8];
      frame.components = at[9];
      const unsigned char* factors = at + 11;
      const unsigned first = frame.components > 0 ? factors[0] : 0;
      frame.usual = marker <= 0xC2 && at[4] == 8;
      if (frame.components == 3) {
        const bool known = first == 0x11 || first == 0x21 || first == 0x12 || first == 0x22 || first == 0x41;
        frame.usual = frame.usual && known && factors[3] == 0x11 && factors[6] == 0x11;
      } else {
        frame.usual = frame.usual && frame.components == 1;
      }
      return true;
    }
    skip(size);
  }
  return false;
}

size_t channels_of(const Frame& frame, const JpegOptions& options) {
  if (!frame.usual) return 0;
  if (options.channels != 0) return static_cast<size_t>(options.channels);
  return frame.components;
}

// The most pixels for each byte of a file: each block of 64 takes at least a bit.
constexpr uint64_t kPixelsPerByte = 4096;

// Smaller images have the same size at several ratios, and may be decoded at any of them.
constexpr unsigned kLeast = 16;

}  // namespace

struct JpegDecoder::State {
  Decompress info;  // first, so that the library's pointer to it is one to this
  Errors errors;
  Source source;
  std::jmp_buf jump;
  const Library* use;
  bool open = false;  // whether a file has been begun and not finished
  std::vector<unsigned char*> rows;

  [[noreturn]] static void leave(Decompress* info) { std::longjmp(reinterpret_cast<State*>(info)->jump, 1); }
  static void message(Decompress* info, int level) {
    if (level < 0) leave(info);  // a warning: pixels may be wrong
  }
  static void ignore(Decompress*) {}
  static int end(Decompress* info) { leave(info); }  // the file is truncated
  static void skip(Decompress* info, long n) {
    Source& source = *info->source;
    if (n <= 0) return;
    if (static_cast<unsigned long>(n) > source.left) leave(info);
    source.next += n, source.left -= static_cast<size_t>(n);
  }

  // No object with a destructor lives in the functions that the library may leave by a jump.
  bool create() {
    std::memset(&info, 0, sizeof info);
    std::memset(&errors, 0, sizeof errors);
    info.errors = use->std_error(&errors);
    errors.exit = leave;
    errors.message = message;
    errors.print = ignore;
    if (setjmp(jump) != 0) return false;
    use->create(&info, jpeg62::kVersion, sizeof info);
    source = {nullptr, 0, ignore, end, skip, use->resync, ignore};
    info.source = &source;
    return true;
  }

  bool begin(Span file, const Frame& frame, const JpegOptions& options) {
    if (setjmp(jump) != 0) return false;
    source.next = file.data, source.left = file.size;
    if (use->read_header(&info, 1) != 1) return false;
    if (info.width != frame.width || info.height != frame.height) return false;
    if (info.components != static_cast<int>(frame.components) || info.precision != 8 || info.arithmetic) return false;
    if (info.space != (frame.components == 1 ? jpeg62::kGray : jpeg62::kYcc)) return false;
    info.out_space = channels_of(frame, options) == 1 ? jpeg62::kGray : jpeg62::kRgb;
    info.scale_num = 1, info.scale_denom = static_cast<unsigned>(options.ratio);
    info.dct = options.fast ? jpeg62::kFast : jpeg62::kAccurate;
    info.fancy_upsampling = options.fancy;
    return use->start(&info) != 0;
  }

  bool read() {
    if (setjmp(jump) != 0) return false;
    while (info.out_row < info.out_height) use->read_rows(&info, &rows[info.out_row], info.out_height - info.out_row);
    return use->finish(&info) != 0;
  }

  bool abort() {
    open = false;
    if (setjmp(jump) == 0) use->abort(&info);
    return false;
  }
};

bool JpegDecoder::load(const std::string& file) {
  library = nullptr;
  const Library* found = file.empty() ? linked() : loaded(file);
  if (found == nullptr) return false;
  State state{};
  state.use = found;
  if (!state.create()) return false;
  found->destroy(&state.info);
  library = found;
  return true;
}

JpegDecoder::JpegDecoder() {
  const Library* found = library;
  if (found == nullptr) return;
  state_ = std::make_unique<State>();
  state_->use = found;
  if (!state_->create()) state_.reset();
}

JpegDecoder::~JpegDecoder() {
  if (state_ != nullptr) state_->use->destroy(&state_->info);
}

bool JpegDecoder::begin(Span file, const JpegOptions& options, Image& image) {
  Frame frame;
  if (state_ == nullptr || !read_frame(file, frame) || channels_of(frame, options) == 0) return false;
  const uint64_t pixels = uint64_t{frame.height} * frame.width;
  if (pixels == 0 || pixels > file.size * kPixelsPerByte || 3 * pixels > kMostPixels) return false;
  if (options.ratio > 1 && (frame.height < kLeast || frame.width < kLeast)) return false;
  if (state_->open) state_->abort();
  if (!state_->begin(file, frame, options)) return state_->abort();
  state_->open = true;
  const Decompress& info = state_->info;
  image = {info.out_height, info.out_width, static_cast<size_t>(info.out_components)};
  if (image.channels == channels_of(frame, options) && 0 < image.size() && image.size() <= 3 * pixels) return true;
  return state_->abort();
}

bool JpegDecoder::finish(uint8_t* out) {
  const Decompress& info = state_->info;
  state_->rows.resize(info.out_height);
  const size_t row = size_t{info.out_width} * static_cast<size_t>(info.out_components);
  for (size_t y = 0; y < state_->rows.size(); ++y) state_->rows[y] = out + y * row;
  if (!state_->read()) return state_->abort();
  state_->open = false;
  return true;
}

size_t jpeg_channels(Span file, const JpegOptions& options) {
  Frame frame;
  return read_frame(file, frame) ? channels_of(frame, options) : 0;
}

}  // namespace feedline
