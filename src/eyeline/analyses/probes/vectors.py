"""The word vectors of the probes: GloVe's, or the model's own input embeddings."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from eyeline.analyses.probes.features import GoldSentences
from eyeline.errors import Advice, ModelError, StorageError, TextError
from eyeline.models.model import Model
from eyeline.storage.names import as_path
from eyeline.text.corpora.lines import numbered_lines
from eyeline.text.tokenized import TokenizedText

#: Model embeddings are scaled to this mean length, about that of GloVe's vectors, so that one learning rate serves both.
LENGTH = 5.5
#: Of a text file, in bytes: some 100,000 numbers. A small packed file can hold a line of any length.
LONGEST_LINE = 1 << 20
WHAT = "Give a folder with vectors.float16.npy (or any one .npy) and vocab.txt, or GloVe's own text file (glove.6B.100d.txt, plain or .gz)."


@dataclass(frozen=True)
class WordVectors:
    """Word vectors of some sentences: a table, and the row of each word.

    name      what they are: GloVe, or model embeddings
    table     [row, dim]; row 0 is zero, for words that have none
    rows      of the training and of the test sentences: for each sentence [word]
    covered   the share of the words that have a vector
    scale     of model embeddings: the factor that all of them were multiplied by
    by_word   of GloVe: word → row
    """

    name: str
    table: Tensor = field(repr=False)
    rows: Mapping[str, tuple[Tensor, ...]] = field(repr=False)
    covered: float
    scale: float = 1.0
    by_word: Mapping[str, int] = field(default_factory=dict, repr=False)

    @property
    def n_dims(self) -> int:
        return int(self.table.shape[1])

    def of(self, part: str, index: int) -> Tensor:
        """[word, dim]"""
        return self.table[self.rows[part][index]]


def glove_vectors(path: str | Path, golds: Mapping[str, GoldSentences]) -> WordVectors:
    """Vectors by lower-cased word; a word without one has zeros. A treebank that shares no word with them is an error."""
    words = {part: [[word.lower() for word in sentence.words] for sentence in gold.sentences] for part, gold in golds.items()}
    wanted = {word for sentences in words.values() for sentence in sentences for word in sentence}
    vectors = read_glove(path, wanted)
    if not vectors:
        examples = ", ".join(sorted(wanted)[:5])
        raise TextError(f"None of the {len(wanted):,} words of the treebanks has a vector in {path}.", f"They begin: {examples}", WHAT)
    row = {word: index + 1 for index, word in enumerate(vectors)}
    table = np.stack([np.zeros_like(next(iter(vectors.values()))), *vectors.values()])
    rows = {part: [[row.get(word, 0) for word in sentence] for sentence in sentences] for part, sentences in words.items()}
    return replace(_vectors("GloVe", torch.from_numpy(table), rows), by_word=row)


def model_vectors(model: Model, golds: Mapping[str, GoldSentences]) -> WordVectors:
    """The mean of the input embeddings of a word's pieces, all scaled by one factor to a mean length of 5.5 over the training words."""
    embeddings = _embeddings(model)
    row: dict[tuple[int, ...], int] = {}
    rows: dict[str, list[list[int]]] = {}
    for part, gold in golds.items():
        rows[part] = []
        for side in gold.texts.sides:
            rows[part].append([row.setdefault(tuple(numbers), len(row) + 1) for numbers in _pieces(side.source)])
    table = torch.stack([torch.zeros(embeddings.shape[1]), *(embeddings[list(numbers)].mean(0) for numbers in row)])
    lengths = table[torch.tensor([number for sentence in rows["train"] for number in sentence])].norm(dim=1)
    scale = float(LENGTH / lengths.mean().clamp_min(1e-9))
    return replace(_vectors("model embeddings", table * scale, rows), scale=scale)


def piece_vectors(model: Model, text: TokenizedText) -> Tensor:
    """The mean of the input embeddings of each word's pieces, not scaled: [word, dim]."""
    embeddings = _embeddings(model)
    return torch.stack([embeddings[numbers].mean(0) for numbers in _pieces(text)])


