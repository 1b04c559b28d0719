"""A space on the page: all heads, one head, a sentence; how far the pictures can be trusted; and one head by other projections."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from eyeline.errors import EyelineError
from eyeline.figures import available
from eyeline.heads import HeadRef
from eyeline.look.views.view import View
from eyeline.mathematics import METHODS
from eyeline.measure.runs.run import Run
from eyeline.measure.space.ask import HeadPicture
from eyeline.measure.space.options import GAUGES, SpaceFacts
from eyeline.measure.space.result import FILE, Space, head_space, open_space, picture_space, summarise_fidelity
from eyeline.measure.space.view import space_view
from eyeline.show.app.kit import figures, mounted
from eyeline.show.app.kit.figures import version_of
from eyeline.show.app.kit.models import compute_slot, view_cache
from eyeline.show.app.kit.page import fragment, refuse, run_origin
from eyeline.show.app.kit.sharing import Cache
from eyeline.storage.files import latest
from eyeline.words import Words, percent

#: The container of the live pictures.
PICTURES = "space-pictures"
#: Spaces, their views, and pictures of single heads that are kept.
_SPACES, _VIEWS, _PICTURES = Cache(2), Cache(4), Cache(48)


def opened(path: Path) -> Space:
    """A space, read once."""
    key = (str(path), path.stat().st_mtime_ns if path.is_file() else 0)
    return _SPACES.get(key, lambda: open_space(path), lambda _: 1)


@fragment
def show_space(say: Words, run: Run, folder: Path) -> None:
    """The live pictures first, then how far they can be trusted."""
    name, counts = folder.name, run.facts.counts
    run_origin(say, run)
    for what in ("too_long", "unreadable"):
        if counts.get(what):
            st.caption(say(f"space.{what}", n=f"{counts[what]:,}"))
    mounted.scroll_to_answer(PICTURES)
    head = None
    try:
        space = opened(latest(folder, folder / FILE))
        fidelity(say, run)
        with st.container(key=PICTURES):
            head = view(say, {"": space}, folder)
        _other_projections(say, space, folder, head)
    except EyelineError as error:
        refuse(say, "look.failed", error)
    for figure in ("space", "space_pairs"):
        if figure in available(run):
            figures.show(say, run, figure, folder, partial(open_head, name), lit=in_figures(head, run))


def fidelity(say: Words, run: Run) -> None:
    """How often near means attends, in plain words; nothing of values, nor where every head is dead.

    The view says how this was measured: its notices hold it.
    """
    trust = summarise_fidelity(run.table("space"))
    if trust is None:
        return
    shares = {"one": trust.top1, "five": trust.top5, "full": trust.top1_full, "most": trust.best_top1, "least": trust.worst_top1}
    shown = {key: f"{100 * share:.0f}" for key, share in shares.items()}
    st.markdown(say("space.fidelity", **shown, best=str(trust.best), worst=str(trust.worst)))
    st.caption(say(f"space.project_{run.facts.of_kind(SpaceFacts).options.project}_about"))


def view(say: Words, spaces: dict[str, Space], folder: Path, begin: HeadRef | None = None) -> HeadRef | None:
    """The live view of one space, or of two side by side. It follows the head that is clicked in a figure. Returns the head now open."""
    key = (*version_of(folder), *spaces, say.language, begin)
    whole = _VIEWS.get(key, lambda: _starting(space_view(*spaces.values(), language=say.language), begin), lambda _: 1)
    data = view_cache().get(("space", *key), lambda: mounted.packed(whole, say.part("view")), len)
    state = {**whole.spec["state"], **mounted.show(data, key=_view_key(folder.name))}
    chosen, click = st.session_state.get(f"space-click-{folder.name}", (None, None))
    state |= mounted.change_state(data, _view_key(folder.name), click, {} if chosen is None else _opened(whole, chosen))
    if not state.get("opened"):
        return None
    stack, layers, heads = _numbers(whole, int(state.get("stack", 0)))
    layer_index, head = int(state.get("layer", 0)), (state.get("heads") or [0])[0]
    return HeadRef(stack, layers[min(layer_index, len(layers) - 1)], heads[min(int(head), len(heads) - 1)])


def _view_key(name: str) -> str:
    return f"space-view-{name}"


def _starting(whole: View, begin: HeadRef | None) -> View:
    return whole if begin is None else whole.starting(**_opened(whole, begin))


def _opened(whole: View, head: HeadRef) -> dict[str, Any]:
    """The state in which a head is open; {} where the view has no such head."""
    names = [record["name"] for record in whole.spec["spaces"][0]["stacks"]]
    stack = names.index(head.stack) if head.stack in names else 0  # figures of a single stack do not name it
    _, layers, heads = _numbers(whole, stack)
    if head.layer not in layers or head.head not in heads:
        return {}
    at = {"stack": stack, "layer": layers.index(head.layer), "heads": [heads.index(head.head)]}
    return {**at, "opened": True, "zoom": {"x": 0, "y": 0, "k": 1}}


def _numbers(whole: View, stack: int) -> tuple[str, list[int], list[int]]:
    """A stack's name, and the numbers of its layers and heads; a state holds indices into these lists."""
    record = whole.spec["spaces"][0]["stacks"][stack]
    return record["name"], [layer["layer"] for layer in record["layers"]], list(record["heads"])


