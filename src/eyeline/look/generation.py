"""What a model looked at while it wrote: the record of one generation, and its file. Read without torch."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from eyeline.errors import TraceError
from eyeline.heads import HeadRef
from eyeline.look.answer import Choices
from eyeline.look.interventions import several_heads
from eyeline.messages import Message
from eyeline.storage.files import as_path, write_whole
from eyeline.storage.records import to_json
from eyeline.storage.sealed import FileKind, read_sealed, write_sealed
from eyeline.text.tokenized import TokenizedText, index_of

#: The part of a text that the model wrote.
WRITTEN = "written"

GENERATION = FileKind(
    "generation",
    format=1,
    written_by="Generations are written by generation.save(path) or: eyeline generate TEXT -o FILE.safetensors",
    otherwise="Does it hold a trace? el.open opens those.",
)

#: `generation.about`.
#:
#: model, class, dtype, device, eyeline   as in a trace
#: recorded   how the rows were computed: in one pass over the written tokens on the "cache" that generate left, in one pass over the whole
#:            "text", or in "steps", those of generate made again
#: difference, allowed   the largest difference between the logits of that pass and of the steps of generate, and what was allowed; missing
#:            in a replay, which has no steps to compare with
#: ended      why writing ended: "end" (the model's own end), "stop string", "length", or "stopped" by the user
#: seed       of sampling; options: of transformers' generate
#: notices    what a reader should know
GenerationFacts = TypedDict(
    "GenerationFacts",
    {
        "class": str,
        "dtype": str,
        "device": str,
        "eyeline": str,
        "recorded": str,
        "difference": float,
        "allowed": float,
        "ended": str,
        "seed": int,
        "options": dict[str, Any],
        "interventions": list[str],
        "notices": list[Message],
    },
    total=False,
)


@dataclass(frozen=True)
class WrittenAttention:
    """The attention of the written tokens in one stack: of each, the row of the query that it was chosen at.

    keys             what was looked at, with its parts: prompt and written tokens; of cross attention, what the encoder has read
    shares_by_layer  [head, written, part]: the sum of the row over the tokens of each part
    mean_by_layer    [written, key]: the mean row of the layer's heads
    heads_by_layer   of which heads whole rows were kept, a tuple for each layer
    rows_by_layer    [kept head, written, key]
    """

    name: str
    keys: TokenizedText
    layers: tuple[int, ...]
    shares_by_layer: tuple[np.ndarray, ...]
    mean_by_layer: tuple[np.ndarray, ...]
    heads_by_layer: tuple[tuple[int, ...], ...] = ()
    rows_by_layer: tuple[np.ndarray, ...] = ()

    @property
    def parts(self) -> tuple[str, ...]:
        return self.keys.parts

    @property
    def shares(self) -> np.ndarray:
        """[layer, head, written, part]"""
        return _stacked(self.shares_by_layer, "shares", self.name)

    @property
    def mean_rows(self) -> np.ndarray:
        """[layer, written, key]"""
        return _stacked(self.mean_by_layer, "mean rows", self.name)

    @property
    def rows(self) -> np.ndarray:
        """[layer, head, written, key], where the rows of all heads of some layers were kept; layers without rows are left out."""
        kept = [(index, rows) for index, rows in enumerate(self.rows_by_layer) if len(rows)]
        whole = all(len(rows) == len(self.shares_by_layer[index]) for index, rows in kept)
        if not kept or not whole:
            raise TraceError(
                "The whole rows of this generation were not kept." if not kept else "Rows of some heads alone were kept.",
                'Generate with keep="rows".' if not kept else "Ask for one head: generation.row_of((layer, head)).",
            )
        return _stacked(tuple(rows for _, rows in kept), "rows", self.name)

    @property
    def kept_heads(self) -> tuple[HeadRef, ...]:
        """The heads whose whole rows were kept."""
        pairs = zip(self.layers, self.heads_by_layer, strict=False)
        return tuple(HeadRef(self.name, layer, head) for layer, heads in pairs for head in heads)

    def row_of(self, head: Any) -> np.ndarray:
        """The whole rows of one head, (layer, head): [written, key]."""
        (named,) = several_heads([head])
        layer, number = named[-2:]
        if layer in self.layers:
            index = self.layers.index(layer)
            if index < len(self.heads_by_layer) and number in self.heads_by_layer[index]:
                return np.asarray(self.rows_by_layer[index][self.heads_by_layer[index].index(number)])
        kept = ", ".join(map(str, self.kept_heads[:8])) or "no head"
        asked = HeadRef(self.name, layer, number)
        raise TraceError(f"The rows of {asked} were not kept.", f"Kept: {kept}.", f"Generate with heads=[({layer}, {number})].")

    def share_of(self, part: str, head: Any = None, layer: int | None = None) -> np.ndarray:
        """The share of one part: [written] of one head, of one layer's mean, or of the mean of all heads."""
        shares = self.shares_at(head, layer)
        if part not in self.parts:
            raise TraceError(f"No part {part!r}.", f"Parts: {', '.join(self.parts)}.")
        return np.asarray(shares[:, self.parts.index(part)])

    def shares_at(self, head: Any = None, layer: int | None = None) -> np.ndarray:
        """The shares of one head, of one layer's mean, or of the mean of all heads: [written, part]."""
        if head is not None:
            (named,) = several_heads([head])
            layer, number = named[-2:]
        of_layer = self.shares_by_layer if layer is None else (self.shares_by_layer[self._index(layer)],)
        if head is None:
            return np.concatenate(of_layer).mean(0)  # type: ignore[no-any-return]
        if not 0 <= number < len(of_layer[0]):
            raise TraceError(f"Layer {layer} has no head {number}.", f"It has {len(of_layer[0])} heads.")
        return np.asarray(of_layer[0][number])

    def _index(self, layer: int) -> int:
        if layer not in self.layers:
            raise TraceError(f"No layer {layer} in the {self.name}.", f"It has {', '.join(map(str, self.layers))}.")
        return self.layers.index(layer)


