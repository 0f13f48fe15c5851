// The interface of libjpeg 6.2, as libjpeg-turbo has it: what a program shares with the library's shared object.
//
// Only the layout counts. `jpeg_CreateDecompress` is given the version and the size of the record, and refuses others;
// a test image shows that the fields lie where they should.
#pragma once

#include <cstddef>

namespace feedline::jpeg62 {

constexpr int kVersion = 62;

struct Decompress;

struct Errors {
  void (*exit)(Decompress*);  // must not return
  void (*message)(Decompress*, int level);
  void (*print)(Decompress*);
  void (*format)(Decompress*, char* text);
  void (*reset)(Decompress*);
  int code;
  union {
    int numbers[8];
    char text[80];
  } details;
  int trace_level;
  long warnings;
  const char* const* table;
  int last;
  const char* const* more;
  int first_of_more, last_of_more;
};

struct Source {
  const unsigned char* next;
  size_t left;
  void (*init)(Decompress*);
  int (*fill)(Decompress*);
  void (*skip)(Decompress*, long n);
  int (*resync)(Decompress*, int wanted);
  void (*end)(Decompress*);
};

enum ColourSpace { kUnknown, kGray, kRgb, kYcc, kCmyk, kYcck };
enum Dct { kAccurate, kFast, kFloat };

struct Decompress {
  Errors* errors;
  void* memory;
  void* progress;
  void* client;
  int is_decompressor, state;
  Source* source;
  unsigned width, height;
  int components;
  ColourSpace space;
  // What the caller sets.
  ColourSpace out_space;
  unsigned scale_num, scale_denom;
  double gamma;
  int buffered, raw;
  Dct dct;
  int fancy_upsampling, block_smoothing, quantize, dither, two_passes, colours, one_pass, external, two_pass;
  // What comes out.
  unsigned out_width, out_height;
  int out_colour_components, out_components, rows_at_once, colours_used;
  unsigned char** colour_map;
  unsigned out_row;
  // What the library alone uses.
  int scan;
  unsigned input_row;
  int out_scan;
  unsigned out_input_row;
  void* coefficient_bits;
  void* quantizers[4];
  void* dc_tables[4];
  void* ac_tables[4];
  int precision;
  void* component_info;
  int progressive, arithmetic;
  unsigned char arith_dc_low[16], arith_dc_high[16], arith_ac[16];
  unsigned restart_interval;
  int jfif;
  unsigned char jfif_major, jfif_minor, density_unit;
  unsigned short density_x, density_y;
  int adobe;
  unsigned char adobe_transform;
  int ccir601;
  void* markers;
  int most_across, most_down, least_scaled;
  unsigned block_rows;
  unsigned char* range_limit;
  int scan_components;
  void* scan_info[4];
  unsigned units_per_row, unit_rows;
  int unit_blocks, unit_members[10];
  int spectral_start, spectral_end, high_bit, low_bit;
  int unread_marker;
  void* parts[11];
};

// The functions that are called.
struct Library {
  Errors* (*std_error)(Errors*);
  void (*create)(Decompress*, int version, size_t size);
  int (*read_header)(Decompress*, int require_image);
  int (*start)(Decompress*);
  unsigned (*read_rows)(Decompress*, unsigned char** rows, unsigned n);
  int (*finish)(Decompress*);
  void (*abort)(Decompress*);
  void (*destroy)(Decompress*);
  int (*resync)(Decompress*, int wanted);
};

}  // namespace feedline::jpeg62
