"""Train the small model that continues repeated sequences, for the tests of circuits (tests/measure/causes/trained.py).

    python training/induction.py [--steps 4000] [-o tests/measure/causes/trained.safetensors]

A GPT-2 of two layers reads random tokens that begin to repeat themselves after 4 to 12 tokens, and learns to predict the next one. The
length of the repeated part varies, so that no fixed distance helps: a head has to look for what followed the same token before. Ten
seconds on one core. It stops when nearly every repeated token is predicted. The weights are written in half precision (0.07 MB).
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
SHORTEST, LONGEST_PART, BATCH, SEED = 4, 12, 96, 0
#: Training stops here: the loss on repeated tokens, in nats.
GOOD = 0.02


def repeated(generator: torch.Generator, n_tokens: int, length: int, texts: int = BATCH) -> tuple[torch.Tensor, torch.Tensor]:
    """ids [text, token], and which of them repeat an earlier part, so that they can be known: a mask of the same shape."""
    parts = torch.randint(SHORTEST, LONGEST_PART + 1, (texts,), generator=generator)
    ids = torch.zeros(texts, length, dtype=torch.long)
    known = torch.zeros(texts, length, dtype=torch.bool)
    for text, part in enumerate(parts.tolist()):
        once = torch.randperm(n_tokens, generator=generator)[:part]
        ids[text] = once.repeat(length // part + 1)[:length]
        known[text, part + 1 :] = True  # the first token of the second part cannot be known: where the part ends is drawn at random
    return ids, known


def train(steps: int) -> Any:
    from tests.measure.causes.trained import LENGTH, TOKENS, untrained

    torch.manual_seed(SEED)
    generator = torch.Generator().manual_seed(SEED)
    hf = untrained().train()
    optimizer = torch.optim.AdamW(hf.parameters(), lr=3e-3, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=steps, pct_start=0.1)
    started = time.process_time()
    smoothed = 3.0
    for step in range(steps):
        ids, known = repeated(generator, TOKENS, LENGTH)
        logits = hf(input_ids=ids).logits[:, :-1]
        loss = torch.nn.functional.cross_entropy(logits[known[:, 1:]], ids[:, 1:][known[:, 1:]])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(hf.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        smoothed = 0.95 * smoothed + 0.05 * float(loss)
        if step % 100 == 0 or smoothed < GOOD:
            print(f"step {step}: loss {smoothed:.3f}, {time.process_time() - started:.0f} s of the processor", flush=True)
        if smoothed < GOOD:
            break
    return hf.eval()


def main() -> None:
    from tests.measure.causes.trained import PATH

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("-o", "--output", type=Path, default=PATH)
    args = parser.parse_args()
    hf = train(args.steps)
    save_file({name: tensor.half().contiguous().clone() for name, tensor in hf.state_dict().items()}, args.output)
    print(f"wrote {args.output} ({args.output.stat().st_size / 1e6:.2f} MB)")


if __name__ == "__main__":
    main()
