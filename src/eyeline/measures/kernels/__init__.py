"""Kernels for a GPU, in Triton. Nothing here is imported where Triton or a GPU is missing."""
