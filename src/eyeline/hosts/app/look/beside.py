"""Quantities beside attention on the Look page: which to compute for the text; the view then has the switch "what is drawn"."""

from __future__ import annotations

import streamlit as st

from eyeline.capture.trace import Trace
from eyeline.errors import EyelineError
from eyeline.hosts.app.address import Looking
from eyeline.hosts.app.messages import Say
from eyeline.hosts.app.models import quantity_of
from eyeline.hosts.app.plain import refuse

#: Quantities at once.
MOST = 4


def beside(say: Say, looking: Looking) -> tuple[Trace, ...]:
    """The quantities that the visitor chose, computed; one that this model refuses is named with its reason."""
    from eyeline.analyses.causes.quantities.methods import METHODS

    names = [name for name in METHODS if name not in ("attention", "flow")]
    chosen = st.multiselect(
        say("look.beside"), names, format_func=lambda name: say(f"view.drawn_{name.replace('-', '_')}"), key="look-beside",
        help=say("look.beside_help"), max_selections=MOST, placeholder=say("look.beside_none"),
    )  # fmt: skip
    traces = []
    for name in chosen:
        try:
            with st.spinner(say(f"view.drawn_{name.replace('-', '_')}")):
                traces.append(quantity_of(looking.model, looking.text, looking.pair or None, name))
        except EyelineError as error:
            refuse(say("look.failed"), error)
    return tuple(traces)
