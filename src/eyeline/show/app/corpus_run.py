"""A run on the page: its figures, the heads worth a look, and the card of the head that was clicked."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from eyeline.errors import EyelineError
from eyeline.figures import available, record_of
from eyeline.heads import HeadRef
from eyeline.look.trace import Trace
from eyeline.look.views.head import head_view
from eyeline.measure.heads.profile import HeadProfile, heads_of, notable_heads, profile_of
from eyeline.measure.runs.run import Run
from eyeline.show.app.kit import figures, mounted
from eyeline.show.app.kit.figures import Column
from eyeline.show.app.kit.models import choices, trace_of
from eyeline.show.app.kit.page import escaped, fragment, refuse, run_origin
from eyeline.show.app.kit.settings import current
from eyeline.words import Words, percent

#: Figures 4 and 6 of Clark et al., and the distances behind 6, come after figures 2 and 3 and what was added to these.
LAST = ("entropy", "head_map", "distances")
#: The container of the card.
CARD = "card-of-head"
#: Sentences to see a head on, besides the run's own example.
SENTENCES = ("The cat sat on the mat because it was tired.", "Mary told Anna that she had won.")


@fragment
def show_run(say: Words, run: Run, folder: Path) -> None:
    """Everything of a run that can be looked at."""
    name = folder.name
    run_origin(say, run)
    for left, why in run.facts.left_out.items():
        st.warning(say("corpus.left_out", name=say(f"corpus.analysis_{left}")), icon=":material/info:")
        st.code(say.of(why), language=None, wrap_lines=True)
    mounted.scroll_to_answer(CARD)
    chosen = _chosen(run, name)
    _notable(say, run, name)
    above = st.container()
    with st.container(key=CARD):  # sent first: the reader who clicked waits for it, and figures take longer to draw
        _card(say, run, name)
    with above:
        _figures(say, run, folder, chosen)


def _figures(say: Words, run: Run, folder: Path, chosen: HeadRef | None) -> None:
    """The figures of a run, a tab each, with the chosen head lit."""
    name = folder.name
    shown = in_order(run)
    titles = [record.title(say, stack) for record, stack in map(record_of, shown)]
    tabs = st.tabs(titles, on_change="rerun", key=f"tabs-{name}-{say.language}") if shown else ()
    for tab, figure in zip(tabs, shown, strict=True):
        if not tab.open:  # only what is seen is drawn
            continue
        with tab:
            figures.show(say, run, figure, folder, partial(_open, name), lit=chosen, titled=False)


def in_order(run: Run) -> list[str]:
    """The figures that this run has tables for, in the order of the page."""
    return sorted(available(run), key=lambda figure: record_of(figure)[0].name in LAST)


def _chosen(run: Run, name: str) -> HeadRef | None:
    """The head whose card is open: the one chosen last, else the first of those worth a look."""
    every = heads_of(run)
    if every and st.session_state.get(f"head-{name}") not in every:
        st.session_state[f"head-{name}"] = next((notable.head for notable in notable_heads(run)), every[0])
    return st.session_state[f"head-{name}"] if every else None


def _open(name: str, head: HeadRef) -> None:
    """Open the card of a head, and bring it into view."""
    st.session_state[f"head-{name}"] = head
    mounted.note_click(CARD)


def _notable(say: Words, run: Run, name: str) -> None:
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


def _card(say: Words, run: Run, name: str) -> None:
    """The card of one head: numbers, behaviours, nearest heads, and the head at work on sentences."""
    every = heads_of(run)
    if not every:
        return
    st.divider()
    st.selectbox(
        say("corpus.head"), every, format_func=lambda head: head.full_label, key=f"head-{name}", help=say("corpus.head_help"), width=240
    )
    profile = profile_of(run, st.session_state[f"head-{name}"])
    left, right = st.columns([5, 7], gap="large")
    with left:
        _facts(say, profile, name, every)
    with right:
        _examples(say, run, profile.head, name)


def _facts(say: Words, profile: HeadProfile, name: str, every: list[HeadRef]) -> None:
    st.subheader(say("corpus.card", head=escaped(profile.head.full_label)), anchor=False)
    st.markdown("\n".join(f"- {escaped(role.text(say))}" for role in profile.roles))
    if profile.paper_rule is not None:
        st.caption(say("corpus.paper_rule", rule=say.name("behaviour", profile.paper_rule)))
    if profile.position_alone is not None:
        st.caption(say("corpus.position", share=percent(profile.position_alone)))
    if profile.entropy is not None:
        st.caption(say("corpus.entropy", value=f"{profile.entropy:.2f}"))
    if profile.restored is not None:
        st.caption(say("corpus.restored", share=f"{profile.restored:+.3f}"))
    if profile.effect is not None:
        loss, error, answer = (f"{profile.effect.loss_change:+.4f}", f"{profile.effect.error:.4f}", f"{profile.effect.answer_change:+.4f}")
        st.caption(say("corpus.effect", change=loss, error=error, answer=answer))
    if profile.shares:
        order = sorted(profile.shares, key=profile.shares.__getitem__, reverse=True)
        shares = [profile.shares[target] for target in order]
        figures.show_table(
            Column(say("corpus.column_target"), [say.name("target", target) for target in order], "word"),
            Column(say("corpus.column_share"), [f"{share:.3f}" for share in shares], parts=shares),
        )
    if profile.nearest:
        st.caption(say("corpus.nearest"))
        with st.container(horizontal=True, key="nearest"):
            for near in profile.nearest:
                head = near.head
                if head in every:
                    label, key = f"{head} · {near.divergence:.3f}", f"nearest-{name}-{head.full_label}"
                    st.button(label, key=key, on_click=_open, args=(name, head))


def _examples(say: Words, run: Run, head: HeadRef, name: str) -> None:
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
        stack = head.stack or next(iter(trace.stacks))
        view: Any = head_view(trace, stack=stack, layer=head.layer, heads=[head.head], language=say.language)
        mounted.show(mounted.packed(view, say.part("view")), key=f"card-{name}")
    except EyelineError as error:
        refuse(say, "look.failed", error)
