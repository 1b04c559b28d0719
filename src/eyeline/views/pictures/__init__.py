"""Still pictures of a view, drawn in Python."""
