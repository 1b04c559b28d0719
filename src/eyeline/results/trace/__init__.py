"""Numbers that are read off one trace: for the summary in the terminal, and for the lesson."""
