"""TFRecord files: `writer` makes them, `reader` reads them, `framing` is the format."""
