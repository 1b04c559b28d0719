"""The parts of a head's page, each as HTML."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator

from eyeline.results.gallery.measured import LEAST_LOOK, MeasuredHeads
from eyeline.results.gallery.portrait import Portrait, Role
from eyeline.text.printable import printable
from eyeline.words import Words

EMPTY = "—"
#: Targets that a page lists, in this order, where they were measured.
TARGETS = ("previous", "self", "next", "cls", "first", "sep", "punctuation", "other")


def does_text(role: Role, words: Words) -> str:
    """A role in a sentence, with its number."""
    if role.kind == "none":
        return words("gallery.does.none")
    if role.kind in ("relation", "antecedent"):
        return words(f"gallery.does.{role.kind}", detail=role.detail, strength=f"{role.strength:.1f}")
    return words("gallery.does.share", role=words(f"gallery.role.{role.kind}"), strength=f"{role.strength:.3f}")


def effect_text(head: Portrait, n_heads: int, words: Words) -> str:
    """What changes when the head is switched off."""
    effect = head.card.effect
    if effect is not None:
        change, error, answer = (
            f"{effect.loss_change:+.4f}".replace("-", "−"), f"{effect.error:.4f}", f"{effect.answer_change:+.4f}".replace("-", "−"),
        )  # fmt: skip
        return words("gallery.effect_loss", change=change, error=error, answer=answer, rank=head.rank, of=n_heads)
    if head.turned is not None:
        return words("gallery.effect_turned", change=f"{head.turned:.4f}", rank=head.rank, of=n_heads)
    return words("gallery.effect_none")


def examples(head: Portrait, measured: MeasuredHeads, words: Words) -> Iterator[str]:
    """The texts that show the head, as views that a script mounts."""
    if not head.examples:
        return
    yield f"<h2>{words('gallery.examples')}</h2>\n<p>{words('gallery.examples_about')}</p>\n"
    for look in head.examples:
        stack = measured.examples[look.text].only
        strong = look.weight >= LEAST_LOOK
        query, key = (stack.query_text.tokens[position] for position in (look.query, look.key))
        about = [words("gallery.look", query=query, to=key, weight=f"{look.weight:.3f}")] if strong else []
        alone = strong and look.distant  # else the lines of all tokens show what the head does
        if not alone:
            about.append(words("gallery.no_look"))
        state = {"layer": stack.layers.index(head.head.layer), "heads": [head.head.head], "locked": [look.query] if alone else []}
        data = html.escape(json.dumps(state, separators=(",", ":")))
        yield f'<p>{_plain(" ".join(about))}</p>\n<div class=example data-example="{look.text}" data-state="{data}"></div>\n'


def shares(head: Portrait, words: Words) -> Iterator[str]:
    """How much of its attention goes to each target, and how broad it is."""
    targets = [target for target in TARGETS if target in head.card.shares and not (target == "first" and "cls" in head.card.shares)]
    if targets:
        yield f"<h2>{words('gallery.shares')}</h2>\n<table>\n<thead><tr><th>{words('gallery.target')}</th>"
        yield f"<th colspan=2>{words('gallery.share')}</th></tr></thead>\n<tbody>\n"
        for target in targets:
            share = head.card.shares[target]
            yield f"<tr><td>{html.escape(words.name('target', target))}</td><td class=number>{share:.3f}</td>"
            yield f'<td><span class=bar><span style="width:{100 * min(1.0, max(0.0, share)):.1f}%"></span></span></td></tr>\n'
        yield "</tbody></table>\n"
    if head.card.entropy is not None:
        yield f"<p>{words('gallery.entropy', entropy=f'{head.card.entropy:.2f}')}</p>\n"


def grammar(head: Portrait, words: Words) -> Iterator[str]:
    """The relations in which it gains most over a fixed offset."""
    if not head.relations:
        return
    yield f"<h2>{words('gallery.grammar')}</h2>\n<p>{words('gallery.grammar_about')}</p>\n<div class=wide><table>\n<thead><tr>"
    for key, kind in (("relation", ""), ("direction", ""), ("accuracy", " class=number"), ("baseline", " class=number")):
        yield f"<th{kind}>{words(f'gallery.{key}')}</th>"
    yield "</tr></thead>\n<tbody>\n"
    for each in head.relations:
        yield f"<tr><td class=mono>{_plain(each.relation)}</td><td>{html.escape(words.name('direction', each.direction))}</td>"
        yield f"<td class=number>{each.accuracy:.1f} %</td><td class=number>{each.baseline:.1f} %</td></tr>\n"
    yield "</tbody></table></div>\n"


def reference(head: Portrait, words: Words) -> Iterator[str]:
    """How often it finds an antecedent."""
    if head.reference is None:
        return
    names = ("accuracy", "baseline", "pronouns", "pronoun_baseline")
    numbers = {name: f"{getattr(head.reference, name):.1f}" for name in names}
    direction = words.name("direction", head.reference.direction)
    sentence = words("gallery.reference_found", direction=direction, **numbers)
    yield f"<h2>{words('gallery.reference')}</h2>\n<p>{html.escape(sentence)}</p>\n"


def nearest(head: Portrait, words: Words) -> Iterator[str]:
    """The heads that attend most like it, as links."""
    if not head.card.nearest:
        return
    yield f"<h2>{words('gallery.nearest')}</h2>\n<nav>"
    for near in head.card.nearest:
        text = words("gallery.divergence", head=near.head, divergence=f"{near.divergence:.3f}")
        yield f'<a href="L{near.head.layer}H{near.head.head}.html">{html.escape(text)}</a>'
    yield "</nav>\n"


def _plain(text: str) -> str:
    return html.escape(printable(text))
