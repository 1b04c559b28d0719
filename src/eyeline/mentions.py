"""Documents with marked coreference: `eyeline.mentions.read_coreference("gum.conllu")`."""

from eyeline.text.coreference.mention import MarkedDocument, Mention
from eyeline.text.coreference.read import MarkedCorpus, read_coreference

__all__ = ["MarkedCorpus", "MarkedDocument", "Mention", "read_coreference"]
