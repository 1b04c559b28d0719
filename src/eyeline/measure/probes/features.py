"""What probes read of a treebank: the word-level maps of all heads on its sentences, and the vectors of its words."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from eyeline.errors import Advice, ModelError, StorageError, TextError
from eyeline.measure.engines.local import PartsOutcome, run_parts
from eyeline.measure.engines.processes import Engine
from eyeline.measure.engines.work import Part, ShardResult, Work, parts_of
from eyeline.measure.runs.progress import ReportWork
from eyeline.measure.statistics.word_maps import WordMaps, WordTexts, read_words, reading_stack, word_maps_of_batch
from eyeline.messages import Message
from eyeline.models.inputs import Example
from eyeline.models.layout import check_layers_of
from eyeline.models.model import Model
from eyeline.models.reinitialise import reinitialised
from eyeline.models.tracing import in_batches
from eyeline.storage.files import as_path
from eyeline.text.corpora.files import numbered_lines
from eyeline.text.corpora.treebank import Sentence
from eyeline.text.tokenized import TokenizedText

#: Maps of more bytes than this in all, in half precision, are kept in a temporary file that is mapped into memory.
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
            Message("refusal.no_probe_sentence", n=f"{len(sentences):,}", part=what),
            Message(
                "refusal.why_no_sentence",
                n=f"{texts.counts['too_long']:,}",
                most=str(max_tokens),
                unreadable=f"{texts.counts['unreadable']:,}",
                model=model.name,
            ),
            Advice(
                "Take longer ones with max_tokens=…, or another treebank.",
                "Take longer ones with --max-tokens, or another treebank.",
                Message("refusal.advice.other_treebank"),
            ),
        )
    n_special = {sum(example.source.special) for example in texts.examples}
    if len(n_special) > 1:
        raise ModelError(
            Message("refusal.special_tokens", model=model.name, numbers=str(sorted(n_special))), Message("refusal.same_special_tokens")
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
class RecordWork(Work[Part[Example], tuple[np.ndarray, ...]]):
    """The word-level maps of these heads on sentences, each [unit, unit, head] in half precision, for any engine.

    random_seed   of the random network that takes the model's place; None: the model itself
    """

    heads: Heads
    random_seed: int | None

    def open(self, model: Model) -> Callable[[Part[Example]], ShardResult[tuple[np.ndarray, ...]]]:
        network = model if self.random_seed is None else reinitialised(model, self.random_seed)

        def compute(part: Part[Example]) -> ShardResult[tuple[np.ndarray, ...]]:
            return ShardResult(recorded_maps(network, part, self.heads), sum(len(example.source) for example in part.items))

        return compute


def recorded_maps(model: Model, part: Part[Example], heads: Heads) -> tuple[np.ndarray, ...]:
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
) -> PartsOutcome:
    """Run a model, or a random network in its place, over the sentences of some treebanks; their maps are overwritten."""
    examples: list[Example] = []
    names: list[str] = []
    batches: list[list[int]] = []
    maps_of: list[tuple[Maps, int]] = []  # for each sentence, where its maps are written
    for gold, maps in treebanks:
        batches += [[len(examples) + index for index in batch] for batch in in_batches(model.layout, gold.texts.examples)]
        examples += gold.texts.examples
        names += [sentence.id for sentence in gold.sentences]
        maps_of += [(maps, index) for index in range(len(gold))]

    def put(part: Part[Example], recorded: tuple[np.ndarray, ...]) -> None:
        for index, of_sentence in zip(part.indices, recorded, strict=True):
            maps, position = maps_of[index]
            maps.put(position, of_sentence)

    work = RecordWork(treebanks[0][1].heads, random_seed)
    return run_parts(work, model, parts_of(examples, batches, names), put, engine, report)


def _allocate(n_numbers: int, in_memory: int) -> np.ndarray:
    """An array for this many half-precision numbers: in memory, or in a temporary file that is deleted with it."""
    n_bytes = 2 * n_numbers
    if n_bytes <= in_memory:
        return np.empty(n_numbers, np.float16)
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    if n_bytes > 0.9 * free:
        raise StorageError(
            Message("refusal.disk", need=f"{n_bytes / 1e9:.1f}", folder=folder, free=f"{free / 1e9:.1f}"),
            Advice(
                "Take fewer sentences (limit=…) or layers (layers=…).",
                "Take fewer sentences (--limit) or layers (--layers).",
                Message("refusal.advice.fewer_sentences"),
            ),
            "Or set TMPDIR to a larger disk.",
        )
    with tempfile.TemporaryFile() as file:  # the mapping keeps the file's bytes for as long as it lives
        return np.memmap(file, np.float16, "w+", shape=(n_numbers,))


# ---- Word vectors: GloVe's, or the model's own input embeddings


#: Model embeddings are scaled to this mean length, about that of GloVe's vectors, so that one learning rate serves both.
MEAN_LENGTH = 5.5

#: Of a text file, in bytes: some 100,000 numbers. A small packed file can hold a line of any length.
LONGEST_LINE = 1 << 20

VECTORS_ADVICE = (
    "Give a folder with vectors.float16.npy (or any one .npy) and vocab.txt, or GloVe's own text file (glove.6B.100d.txt, plain or .gz)."
)


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
        raise TextError(
            f"None of the {len(wanted):,} words of the treebanks has a vector in {path}.", f"They begin: {examples}", VECTORS_ADVICE
        )
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
        for example in gold.texts.examples:
            rows[part].append([row.setdefault(tuple(numbers), len(row) + 1) for numbers in _pieces(example.source)])
    table = torch.stack([torch.zeros(embeddings.shape[1]), *(embeddings[list(numbers)].mean(0) for numbers in row)])
    lengths = table[torch.tensor([number for sentence in rows["train"] for number in sentence])].norm(dim=1)
    scale = float(MEAN_LENGTH / lengths.mean().clamp_min(1e-9))
    return replace(_vectors("model embeddings", table * scale, rows), scale=scale)


def piece_vectors(model: Model, text: TokenizedText) -> Tensor:
    """The mean of the input embeddings of each word's pieces, not scaled: [word, dim]."""
    embeddings = _embeddings(model)
    return torch.stack([embeddings[numbers].mean(0) for numbers in _pieces(text)])


