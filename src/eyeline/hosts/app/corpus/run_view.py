"""A run on the page: its figures, the heads worth a look, and the card of the head that was clicked."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from eyeline.capture.trace import Trace
from eyeline.errors import EyelineError
from eyeline.heads import HeadRef
from eyeline.hosts.app import mounted
from eyeline.hosts.app.figures import figures, tables
from eyeline.hosts.app.figures.tables import Column
from eyeline.hosts.app.heading import run_origin
from eyeline.hosts.app.messages import Say
from eyeline.hosts.app.models import choices, trace_of
from eyeline.hosts.app.plain import escaped, refuse
from eyeline.hosts.app.settings import current
from eyeline.plots.figures import available, record_of
from eyeline.results.head_card import HeadCard, head_card, heads_of
from eyeline.results.notable import notable_heads
from eyeline.results.run import Run
from eyeline.views import head_view

#: The figures of Clark et al. in their order: 2, 3, 4, 6; then the distances behind 6.
ORDER = (
    "average_attention", "importance", "causes", "causes_sharpness", "pruning", "faithfulness", "patching", "circuit", "entropy",
    "head_map", "distances",
)  # fmt: skip
#: The container of the card.
CARD = "card-of-head"
#: Sentences to see a head on, besides the run's own example.
SENTENCES = ("The cat sat on the mat because it was tired.", "Mary told Anna that she had won.")


@st.fragment
def show_run(say: Say, run: Run, folder: Path) -> None:
    """Everything of a run that can be looked at."""
    name = folder.name
    run_origin(say, run)
    for left, why in run.facts.left_out.items():
        st.warning(say("corpus.left_out", name=say(f"corpus.analysis_{left}")), icon=":material/info:")
        st.code(say.translated(why), language=None, wrap_lines=True)
    mounted.bring_answer(CARD)
    chosen = _chosen(run, name)
    _notable(say, run, name)
    above = st.container()
    with st.container(key=CARD):  # sent first: the reader who clicked waits for it, and figures take longer to draw
        _card(say, run, name)
    with above:
        _figures(say, run, folder, chosen)


def _figures(say: Say, run: Run, folder: Path, chosen: HeadRef | None) -> None:
    """The figures of a run, a tab each, with the chosen head lit."""
    name = folder.name
    shown = [figure for figure in available(run) if record_of(figure)[0].name in ORDER]
    shown.sort(key=lambda figure: ORDER.index(record_of(figure)[0].name))
    titles = [record.title(say, stack) for record, stack in map(record_of, shown)]
    tabs = st.tabs(titles, on_change="rerun", key=f"tabs-{name}-{say.language}") if shown else ()
    for tab, figure in zip(tabs, shown, strict=True):
        if not tab.open:  # only what is seen is drawn
            continue
        with tab:
            figures.show(say, run, figure, folder, partial(_open, name), lit=chosen, titled=False)


def _chosen(run: Run, name: str) -> HeadRef | None:
    """The head whose card is open: the one chosen last, else the first of those worth a look."""
    every = [HeadRef(*head) for head in heads_of(run)]
    if every and st.session_state.get(f"head-{name}") not in every:
        st.session_state[f"head-{name}"] = next((notable.head for notable in notable_heads(run)), every[0])
    return st.session_state[f"head-{name}"] if every else None


def _open(name: str, head: HeadRef) -> None:
    """Open the card of a head, and bring it into view."""
    st.session_state[f"head-{name}"] = head
    mounted.note_click(CARD)


def _notable(say: Say, run: Run, name: str) -> None:
    """The heads that stand out, one click from their cards."""
    heads = notable_heads(run)
    if not heads:
        return
    st.markdown(f"**{say('corpus.notable')}**")
    with st.container(key="notable", gap="xxsmall"):
        for notable in heads:
            head = notable.head
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                st.button(escaped(head.full_label), key=f"notable-{name}-{head.full_label}", on_click=_open, args=(name, head))
                st.caption(escaped(notable.why(say)))


def _card(say: Say, run: Run, name: str) -> None:
    """The card of one head: numbers, behaviours, nearest heads, and the head at work on sentences."""
    every = [HeadRef(*head) for head in heads_of(run)]
    if not every:
        return
    st.divider()
    st.selectbox(
        say("corpus.head"), every, format_func=lambda head: head.full_label, key=f"head-{name}", help=say("corpus.head_help"), width=240
    )
    stack, layer, head = st.session_state[f"head-{name}"]
    try:
        card = head_card(run, layer, head, stack)
    except EyelineError as error:
        refuse(say, "look.failed", error)
        return
    left, right = st.columns([5, 7], gap="large")
    with left:
        _facts(say, card, name, every)
    with right:
        _examples(say, run, card, name)


def _facts(say: Say, card: HeadCard, name: str, every: list[HeadRef]) -> None:
    st.subheader(say("corpus.card", head=escaped(card.name)), anchor=False)
    does = [say(f"corpus.does_{target}", share=f"{card.shares[target]:.3f}") for target in card.does]
    if card.shares:
        st.markdown("\n".join(f"- {line}" for line in does) if does else say("corpus.does_nothing"))
    if card.entropy is not None:
        st.caption(say("corpus.entropy", value=f"{card.entropy:.2f}"))
    if card.restored is not None:
        st.caption(say("corpus.restored", share=f"{card.restored:+.3f}"))
    if card.effect is not None:
        loss, error, answer = (f"{card.effect.loss_change:+.4f}", f"{card.effect.error:.4f}", f"{card.effect.answer_change:+.4f}")
        st.caption(say("corpus.effect", change=loss, error=error, answer=answer))
    if card.shares:
        order = sorted(card.shares, key=card.shares.__getitem__, reverse=True)
        shares = [card.shares[target] for target in order]
        tables.show(
            Column(say("corpus.column_target"), [say.name("target", target) for target in order], "word"),
            Column(say("corpus.column_share"), [f"{share:.3f}" for share in shares], parts=shares),
        )
    if card.nearest:
        st.caption(say("corpus.nearest"))
        with st.container(horizontal=True, key="nearest"):
            for near in card.nearest:
                head = near.head
                if head in every:
                    label, key = f"{head} · {near.divergence:.3f}", f"nearest-{name}-{head.full_label}"
                    st.button(label, key=key, on_click=_open, args=(name, head))


def _examples(say: Say, run: Run, card: HeadCard, name: str) -> None:
    """The head on the run's own example, and on sentences that its model reads now."""
    examples: dict[str, Trace | str] = {} if run.example is None else {say("corpus.own_example"): run.example}
    model = str(run.facts.model.name)
    if model in choices(current()):
        examples |= {sentence: sentence for sentence in SENTENCES}
    if not examples:
        st.caption(say("corpus.no_example"))
        return
    picked = st.selectbox(say("corpus.example"), list(examples), key=f"example-{name}")
    try:
        chosen = examples[picked]
        trace: Trace = trace_of(model, chosen, None) if isinstance(chosen, str) else chosen
        stack = card.stack or next(iter(trace.stacks))
        view: Any = head_view(trace, stack=stack, layer=card.layer, heads=[card.head], language=say.language)
        mounted.show(mounted.packed(view, say.part("view")), key=f"card-{name}")
    except EyelineError as error:
        refuse(say, "look.failed", error)