def _stacked(arrays: Sequence[np.ndarray], what: str, stack: str) -> np.ndarray:
    if len({array.shape for array in arrays}) != 1:
        raise TraceError(f"The {stack}'s layers have different numbers of heads.", f"Read the {what} layer by layer.")
    return np.stack(arrays)


@dataclass(frozen=True)
class PartEffects:
    """What each part of the prompt did: the change of the log-probability of every written token, in nats.

    parts    those of the prompt that were tried
    removed  [written, part]: the part is not in the prompt at all; nan where it was not tried
    cut      [written, part]: the part is there, but no written token may look at it, in any layer

    Below zero: without the part the token would have been less probable.
    """

    parts: tuple[str, ...]
    removed: np.ndarray
    cut: np.ndarray


@dataclass(frozen=True)
class Generation:
    """A text that a model wrote, and what it looked at while it wrote each token.

    Written token t stands at position n_prompt + t and was chosen at the position before it: its row is the row of that query. The row of
    the first written token is the one of the last token of the prompt.

    text           prompt and written tokens, with their parts
    n_prompt       how many tokens the prompt has
    completion     the written tokens as a text
    probabilities  [written]: of each written token, as the model gave it (before sampling changed it)
    alternatives   the five most probable tokens at each step
    stacks         the attention of the written tokens: decoder; in an encoder-decoder model, cross too
    effects        what each part did, where it was measured (`el.part_effects`)
    """

    model: str
    text: TokenizedText
    n_prompt: int
    completion: str
    probabilities: np.ndarray
    alternatives: tuple[Choices, ...]
    stacks: Mapping[str, WrittenAttention]
    about: GenerationFacts = field(default_factory=GenerationFacts)
    effects: PartEffects | None = None

    def __post_init__(self) -> None:
        n = len(self.text) - self.n_prompt
        if self.n_prompt < 1 or n < 1 or len(self.probabilities) != n or len(self.alternatives) != n:
            raise TraceError(
                f"{len(self.text)} tokens, of which {self.n_prompt} are the prompt, and {len(self.probabilities)} probabilities.",
                "A generation has a prompt, at least one written token, and a probability for each.",
            )

    def __repr__(self) -> str:
        stacks = ", ".join(f"{name} {len(s.layers)} layers" for name, s in self.stacks.items())
        return f"<generation of {self.model}: {self.n_prompt} tokens read, {self.n_written} written; {stacks}>"

    @property
    def n_written(self) -> int:
        return len(self.text) - self.n_prompt

    @property
    def written(self) -> tuple[str, ...]:
        """The written tokens, as they are shown."""
        return self.text.tokens[self.n_prompt :]

    @property
    def written_ids(self) -> tuple[int, ...]:
        return self.text.ids[self.n_prompt :]

    @property
    def notices(self) -> tuple[Message, ...]:
        return tuple(self.about.get("notices", ()))

    @property
    def main(self) -> WrittenAttention:
        """The stack that looks at the prompt: cross attention in an encoder-decoder model, else the decoder."""
        return self.stacks.get("cross") or next(iter(self.stacks.values()))

    @property
    def source(self) -> TokenizedText | None:
        """What the encoder has read; None in a model with one tower."""
        return self.stacks["cross"].keys if "cross" in self.stacks else None

    @property
    def parts(self) -> tuple[str, ...]:
        return self.main.parts

    @property
    def shares(self) -> np.ndarray:
        """[layer, head, written, part]"""
        return self.main.shares

    @property
    def mean_rows(self) -> np.ndarray:
        """[layer, written, key]"""
        return self.main.mean_rows

    @property
    def rows(self) -> np.ndarray:
        """[layer, head, written, key], where they were kept"""
        return self.main.rows

    def row_of(self, head: Any) -> np.ndarray:
        """The whole rows of one head, (layer, head): [written, key]."""
        return self.main.row_of(head)

    def share_of(self, part: str, head: Any = None, layer: int | None = None) -> np.ndarray:
        """The share of one part, a number for each written token: of one head, of one layer's mean, or of the mean of all heads."""
        return self.main.share_of(part, head, layer)

    def lookback(self, context: Sequence[str] | None = None) -> np.ndarray:
        """The lookback ratio: [layer, head, written].

            (mean weight on the context) / (mean weight on the context + mean weight on what was written so far)

        A ratio of means, not of sums: a long prompt does not make it large. context: names of parts; the whole prompt otherwise. The first
        written token looks back at nothing that was written: nan. Source: Chuang et al. 2024, Lookback Lens (arXiv 2407.07071).
        """
        if "cross" in self.stacks:
            raise TraceError("An encoder-decoder model reads its source by cross attention.", "Read generation.shares.")
        of_text = self.main
        wrote = {self.text.part_of[position] for position in range(self.n_prompt, len(self.text))}
        chosen = [name for index, name in enumerate(of_text.parts) if index not in wrote] if context is None else list(context)
        for name in chosen:
            if name not in of_text.parts:
                raise TraceError(f"No part {name!r}.", f"Parts: {', '.join(of_text.parts)}.")
        columns = [of_text.parts.index(name) for name in chosen]
        n_context = sum(part in columns for part in self.text.part_of[: self.n_prompt])
        n_before = np.arange(self.n_written)  # written tokens among the keys of each row
        on_context = of_text.shares[..., columns].sum(-1) / n_context  # [layer, head, written]
        with np.errstate(invalid="ignore", divide="ignore"):
            on_written = of_text.shares[..., sorted(wrote)].sum(-1) / n_before
            return np.where(n_before > 0, on_context / (on_context + on_written), np.nan)

    def table(self) -> list[dict[str, Any]]:
        """One row for each written token: token, probability, and the share of each part as the mean of all heads."""
        shares = self.main.shares_at()
        rows = []
        for t, token in enumerate(self.written):
            row: dict[str, Any] = {"position": self.n_prompt + t, "token": token, "probability": float(self.probabilities[t])}
            row |= {f"share of {part}": float(shares[t, i]) for i, part in enumerate(self.parts)}
            if self.effects is not None:
                row |= {f"without {part}": float(self.effects.removed[t, i]) for i, part in enumerate(self.effects.parts)}
                row |= {f"cut from {part}": float(self.effects.cut[t, i]) for i, part in enumerate(self.effects.parts)}
            rows.append(row)
        return rows

    def head_table(self) -> list[dict[str, Any]]:
        """One row for each head: the share of each part, as the mean over the written tokens."""
        return [
            {
                "stack": stack.name,
                "layer": layer,
                "head": head,
                **{f"share of {part}": float(of_head[:, i].mean()) for i, part in enumerate(stack.parts)},
            }
            for stack in self.stacks.values()
            for layer, shares in zip(stack.layers, stack.shares_by_layer, strict=True)
            for head, of_head in enumerate(shares)
        ]

    def save(self, path: str | Path) -> Path:
        """Write to a safetensors file, whole or not at all; its path. `el.open` reads it, without torch."""
        write_generation(path, self)
        return Path(path)

    def save_tables(self, folder: str | Path) -> list[Path]:
        """Write `written.csv` (a row for each written token) and `heads.csv` (a row for each head) into a folder; their paths."""
        tables = {"written.csv": self.table(), "heads.csv": self.head_table()}
        paths = []
        for name, rows in tables.items():
            text = io.StringIO()
            writer = csv.DictWriter(text, list(dict.fromkeys(key for row in rows for key in row)), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
            path = as_path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, [text.getvalue().encode()])
            paths.append(path)
        return paths

    def with_effects(self, effects: PartEffects) -> Generation:
        """The same with what each part did."""
        return replace(self, effects=effects)


