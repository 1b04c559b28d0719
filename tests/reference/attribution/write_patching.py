"""Write patching.json: TransformerLens' own activation patching of two tiny decoders. Run it where TransformerLens 4.3 is installed.

    python -m tests.reference.attribution.write_patching

For each model: the metric (difference of two logits behind the text) on both texts, and with every head patched from the clean text into
the corrupt one, at all positions [layer, head] and at one of them [layer, position, head].
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import torch
import transformers as t

from tests.models.families import tiny_tokenizer
from tests.reference.attribution.tiny_decoder import IDS, tiny_decoder, tiny_grouped

PATH = Path(__file__).with_name("patching.json")
MODELS = {"gpt2": tiny_decoder, "llama": tiny_grouped}
#: The corrupt text differs in the token that was repeated.
CORRUPT = [7, 3, 14, 9, 3, 14, 5]
ANSWER, AGAINST = 9, 16


def patching_truth(hf: t.PreTrainedModel) -> dict[str, Any]:
    from transformer_lens import patching
    from transformer_lens.model_bridge import TransformerBridge

    with tempfile.TemporaryDirectory() as folder:
        hf.save_pretrained(folder)
        tiny_tokenizer().save_pretrained(folder)
        loaded = type(hf).from_pretrained(folder, attn_implementation="eager").eval()
        model = TransformerBridge.boot_transformers(folder, hf_model=loaded, tokenizer=tiny_tokenizer(), device="cpu")
    clean, corrupt = torch.tensor([IDS]), torch.tensor([CORRUPT])

    def metric(logits: torch.Tensor) -> torch.Tensor:
        return logits[0, -1, ANSWER] - logits[0, -1, AGAINST]

    with torch.no_grad():
        logits, cache = model.run_with_cache(clean)
        return {
            "clean": float(metric(logits)),
            "corrupt": float(metric(model(corrupt))),
            "heads": patching.get_act_patch_attn_head_out_all_pos(model, corrupt, cache, metric).tolist(),
            "positions": patching.get_act_patch_attn_head_out_by_pos(model, corrupt, cache, metric).tolist(),
        }


if __name__ == "__main__":
    truth = {name: patching_truth(make()) for name, make in MODELS.items()}
    PATH.write_text(json.dumps(truth, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {PATH}")
