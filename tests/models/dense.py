"""The numbers of the one-pass kernel by its definition, in float64; run as a script it compares the kernel with them.

TRITON_INTERPRET=1 python -m tests.models.dense
"""

from __future__ import annotations

import itertools

import torch

from eyeline.models.kernels import OFFSETS, KeySets, RowNumbers, applies, attention


def numbers(
    queries: torch.Tensor, keys: torch.Tensor, mask: torch.Tensor | None, scale: float, causal: bool, sets: torch.Tensor
) -> tuple[torch.Tensor, RowNumbers]:
    """The map itself and what the kernel should say of it."""
    shared = queries.shape[1] // keys.shape[1]
    scores = queries.double() @ keys.double().repeat_interleave(shared, 1).transpose(2, 3) * scale
    if causal:
        scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -torch.inf)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(-1).nan_to_num(0)  # a row that sees no key
    shares = [weights @ sets.double()[:, None]]
    for offset in OFFSETS:
        at = torch.zeros_like(weights[..., 0])
        band = weights.diagonal(offset, 2, 3)
        at[..., max(0, -offset) : max(0, -offset) + band.shape[-1]] = band
        shares.append(at[..., None])
    entropies = -torch.special.xlogy(weights, weights).sum(-1)
    return weights, RowNumbers(KeySets.of([sets], torch.float32), torch.cat(shares, -1), entropies, scores.logsumexp(-1))


def compare(device: str) -> float:
    """The largest difference, over masks of every kind, shared keys and heads of odd sizes, in float32."""
    torch.manual_seed(0)
    largest = 0.0
    for (heads, key_heads, n, dims), causal, masked in itertools.product([(4, 2, 70, 32), (2, 1, 40, 80)], [False, True], [False, True]):
        queries = torch.randn(2, n, heads, dims, device=device).transpose(1, 2)
        keys, values = (torch.randn(2, key_heads, n, dims, device=device) for _ in range(2))
        sets = (torch.rand(2, n, 5, device=device) > 0.7).float()
        mask = None
        if masked:  # padding, and a row that sees nothing
            mask = (torch.arange(n, device=device) < torch.tensor([[n], [n // 2]], device=device))[:, None, None].repeat(1, 1, n, 1)
            mask[:, :, 3] = False
        assert applies(queries, keys, values, mask, dims**-0.5, causal)
        output, given = attention(queries, keys, values, mask, dims**-0.5, causal, KeySets.of([sets], torch.float32))
        weights, expected = numbers(queries, keys, mask, dims**-0.5, causal, sets)
        outputs = (weights @ values.double().repeat_interleave(heads // key_heads, 1)).transpose(1, 2)
        pairs = [(output, outputs), (given.shares, expected.shares), (given.entropies, expected.entropies)]
        largest = max(largest, *(float((value - expected_value).abs().max()) for value, expected_value in pairs))
    return largest


if __name__ == "__main__":
    print(compare("cuda" if torch.cuda.is_available() else "cpu"))
