"""Directions of attention between two words, as the tables of grammar and coreference name them."""

from __future__ import annotations

#: Of a dependency: a word attends to its governor, or the governor to the word.
DEPENDENT_TO_GOVERNOR, GOVERNOR_TO_DEPENDENT = "dependent-to-governor", "governor-to-dependent"
ARC_DIRECTIONS = (DEPENDENT_TO_GOVERNOR, GOVERNOR_TO_DEPENDENT)
#: Of coreference: a mention attends to an earlier mention of the same thing, or the earlier one to it.
MENTION_TO_ANTECEDENT, ANTECEDENT_TO_MENTION = "mention-to-antecedent", "antecedent-to-mention"
MENTION_DIRECTIONS = (MENTION_TO_ANTECEDENT, ANTECEDENT_TO_MENTION)
