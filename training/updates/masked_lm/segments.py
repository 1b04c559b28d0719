"""Training segments on the GPU: `[CLS] A [SEP] B [SEP]`, or one part alone, and the words that are hidden in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from training.updates.low_rank import VOCABULARY

CLS, SEP, MASK, PAD, FIRST_WORD = 101, 102, 103, 0, 999
LENGTH = 128
#: Share of segments that have two parts, of segments that are one sentence alone, and of words that are hidden.
PAIRS, SHORT, HIDDEN = 0.6, 0.15, 0.15


@dataclass(frozen=True)
class Segments:
    """ids, types, attention: [segment, position]."""

    ids: torch.Tensor
    types: torch.Tensor
    attention: torch.Tensor


class Source:
    """The sentences of one kind of text. A segment is a run of sentences of one paragraph."""

    def __init__(self, arrays: np.lib.npyio.NpzFile, name: str, device: torch.device) -> None:
        lens, docs = arrays[f"{name}.lens"].astype(np.int64), arrays[f"{name}.docs"]
        edges = np.concatenate([[0], np.cumsum(lens)])
        last = np.r_[np.flatnonzero(np.diff(docs)), len(docs) - 1]  # the last sentence of each paragraph
        ends = edges[1:][last[np.searchsorted(last, np.arange(len(docs)))]]
        self.ids = torch.from_numpy(arrays[f"{name}.ids"].astype(np.int32)).to(device)
        self.start, self.lens, self.end = (torch.from_numpy(values).to(device) for values in (edges[:-1], lens, ends))  # [sentence]
        self.weights = (self.end - self.start).clamp(max=LENGTH).float()

    def draw(self, n: int, generator: torch.Generator) -> Segments:
        """n segments, padded to LENGTH; a sentence is the more likely to begin one, the more text follows it."""
        device = self.ids.device

        def chance() -> torch.Tensor:
            return torch.rand(n, device=device, generator=generator)

        first = torch.multinomial(self.weights, n, replacement=True, generator=generator)
        begin, pair = self.start[first], chance() < PAIRS
        room = torch.where(pair, LENGTH - 3, LENGTH - 2)
        take = torch.minimum(self.end[first] - begin, room)
        short = chance() < SHORT
        take = torch.where(short, torch.minimum(self.lens[first], room), take)
        pair = (pair & ~short & (take > 8))[:, None]
        split = (take * (0.2 + 0.6 * chance())).long().clamp(min=1)[:, None]
        take, begin = take[:, None], begin[:, None]
        split = torch.where(pair, split, take)
        position = torch.arange(LENGTH, device=device)[None]
        in_a = (position >= 1) & (position <= split)
        in_b = pair & (position >= split + 2) & (position < take + 2)
        source = torch.where(in_a, begin + position - 1, torch.where(in_b, begin + position - 2, 0))
        ids = torch.where(in_a | in_b, self.ids[source.clamp(max=len(self.ids) - 1)].long(), PAD)
        ids[:, 0] = CLS
        ids = torch.where((position == split + 1) | (pair & (position == take + 2)), SEP, ids)
        total = torch.where(pair, take + 3, take + 2)
        return Segments(ids, (pair & (position >= split + 2) & (position < total)).long(), position < total)


def hide(ids: torch.Tensor, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Hide words: 80 % become [MASK], 10 % another token, 10 % stay.

    ids: [segment, position] → changed ids; positions of hidden words [segment, k]; their tokens [segment, k], −100 where k is too many.
    """
    k = round(HIDDEN * LENGTH)
    words = ids >= FIRST_WORD
    order = torch.where(words, torch.rand(ids.shape, device=ids.device, generator=generator), 2.0)
    at = order.topk(k, dim=1, largest=False).indices
    used = torch.arange(k, device=ids.device)[None] < (HIDDEN * words.sum(1)).ceil()[:, None]
    true = ids.gather(1, at)
    chance = torch.rand(at.shape, device=ids.device, generator=generator)
    other = torch.randint(FIRST_WORD, VOCABULARY, at.shape, device=ids.device, generator=generator)
    changed = torch.where(chance < 0.8, MASK, torch.where(chance < 0.9, other, true))
    return ids.scatter(1, at, torch.where(used, changed, true)), at, torch.where(used, true, -100)
