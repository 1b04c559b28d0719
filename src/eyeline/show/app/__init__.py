"""The app: one page a file."""
