"""Documents with marked coreference: `eyeline.mentions.read_coreference("gum.conllu")`."""

from eyeline.text.corpora.coreference import MarkedCorpus, read_coreference
from eyeline.text.corpora.mentions import MarkedDocument, Mention

__all__ = ["MarkedCorpus", "MarkedDocument", "Mention", "read_coreference"]
