"""Trained probes, applied to a sentence of your own: `eyeline.probes.open_probe("run").parse("The cat sat.")`."""

from eyeline.analyses.probes.parse import Probe, open_probe
from eyeline.plots.probes.parse_heads import draw_parse_heads
from eyeline.plots.probes.probe_parses import draw_parse
from eyeline.results.probes.parse import Parse

__all__ = ["Parse", "Probe", "draw_parse", "draw_parse_heads", "open_probe"]
