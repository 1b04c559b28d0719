"""Many texts: statistics of a corpus, and one folder for each subject."""
