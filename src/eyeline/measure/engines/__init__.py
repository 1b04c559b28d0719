"""Where shards are computed: in this process, in others, or on a cluster of Ray."""
