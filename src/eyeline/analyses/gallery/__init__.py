"""Every head of one model, measured in all ways that a page of the gallery shows."""
