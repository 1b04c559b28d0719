"""The gallery as a folder: scripts and style once, a folder for each model, a page for each head."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from eyeline.errors import EyelineError
from eyeline.look.palette import role_colour
from eyeline.look.views.head import head_view
from eyeline.look.views.page import data_chunks, joined
from eyeline.measure.heads.profile import LEAST_LOOK, HeadProfile, MeasuredHeads, by_role, open_measured, profiles
from eyeline.measure.heads.roles import Role
from eyeline.measure.runs.figure import provenance
from eyeline.storage.files import make_folder, path_in, write_whole
from eyeline.text.tokenized import printable
from eyeline.words import Words, percent

#: The measurements of a model, inside its folder.
RUN = "run"


def write_gallery(folder: str | Path, about: Mapping[str, str] | None = None, language: str = "en") -> Path:
    """Write the pages of every model whose measurements lie in folder/MODEL/run; the path of the first page.

    about      what each model is, in a few words, by the name of its folder
    language   of the pages: en, ja or ko
    """
    folder, words = Path(folder), Words(language)
    names = sorted(path.parents[1].name for path in folder.glob(f"*/{RUN}/run.json"))
    if not names:
        raise EyelineError(f"{folder} holds no measured model.", "Measure one first: eyeline gallery minilm -o gallery")
    models = []
    for name in names:
        measured = open_measured(folder / name / RUN)
        models.append(ModelPages(name, (about or {}).get(name, ""), measured, profiles(measured.run)))
    _write(folder / "eyeline.js", [joined("core")])
    for file in ("gallery.js", "style.css"):
        _write(folder / file, [files("eyeline.show.gallery").joinpath(file).read_text(encoding="utf-8")])
    for model in models:
        _write_model(folder / model.name, model, words)
    _write(folder / "index.html", models_page(models, words))
    return folder / "index.html"


def _write_model(folder: Path, model: ModelPages, words: Words) -> None:
    make_folder(folder)
    write_whole(folder / "examples.js", _examples(model.measured, words.language))
    _write(folder / "index.html", model_page(model, words))
    for index, head in enumerate(model.heads):
        _write(path_in(folder, head.file), head_page(model, index, words))


def _examples(measured: MeasuredHeads, language: str) -> Iterator[bytes]:
    """The head views of all texts, as a script: a page opened from a disk may load scripts, but no data."""
    yield b"globalThis.eyelineExamples = ["
    for trace in measured.examples:
        yield from data_chunks(head_view(trace, layer=trace.layers[0]), language)
        yield b","
    yield b"];\n"


def _write(path: Path, pieces: Iterator[str] | list[str]) -> None:
    write_whole(path, (piece.encode() for piece in pieces))


# ---- The pages as HTML: all models, all heads of a model, one head


#: Scripts and style come from the gallery's own folder; nothing else may be requested.
POLICY = (
    "default-src 'none'; script-src 'self' file:; style-src 'self' file: 'unsafe-inline'; img-src data: blob:; font-src data:; "
    "worker-src blob:; base-uri 'none'; form-action 'none'"
)


@dataclass(frozen=True)
class ModelPages:
    """One model as the gallery shows it. name: of its folder; about: what the model is, in a few words."""

    name: str
    about: str
    measured: MeasuredHeads
    heads: Sequence[HeadProfile]


def models_page(models: Sequence[ModelPages], words: Words) -> Iterator[str]:
    """The first page: the models, with how many heads of each role they have."""
    yield from _top(words("gallery.models"), words, "")
    yield f"<h1>{words('gallery.models')}</h1>\n<p>{words('gallery.about')}</p>\n<table class=models><tbody>\n"
    for model in models:
        roles = words.joined(f"{words(f'role.name.{role}')}: {len(heads)}" for role, heads in by_role(model.heads).items())
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
        yield f'<h2 id="role-{role}">{words(f"role.name.{role}")}</h2>\n<div class=wide><table class=heads>\n<thead><tr>'
        titles = ((words("report.head"), ""), (words("gallery.what"), ""), (words("gallery.effect_column"), " class=number"))
        yield "".join(f"<th{kind}>{html.escape(title)}</th>" for title, kind in titles) + "</tr></thead>\n<tbody>\n"
        for head in heads:
            what = words.joined(role.text(words) for role in head.roles)
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
        yield f"<p>{_plain(role.text(words))}</p>\n"
    yield from examples(head, model.measured, words)
    yield f"<h2>{words('gallery.effect')}</h2>\n<p>{_plain(effect_text(head, len(model.heads), words))}</p>\n"
    for part in (shares, grammar, reference, nearest):
        yield from part(head, words)
    yield from _sources(model, words)
    yield from _bottom()


def _map(model: ModelPages, words: Words) -> Iterator[str]:
    by_layer: dict[int, list[HeadProfile]] = {}
    for head in model.heads:
        by_layer.setdefault(head.head.layer, []).append(head)
    yield f"<h2>{words('gallery.map')}</h2>\n<p>{words('gallery.map_about')}</p>\n<p>"
    for role in by_role(model.heads):
        yield f'<span class="key role" {_colour(role)}>{html.escape(words(f"role.name.{role}"))}</span>'
    yield "</p>\n<div class=wide><table class=map>\n<tbody>\n"
    for layer, heads in by_layer.items():
        yield f"<tr><th>{words('gallery.layer')} {layer}</th>"
        for head in heads:
            title = html.escape(f"{head.head}: {head.role.text(words)}")
            sign = _plain(_short(head.role, words)).replace(":", ":<wbr>")  # compound:prt may break here
            yield f'<td class=role {_colour(head.role.name)}><a href="{head.file}" title="{title}" aria-label="{title}">'
            yield f"<span>{sign}</span></a></td>"
        yield "</tr>\n"
    yield "</tbody></table></div>\n"


def _short(role: Role, words: Words) -> str:
    """What stands in a cell: the relation, or a short word for the role."""
    return role.detail if role.family == "grammar" else words(f"role.short.{role.detail if role.detail == 'first' else role.name}")


def _colour(role: str) -> str:
    """The colour of a role, for the style sheet."""
    return f'style="--role:{role_colour(role)}"'


def _short_effect(head: HeadProfile) -> str:
    if head.effect is not None:
        return f"{head.effect.loss_change:+.3f}".replace("-", "−")
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


# ---- The parts of a head's page, each as HTML


EMPTY = "—"

#: Targets that a page lists, in this order, where they were measured.
TARGETS = ("previous", "self", "next", "cls", "first", "sep", "punctuation", "other")


#: Relations that a page lists.
RELATIONS = 5


def effect_text(head: HeadProfile, n_heads: int, words: Words) -> str:
    """What changes when the head is switched off."""
    effect = head.effect
    if effect is not None:
        change, error, answer = (
            f"{effect.loss_change:+.4f}".replace("-", "−"), f"{effect.error:.4f}", f"{effect.answer_change:+.4f}".replace("-", "−"),
        )  # fmt: skip
        return words("gallery.effect_loss", change=change, error=error, answer=answer, rank=head.rank, of=n_heads)
    if head.turned is not None:
        return words("gallery.effect_turned", change=f"{head.turned:.4f}", rank=head.rank, of=n_heads)
    return words("gallery.effect_none")


def examples(head: HeadProfile, measured: MeasuredHeads, words: Words) -> Iterator[str]:
    """The texts that show the head, as views that a script mounts."""
    if not head.examples:
        return
    yield f"<h2>{words('gallery.examples')}</h2>\n<p>{words('gallery.examples_about')}</p>\n"
    for look in head.examples:
        stack = measured.examples[look.text].only
        query, key = (stack.query_text.tokens[position] for position in (look.query, look.key))
        alone = look.weight >= LEAST_LOOK and look.distant  # else the lines of all tokens show what the head does
        kind = "no_look" if look.weight < LEAST_LOOK else "look" if look.distant else "look_near"
        about = words(f"gallery.{kind}", query=query, to=key, weight=f"{look.weight:.3f}")
        state = {"layer": stack.layers.index(head.head.layer), "heads": [head.head.head], "locked": [look.query] if alone else []}
        data = html.escape(json.dumps(state, separators=(",", ":")))
        yield f'<p>{_plain(about)}</p>\n<div class=example data-example="{look.text}" data-state="{data}"></div>\n'


def shares(head: HeadProfile, words: Words) -> Iterator[str]:
    """How much of its attention goes to each target, and how broad it is."""
    every = head.shares or {}
    targets = [target for target in TARGETS if target in every and not (target == "first" and "cls" in every)]
    if targets:
        yield f"<h2>{words('gallery.shares')}</h2>\n<table>\n<thead><tr><th>{words('gallery.target')}</th>"
        yield f"<th colspan=2>{words('gallery.share')}</th></tr></thead>\n<tbody>\n"
        for target in targets:
            share = every[target]
            yield f"<tr><td>{html.escape(words.name('target', target))}</td><td class=number>{share:.3f}</td>"
            yield f'<td><span class=bar><span style="width:{100 * min(1.0, max(0.0, share)):.1f}%"></span></span></td></tr>\n'
        yield "</tbody></table>\n"
    if head.entropy is not None:
        yield f"<p>{words('gallery.entropy', entropy=f'{head.entropy:.2f}')}</p>\n"
    if head.position_alone is not None:
        yield f"<p>{words('gallery.position', share=percent(head.position_alone))}</p>\n"


def grammar(head: HeadProfile, words: Words) -> Iterator[str]:
    """The relations in which it gains most over a fixed offset."""
    if not head.relations:
        return
    yield f"<h2>{words('gallery.grammar')}</h2>\n<p>{words('gallery.grammar_about')}</p>\n<div class=wide><table>\n<thead><tr>"
    for key, kind in (("relation", ""), ("direction", ""), ("accuracy", " class=number"), ("baseline", " class=number")):
        yield f"<th{kind}>{words(f'gallery.{key}')}</th>"
    yield "</tr></thead>\n<tbody>\n"
    for each in head.relations[:RELATIONS]:
        yield f"<tr><td class=mono>{_plain(each.relation)}</td><td>{html.escape(words.name('direction', each.direction))}</td>"
        yield f"<td class=number>{each.accuracy:.1f} %</td><td class=number>{each.baseline:.1f} %</td></tr>\n"
    yield "</tbody></table></div>\n"


def reference(head: HeadProfile, words: Words) -> Iterator[str]:
    """How often it finds an antecedent."""
    if head.reference is None:
        return
    names = ("accuracy", "baseline", "pronouns", "pronoun_baseline")
    numbers = {name: f"{getattr(head.reference, name):.1f}" for name in names}
    direction = words.name("direction", head.reference.direction)
    sentence = words("gallery.reference_found", direction=direction, **numbers)
    yield f"<h2>{words('gallery.reference')}</h2>\n<p>{html.escape(sentence)}</p>\n"


def nearest(head: HeadProfile, words: Words) -> Iterator[str]:
    """The heads that attend most like it, as links."""
    if not head.nearest:
        return
    yield f"<h2>{words('gallery.nearest')}</h2>\n<nav>"
    for near in head.nearest:
        text = words("gallery.divergence", head=near.head, divergence=f"{near.divergence:.3f}")
        yield f'<a href="{near.head.page}">{html.escape(text)}</a>'
    yield "</nav>\n"


def _plain(text: str) -> str:
    return html.escape(printable(text))
