"""Attention while a model trains."""
