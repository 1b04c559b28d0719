"""The names of the default analyses of a corpus run. Imported without torch, since the help of commands reads them."""

from __future__ import annotations

#: Everything that takes about one pass, in the order of the report.
USUAL = ("average_attention", "entropy", "distances", "importance")