def _embeddings(model: Model) -> Tensor:
    """[id, dim]"""
    module = model._hf.get_input_embeddings()
    weight = getattr(module, "weight", None)
    if not isinstance(weight, Tensor):
        raise ModelError(
            Message("refusal.no_embeddings", model=model.name),
            Advice("Give word vectors: glove=….", "Give word vectors: --glove FOLDER."),
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
            raise StorageError(f"{path}: no word vectors. It holds {seen}.", VECTORS_ADVICE)
        path = texts[0]
    if not path.is_file():
        raise StorageError(f"{path}: no such folder or file.", VECTORS_ADVICE)
    return _from_text(path, wanted)


def _from_arrays(array: Path, vocab: Path, wanted: Collection[str]) -> dict[str, np.ndarray]:
    try:
        matrix = np.load(array, mmap_mode="r", allow_pickle=False)
        words = vocab.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except (OSError, ValueError) as error:
        raise StorageError(f"{array.parent}: cannot be read ({error}).", VECTORS_ADVICE) from error
    if matrix.ndim != 2 or not np.issubdtype(matrix.dtype, np.floating):
        raise StorageError(f"{array}: {matrix.dtype} numbers of shape {matrix.shape}, where [word, dim] was needed.", VECTORS_ADVICE)
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
                raise StorageError(f"{path}, line {number}: {len(cells)} numbers after the word, {size} before.", VECTORS_ADVICE)
            if word in wanted and word not in vectors:
                vectors[word] = np.array(cells, np.float32)
    except TextError as error:
        raise StorageError(str(error), VECTORS_ADVICE) from error
    except ValueError as error:
        raise StorageError(f"{path}: cannot be read as word vectors ({error}).", VECTORS_ADVICE) from error
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
