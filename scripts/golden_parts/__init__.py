"""The parts of `scripts/golden.py`, one for each kind of thing that users can observe."""
