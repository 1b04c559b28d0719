"""The probes: how likely each word, or ROOT, is the governor of each word. Small torch modules on arrays; no model, no files.

A scorer takes `maps` [unit, unit, head of the model], query before key, the words first and then the special tokens, and `vectors`
[word, dim]; it gives scores [dependent, candidate]. Candidate 0 is ROOT, candidate i + 1 word i; a word is among its own candidates.
Source: Clark et al. 2019, section 5, and where that is silent (ROOT, distances, starting weights) the code released with it.
"""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from eyeline.results.grammar.directions import ARC_DIRECTIONS

N_DIRECTIONS = len(ARC_DIRECTIONS)
N_DISTANCES = 8
HIDDEN = 256


class Scorer(nn.Module, ABC):
    """What all probes have in common: weights drawn at random from a seed, and a loss, the summed cross-entropy."""

    @abstractmethod
    def forward(self, maps: Tensor, vectors: Tensor) -> Tensor:
        """[unit, unit, head], [word, dim] → scores [dependent, candidate]"""

    def loss(self, maps: Tensor, vectors: Tensor, governors: Tensor) -> Tensor:
        """− Σ_j log p(governor of j | j); governors: [word], 0 for ROOT, i + 1 for word i."""
        return nn.functional.cross_entropy(self(maps, vectors), governors, reduction="sum")


class AttentionOnly(Scorer):
    """One weight for each head and direction (in the order of ARC_DIRECTIONS: u_k, w_k), no bias.

        p(i|j) ∝ exp Σ_k (w_k α^k_ij + u_k α^k_ji)        i the candidate, j the dependent; α_ij is attention from i to j

    ROOT attends and is attended to as a mixture of the special tokens: α_j0 = Σ_s a_s M[j, s], α_0j = Σ_s a_s M[s, j], with a learned and
    shared by all heads and both directions. Where there are no special tokens, both are a learned constant.
    """

    def __init__(self, n_heads: int, n_special: int, generator: torch.Generator) -> None:
        super().__init__()
        self.n_special = n_special
        self.weights = _uniform((N_DIRECTIONS, n_heads), math.sqrt(3 / (N_DIRECTIONS * n_heads)), generator)  # [direction, head]
        self.root = _root(n_special)

    def forward(self, maps: Tensor, vectors: Tensor) -> Tensor:
        n = len(maps) - self.n_special
        weighed = maps @ self.weights.T  # [query, key, direction]
        words = weighed[:n, :n, 0] + weighed[:n, :n, 1].T  # [dependent, candidate]
        if self.n_special:
            root = weighed[:n, n:, 0] @ self.root + self.root @ weighed[n:, :n, 1]  # [dependent]
        else:
            root = (self.root * self.weights.sum()).expand(n)
        return torch.cat([root[:, None], words], 1)


class AttentionAndWords(Scorer):
    """The weight of each head and direction is a linear function of the two words.

        p(i|j) ∝ exp Σ_k [W_k(v_i ⊕ v_j) α^k_ij + U_k(v_i ⊕ v_j) α^k_ji]

    A linear function of v_i ⊕ v_j is a function of v_i plus one of v_j: tables [word, direction, head], so that nothing of the size
    [word, word, head, dim] is ever computed. ROOT's vector is zero; its attention is that of AttentionOnly.
    """

    def __init__(self, n_heads: int, n_special: int, n_dims: int, generator: torch.Generator) -> None:
        super().__init__()
        self.n_special = n_special
        n_out = N_DIRECTIONS * n_heads
        bound = math.sqrt(6 / (2 * n_dims + n_out))
        self.of_candidate = _uniform((n_dims, n_out), bound, generator)
        self.of_dependent = _uniform((n_dims, n_out), bound, generator)
        self.bias = nn.Parameter(torch.zeros(n_out))
        self.root = _root(n_special)

    def tables(self, vectors: Tensor) -> tuple[Tensor, Tensor]:
        """What a word adds to the weights as a candidate, and as a dependent (with the bias): two of [word, direction, head]."""
        shape = (len(vectors), N_DIRECTIONS, -1)
        return (vectors @ self.of_candidate).view(shape), torch.addmm(self.bias, vectors, self.of_dependent).view(shape)

    def forward(self, maps: Tensor, vectors: Tensor) -> Tensor:
        n = len(vectors)
        candidate, dependent = self.tables(vectors)
        between = maps[:n, :n]  # [query, key, head]
        # Direction 0: the dependent is the query, the candidate the key; direction 1 the other way round.
        of_query = torch.stack([dependent[:, 0], candidate[:, 1]], 2)  # [query, head, direction]
        of_key = torch.stack([candidate[:, 0], dependent[:, 1]], 2)  # [key, head, direction]
        by_query = torch.bmm(between, of_query)  # [query, key, direction]
        by_key = torch.bmm(between.transpose(0, 1), of_key)  # [key, query, direction]
        words = by_query[..., 0] + by_query[..., 1].T + by_key[..., 0].T + by_key[..., 1]  # [dependent, candidate]
        if self.n_special:
            to_root = torch.einsum("dsk,s->dk", maps[:n, n:], self.root)  # [dependent, head]
            from_root = torch.einsum("sdk,s->dk", maps[n:, :n], self.root)
            root = (dependent[:, 0] * to_root + dependent[:, 1] * from_root).sum(1)  # [dependent]
        else:
            root = self.root * dependent.sum((1, 2))
        return torch.cat([root[:, None], words], 1)


