"""Write truth.json: what TransformerLens 4.3 and inseq 0.7.1 compute for the tiny decoder. Run it where both are installed.

    python -m tests.reference.attribution.write_truth

They bring some forty packages with them and pin versions of their own, so the tests read this file instead of importing them.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import transformers as t

from tests.models.families import tiny_tokenizer
from tests.reference.attribution.tiny_decoder import IDS, tiny_decoder

PATH = Path(__file__).with_name("truth.json")


def transformer_lens_truth() -> dict[str, Any]:
    """Direct logit attribution of every head at every position, and the scores of detect_head, of our weights in their model."""
    from transformer_lens.head_detector import (
        compute_head_attention_similarity_score,
        get_duplicate_token_head_detection_pattern,
        get_induction_head_detection_pattern,
        get_previous_token_head_detection_pattern,
    )
    from transformer_lens.model_bridge import TransformerBridge

    with tempfile.TemporaryDirectory() as folder:
        tiny_decoder().save_pretrained(folder)
        tiny_tokenizer().save_pretrained(folder)
        hf = t.GPT2LMHeadModel.from_pretrained(folder, attn_implementation="eager").eval()
        model = TransformerBridge.boot_transformers(folder, hf_model=hf, tokenizer=tiny_tokenizer(), device="cpu")
    copying = [[_copying(model, layer, head) for head in range(3)] for layer in range(2)]  # of the weights as they are, no norm in them
    model.enable_compatibility_mode(fold_ln=True, center_writing_weights=False, center_unembed=False, fold_value_biases=False)
    model.set_use_attn_result(True)
    tokens = torch.tensor([IDS])
    logits, cache = model.run_with_cache(tokens)
    heads = cache.stack_head_results(layer=-1)  # [layer · head, batch, position, hidden]
    answer = int(logits[0, -1].argmax())
    attributions = cache.logit_attrs(heads, tokens=torch.full_like(tokens, answer))  # [layer · head, batch, position]
    patterns = {
        "previous": get_previous_token_head_detection_pattern(tokens),
        "duplicate": get_duplicate_token_head_detection_pattern(tokens),
        "induction": get_induction_head_detection_pattern(tokens),
    }
    scores = {
        name: [
            [
                compute_head_attention_similarity_score(
                    cache["pattern", layer][0, head], pattern, exclude_bos=False, exclude_current_token=False, error_measure="mul"
                )
                for head in range(3)
            ]
            for layer in range(2)
        ]
        for name, pattern in patterns.items()
    }
    return {
        "answer": answer,
        "logits": logits[0, -1].tolist(),
        "head_logits": attributions[:, 0, -1].reshape(2, 3).tolist(),
        "scores": scores,
        "eigenvalue_copying": copying,
    }


def _copying(model: Any, layer: int, head: int) -> float:
    full = model.W_E @ model.W_V[layer, head] @ model.W_O[layer, head] @ model.W_U  # [vocabulary, vocabulary]
    values = torch.linalg.eigvals(full.detach().double())
    return float(values.sum().real / values.abs().sum())


def inseq_truth() -> dict[str, Any]:
    """Value zeroing of the first layer (the last one stands behind the final norm there): [query, key].

    inseq 0.7.1 expects the variable names and the tuples of transformers 4: both are given here as transformers 5 has them.
    """
    from inseq.attr.feat.ops.value_zeroing import ValueZeroing
    from inseq.models.model_config import get_model_config

    hf = tiny_decoder()
    hf.set_attn_implementation("eager")

    class Forward:
        """The part of an attribution model of inseq that its value zeroing reads."""

        is_encoder_decoder = False
        config = replace(get_model_config("GPT2LMHeadModel"), value_vector="value_states")

        def get_decoder(self) -> Any:
            return hf.transformer

        def forward_with_output(self, ids: torch.Tensor, **options: Any) -> Any:
            return hf(input_ids=ids, **options)

        def get_hidden_states_dict(self, output: Any) -> dict[str, torch.Tensor]:
            return {"decoder_hidden_states": torch.stack(output.hidden_states, dim=1)}

    class OfPlainTensors(ValueZeroing):
        def get_states_extract_and_patch_hook(self, block_idx: int, hidden_state_idx: int = 0) -> Any:
            def hook(_module: Any, _args: Any, output: torch.Tensor) -> torch.Tensor:
                self.corrupted_block_output_states[block_idx] = output.clone().float().detach().cpu()
                return self.clean_block_output_states[block_idx].to(output.device)

            return hook

    tokens = torch.tensor([IDS])
    with torch.no_grad():
        states = torch.stack(hf(tokens, output_hidden_states=True).hidden_states, dim=1)
    scores = OfPlainTensors(Forward()).compute_modules_post_zeroing_similarity(
        (tokens,), (), states, Forward.config.self_attention_module, mode="decoder", use_causal_mask=True, min_score_threshold=0.0
    )
    return {"value_zeroing": torch.nan_to_num(scores)[0, :, :, 0].T.tolist()}


if __name__ == "__main__":
    truth = {"ids": IDS, "transformer_lens": transformer_lens_truth(), "inseq": inseq_truth()}
    PATH.write_text(json.dumps(truth, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {PATH}")