def _embeddings(model: Model) -> Tensor:
    """[id, dim]"""
    module = model.hf.get_input_embeddings()
    weight = getattr(module, "weight", None)
    if not isinstance(weight, Tensor):
        raise ModelError(
            f"{model.name} has no table of input embeddings.", Advice("Give word vectors: glove=….", "Give word vectors: --glove FOLDER.")
        )
    return weight.detach().float().cpu()


def _pieces(text: TokenizedText) -> list[list[int]]:
    """The token ids of each word."""
    pieces: list[list[int]] = [[] for _ in text.word_texts]
    for word, number in zip(text.words, text.ids, strict=True):
        if word is not None:
            pieces[word].append(number)
    return pieces


def read_glove(path: str | Path, wanted: Collection[str]) -> dict[str, np.ndarray]:
    """The vectors of the wanted words, float32."""
    path = as_path(path)
    if path.is_dir():
        arrays, vocab = sorted(path.glob("*.npy")), path / "vocab.txt"
        if len(arrays) == 1 and vocab.is_file():
            return _from_arrays(arrays[0], vocab, wanted)
        texts = sorted([*path.glob("*.txt"), *path.glob("*.txt.gz")])
        if len(texts) != 1 or arrays:
            seen = ", ".join(sorted(entry.name for entry in path.iterdir())[:6]) or "nothing"
            raise StorageError(f"{path}: no word vectors. It holds {seen}.", WHAT)
        path = texts[0]
    if not path.is_file():
        raise StorageError(f"{path}: no such folder or file.", WHAT)
    return _from_text(path, wanted)


def _from_arrays(array: Path, vocab: Path, wanted: Collection[str]) -> dict[str, np.ndarray]:
    try:
        matrix = np.load(array, mmap_mode="r", allow_pickle=False)
        words = vocab.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except (OSError, ValueError) as error:
        raise StorageError(f"{array.parent}: cannot be read ({error}).", WHAT) from error
    if matrix.ndim != 2 or not np.issubdtype(matrix.dtype, np.floating):
        raise StorageError(f"{array}: {matrix.dtype} numbers of shape {matrix.shape}, where [word, dim] was needed.", WHAT)
    if len(words) != len(matrix):
        raise StorageError(f"{array.parent}: {len(matrix):,} vectors, but {len(words):,} words.", "Row i belongs to line i of vocab.txt.")
    return _checked(array, {word: np.array(matrix[i], np.float32) for i, word in enumerate(words) if word in wanted})


def _from_text(path: Path, wanted: Collection[str]) -> dict[str, np.ndarray]:
    vectors: dict[str, np.ndarray] = {}
    size: int | None = None
    try:
        for number, line in numbered_lines(path, LONGEST_LINE):
            word, *cells = line.split(" ")
            if number == 1 and len(cells) == 1:
                continue  # word2vec's text format begins with its size
            size = size or len(cells)
            if len(cells) != size or size < 2:
                raise StorageError(f"{path}, line {number}: {len(cells)} numbers after the word, {size} before.", WHAT)
            if word in wanted and word not in vectors:
                vectors[word] = np.array(cells, np.float32)
    except TextError as error:
        raise StorageError(str(error), WHAT) from error
    except ValueError as error:
        raise StorageError(f"{path}: cannot be read as word vectors ({error}).", WHAT) from error
    return _checked(path, vectors)


def _checked(path: Path, vectors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    broken = next((word for word, vector in vectors.items() if not np.isfinite(vector).all()), None)
    if broken is not None:
        raise StorageError(f"{path}: the vector of {broken!r} has numbers that are not finite.", "The file is damaged.")
    return vectors


def _vectors(name: str, table: Tensor, rows: Mapping[str, Sequence[Sequence[int]]]) -> WordVectors:
    known: Iterable[bool] = (number > 0 for sentences in rows.values() for sentence in sentences for number in sentence)
    listed = list(known)
    as_tensors = {part: tuple(torch.tensor(sentence) for sentence in sentences) for part, sentences in rows.items()}
    return WordVectors(name, table, as_tensors, sum(listed) / len(listed))
