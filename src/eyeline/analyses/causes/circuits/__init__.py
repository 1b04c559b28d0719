"""Which heads, and which connections between them, carry an answer: two texts that differ in it, and patching between them."""
