"""CSV: `records` splits files into fields, `decode` single strings, `columns` converts fields to numbers."""
