"""The confidence interval of a share, by bootstrap over sentences."""

from __future__ import annotations

import numpy as np

#: Resamples drawn at a time: memory stays small however many sentences there are.
BLOCK = 100


def bootstrap_share(hits: np.ndarray, of: np.ndarray, *, samples: int = 1000, level: float = 0.95, seed: int = 0) -> tuple[float, float]:
    """The interval in which a share lies when the units it is counted over are drawn again with replacement.

        share = Σ_s hits[s] / Σ_s of[s]        s runs over as many units as there are, drawn again in each sample

    hits, of: [unit], such as right and scored words of each sentence → low, high: the (1 − level)/2 quantiles of the samples. The same
    seed gives the same interval. Units without anything to count are legal; nothing to count at all gives nan.

    >>> bootstrap_share(np.array([1.0, 1.0]), np.array([2.0, 2.0]))
    (0.5, 0.5)
    """
    hits, of = np.asarray(hits, dtype=float), np.asarray(of, dtype=float)
    if not of.sum():
        return float("nan"), float("nan")
    random = np.random.default_rng(seed)
    shares: list[np.ndarray] = []
    for start in range(0, samples, BLOCK):
        drawn = random.integers(0, len(of), (min(BLOCK, samples - start), len(of)))  # [sample, unit]
        with np.errstate(invalid="ignore"):
            shares.append(hits[drawn].sum(1) / of[drawn].sum(1))
    edge = (1 - level) / 2
    low, high = np.nanquantile(np.concatenate(shares), [edge, 1 - edge])
    return float(low), float(high)
