"""Plans: what a dataset will do, as data. No threads, no open files; printable, comparable, picklable."""
