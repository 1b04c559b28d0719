"""The names of the analyses that a corpus run makes unless others are named. Read without torch, by the help of commands too."""

from __future__ import annotations

#: Everything that takes about one pass, in the order of the report.
USUAL = ("average_attention", "entropy", "distances", "importance")
