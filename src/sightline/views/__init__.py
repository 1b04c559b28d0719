"""Views of a trace: head, model and neuron."""

from sightline.views.head import head_view
from sightline.views.model import model_view
from sightline.views.neuron import neuron_view
from sightline.views.view import View

__all__ = ["View", "head_view", "model_view", "neuron_view"]
