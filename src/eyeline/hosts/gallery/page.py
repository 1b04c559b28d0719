"""The pages of the gallery as HTML: all models, all heads of a model, one head."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from eyeline.hosts.gallery.head_parts import EMPTY, does_text, effect_text, examples, grammar, nearest, reference, shares
from eyeline.plots.style import provenance
from eyeline.results.gallery.measured import MeasuredHeads
from eyeline.results.gallery.portrait import Portrait, by_role
from eyeline.text.printable import printable
from eyeline.words import Words

#: Scripts and style come from the gallery's own folder; nothing else may be requested.
POLICY = (
    "default-src 'none'; script-src 'self' file:; style-src 'self' file: 'unsafe-inline'; img-src data: blob:; font-src data:; "
    "worker-src blob:; base-uri 'none'; form-action 'none'"
)
#: Role → the colour of its cell in the map of heads.
GROUPS = {
    "previous": "near", "next": "near", "self": "near", "relation": "grammar", "antecedent": "reference", "punctuation": "special",
    "sep": "special", "cls": "special", "first": "special", "other": "words", "none": "none",
}  # fmt: skip
#: The text in the cell of a role, where it is the same in every language.
SIGNS = {"sep": "SEP", "cls": "CLS", "none": "·"}


@dataclass(frozen=True)
class ModelPages:
    """One model as the gallery shows it. name: of its folder; about: what the model is, in a few words."""

    name: str
    about: str
    measured: MeasuredHeads
    heads: Sequence[Portrait]


def models_page(models: Sequence[ModelPages], words: Words) -> Iterator[str]:
    """The first page: the models, with how many heads of each role they have."""
    yield from _top(words("gallery.models"), words, "")
    yield f"<h1>{words('gallery.models')}</h1>\n<p>{words('gallery.about')}</p>\n<table class=models><tbody>\n"
    for model in models:
        roles = words.joined(f"{words(f'gallery.role.{role}')}: {len(heads)}" for role, heads in by_role(model.heads).items())
        yield f'<tr><td><a href="{html.escape(model.name)}/index.html">{_plain(model.name)}</a></td><td>{_plain(model.about)}<br>'
        yield f"<span class=quiet>{_size(model, words)}. {_plain(roles)}</span></td></tr>\n"
    yield "</tbody></table>\n"
    yield from _bottom()


def model_page(model: ModelPages, words: Words) -> Iterator[str]:
    """All heads of a model: a map of them, then a table for each role."""
    name = _plain(model.name)
    yield from _top(words("gallery.title", model=model.name), words, "../")
    yield f'<nav><a href="../index.html">← {words("gallery.all_models")}</a></nav>\n<h1>{words("gallery.heading", model=name)}</h1>\n'
    yield f"<p class=quiet>{_plain(' · '.join(filter(None, (model.about, _size(model, words)))))}</p>\n<p>{words('gallery.about')}</p>\n"
    yield from _map(model, words)
    for role, heads in by_role(model.heads).items():
        yield f'<h2 id="role-{role}">{words(f"gallery.role.{role}")}</h2>\n<div class=wide><table class=heads>\n<thead><tr>'
        titles = ((words("report.head"), ""), (words("gallery.what"), ""), (words("gallery.effect_column"), " class=number"))
        yield "".join(f"<th{kind}>{html.escape(title)}</th>" for title, kind in titles) + "</tr></thead>\n<tbody>\n"
        for head in heads:
            what = words.joined(does_text(role, words) for role in head.roles)
            yield f'<tr id="{head.file.removesuffix(".html")}"><td class=mono><a href="{head.file}">{head.head}</a></td>'
            yield f"<td>{_plain(what)}</td><td class=number>{_short_effect(head)}</td></tr>\n"
        yield "</tbody></table></div>\n"
    yield from _sources(model, words)
    yield from _bottom()


def head_page(model: ModelPages, index: int, words: Words) -> Iterator[str]:
    """One head: what it does, live on two texts, and every number that was measured of it."""
    head = model.heads[index]
    name = _plain(model.name)
    yield from _top(words("gallery.head_title", head=head.head, model=model.name), words, "../", live=True)
    yield f'<nav><a href="index.html#{head.file.removesuffix(".html")}">← {words("gallery.all_heads", model=name)}</a>'
    for step, key in ((-1, "before"), (1, "after")):
        if 0 <= index + step < len(model.heads):
            other = model.heads[index + step]
            yield f'<a href="{other.file}">{words(f"gallery.{key}")}: <span class=mono>{other.head}</span></a>'
    yield f"</nav>\n<h1><span class=mono>{head.head}</span> · {name}</h1>\n"
    for role in head.roles:
        yield f"<p>{_plain(does_text(role, words))}.</p>\n"
    yield from examples(head, model.measured, words)
    yield f"<h2>{words('gallery.effect')}</h2>\n<p>{_plain(effect_text(head, len(model.heads), words))}</p>\n"
    for part in (shares, grammar, reference, nearest):
        yield from part(head, words)
    yield from _sources(model, words)
    yield from _bottom()


def _map(model: ModelPages, words: Words) -> Iterator[str]:
    by_layer: dict[int, list[Portrait]] = {}
    for head in model.heads:
        by_layer.setdefault(head.head.layer, []).append(head)
    yield f"<h2>{words('gallery.map')}</h2>\n<p>{words('gallery.map_about')}</p>\n<p>"
    for group in dict.fromkeys(GROUPS.values()):
        yield f'<span class="key {group}">{html.escape(words(f"gallery.group.{group}"))}</span>'
    yield "</p>\n<div class=wide><table class=map>\n<tbody>\n"
    for layer, heads in by_layer.items():
        yield f"<tr><th>{words('gallery.layer')} {layer}</th>"
        for head in heads:
            short = head.role.detail or SIGNS.get(head.role.kind) or words(f"gallery.short.{head.role.kind}")
            title = html.escape(f"{head.head}: {does_text(head.role, words)}")
            sign = _plain(short).replace(":", ":<wbr>")  # compound:prt may break here
            yield f'<td class={GROUPS[head.role.kind]}><a href="{head.file}" title="{title}" aria-label="{title}">'
            yield f"<span>{sign}</span></a></td>"
        yield "</tr>\n"
    yield "</tbody></table></div>\n"


def _short_effect(head: Portrait) -> str:
    if head.card.effect is not None:
        return f"{head.card.effect.loss_change:+.3f}".replace("-", "−")
    return EMPTY if head.turned is None else f"{head.turned:.3f}"


def _size(model: ModelPages, words: Words) -> str:
    layers = {head.head.layer for head in model.heads}
    return words("gallery.n_heads", layers=len(layers), heads=max(head.head.head for head in model.heads) + 1)


def _sources(model: ModelPages, words: Words) -> Iterator[str]:
    yield f"<h2>{words('gallery.sources')}</h2>\n"
    for part in model.measured.run.parts.values():
        yield f"<p class=quiet>{_plain(provenance(part, words))}</p>\n"
    yield f"<p class=quiet>{words('report.synthetic')}</p>\n<p>{words('gallery.numbers')}: "
    yield " · ".join(f'<a href="run/tables/{name}.csv">{html.escape(name)}</a>' for name in model.measured.run.tables) + "</p>\n"


def _top(title: str, words: Words, root: str, *, live: bool = False) -> Iterator[str]:
    yield (
        f'<!doctype html>\n<html lang="{words.language}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="referrer" content="no-referrer">\n'
        f'<title>{_plain(title)}</title>\n<link rel="stylesheet" href="{root}style.css">\n'
    )
    if live:  # loaded beside the page, run when it has been read
        yield f'<script defer src="{root}eyeline.js"></script>\n<script defer src="examples.js"></script>\n'
        yield f'<script defer src="{root}gallery.js"></script>\n'
    yield "</head>\n<body>\n<main>\n"


def _bottom() -> Iterator[str]:
    yield "</main>\n</body>\n</html>\n"


def _plain(text: str) -> str:
    return html.escape(printable(text))
