"""Trained probes, applied to a sentence of your own: `eyeline.probes.open_probe("run").parse("The cat sat.")`."""

from eyeline.measure.probes.figures import draw_parse, draw_parse_heads
from eyeline.measure.probes.parse import Probe, open_probe
from eyeline.measure.probes.result import Parse

__all__ = ["Parse", "Probe", "draw_parse", "draw_parse_heads", "open_probe"]
