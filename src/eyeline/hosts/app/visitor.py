"""The visitor: a random number that the browser keeps in a cookie; no other visitor knows it."""

from __future__ import annotations

import re
import secrets

import streamlit as st

VISITOR_ID = re.compile(r"[0-9a-f]{32}")
COOKIE = "eyeline_visitor"


def visitor() -> str:
    """The id of this visitor: from the cookie, or a new one that the page then stores there."""
    cookie = str(st.context.cookies.get(COOKIE, ""))
    if "visitor" not in st.session_state:
        st.session_state.visitor = cookie if VISITOR_ID.fullmatch(cookie) else secrets.token_hex(16)
    return str(st.session_state.visitor)
