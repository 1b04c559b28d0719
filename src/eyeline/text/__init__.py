"""A text becomes tokens and words."""
