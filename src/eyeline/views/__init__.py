"""Views of a trace: head, model and neuron; and of the space of queries and keys."""

from eyeline.views.head import head_view
from eyeline.views.model import model_view
from eyeline.views.neuron import neuron_view
from eyeline.views.space import space_view
from eyeline.views.view import View

__all__ = ["View", "head_view", "model_view", "neuron_view", "space_view"]