@dataclass(frozen=True)
class HeadChange:
    """How the share of one part differs between two completions, in one head. change: second minus first."""

    head: HeadRef
    part: str
    first: float
    second: float

    @property
    def change(self) -> float:
        return self.second - self.first


def heads_that_changed(first: Generation, second: Generation, top: int = 10) -> list[HeadChange]:
    """The heads whose mean share of any part differs most between two completions of one model, the largest change first."""
    a, b = first.main, second.main
    if first.model != second.model or a.layers != b.layers:
        raise TraceError(f"A generation of {first.model} and one of {second.model}.", "Give two completions of one model.")
    both = [part for part in a.parts if part in b.parts]
    changes = [
        HeadChange(HeadRef(a.name, layer, head), part, float(one[head, i]), float(other[head, j]))
        for layer, one, other in _mean_shares(a, b)
        for head in range(len(one))
        for i, j, part in ((a.parts.index(part), b.parts.index(part), part) for part in both)
    ]
    return sorted(changes, key=lambda each: -abs(each.change))[:top]


def _mean_shares(a: WrittenAttention, b: WrittenAttention) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    for layer, one, other in zip(a.layers, a.shares_by_layer, b.shares_by_layer, strict=True):
        yield layer, one.mean(1), other.mean(1)  # [head, part]


