"""Rated sentences → token numbers for `train.py`.

    python -m training.updates.sentiment.prepare folder/ sentences.npz

The folder is `hutto_ICWSM_2014`, which lies packed in the source archive of vaderSentiment 3.3.2 (MIT; Hutto and Gilbert 2014): 23,700
sentences of film reviews, product reviews, tweets and newspaper editorials, each rated by about twenty people from −4 to 4. Not committed.

A sentence whose mean rating is at least 0.5 is positive, at most −0.5 negative; those between are left out. Documents are drawn for
validation (5 %) and for the test (10 %) by a hash of their number, so that two sentences of one review never stand on both sides.
"""

from __future__ import annotations

import hashlib
import html
import sys
from pathlib import Path

import numpy as np
from training.updates.vocabulary import open_tokenizer

FILES = ("movieReviewSnippets", "amazonReviewSnippets", "tweets", "nytEditorialSnippets")
CLEAR = 0.5
LENGTH = 96
TRAIN, VALIDATION, TEST = 0, 1, 2


def side(document: str) -> int:
    """On which side of the split a document stands."""
    share = int.from_bytes(hashlib.sha256(document.encode()).digest()[:4], "big") / 2**32
    return TEST if share < 0.10 else VALIDATION if share < 0.15 else TRAIN


def main(folder: Path, output: Path) -> None:
    tokenizer = open_tokenizer()
    tokenizer.enable_truncation(LENGTH)
    tokenizer.enable_padding(length=LENGTH)
    texts, labels, sides, kinds = [], [], [], []
    for kind, name in enumerate(FILES):
        for line in (folder / f"{name}_GroundTruth.txt").read_text(encoding="utf-8-sig").splitlines():
            number, rating, text = line.split("\t", 2)
            if abs(float(rating)) >= CLEAR and text.strip():
                texts.append(html.unescape(text.replace("''", '"')).strip())
                labels.append(float(rating) > 0)
                sides.append(side(f"{name} {number.split('_')[0]}"))
                kinds.append(kind)
    ids = np.array([encoded.ids for encoded in tokenizer.encode_batch(texts)], dtype=np.uint16)
    arrays = {"ids": ids, "labels": np.array(labels, np.uint8), "sides": np.array(sides, np.uint8), "kinds": np.array(kinds, np.uint8)}
    np.savez_compressed(output, **arrays)
    print(f"{len(texts):,} sentences, {np.mean(labels):.2f} positive")
    print(f"sides {np.bincount(sides).tolist()}, kinds {np.bincount(kinds).tolist()}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
