"""The sentences on which each head is most sure of a relation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from eyeline.analyses.word_maps import WordMaps
from eyeline.capture.inputs import send

#: The fewest and the most words of an example: enough to choose from, few enough to be drawn.
SHORTEST, LONGEST = 4, 14
#: How many sentences are kept for each relation: more than are drawn, since treebanks repeat themselves ("Thank you.").
KEPT = 6
#: Layer → how sure, which sentence: [relation, head, direction, kept].
SurestParts = Mapping[int, tuple[np.ndarray, np.ndarray]]


class Surest:
    """For every relation, head and direction, the short sentences in which its predictions for that relation carry most attention.

    How sure: the mean, over the words of that relation, of the weight of the prediction, right or wrong.
    """

    def __init__(self, n_relations: int) -> None:
        self.n_relations = n_relations
        self._batch: tuple[tuple[int, ...], tuple[torch.Tensor, ...] | None] | None = None
        self._best: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}  # layer → how sure, which sentence: [relation, head, direction, kept]

    def update(self, maps: WordMaps, weights: torch.Tensor, of_relation: torch.Tensor) -> None:
        """weights: of the predictions [sentence, head, direction, word]; of_relation: [sentence · word, half · relation]"""
        of_batch = self._of(maps, of_relation)
        if of_batch is None:
            return
        short, member, count, sentences = of_batch
        sure = (weights[short] @ member[:, None].to(weights.dtype)) / count  # [sentence, head, direction, relation]
        sure = sure.masked_fill(count == 0, -1).permute(3, 1, 2, 0)  # [relation, head, direction, sentence]
        which = sentences.expand_as(sure)
        self._keep_surest(maps.layer, sure, which)

    def _keep_surest(self, layer: int, sure: torch.Tensor, which: torch.Tensor) -> None:
        """Keep the surest; of equals, those that came first. sure, which: [relation, head, direction, sentence]"""
        if layer in self._best:
            sure, which = torch.cat([self._best[layer][0], sure], -1), torch.cat([self._best[layer][1], which], -1)
        order = sure.argsort(dim=-1, descending=True, stable=True)[..., :KEPT]
        self._best[layer] = sure.gather(-1, order), which.gather(-1, order)

    def parts(self) -> SurestParts:
        """The surest sentences so far, to be merged with those of another part."""
        return {layer: (sure.cpu().numpy(), which.cpu().numpy()) for layer, (sure, which) in self._best.items()}

    def merge(self, parts: SurestParts, indices: Sequence[int]) -> None:
        """Merge the surest sentences of another part. indices: for its sentences 0, 1, …, their indices here."""
        index_here = torch.tensor(indices)
        for layer, (sure, which) in parts.items():
            if layer in self._best:
                self._best[layer] = (self._best[layer][0].cpu(), self._best[layer][1].cpu())
            self._keep_surest(layer, torch.from_numpy(sure), index_here[torch.from_numpy(which)])

    def _of(self, maps: WordMaps, of_relation: torch.Tensor) -> tuple[torch.Tensor, ...] | None:
        """What is the same for every layer of a batch: its short sentences [sentence], which words have which relation
        [sentence, word, relation], how many have it [sentence, 1, 1, relation], and the indices of the sentences [sentence]."""
        if self._batch is None or self._batch[0] != maps.sentences:
            short = [index for index, n in enumerate(maps.n_words) if SHORTEST <= n <= LONGEST]
            device = of_relation.device
            chosen, sentences = send(np.array(short, np.int64), device), send(np.array(maps.sentences)[short], device)
            member = of_relation.reshape(len(maps.sentences), maps.width, 2, self.n_relations).sum(2)[chosen]
            self._batch = maps.sentences, (chosen, member, member.sum(1)[:, None, None], sentences) if short else None
        return self._batch[1]

    def sentences(self, relation: int, layer: int, head: int, direction: int) -> list[int]:
        """The indices of the sentences, surest first."""
        if layer not in self._best:
            return []
        sure, which = (part[relation, head, direction].tolist() for part in self._best[layer])
        return [number for number, value in zip(which, sure, strict=True) if value > 0]
