"""Sentences of a treebank → the features of the probes: word-level maps of all heads in half precision, in memory or in a file."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from eyeline.analyses.engines.engine import Engine
from eyeline.analyses.engines.fold import PartsFolded, fold_parts
from eyeline.analyses.engines.parts import Part, parts_of
from eyeline.analyses.engines.work import Folded, Work
from eyeline.analyses.progress import ReportWork
from eyeline.analyses.word_maps import WordMaps, WordTexts, read_words, reading_stack, word_maps_of_batch
from eyeline.capture.collect import Sides
from eyeline.capture.selection import check_layers_of
from eyeline.errors import Advice, ModelError, StorageError, TextError
from eyeline.models.model import Model
from eyeline.models.reinitialise import reinitialised
from eyeline.text.treebank.sentence import Sentence

#: Maps of more bytes than this in all are kept in a temporary file that is mapped into memory.
IN_MEMORY = 1 << 30


@dataclass(frozen=True)
class Heads:
    """Which head of the model each feature is.

    layers, heads   of each feature, in order: [feature]
    """

    layers: tuple[int, ...]
    heads: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.layers)


@dataclass(frozen=True)
class GoldSentences:
    """The sentences of a treebank that a model can read, and their governors.

    texts      their tokens, and what was left out
    governors  of each sentence [word]: 0 for ROOT, i + 1 for word i
    scored     of each sentence [word]: all but punctuation
    n_given    how many sentences there were before those that the model cannot read were left out
    """

    sentences: tuple[Sentence, ...]
    texts: WordTexts
    governors: tuple[Tensor, ...]
    scored: tuple[Tensor, ...]
    n_special: int
    n_given: int

    def __len__(self) -> int:
        return len(self.governors)


def read_gold(model: Model, sentences: Sequence[Sentence], what: str, max_tokens: int | None) -> GoldSentences:
    """Tokenise sentences. what: training or test, for the error where none can be used."""
    texts = read_words(model, [s.words for s in sentences], [s.spaces for s in sentences], max_tokens=max_tokens)
    kept = tuple(sentences[index] for index in texts.kept)
    if not kept:
        raise TextError(
            f"None of the {len(sentences):,} {what} sentences can be used.",
            f"{texts.counts['too_long']:,} have more than {max_tokens} tokens, {texts.counts['unreadable']:,} have words that the tokeniser"
            f" of {model.name} drops.",
            Advice(
                "Take longer ones with max_tokens=…, or another treebank.",
                "Take longer ones with --max-tokens, or another treebank.",
                "Take another treebank.",
            ),
        )
    n_special = {sum(side.source.special) for side in texts.sides}
    if len(n_special) > 1:
        raise ModelError(
            f"{model.name} adds {sorted(n_special)} special tokens to a sentence.", "ROOT needs the same number in all of them."
        )
    return GoldSentences(
        kept,
        texts,
        tuple(torch.tensor(sentence.governors) + 1 for sentence in kept),
        tuple(torch.tensor([not is_punctuation(relation) for relation in sentence.deprels]) for sentence in kept),
        n_special.pop(),
        len(sentences),
    )


def is_punctuation(relation: str) -> bool:
    """By its relation, as treebanks in Stanford and in Universal Dependencies mark it.

    >>> is_punctuation("punct"), is_punctuation("nsubj")
    (True, False)
    """
    return relation.partition(":")[0] == "punct"


def heads_of(model: Model, layers: Iterable[int] | None) -> Heads:
    """The heads of the stack that reads the text, layer by layer."""
    stack = reading_stack(model)
    counts = model.layout.heads_by_layer(stack)
    named = [(layer, head) for layer in check_layers_of(model.layout, stack, layers) for head in range(counts[layer])]
    return Heads(tuple(layer for layer, _ in named), tuple(head for _, head in named))


@dataclass(frozen=True)
class RecordWork(Work[Part[Sides], tuple[np.ndarray, ...]]):
    """The word-level maps of these heads on sentences, each [unit, unit, head] in half precision, for any engine.

    random_seed   of the random network that takes the model's place; None: the model itself
    """

    heads: Heads
    random_seed: int | None

    def open(self, model: Model) -> Callable[[Part[Sides]], Folded[tuple[np.ndarray, ...]]]:
        network = model if self.random_seed is None else reinitialised(model, self.random_seed)

        def fold(part: Part[Sides]) -> Folded[tuple[np.ndarray, ...]]:
            return Folded(recorded_maps(network, part, self.heads), sum(len(side.source) for side in part.items))

        return fold


def recorded_maps(model: Model, part: Part[Sides], heads: Heads) -> tuple[np.ndarray, ...]:
    """The maps of each sentence of a part: [unit, unit, head]"""
    layers = sorted(set(heads.layers))
    by_layer: list[list[np.ndarray]] = [[] for _ in part.items]

    def receive(maps: WordMaps) -> None:
        weights = maps.weights.half().permute(0, 2, 3, 1).cpu().numpy()  # [sentence, unit, unit, head]
        for row, n in enumerate(maps.n_words):
            own = [*range(n), *range(maps.width, weights.shape[1])]
            of_sentence = weights[row][np.ix_(own, own)]
            if not np.isfinite(of_sentence).all():
                raise ModelError(
                    f"{model.name}: attention in layer {maps.layer} is not a number in sentence {part.names[row]}.",
                    "Open it in float32: el.load(name, dtype=torch.float32).",
                )
            by_layer[row].append(of_sentence)

    word_maps_of_batch(model, part.items, receive, layers=layers)
    return tuple(np.concatenate(maps, 2) for maps in by_layer)


class Maps:
    """The word-level maps of some sentences, each [unit, unit, head], words first, then special tokens; half precision."""

    def __init__(self, gold: GoldSentences, heads: Heads, *, in_memory: int = IN_MEMORY) -> None:
        units = [len(governors) + gold.n_special for governors in gold.governors]
        self.heads = heads
        self.shapes = [(n, n, len(heads)) for n in units]
        self.starts = np.concatenate([[0], np.cumsum([n * n * len(heads) for n in units])])
        self._block = _allocate(int(self.starts[-1]), in_memory)

    def __getitem__(self, index: int) -> Tensor:
        """[unit, unit, head], float32"""
        return torch.from_numpy(self._of(index)).float()

    def put(self, index: int, maps: np.ndarray) -> None:
        """Write the maps of a sentence: [unit, unit, head]"""
        self._of(index)[:] = maps

    def _of(self, index: int) -> np.ndarray:
        return self._block[self.starts[index] : self.starts[index + 1]].reshape(self.shapes[index])


def record_maps(
    model: Model,
    treebanks: Sequence[tuple[GoldSentences, Maps]],
    *,
    random_seed: int | None = None,
    engine: Engine | str = "local",
    report: ReportWork | None = None,
) -> PartsFolded:
    """Run a model, or a random network in its place, over the sentences of some treebanks; their maps are overwritten."""
    sides: list[Sides] = []
    names: list[str] = []
    batches: list[list[int]] = []
    maps_of: list[tuple[Maps, int]] = []  # for each sentence, where its maps are written
    for gold, maps in treebanks:
        batches += [[len(sides) + index for index in batch] for batch in model.in_batches(gold.texts.sides)]
        sides += gold.texts.sides
        names += [sentence.id for sentence in gold.sentences]
        maps_of += [(maps, index) for index in range(len(gold))]

    def put(part: Part[Sides], recorded: tuple[np.ndarray, ...]) -> None:
        for index, of_sentence in zip(part.indices, recorded, strict=True):
            maps, position = maps_of[index]
            maps.put(position, of_sentence)

    work = RecordWork(treebanks[0][1].heads, random_seed)
    return fold_parts(work, model, parts_of(sides, batches, names), put, engine, report)


def _allocate(n_numbers: int, in_memory: int) -> np.ndarray:
    """An array for this many half-precision numbers: in memory, or in a temporary file that is deleted with it."""
    n_bytes = 2 * n_numbers
    if n_bytes <= in_memory:
        return np.empty(n_numbers, np.float16)
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    if n_bytes > 0.9 * free:
        raise StorageError(
            f"The maps of these sentences need {n_bytes / 1e9:.1f} GB, and {folder} has {free / 1e9:.1f} GB left.",
            Advice(
                "Take fewer sentences (limit=…) or layers (layers=…).",
                "Take fewer sentences (--limit) or layers (--layers).",
                "Take fewer sentences.",
            ),
            "Or set TMPDIR to a larger disk.",
        )
    with tempfile.TemporaryFile() as file:  # the mapping keeps the file's bytes for as long as it lives
        return np.memmap(file, np.float16, "w+", shape=(n_numbers,))
