"""Statistics of attention over a corpus: targets, entropy, distances, effects of heads."""
