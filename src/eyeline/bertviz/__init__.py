"""BertViz' three functions with BertViz' arguments, showing our views: change the import and keep the calls.

    from eyeline.bertviz import head_view, model_view      # was: from bertviz import head_view, model_view
    from eyeline.bertviz.neuron_view import show           # was: from bertviz.neuron_view import show

The arguments are those of BertViz 1.4.1. Also accepted here: NumPy arrays, layers without the batch axis, layers of different head
counts, encoders and decoders of different depths, and in the neuron view any model of transformers.
"""

from eyeline.bertviz.head_view import head_view
from eyeline.bertviz.model_view import model_view
from eyeline.bertviz.neuron_view import neuron_view

__all__ = ["head_view", "model_view", "neuron_view"]
