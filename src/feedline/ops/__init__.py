"""The operators: one file each, named like the method. A file without a Node composes other operators."""
