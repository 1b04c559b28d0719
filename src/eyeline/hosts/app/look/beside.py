"""Quantities beside attention on the Look page: which to compute for the text; the view then has the switch "what is drawn"."""

from __future__ import annotations

import streamlit as st

from eyeline.capture.trace import Trace
from eyeline.errors import EyelineError
from eyeline.hosts.app.address import Looking
from eyeline.hosts.app.messages import Say
from eyeline.hosts.app.models import quantity_of
from eyeline.hosts.app.plain import escaped, refuse

#: Quantities that can be chosen at once.
MOST_QUANTITIES = 4


def beside(say: Say, looking: Looking, trace: Trace) -> tuple[Trace, ...]:
    """The quantities that the visitor chose, computed; one that this model refuses is named with its reason.

    Where the model answers nothing, the quantities about an answer are not offered, and the page says why.
    """
    from eyeline.analyses.causes.quantities.methods import METHODS

    names = [name for name in METHODS if name not in ("attention", "flow")]
    left_out = [name for name in names if METHODS[name].needs_answer and trace.prediction is None]
    names = [name for name in names if name not in left_out]
    kept = [name for name in st.session_state.get("look-beside", ()) if name in names]
    if kept != st.session_state.get("look-beside", kept):
        st.session_state["look-beside"] = kept
    chosen = st.multiselect(
        say("look.beside"), names, format_func=lambda name: say(f"view.drawn_{name.replace('-', '_')}"), key="look-beside",
        help=say("look.beside_help"), max_selections=MOST_QUANTITIES, placeholder=say("look.beside_none"),
    )  # fmt: skip
    if left_out:
        listed = say.listed(escaped(say(f"view.drawn_{name.replace('-', '_')}")) for name in left_out)
        st.caption(say("look.beside_left_out", names=listed, model=escaped(looking.model)))
    traces = []
    for name in chosen:
        try:
            with st.spinner(say(f"view.drawn_{name.replace('-', '_')}")):
                traces.append(quantity_of(looking.model, looking.text, looking.pair or None, name))
        except EyelineError as error:
            refuse(say, "look.failed", error)
    return tuple(traces)