def in_figures(head: HeadRef | None, run: Run) -> HeadRef | None:
    """A head of the pictures as figures call it: they name its stack only where there are several."""
    several = "stack" in run.table(run.facts.kind).columns
    return head if head is None or several else HeadRef("", head.layer, head.head)


def open_head(name: str, head: HeadRef) -> None:
    """Open the pictures of a head, and bring them into view."""
    st.session_state[f"space-click-{name}"] = (head, mounted.click_for(_view_key(name)))
    mounted.note_click(PICTURES)


def _other_projections(say: Words, space: Space, folder: Path, head: HeadRef | None) -> None:
    """One head by PCA, UMAP or t-SNE beside the picture above, computed on request, then kept."""
    name = folder.name
    st.subheader(say("space.others"), anchor=False)
    st.caption(say("space.others_about"))
    every: list[HeadRef] = [
        HeadRef(stack.name, layer, number) for stack in space.stacks.values() for layer in stack.layers for number in stack.heads
    ]
    key = f"space-head-{name}"
    if head is not None and st.session_state.get(f"space-seen-{name}") != head:
        st.session_state[f"space-seen-{name}"] = st.session_state[key] = head
    if st.session_state.get(key) not in every:
        st.session_state[key] = every[0]
    with st.container(horizontal=True, vertical_alignment="bottom", key="space-others"):
        chosen: HeadRef = st.selectbox(say("corpus.head"), every, format_func=str, key=key, width=160)
        gauge = st.selectbox(
            say("space.gauge"), GAUGES, format_func=lambda choice: say(f"space.gauge_{choice}"), key=f"space-other-gauge-{name}", width=240
        )
        how = st.segmented_control(
            say("space.project"), list(METHODS), format_func=lambda choice: say(f"space.project_{choice}"), key=f"space-how-{name}"
        )
    st.caption(say("space.gauge_help"))
    if how is None or chosen is None or gauge is None:
        return
    if space.stacks[chosen.stack].vectors is None:
        st.info(say("space.no_vectors_kept"), icon=":material/info:")
        return
    try:
        with st.spinner(say("space.projecting", how=say(f"space.project_{how}"))):
            picture = _picture(space, folder, chosen, how, gauge)
        named = say(f"space.project_{how}")
        if picture.held_out:
            st.caption(say("space.other_fidelity", how=named, top1=percent(picture.top1), top5=percent(picture.top5)))
        elif space.of != "values":
            st.caption(say("space.other_no_fidelity", how=named))
        pair = (
            replace(head_space(space, chosen), model=say(f"space.project_{space.project}")),
            replace(picture_space(space, picture), model=say(f"space.project_{how}")),
        )
        data = view_cache().get(
            ("picture", *version_of(folder), chosen, how, gauge, say.language),
            lambda: mounted.packed(space_view(*pair, layer=chosen.layer, head=chosen.head, language=say.language), say.part("view")),
            len,
        )
        mounted.show(data, key=f"space-other-{name}")
    except EyelineError as error:
        refuse(say, "look.failed", error)


def _picture(space: Space, folder: Path, head: HeadRef, how: str, gauge: str) -> HeadPicture:
    def compute() -> HeadPicture:
        with compute_slot():
            return space.project_head(head.layer, head.head, how, gauge=gauge, stack=head.stack)

    return _PICTURES.get((*version_of(folder), head, how, gauge), compute, lambda _: 1)
