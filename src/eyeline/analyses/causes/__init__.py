"""Which tokens, heads and connections a model's answer depends on."""
