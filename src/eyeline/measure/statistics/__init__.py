"""One pass over a corpus: rows, sums, shards, and the batches that they come from."""
