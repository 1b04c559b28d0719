"""See what a Transformer looks at."""

__version__ = "0.1.0"
