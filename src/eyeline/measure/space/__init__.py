"""Queries and keys as points of one space."""
