"""Two models on the same texts."""
