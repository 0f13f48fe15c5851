"""`feedline view`: a local page in the browser that shows the records of files."""

from feedline.tools.view.command import view as view
