"""The models and tokenisers that BertViz' neuron view has copies of: here transformers' own, under the same names.

from eyeline.bertviz.transformers_neuron_view import BertModel, BertTokenizer      # was: from bertviz.transformers_neuron_view import …
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    if not name[0].isupper():  # a class: transformers' modules and functions are not meant
        raise AttributeError(name)
    import transformers

    try:
        return getattr(transformers, name)
    except AttributeError:
        raise ImportError(
            f"{name}: transformers {transformers.__version__} has no class of this name.\n"
            "  Any other of its models works with the neuron view:\n"
            "  from transformers import AutoModel, AutoTokenizer\n"
            "  from eyeline.bertviz.neuron_view import show"
        ) from None
