"""The lesson."""
