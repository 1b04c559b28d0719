"""A run: its facts, tables and folder, and what all figures share. Read without torch."""
