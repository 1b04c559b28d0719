"""Two models on the same text, on the page: how far each head lies apart, what changed, and the two spaces side by side."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from eyeline.errors import EyelineError
from eyeline.heads import HeadRef
from eyeline.measure.compare.options import CompareFacts
from eyeline.measure.compare.result import FILES, LARGEST_DIVERGENCE, compared_targets, largest_first, summarise_divergence
from eyeline.measure.runs.facts import present
from eyeline.measure.runs.run import Run
from eyeline.measure.space.result import distinct_names
from eyeline.show.app.kit import figures, mounted
from eyeline.show.app.kit.page import escaped, fragment, refuse
from eyeline.show.app.space_run import PICTURES, in_figures, open_head, opened, view
from eyeline.storage.files import latest
from eyeline.words import Words


@fragment
def show_comparison(say: Words, run: Run, folder: Path) -> None:
    """Numbers, then both spaces with the same sentence selected."""
    name, counts = folder.name, run.facts.counts
    facts = run.facts.of_kind(CompareFacts)
    names = distinct_names(run.facts.model.name, present(facts.other, "second model").name)
    models = tuple(escaped(model) for model in names)
    corpus = escaped(str(run.facts.corpus.name))
    st.caption(
        say(
            "space.provenance",
            a=models[0],
            b=models[1],
            corpus=corpus,
            texts=say.count("texts", counts["texts"]),
            tokens=say.count("tokens", counts["tokens"]),
        )
    )
    for left, why in run.facts.left_out.items():
        st.warning(say("space.left_out"), icon=":material/info:")
        st.code(f"{left}: {say.of(why)}", language=None, wrap_lines=True)
    divergence = summarise_divergence(run.table("compare"))
    level = say(f"space.level_{facts.level}")
    st.markdown(say("space.apart", mean=f"{divergence.mean:.3f}", most=f"{divergence.largest:.3f}", head=str(divergence.head), level=level))
    mounted.scroll_to_answer(PICTURES)
    numbers = st.container()  # drawn after the pictures below, where a head may be open
    head = _spaces(say, folder, models, divergence.head)
    with numbers:
        figures.show(say, run, "compare", folder, partial(open_head, name), lit=in_figures(head, run))
        _table(say, run, name)


def _spaces(say: Words, folder: Path, models: tuple[str, ...], begin: HeadRef) -> HeadRef | None:
    """Both spaces, where the run has them; the head that is open in them."""
    if not all((folder / file).is_file() for file in FILES):
        return None
    st.subheader(say("space.side_by_side"), anchor=False)
    st.caption(say("space.side_by_side_about", a=models[0], b=models[1]))
    try:
        spaces = {file: opened(latest(folder, folder / file)) for file in FILES}
        with st.container(key=PICTURES):
            return view(say, spaces, folder, begin)
    except EyelineError as error:
        refuse(say, "look.failed", error)
        return None


def _table(say: Words, run: Run, name: str) -> None:
    """A row a head, the furthest apart first: what the second model does more or less of."""
    rows, targets = largest_first(run.table("compare")), compared_targets(run.table("compare"))
    divergence, entropy = say("space.column_js"), say("space.column_entropy")
    columns: dict[str, list[Any]] = {
        say("corpus.head"): [HeadRef.of_row(row).full_label for row in rows],
        divergence: [float(row["js"]) for row in rows],
        entropy: [float(row["entropy_change"]) for row in rows],
    }
    columns |= {f"→ {say.name('target', target)}": [float(row[f"{target}_change"]) for row in rows] for target in targets}
    config: dict[str, Any] = {title: st.column_config.NumberColumn(format="%+.3f") for title in columns if title.startswith("→")}
    config[divergence] = st.column_config.ProgressColumn(format="%.3f", min_value=0, max_value=LARGEST_DIVERGENCE)
    config[entropy] = st.column_config.NumberColumn(format="%+.2f")
    st.caption(say("space.changes"))
    st.dataframe(columns, hide_index=True, height=260, column_config=config, key=f"changes-{name}-{say.language}")