# ---- On disk: safetensors for the arrays, a JSON header for the rest


def write_generation(path: str | Path, generation: Generation) -> None:
    """Write a generation to `path`."""
    texts: list[TokenizedText] = [generation.text]
    arrays: dict[str, np.ndarray] = {
        "probabilities": generation.probabilities,
        "alternatives.ids": np.array([choices.ids for choices in generation.alternatives], np.int64),  # [written, alternative]
        "alternatives.probabilities": np.array([choices.probabilities for choices in generation.alternatives]),
    }
    stacks: dict[str, Any] = {}
    for name, stack in generation.stacks.items():
        stacks[name] = {
            "keys": index_of(stack.keys, texts),
            "layers": list(stack.layers),
            "heads": [list(heads) for heads in stack.heads_by_layer],
        }
        for index in range(len(stack.layers)):
            arrays[f"{name}.shares.{index}"] = stack.shares_by_layer[index]
            arrays[f"{name}.mean.{index}"] = stack.mean_by_layer[index]
            if index < len(stack.rows_by_layer) and len(stack.rows_by_layer[index]):
                arrays[f"{name}.rows.{index}"] = stack.rows_by_layer[index]
    header: dict[str, Any] = {
        "model": generation.model,
        "texts": [text.to_json() for text in texts],
        "n_prompt": generation.n_prompt,
        "completion": generation.completion,
        "alternatives": [list(choices.tokens) for choices in generation.alternatives],
        "stacks": stacks,
        "about": to_json(generation.about),
    }
    if generation.effects is not None:
        header["effects"] = list(generation.effects.parts)
        arrays |= {"effects.removed": generation.effects.removed, "effects.cut": generation.effects.cut}
    write_sealed(path, GENERATION, header, arrays)


def open_generation(path: str | Path) -> Generation:
    """Read a generation that `generation.save` wrote; damaged or foreign files are refused by name."""
    path = as_path(path)
    sealed = read_sealed(path, GENERATION)
    header, arrays = sealed.header, sealed.arrays
    try:
        texts = [TokenizedText.from_json(text) for text in header["texts"]]
        ids, probabilities = arrays["alternatives.ids"], arrays["alternatives.probabilities"]
        n_prompt = int(header["n_prompt"])
        alternatives = tuple(
            Choices(n_prompt + t - 1, tuple(map(str, tokens)), tuple(ids[t].tolist()), tuple(probabilities[t].tolist()))
            for t, tokens in enumerate(header["alternatives"])
        )
        about = header["about"]
        if "notices" in about:
            about["notices"] = [Message.from_json(notice) for notice in about["notices"]]
        effects = None
        if "effects" in header:
            effects = PartEffects(tuple(header["effects"]), arrays["effects.removed"], arrays["effects.cut"])
        return Generation(
            model=header["model"],
            text=texts[0],
            n_prompt=n_prompt,
            completion=header["completion"],
            probabilities=arrays["probabilities"],
            alternatives=alternatives,
            stacks={name: _restored(name, data, texts, arrays) for name, data in header["stacks"].items()},
            about=about,
            effects=effects,
        )
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise GENERATION.damaged(path, f"{type(error).__name__}: {error}") from error


def _restored(name: str, data: dict[str, Any], texts: Sequence[TokenizedText], arrays: Mapping[str, np.ndarray]) -> WrittenAttention:
    n_layers = len(data["layers"])
    heads = tuple(tuple(map(int, each)) for each in data["heads"])
    empty = np.zeros((0, 0, 0), np.float32)
    return WrittenAttention(
        name=name,
        keys=texts[data["keys"]],
        layers=tuple(data["layers"]),
        shares_by_layer=tuple(arrays[f"{name}.shares.{i}"] for i in range(n_layers)),
        mean_by_layer=tuple(arrays[f"{name}.mean.{i}"] for i in range(n_layers)),
        heads_by_layer=heads,
        rows_by_layer=tuple(arrays[f"{name}.rows.{i}"] if each else empty for i, each in enumerate(heads)),
    )
