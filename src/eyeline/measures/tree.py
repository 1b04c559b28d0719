"""The best dependency tree of a sentence, from scores of every possible governor of every word."""

from __future__ import annotations

import numpy as np


def governor_probabilities(scores: np.ndarray) -> np.ndarray:
    """How likely each candidate is the governor of each word.

        p(i | j) = exp s[j, i] / Σ_i' exp s[j, i']

    scores: [dependent, candidate], candidate 0 is ROOT and candidate i + 1 is word i → the same shape; each row sums to 1.

    >>> governor_probabilities(np.zeros((1, 2))).tolist()
    [[0.5, 0.5]]
    """
    shifted = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(shifted / shifted.sum(-1, keepdims=True))


def best_tree(scores: np.ndarray) -> tuple[int, ...]:
    """The tree with the largest sum of log p(governor | word): Chu-Liu/Edmonds, by networkx.

    Exactly one word depends on ROOT, and no word governs itself. scores: [dependent, candidate], as above. Gives the governor of each word:
    the index of a word, or -1 for ROOT.

    >>> best_tree(np.log([[0.1, 0.1, 0.8], [0.6, 0.3, 0.1]]))
    (1, -1)
    """
    import networkx

    n_words = len(scores)
    if n_words < 2:
        return (-1,) * n_words
    logs = np.log(np.maximum(governor_probabilities(scores), 1e-300))  # [dependent, candidate]
    penalty = n_words * float(np.ptp(logs)) + 1  # each arc from ROOT costs more than all other arcs together: one is taken
    graph = networkx.DiGraph()
    for dependent, row in enumerate(logs.tolist()):
        for candidate, log in enumerate(row):
            if candidate != dependent + 1:
                graph.add_edge(candidate, dependent + 1, weight=log - (0 if candidate else penalty))
    tree = networkx.maximum_spanning_arborescence(graph)
    governors = {dependent: governor for governor, dependent in tree.edges}
    return tuple(governors[word + 1] - 1 for word in range(n_words))
