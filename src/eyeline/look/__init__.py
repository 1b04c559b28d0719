"""One text: its trace, and the views of it. Nothing here needs torch."""
