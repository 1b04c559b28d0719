"""The probes of Clark et al. 2019, section 5, one number at a time."""

from __future__ import annotations

import math

import numpy as np


def root_attention(maps: np.ndarray, n: int, root: np.ndarray, j: int, k: int) -> tuple[float, float]:
    """Attention from word j to ROOT, and from ROOT to word j: a mixture of the special tokens, which stand behind the n words."""
    special = range(n, len(maps))
    if not len(special):
        return float(root[0]), float(root[0])
    to = sum(root[s - n] * maps[j, s, k] for s in special)
    return to, sum(root[s - n] * maps[s, j, k] for s in special)


def attention_only(maps: np.ndarray, n: int, u: np.ndarray, w: np.ndarray, root: np.ndarray) -> np.ndarray:
    """[dependent, candidate]: Σ_k (w_k α_ij + u_k α_ji); maps: [query, key, head]."""
    scores = np.zeros((n, n + 1))
    for j in range(n):
        for k in range(maps.shape[2]):
            to_root, from_root = root_attention(maps, n, root, j, k)
            scores[j, 0] += w[k] * from_root + u[k] * to_root
            for i in range(n):
                scores[j, i + 1] += w[k] * maps[i, j, k] + u[k] * maps[j, i, k]
    return scores


def attention_and_words(
    maps: np.ndarray, vectors: np.ndarray, u: np.ndarray, w: np.ndarray, u_bias: np.ndarray, w_bias: np.ndarray, root: np.ndarray
) -> np.ndarray:
    """[dependent, candidate]: Σ_k [W_k(v_i ⊕ v_j) α_ij + U_k(v_i ⊕ v_j) α_ji]; u, w: [head, 2 · dim]."""
    n = len(vectors)
    scores = np.zeros((n, n + 1))
    for j in range(n):
        for i in range(-1, n):  # −1 is ROOT, whose vector is zero
            pair = np.concatenate([vectors[i] if i >= 0 else np.zeros_like(vectors[0]), vectors[j]])
            for k in range(maps.shape[2]):
                to, back = root_attention(maps, n, root, j, k) if i < 0 else (maps[j, i, k], maps[i, j, k])
                scores[j, i + 1] += (w[k] @ pair + w_bias[k]) * back + (u[k] @ pair + u_bias[k]) * to
    return scores


def distances_and_words(vectors: np.ndarray, first: np.ndarray, bias: np.ndarray, out: np.ndarray) -> np.ndarray:
    """[dependent, candidate]: out · tanh(first · (distances ⊕ v_i ⊕ v_j) + bias); first: [unit, 8 + 2 · dim]."""
    n = len(vectors)
    scores = np.zeros((n, n + 1))
    for j in range(n):
        for i in range(-1, n):
            d = i - j
            near = [d == 0, d == 1, d == -1, d == 2, d == -2]
            features = [0, 0, 0, 0, 0, 0, 0, 1] if i < 0 else [max(d, 0) / n, max(-d, 0) / n, *near, 0]
            candidate = vectors[i] if i >= 0 else np.zeros_like(vectors[0])
            scores[j, i + 1] = out @ np.tanh(first @ np.concatenate([features, candidate, vectors[j]]) + bias)
    return scores


def cross_entropy(scores: np.ndarray, governors: list[int]) -> float:
    """− Σ_j log p(governor of j | j)"""
    return sum(math.log(sum(math.exp(s) for s in row)) - row[governor] for row, governor in zip(scores.tolist(), governors, strict=True))
