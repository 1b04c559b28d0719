"""The names of the default analyses of a corpus run. Imported without torch, since the help of commands reads them."""

from __future__ import annotations

#: What a run measures unless other analyses are named, in the order of the report. Nothing of it needs gradients.
USUAL = ("average_attention", "entropy", "position_alone", "distances")

#: What can be asked for by name beside them: importance takes a backward pass over every text, at several times their cost;
#: head scores a pass over random tokens for each text, and are of decoders.
BY_NAME = ("importance", "max_logit", "head_scores")
