"""Translation attention: traces of a small encoder-decoder of our own, and what was measured on it."""
