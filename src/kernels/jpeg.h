// JPEG files, decoded by libjpeg-turbo.
#pragma once

#include <memory>

#include "strings.h"

namespace feedline {

struct JpegOptions {
  int channels = 0;  // 1 for gray, 3 for colour, 0 for those of the file
  int ratio = 1;     // 1, 2, 4 or 8: the image is made smaller by it
  bool fancy = true;
  bool fast = true;
};

struct Image {
  size_t height = 0, width = 0, channels = 0;
  size_t size() const { return height * width * channels; }
};

// Images of more bytes are left to the caller.
constexpr size_t kMostPixels = size_t{1} << 27;

// One decoder for each thread. It gives only images of which it is certain: complete files without any warning, gray
// or in the usual layouts of colour, of 8 bits.
class JpegDecoder {
 public:
  // Uses the library in this file from now on; an empty name stands for the one that is linked. False where there is
  // none, or it has another interface: then none is used. Whether its pixels are right is for the caller to find out.
  static bool load(const std::string& file);

  JpegDecoder();
  ~JpegDecoder();
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  // Reads the header and prepares to read pixels; false where it does not decode the file.
  bool begin(Span file, const JpegOptions& options, Image& image);
  // Writes the pixels; false where the file is damaged.
  bool finish(uint8_t* out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The number of channels that a file is decoded to; 0 where it cannot be decoded.
size_t jpeg_channels(Span file, const JpegOptions& options);

}  // namespace feedline
