"""What heads do to the answer of a model, and quantities beside attention."""
