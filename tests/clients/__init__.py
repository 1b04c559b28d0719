"""Views in the notebook programs that people use, started on loopback and driven as a person would."""