class DistancesAndWords(Scorer):
    """No attention: how far away the candidate is, and both words, through one hidden layer of 256 tanh units. ROOT's vector is zero."""

    def __init__(self, n_dims: int, generator: torch.Generator) -> None:
        super().__init__()
        bound = math.sqrt(6 / (N_DISTANCES + 2 * n_dims + HIDDEN))
        self.of_distance = _uniform((N_DISTANCES, HIDDEN), bound, generator)
        self.of_candidate = _uniform((n_dims, HIDDEN), bound, generator)
        self.of_dependent = _uniform((n_dims, HIDDEN), bound, generator)
        self.bias = nn.Parameter(torch.zeros(HIDDEN))
        self.out = _uniform((HIDDEN,), math.sqrt(6 / (HIDDEN + 1)), generator)  # a bias here would be the same for all candidates

    def forward(self, maps: Tensor, vectors: Tensor) -> Tensor:
        candidate = nn.functional.pad(vectors @ self.of_candidate, (0, 0, 1, 0))  # [candidate, unit]
        dependent = torch.addmm(self.bias, vectors, self.of_dependent)  # [dependent, unit]
        hidden = distances(len(vectors)) @ self.of_distance + candidate + dependent[:, None]  # [dependent, candidate, unit]
        return torch.tanh(hidden) @ self.out


@functools.lru_cache(maxsize=128)
def distances(n_words: int) -> Tensor:
    """Eight features of the position of a candidate, as the paper's released code has them: [dependent, candidate, feature].

    How far ahead and how far behind (both as a share of the sentence, 0 on the other side); whether it is the word itself, the next, the
    previous, the one after next, the one before the previous; whether it is ROOT.

    >>> distances(2)[0].tolist()  # of the first word: to ROOT, itself and the next
    [[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.5, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]]
    """
    positions = torch.arange(n_words)
    ahead = positions[None, :] - positions[:, None]  # [dependent, word]
    share = ahead / n_words
    near = [(ahead == offset).float() for offset in (0, 1, -1, 2, -2)]
    words = torch.stack([share.clamp_min(0), share.clamp_max(0).abs(), *near, torch.zeros_like(share)], 2)
    root = torch.zeros(n_words, 1, N_DISTANCES)
    root[..., -1] = 1
    return torch.cat([root, words], 1)


def right_branching(n_words: int) -> Tensor:
    """The governor of each word is the next word; the last word's is ROOT. [word], as `governors` of a loss.

    >>> right_branching(3).tolist()
    [2, 3, 0]
    """
    return torch.tensor([*range(2, n_words + 1), 0])


def _uniform(shape: tuple[int, ...], bound: float, generator: torch.Generator) -> nn.Parameter:
    """Glorot's uniform start, as in the released code."""
    return nn.Parameter((torch.rand(shape, generator=generator) * 2 - 1) * bound)


def _root(n_special: int) -> nn.Parameter:
    return nn.Parameter(torch.full((max(1, n_special),), 1.0 / max(1, n_special)) if n_special else torch.zeros(1))
