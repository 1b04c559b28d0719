"""Texts → token numbers for `train.py`.

    python -m training.updates.masked_lm.prepare texts/ tokens.npz

The folder holds NAME.train.txt and NAME.test.txt, one paragraph per line. The update that ships was trained on these (not committed;
number of tokens in brackets):

    novels    paragraphs of public-domain English novels, the sources of LitBank (5.6 M); the last 1,500 paragraphs are held out
    gap       Wikipedia paragraphs of GAP, development (0.2 M); held out: GAP, validation
    wiki      WikiText-2 test articles, three quarters of them, with ordinary spacing (0.2 M); held out: the other articles
    ewt       Universal Dependencies English-EWT, train (0.2 M); held out: dev and test
    gum       OntoGUM, train, with ordinary spacing (0.2 M); held out: dev and test
    wordnet   the glosses of WordNet 3.0 (Debian wordnet-base), "word: gloss" (2.4 M)
    fortunes  Debian fortunes and fortunes-min, entries that are mostly letters (0.6 M)
    python    paragraphs of the Python 3.11 manual (Debian python3.11-doc; 1.5 M)
    gcide     30,000 entries of the GNU dictionary of English (Debian dict-gcide; 1.3 M)
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer
from training.updates.vocabulary import open_tokenizer

#: A sentence ends with . ! or ?, a closing quote perhaps, and white space before a capital.
SENTENCE_END = re.compile(r'(?<=[.!?]["”’)]|.[.!?])\s+(?=["“A-Z(])')
AT_ONCE = 4096


def tokens_of(path: Path, tokenizer: Tokenizer) -> dict[str, np.ndarray]:
    """Token numbers one after the other, the length of each sentence, and the paragraph that each is of."""
    sentences = [
        (number, sentence)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines())
        for sentence in SENTENCE_END.split(line)
        if sentence.strip()
    ]
    encoded = []
    for start in range(0, len(sentences), AT_ONCE):
        chunk = [sentence for _, sentence in sentences[start : start + AT_ONCE]]
        encoded += [result.ids for result in tokenizer.encode_batch(chunk, add_special_tokens=False)]
    kept = [(ids, number) for ids, (number, _) in zip(encoded, sentences, strict=True) if ids]
    return {
        "ids": np.concatenate([np.array(ids, dtype=np.uint16) for ids, _ in kept]),
        "lens": np.array([len(ids) for ids, _ in kept], dtype=np.int32),
        "docs": np.array([number for _, number in kept], dtype=np.int32),
    }


def main(folder: Path, output: Path) -> None:
    tokenizer = open_tokenizer()
    tokenizer.no_truncation()
    tokenizer.no_padding()
    arrays = {}
    for path in sorted(folder.glob("*.txt")):
        for name, values in tokens_of(path, tokenizer).items():
            arrays[f"{path.stem}.{name}"] = values
        print(f"{path.stem}: {len(arrays[f'{path.stem}.ids']):,} tokens")
    np.savez_compressed(output, **arrays)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
