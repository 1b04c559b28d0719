"""Figures for papers and reports, one module each."""
