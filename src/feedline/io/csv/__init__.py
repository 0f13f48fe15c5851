"""CSV: `records` splits files into fields, `decode` single strings, `columns` makes numbers of fields."""
