"""Attention that other libraries recorded, read as stacks. None of them is imported: what they return is recognised by its names."""
