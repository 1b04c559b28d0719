"""The model behind a live view: what is switched off, and what it answers then."""
