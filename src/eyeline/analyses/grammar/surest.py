"""The sentences on which each head is most sure of a relation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from eyeline.analyses.word_maps import WordMaps

#: Examples have so many words: enough to choose from, few enough to be drawn.
SHORTEST, LONGEST = 4, 14
#: So many are kept for each relation; more than are drawn, since treebanks repeat themselves ("Thank you.").
KEPT = 6
#: Layer → how sure, which sentence: [relation, head, direction, kept].
SurestParts = Mapping[int, tuple[np.ndarray, np.ndarray]]


class Surest:
    """For every relation, head and direction, the short sentences in which its predictions for that relation carry most attention.

    How sure: the mean, over the words of that relation, of the weight of the prediction, right or wrong.
    """

    def __init__(self, n_relations: int) -> None:
        self.n_relations = n_relations
        self._best: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}  # layer → how sure, which sentence: [relation, head, direction, kept]

    def update(self, maps: WordMaps, weights: torch.Tensor, of_relation: torch.Tensor) -> None:
        """weights: of the predictions [sentence, head, direction, word]; of_relation: [sentence · word, half · relation]"""
        short = [index for index, n in enumerate(maps.n_words) if SHORTEST <= n <= LONGEST]
        if not short:
            return
        member = of_relation.reshape(len(maps.sentences), maps.width, 2, self.n_relations).sum(2)[short]  # [sentence, word, relation]
        count = member.sum(1)[:, None, None]  # [sentence, 1, 1, relation]
        sure = (weights[short] @ member[:, None].to(weights.dtype)) / count  # [sentence, head, direction, relation]
        sure = sure.masked_fill(count == 0, -1).permute(3, 1, 2, 0).cpu()  # [relation, head, direction, sentence]
        which = torch.tensor([maps.sentences[index] for index in short]).expand_as(sure)
        self._take(maps.layer, sure, which)

    def _take(self, layer: int, sure: torch.Tensor, which: torch.Tensor) -> None:
        """Keep the surest; of equals, those that came first. sure, which: [relation, head, direction, sentence]"""
        if layer in self._best:
            sure, which = torch.cat([self._best[layer][0], sure], -1), torch.cat([self._best[layer][1], which], -1)
        order = sure.argsort(dim=-1, descending=True, stable=True)[..., :KEPT]
        self._best[layer] = sure.gather(-1, order), which.gather(-1, order)

    def parts(self) -> SurestParts:
        """Everything that is known, to be merged with that of other sentences."""
        return {layer: (sure.numpy(), which.numpy()) for layer, (sure, which) in self._best.items()}

    def merge(self, parts: SurestParts, indices: Sequence[int]) -> None:
        """Take in what is known of other sentences. indices: what their indices 0, 1, … are here."""
        names = torch.tensor(indices)
        for layer, (sure, which) in parts.items():
            self._take(layer, torch.from_numpy(sure), names[torch.from_numpy(which)])

    def sentences(self, relation: int, layer: int, head: int, direction: int) -> list[int]:
        """The indices of the sentences, surest first."""
        if layer not in self._best:
            return []
        sure, which = (part[relation, head, direction] for part in self._best[layer])
        return [int(number) for number, value in zip(which, sure, strict=True) if value > 0]
