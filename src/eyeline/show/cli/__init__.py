"""The command line: one command, or one subject, a file."""
