"""Parse a sentence of your own with a trained probe."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from eyeline.errors import Advice, ModelError, TextError, TraceError
from eyeline.heads import HeadRef
from eyeline.measure.probes.features import Heads, piece_vectors
from eyeline.measure.probes.result import Parse
from eyeline.measure.runs.run import Run
from eyeline.measure.runs.table import Cell, Table
from eyeline.measure.runs.trained import TrainedProbes, open_trained_probes
from eyeline.measure.statistics.word_maps import WordMaps, WordTexts, each_word_map, example_of_text
from eyeline.models.load import load
from eyeline.models.model import Model
from eyeline.models.objective import tokenizer_of
from eyeline.text.corpora.treebank import Sentence
from eyeline.text.encode import encode
from eyeline.text.tokenized import TokenizedText

#: How many test sentences the report shows, and of which lengths.
N_PARSES, LENGTHS = 4, range(5, 15)


@dataclass(frozen=True)
class Probe:
    """A trained probe together with the model whose attention it reads: `probe.parse("The cat sat on the mat.")`."""

    name: str
    model: Model = field(repr=False)
    trained: TrainedProbes = field(repr=False)

    def parse(self, text: str | Sequence[str], *, spaces: Sequence[bool] | None = None) -> Parse:
        """The governor of every word of a sentence. text: a string, or a list of words.

        spaces: of a list of words, whether a space follows each in the text; None: as its script is written.

        Attention is read as in training: between words, in half precision.
        """
        tokenizer = tokenizer_of(self.model, "A sentence needs a model that reads text.")
        tokens = (
            encode(tokenizer, text, max_length=self.model.max_tokens)
            if isinstance(text, str)
            else encode(tokenizer, words=text, spaces=spaces, max_length=self.model.max_tokens)
        )
        words = tuple(tokens.word_texts)
        if not words:
            raise TextError("The sentence has no words.", "Give a sentence such as: The cat sat on the mat.")
        trained = self.trained
        maps = _maps(self.model, tokens, Heads(trained.layers, trained.heads))  # [unit, unit, head]
        if len(maps) - len(words) != trained.n_special:
            raise ModelError(
                f"{self.model.name} adds {len(maps) - len(words)} special tokens to this sentence.",
                f"The probe was trained with {trained.n_special}.",
            )
        parameters = trained.parameters[self.name]
        attention = arc_attention(maps, len(words), parameters["root"])
        vectors = None if "weights" in parameters else _vectors(self.model, tokens, trained)
        heads = tuple(HeadRef("", layer, head) for layer, head in zip(trained.layers, trained.heads, strict=True))
        return Parse(words, self.name, self.model.name, heads, attention, arc_weights(parameters, vectors, len(words)))


def open_probe(run: Run | TrainedProbes | str | Path, name: str | None = None, *, model: Model | str | None = None) -> Probe:
    """A trained probe of a run, which can parse sentences of your own.

    run     the folder that `eyeline probe` wrote, its probes.safetensors, or what `el.probe` returned
    name    a row of table 3 with attention: "attention-only" or "attention + …"; without it the one that reads words as well
    model   the model whose attention it reads, or where it is; without it, the one that the run names
    """
    if isinstance(run, Run):
        if run.probes is None:
            raise TraceError(
                "This run holds no trained probes.", "Train them: el.probe(model, treebank), or eyeline probe TREEBANK -o FOLDER."
            )
        trained = run.probes
    else:
        trained = run if isinstance(run, TrainedProbes) else open_trained_probes(run)
    opened = model if isinstance(model, Model) else load(model or trained.model)
    if opened.identity() != trained.sha256:
        raise ModelError(
            f"This is not the model that the probe was trained with ({trained.model}).",
            "A probe reads the attention of the model that it has learnt from.",
            Advice("Name that model: model=….", "Name that model: --model."),
        )
    return Probe(trained.check(name), opened, trained)


def parses_table(probe: Probe, sentences: Sequence[Sentence]) -> Table:
    """Some test sentences as the probe parses them, beside the treebank: a row for each sentence."""
    chosen = [sentence for sentence in sentences if len(sentence.words) in LENGTHS][:N_PARSES] or list(sentences[:1])
    rows: list[dict[str, Cell]] = []
    for sentence in chosen:
        parse = probe.parse(sentence.words, spaces=sentence.spaces)
        table = parse.table()
        rows.append({
            "sentence": sentence.id,
            "probe": probe.name,
            "words": json.dumps(parse.words, ensure_ascii=False),
            "governors": json.dumps(parse.governors),
            "gold": json.dumps(sentence.governors),
            "probabilities": json.dumps([round(float(p), 4) for p in table.columns["probability"]]),
            "heads": json.dumps([str(heads) for heads in table.columns["heads"]], ensure_ascii=False),
        })  # fmt: skip
    return Table.from_rows(rows)


def arc_attention(maps: np.ndarray, n_words: int, root: np.ndarray) -> np.ndarray:
    """Attention of every head along every possible arc, both ways: [dependent, candidate, direction, head].

    maps: [unit, unit, head], words first, then special tokens. ROOT is a mixture of the special tokens (see `AttentionOnly`).
    """
    between = maps[:n_words, :n_words]
    to_words = np.stack([between, between.transpose(1, 0, 2)], 2)  # [dependent, candidate, direction, head]
    if len(maps) > n_words:
        to_root = np.einsum("dsk,s->dk", maps[:n_words, n_words:], root)
        from_root = np.einsum("sdk,s->dk", maps[n_words:, :n_words], root)
        of_root = np.stack([to_root, from_root], 1)  # [dependent, direction, head]
    else:
        of_root = np.broadcast_to(root[0], (n_words, 2, maps.shape[2]))
    return np.concatenate([of_root[:, None], to_words], 1)


def arc_weights(parameters: Mapping[str, np.ndarray], vectors: np.ndarray | None, n_words: int) -> np.ndarray:
    """The weight that a probe gives to every head along every possible arc: [dependent, candidate, direction, head]."""
    if vectors is None:
        weights = parameters["weights"]  # [direction, head]
        return np.broadcast_to(weights, (n_words, n_words + 1, *weights.shape))
    shape = (n_words, 2, -1)
    of_candidate = (vectors @ parameters["of_candidate"]).reshape(shape)  # [word, direction, head]
    of_dependent = (vectors @ parameters["of_dependent"] + parameters["bias"]).reshape(shape)
    with_root = np.concatenate([np.zeros_like(of_candidate[:1]), of_candidate])  # ROOT's vector is zero
    return np.asarray(of_dependent[:, None] + with_root[None])


def _maps(model: Model, tokens: TokenizedText, heads: Heads) -> np.ndarray:
    """The word-level maps of one sentence, as the probes were trained on: [unit, unit, head]."""
    layers = sorted(set(heads.layers))
    parts: dict[int, np.ndarray] = {}

    def receive(maps: WordMaps) -> None:
        parts[maps.layer] = maps.weights[0].half().permute(1, 2, 0).float().cpu().numpy()

    texts = WordTexts((example_of_text(model, tokens),), (0,), Counter(), {})
    each_word_map(model, texts, receive, layers=layers)
    return np.concatenate([parts[layer] for layer in layers], 2)


def _vectors(model: Model, tokens: TokenizedText, trained: TrainedProbes) -> np.ndarray:
    """The vectors of the words of a sentence, as the probe was trained with: [word, dim]."""
    words = trained.words
    if words.table is not None:
        return words.table[[words.rows.get(word.lower(), 0) for word in tokens.word_texts]]
    with torch.no_grad():
        return np.asarray(piece_vectors(model, tokens) * words.scale)
