"""Views of a trace: head, model and neuron; and of the space of queries and keys."""

from sightline.views.head import head_view
from sightline.views.model import model_view
from sightline.views.neuron import neuron_view
from sightline.views.space import space_view
from sightline.views.view import View

__all__ = ["View", "head_view", "model_view", "neuron_view", "space_view"]
