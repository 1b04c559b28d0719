"""CircuitsVis' views of attention, answered with ours: change the import and keep the calls.

    import eyeline.circuitsvis as cv      # was: import circuitsvis as cv
    cv.attention.attention_patterns(tokens=tokens, attention=cache["pattern", 3][0])

What comes back is a view of eyeline: the last line of a cell shows it, `.save("x.html")` writes a page that needs no network.
"""

from eyeline.circuitsvis import attention

__all__ = ["attention"]
