"""What each token contributes to what an attention block writes, as vectors: the sum over tokens is the block's output."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class FrozenNorm:
    """A layer norm as a linear function: the deviation of each row is a constant, as it was in the pass.

        norm(x) = (x − centre · mean(x)) · scale · weight + bias

    weight   [dim]; ones where the norm has none
    bias     [dim]; zeros where it has none
    scale    [token]: 1 / standard deviation (or 1 / root mean square) of the rows that went in
    centre   whether the mean is taken off first (layer norm: True, RMS norm: False)
    """

    weight: torch.Tensor
    bias: torch.Tensor
    scale: torch.Tensor
    centre: bool

    def of_parts(self, parts: torch.Tensor) -> torch.Tensor:
        """Each part through the norm without its bias: [token, part, dim] → the same. The sum of the results is the norm, less its bias."""
        centred = parts - parts.mean(-1, keepdim=True) if self.centre else parts
        return centred * self.scale[:, None, None] * self.weight


def attention_parts(weights: torch.Tensor, written: torch.Tensor) -> torch.Tensor:
    """What each key adds to each query, all heads together.

        part[i, j] = Σ_h A[h, i, j] · f_h(x_j)          f_h(x_j) = (x_j · W_V + b_V) · W_O^h

    weights: [head, query, key]; written: f, [head, key, dim] → [query, key, dim]

    >>> attention_parts(torch.tensor([[[0.5, 0.5]]]), torch.tensor([[[2.0], [4.0]]])).tolist()
    [[[1.0], [2.0]]]
    """
    return torch.einsum("hqk,hkd->qkd", weights, written)


def norms_by_head(weights: torch.Tensor, written: torch.Tensor) -> torch.Tensor:
    """Norm-weighted attention: ‖A[h, i, j] · f_h(x_j)‖, for each head.

    weights: [head, query, key]; written: [head, key, dim] → [head, query, key]. Source: Kobayashi et al. 2020, equation 5.

    >>> norms_by_head(torch.tensor([[[0.5, 0.5]]]), torch.tensor([[[3.0, 4.0], [0.0, 0.0]]])).tolist()
    [[[2.5, 0.0]]]
    """
    lengths: torch.Tensor = torch.linalg.vector_norm(written, dim=-1)  # [head, key]
    return weights * lengths[:, None]


def with_residual_parts(parts: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
    """The same parts with the token's own vector added where query and key are the same token.

    parts: [query, key, dim]; residual: [token, dim] → [query, key, dim]
    """
    tokens = torch.arange(len(residual))
    together = parts.clone()
    together[tokens, tokens] += residual
    return together


def alti_contributions(parts: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
    """How near each part comes to the block's output, by the 1-norm.

        c[i, j] = max(0, ‖y_i‖₁ − ‖y_i − T_i(x_j)‖₁),   rows divided by their sums

    parts: T, [query, key, dim]; output: y, [query, dim] → [query, key]. Source: Ferrando et al. 2022, equations 7 and 8.

    >>> alti_contributions(torch.tensor([[[3.0], [1.0]]]), torch.tensor([[4.0]])).tolist()
    [[0.75, 0.25]]
    """
    nearness = (output.abs().sum(-1)[:, None] - (output[:, None] - parts).abs().sum(-1)).clamp_min(0)  # [query, key]
    sums = nearness.sum(-1, keepdim=True)
    return torch.where(sums > 0, nearness / sums.clamp_min(torch.finfo(sums.dtype).tiny), torch.zeros_like(nearness))


def share_bias(parts: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """A bias divided among the parts of a sum by the size of their dot products with it, so that the parts add up to the sum with its bias.

        share_k = |b · z_k| / Σ_k |b · z_k|          (equal shares where every product is 0)

    parts: [token, part, dim]; bias: [dim] → parts with their shares. Source: Modarressi et al. 2023 (DecompX), section 3.

    >>> share_bias(torch.tensor([[[1.0], [3.0]]]), torch.tensor([4.0])).tolist()
    [[[2.0], [6.0]]]
    """
    sizes = (parts @ bias).abs()  # [token, part]
    sums = sizes.sum(-1, keepdim=True)
    shares = torch.where(sums > 0, sizes / sums.clamp_min(torch.finfo(sums.dtype).tiny), torch.full_like(sizes, 1 / sizes.shape[-1]))
    return parts + shares[..., None] * bias


def through_activation(parts: torch.Tensor, before: torch.Tensor, after: torch.Tensor) -> torch.Tensor:
    """Parts of a sum through an elementwise function f with f(0) = 0, as if it were a line through the origin: part · f(x) / x.

    parts: [token, part, dim]; before, after: x and f(x), [token, dim]. The parts of x give parts of f(x). Where x is (nearly) 0 the slope
    is taken as 0: f(x) is then nearly 0 too. Source: Modarressi et al. 2023 (DecompX), section 3.
    """
    small = before.abs() < 1e-12
    slope = torch.where(small, torch.zeros_like(after), after / torch.where(small, torch.ones_like(before), before))  # [token, dim]
    return parts * slope[:, None]


def cosine_distances(original: torch.Tensor, changed: torch.Tensor) -> torch.Tensor:
    """How far the output of each token turns when another token's value is zero.

        C[i, j] = 1 − cos(y_i, y_i without v_j),   rows divided by their sums

    original: [query, dim]; changed: [key that was zeroed, query, dim] → [query, key]. Source: Mohebbi et al. 2023, equations 4 and 5.
    """
    similarity = torch.nn.functional.cosine_similarity(original[None].double(), changed.double(), dim=-1)  # [key, query]
    distances = (1 - similarity).clamp_min(0).T  # [query, key]
    sums = distances.sum(-1, keepdim=True)
    return torch.where(sums > 0, distances / sums.clamp_min(1e-300), torch.zeros_like(distances))
