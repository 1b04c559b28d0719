"""One text, every figure: figures 1, 2, 4 and 6 of Clark et al. for the text on the page."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import partial
from pathlib import Path

import streamlit as st

from eyeline.capture.trace import Trace
from eyeline.errors import EyelineError
from eyeline.heads import HeadRef
from eyeline.hosts.app import mounted
from eyeline.hosts.app.address import Looking
from eyeline.hosts.app.figures import figures
from eyeline.hosts.app.figures.files import drawn, graph_file
from eyeline.hosts.app.messages import Say
from eyeline.hosts.app.models import compute_slot, model_named
from eyeline.hosts.app.plain import escaped, refuse
from eyeline.hosts.app.sharing.cache import Cache
from eyeline.plots.figures import available, record_of
from eyeline.results.notable import notable_heads
from eyeline.results.run import Run

#: Figures 2, 4 and 6, and the statistics behind them. Figure 1 is drawn from the trace.
FIGURES, STATISTICS = ("average_attention", "entropy", "head_map"), ("average_attention", "entropy", "distances")
#: The container of the view.
VIEW = "look-shown"
#: Heads of figure 1.
HEADS = 4
_RUNS = Cache(8)


def show_figures(say: Say, looking: Looking, trace: Trace) -> None:
    """A button; once it is clicked, the figures of this text, until another text is shown."""
    request = (looking.model, looking.text, looking.pair)
    st.button(
        say("look.figures"), key="look-figures", icon=":material/bar_chart:", help=say("look.figures_help"), on_click=_ask, args=(request,)
    )
    if st.session_state.get("look-figures-of") != request:
        return
    try:
        with st.spinner(say("look.figures")):
            run = _RUNS.get(request, lambda: _measure(*request), lambda _: 1)
        folder = Path(f"look-{hashlib.sha256(repr(request).encode()).hexdigest()[:16]}")  # a name for what is kept; nothing is written
        _heads(say, run, looking, trace)
        for name in available(run):
            if record_of(name)[0].name in FIGURES:
                figures.show(say, run, name, folder, partial(_open_head, trace), lit=_open(st.session_state.looking, trace))
    except EyelineError as error:
        refuse(say, "look.failed", error)


def _open(looking: Looking, trace: Trace) -> HeadRef | None:
    """The head that the view shows, where it shows a single one."""
    stacks, state = list(trace.stacks.values()), looking.state
    stack, heads = stacks[min(int(state.get("stack", 0)), len(stacks) - 1)], list(state.get("heads") or [])
    index = int(state.get("layer", 0))
    if len(heads) != 1 or index >= len(stack.layers):
        return None
    return HeadRef(stack.name if len(stacks) > 1 else "", stack.layers[index], int(heads[0]))


def _open_head(trace: Trace, head: HeadRef) -> None:
    """Show a head that was clicked in a figure in the view above, and scroll to the view."""
    names = list(trace.stacks)
    stack = names.index(head.stack) if head.stack in names else 0
    layer = trace.stacks[names[stack]].layers.index(head.layer)
    now: Looking = st.session_state.looking
    opened = {"layer": layer, "heads": [head.head]} | ({"stack": stack} if len(names) > 1 else {})
    st.session_state.looking = replace(now, view="head", state={**now.state, **opened})
    st.session_state["look-view"] = "head"
    st.session_state.pop("look-opened", None)
    mounted.note_click(VIEW)


def _ask(request: tuple[str, str, str]) -> None:
    st.session_state["look-figures-of"] = request


def _measure(model: str, text: str, pair: str) -> Run:
    from eyeline.analyses.corpus.run import analyse
    from eyeline.analyses.corpus.statistics.catalogue import statistics_named

    opened = model_named(model)
    with compute_slot():
        return analyse(opened, [(text, pair) if pair else text], statistics_named(STATISTICS))


def _heads(say: Say, run: Run, looking: Looking, trace: Trace) -> None:
    """Figure 1: the heads that stand out in this text, each with its reason."""
    notable = notable_heads(run)[:HEADS]
    if not notable:
        return
    st.subheader(say("look.figure_heads"), anchor=False)
    for column, entry in zip(st.columns(len(notable)), notable, strict=True):
        stack = entry.head.stack or next(iter(trace.stacks))
        key = (looking.model, looking.text, looking.pair, stack, entry.head.layer, entry.head.head)
        with column:
            st.caption(f"**{escaped(entry.head.full_label)}** {escaped(entry.why(say))}")
            alt = say("look.picture_alt", head=entry.head.full_label)
            st.image(drawn(graph_file(say, trace, key, "svg")), width="stretch", alt=alt)
