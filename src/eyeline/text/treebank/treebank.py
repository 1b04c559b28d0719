"""A treebank: sentences in order, and those that were left out."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from eyeline.errors import TextError
from eyeline.text.treebank.sentence import Sentence


@dataclass(frozen=True)
class Treebank:
    """Sentences in order, and what was left out of them.

    skipped     sentence id → why it is not a tree
    synthetic   whether a program made the sentences up: the file says so in a comment, `# synthetic = …`
    """

    name: str
    sha256: str
    sentences: tuple[Sentence, ...] = field(repr=False)
    skipped: Mapping[str, str] = field(default_factory=dict)
    synthetic: bool = False

    def __iter__(self) -> Iterator[Sentence]:
        return iter(self.sentences)

    def __len__(self) -> int:
        return len(self.sentences)

    def __getitem__(self, index: int) -> Sentence:
        return self.sentences[index]

    @classmethod
    def of(cls, sentences: Sequence[Sentence], name: str = "sentences") -> Treebank:
        """A treebank of sentences in memory."""
        if not sentences:
            raise TextError("An empty treebank: no sentences.", "Give at least one.")
        content = json.dumps([(sentence.words, sentence.governors, sentence.deprels) for sentence in sentences])
        return cls(name, hashlib.sha256(content.encode()).hexdigest(), tuple(sentences))

    def halves(self, seed: int = 0) -> tuple[Treebank, Treebank]:
        """Two treebanks: half of the sentences, drawn at random, and the others, each in order; the second lists what was skipped."""
        if len(self) < 2:
            raise TextError(f"{self.name} has one sentence.", "Two halves need at least two.")
        chosen = set(random.Random(seed).sample(range(len(self)), len(self) // 2))  # noqa: S311 - a seeded choice, not a secret
        kept = (
            tuple(sentence for index, sentence in enumerate(self) if index in chosen),
            tuple(sentence for index, sentence in enumerate(self) if index not in chosen),
        )
        half, other = self.of(kept[0], f"one half of {self.name}"), self.of(kept[1], f"the other half of {self.name}")
        return replace(half, synthetic=self.synthetic), replace(other, synthetic=self.synthetic, skipped=self.skipped)
