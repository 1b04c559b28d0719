"""How faithful a ranking of tokens is to a model's answer: how the answer changes when the first tokens are removed, or kept alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

#: The shares of the tokens that are taken away or kept (DeYoung et al. 2020).
SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)


def top_tokens(scores: np.ndarray, candidates: Sequence[int], share: float) -> tuple[int, ...]:
    """The positions with the highest scores, as many as this share of the candidates, at least 1; of equal scores the earlier position.

    scores: [token]; candidates: the positions that may be taken away

    >>> top_tokens(np.array([0.1, 0.9, 0.5]), [0, 1, 2], 0.5)
    (1, 2)
    """
    count = max(1, int(np.ceil(share * len(candidates))))
    ranked = sorted(candidates, key=lambda position: (-scores[position], position))
    return tuple(ranked[:count])


def comprehensiveness(whole: float, without: Sequence[float]) -> float:
    """How much probability the answer loses when the top tokens are taken away, over the shares: mean of p(text) − p(text without them).

    High is faithful. Source: DeYoung et al. 2020 (ERASER), equation 1.

    >>> comprehensiveness(0.9, [0.5, 0.3])
    0.5
    """
    return float(np.mean([whole - probability for probability in without]))


def sufficiency(whole: float, alone: Sequence[float]) -> float:
    """How much probability the answer loses when the top tokens alone are left: mean of p(text) − p(them alone). Low is faithful.

    Source: DeYoung et al. 2020 (ERASER), equation 2.

    >>> sufficiency(0.75, [0.5, 0.75])
    0.125
    """
    return float(np.mean([whole - probability for probability in alone]))


def aopc(whole: float, without: Sequence[float]) -> float:
    """The area over the perturbation curve: tokens are taken away one after the other, the highest first.

        AOPC = 1 / (K + 1) · Σ_{k = 0…K} (p(text) − p(text without the first k))

    Source: Samek et al. 2017; for texts Nguyen 2018.

    >>> aopc(1.0, [0.5, 0.0])
    0.5
    """
    return float(np.sum([whole - probability for probability in without]) / (len(without) + 1))
