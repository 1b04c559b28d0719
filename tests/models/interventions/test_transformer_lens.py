"""Interventions against TransformerLens' hooks on tiny random models, to 1e-5. Slow, and only where TransformerLens is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as t

import eyeline as el
from tests.models.families import GPT, GROUPED, tiny_tokenizer

pytestmark = pytest.mark.slow
TEXT, OTHER = "the cat sat on the mat .", "a dog ran home very long ?"


@pytest.fixture(params=["gpt2", "llama"])
def both(request, tmp_path: Path) -> tuple[el.Model, Any]:
    """The same weights as our model and as TransformerLens' bridge."""
    lens = pytest.importorskip("transformer_lens.model_bridge", reason="transformer-lens is not installed (pip install transformer-lens)")
    torch.manual_seed(0)
    hf = t.GPT2LMHeadModel(t.GPT2Config(**GPT)) if request.param == "gpt2" else t.LlamaForCausalLM(t.LlamaConfig(**GROUPED))
    with torch.no_grad():
        for parameter in hf.parameters():
            if parameter.ndim > 1:
                parameter.mul_(4)
    hf.save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    return el.load(tmp_path, device="cpu"), lens.TransformerBridge.boot_transformers(str(tmp_path), device="cpu")


def test_ablation_scaling_knock_out_and_patching_equal_transformer_lens(both):
    model, lens = both
    example, other_example = model.read(TEXT), model.read(OTHER)
    ids, other_ids = (torch.tensor([example.source.ids]) for example in (example, other_example))
    other = model.trace(OTHER)
    cache: dict[str, torch.Tensor] = {}
    with torch.no_grad():
        lens.run_with_hooks(other_ids, fwd_hooks=[("blocks.1.attn.hook_z", lambda z, hook: cache.update(z=z.clone()))])

    def change_z(change: Any) -> list[tuple[str, Any]]:
        def hooked(z: torch.Tensor, hook: Any) -> torch.Tensor:
            z = z.clone()
            z[:, :, 2] = change(z[:, :, 2])
            return z

        return [("blocks.1.attn.hook_z", hooked)]

    def hide(scores: torch.Tensor, hook: Any) -> torch.Tensor:
        scores = scores.clone()
        scores[:, 2, [4, 5], 1] = torch.finfo(scores.dtype).min
        return scores

    def at_position(z: torch.Tensor) -> torch.Tensor:
        z = z.clone()
        z[:, 3] = cache["z"][:, 3, 2]
        return z

    head = [(1, 2)]
    pairs = [
        (el.Ablate(head), change_z(torch.zeros_like)),
        (el.Ablate(head, "mean"), change_z(lambda z: z.mean(1, keepdim=True).expand_as(z))),
        (el.Ablate(head, "resample", other), change_z(lambda z: cache["z"][:, :, 2])),
        (el.Scale(head, 0.25), change_z(lambda z: 0.25 * z)),
        (el.Patch(other, head), change_z(lambda z: cache["z"][:, :, 2])),
        (el.Patch(other, head, positions=3), change_z(at_position)),
        (el.KnockOut([4, 5], 1, head), [("blocks.1.attn.hook_attn_scores", hide)]),
    ]
    with torch.no_grad():
        plain = lens(ids)
        for intervention, hooks in pairs:
            expected = lens.run_with_hooks(ids, fwd_hooks=hooks)
            ours = model.passes.output([example], [[intervention]])
            ours = ours.logits if "logits" in ours else lens.unembed(ours[0])
            assert (ours - expected).abs().max() < 1e-5, str(intervention)
            assert (plain - expected).abs().max() > 1e-3, str(intervention)
