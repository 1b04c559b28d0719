"""Files of texts, treebanks and coreference: one reader a file; and the built-in ones."""
