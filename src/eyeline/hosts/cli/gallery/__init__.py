"""`eyeline gallery`."""
