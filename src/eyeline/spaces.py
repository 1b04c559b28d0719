"""Gauges of queries and keys, and pictures of a space for a paper: `eyeline.spaces.save_pictures(space, "pictures")`."""

from eyeline.measure.space.figures import save_pictures
from eyeline.measure.space.gauges import balance, lift

__all__ = ["balance", "lift", "save_pictures"]
