"""Every head of one model: what was measured of it, and what it does, in one record."""
