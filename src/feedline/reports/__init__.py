"""Reports: what an iterator has measured, as a value, and its views: text, HTML, trace, scalars, advice."""
