"""Train a masked language model as a low-rank update of the frozen encoder e5-small, on one GPU.

    python -m training.updates.masked_lm.train --encoder model.safetensors --tokens tokens.npz --out folder --seconds 780

The encoder's file is in the user's cache after `el.load("e5-small")`. What ships was trained for 780 s on one NVIDIA H200: rank 48,
batches of 512 x 128 tokens, 12,601 steps, 826 M tokens. Share of hidden tokens that it finds in held-out text, top 1 / top 5, with
matrices rounded to 63 levels: novels 0.473 / 0.679, GAP 0.412 / 0.579, WikiText 0.443 / 0.621, EWT 0.418 / 0.601, GUM 0.423 / 0.616.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import nn
from training.updates.low_rank import VOCABULARY, open_encoder, round_like_the_packed_file, trained_arrays
from training.updates.masked_lm.segments import MASK, Source, hide
from training.updates.pack import LEVELS
from transformers import BertModel

#: How much of each batch is of which kind of text; those with a test file are measured.
SHARES = {
    "novels": 0.42, "gap": 0.045, "wiki": 0.05, "ewt": 0.05, "gum": 0.045, "wordnet": 0.12, "fortunes": 0.08, "python": 0.10, "gcide": 0.09,
}  # fmt: skip
TESTS = ("novels", "gap", "wiki", "ewt", "gum")


class MaskedLM(nn.Module):
    """The encoder with low-rank layers, trained norms, and BERT's prediction head on the encoder's own (frozen) word embeddings."""

    def __init__(self, bert: BertModel) -> None:
        super().__init__()
        self.bert = bert
        size = bert.config.hidden_size
        self.dense, self.norm, self.bias = nn.Linear(size, size), nn.LayerNorm(size, eps=1e-12), nn.Parameter(torch.zeros(VOCABULARY))
        nn.init.eye_(self.dense.weight)
        nn.init.zeros_(self.dense.bias)

    def forward(self, ids: torch.Tensor, types: torch.Tensor, attention: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        """Logits [segment, k, vocabulary] at the hidden positions."""
        states = self.bert(input_ids=ids, token_type_ids=types, attention_mask=attention).last_hidden_state
        states = states.gather(1, at[..., None].expand(-1, -1, states.shape[-1]))
        return F.linear(self.norm(F.gelu(self.dense(states))), self.bert.embeddings.word_embeddings.weight, self.bias)


@torch.no_grad()
def evaluate(model: MaskedLM, source: Source, n: int) -> tuple[float, float]:
    """Share of hidden tokens that the model finds, top 1 and top 5. Every hidden token is [MASK] here."""
    generator = torch.Generator(source.ids.device).manual_seed(1)
    top1 = top5 = total = 0
    for _ in range(n // 256):
        segments = source.draw(256, generator)
        _, at, true = hide(segments.ids, generator)
        hidden = segments.ids.scatter(1, at, torch.where(true >= 0, MASK, segments.ids.gather(1, at)))
        with torch.autocast("cuda", torch.bfloat16):
            best = model(hidden, segments.types, segments.attention, at).float().topk(5, -1).indices
        used = true >= 0
        top1 += int((best[..., 0] == true)[used].sum())
        top5 += int((best == true[..., None]).any(-1)[used].sum())
        total += int(used.sum())
    return round(top1 / total, 4), round(top5 / total, 4)


def train(model: MaskedLM, sources: dict[str, Source], tests: dict[str, Source], args: argparse.Namespace) -> int:
    """Train until the time is up, the learning rate falling along a cosine; the number of steps."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": 0.01},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=args.rate, betas=(0.9, 0.98), eps=1e-6, fused=True)
    compiled = torch.compile(model)
    generator = torch.Generator("cuda").manual_seed(args.seed)
    counts = {name: round(share * args.batch) for name, share in SHARES.items()}
    counts["novels"] += args.batch - sum(counts.values())
    started, next_report, step = time.monotonic(), 60.0, 0
    while (seconds := time.monotonic() - started) < args.seconds:
        falling = 0.02 + 0.49 * (1 + math.cos(math.pi * seconds / args.seconds))
        for group in optimizer.param_groups:
            group["lr"] = args.rate * min(1, (step + 1) / 300) * falling
        drawn = [sources[name].draw(n, generator) for name, n in counts.items()]
        ids, types, attention = (torch.cat([getattr(part, what) for part in drawn]) for what in ("ids", "types", "attention"))
        hidden, at, true = hide(ids, generator)
        with torch.autocast("cuda", torch.bfloat16):
            logits = compiled(hidden, types, attention, at)
            loss = F.cross_entropy(logits.flatten(0, 1).float(), true.flatten(), ignore_index=-100)
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step += 1
        if seconds > next_report:
            next_report += 60
            print(
                f"{seconds:.0f} s, step {step}, loss {loss:.3f}",
                {name: evaluate(model, test, 1024) for name, test in tests.items()},
                flush=True,
            )
    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", type=Path, required=True)
    parser.add_argument("--tokens", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=780)
    parser.add_argument("--rank", type=int, default=48)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--rate", type=float, default=1.5e-3)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_float32_matmul_precision("high")
    model = MaskedLM(open_encoder(args.encoder, args.rank)).cuda()
    arrays = np.load(args.tokens)
    sources = {name: Source(arrays, f"{name}.train", torch.device("cuda")) for name in SHARES}
    tests = {name: Source(arrays, f"{name}.test", torch.device("cuda")) for name in TESTS}
    steps = train(model, sources, tests, args)
    save_file(trained_arrays(model), args.out / "update.safetensors")
    report = {
        "steps": steps,
        "tokens": steps * args.batch * 128,
        "float": {name: evaluate(model, test, 4096) for name, test in tests.items()},
    }
    round_like_the_packed_file(model)
    report[f"{2 * LEVELS + 1} levels"] = {name: evaluate(model, test, 4096) for name, test in tests.items()}
    (args.out / "report.json").write_text(json.dumps(report, indent=1))
    print(report)


if __name__ == "__main__":
    main()
