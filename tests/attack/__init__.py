"""Attacks on everything that reads what others wrote: `make attack` runs them and writes the table of docs/trust.md."""
