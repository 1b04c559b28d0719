"""This model: every head, coloured by what it does, and what the chosen one does."""

from __future__ import annotations

from urllib.parse import urlencode

import streamlit as st

from eyeline.heads import HeadRef
from eyeline.look.ready import READY
from eyeline.measure.heads.roles import NONE
from eyeline.measure.heads.sample import SampleRoles, sample_models, sample_roles
from eyeline.show.app.kit import mounted
from eyeline.show.app.kit.models import choices
from eyeline.show.app.kit.page import escaped, fragment
from eyeline.show.app.kit.settings import current
from eyeline.words import Words

#: Roles that a reader knows by their names, for the head that the page opens on.
CLEAR = ("subject", "object", "noun_phrase", "antecedent")


def page(say: Words) -> None:
    with st.container(key="unseen"):  # for those who hear the page
        st.title(say("model.title"), anchor=False)
    names = list(choices(current()))
    asked = st.query_params.get("model", "")
    if "model-of" not in st.session_state:
        here = st.session_state["looking"].model if "looking" in st.session_state else ""
        st.session_state["model-of"] = next((name for name in (asked, here, *names) if name in names), names[0])
    with st.container(horizontal=True, key="chips"):
        model = st.selectbox(say("look.model"), names, key="model-of", label_visibility="collapsed", width=210)
    st.query_params["model"] = model
    measured = sample_roles(model)
    if measured is None:
        st.info(say("model.not_measured", model=escaped(model), known=escaped(say.listed(sample_models()))), icon=":material/grid_view:")
        return
    _map(say, model, measured)


@fragment
def _map(say: Words, model: str, measured: SampleRoles) -> None:
    """The map on one side, the chosen head on the other. The address names the head."""
    head = _chosen(measured)
    st.query_params["head"] = str(head)
    left, right = st.columns([1, 1], gap="large")
    with left:
        st.html(f'<h2 class="el-side">{say("model.heads", n=len(measured.heads))}</h2>')
        mounted.head_grid(measured.grid(say), say.part("view"), key="model-map", lit=head, choose=_choose, high=480)
    with right, st.container(key="look-words"):
        roles = measured.heads[head]
        st.html(f'<h2 class="el-side">{head} · {say(f"role.name.{roles[0].name}")}</h2>')
        if roles[0].name == NONE:
            st.markdown(say("model.no_role", head=head))
        for role in roles:
            if role.name != NONE:
                st.markdown(f"{head} {escaped(role.text(say))}.")
        example = next((each for each in READY if each.model == model), None)
        parameters = {"model": model, "layer": head.layer, "heads": head.head, **({"text": example.text} if example else {})}
        st.markdown(f"[{say('model.try')}](/?{urlencode(parameters)})")
        st.caption(say("learn.heads.source", n=measured.sentences, command=measured.command))


def _chosen(measured: SampleRoles) -> HeadRef:
    """The head that was clicked, else that of the address, else the one that finds a relation of grammar most clearly."""
    every = {str(head): head for head in measured.heads}
    name = st.session_state.get("model-head") or st.query_params.get("head", "")
    first = max(measured.heads, key=lambda head: max((role.strength for role in measured.heads[head] if role.name in CLEAR), default=0.0))
    return every.get(name, first)


def _choose(head: HeadRef) -> None:
    st.session_state["model-head"] = str(head)
