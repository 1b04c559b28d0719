"""Files of ours: written whole or not at all, sealed, locked, cached."""
