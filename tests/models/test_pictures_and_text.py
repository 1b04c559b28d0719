"""Models of text and pictures: the layout is that of the given input, its maps are the model's own, the tower of the picture is a stack."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import transformers as t

import eyeline as el
from eyeline.errors import ModelError
from tests.models.families import GROUPED, tiny_tokenizer
from tests.models.left import differences, facts

TEXT = {**GROUPED, "max_position_embeddings": 128, "num_hidden_layers": 2}
VISION = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 3, "num_attention_heads": 2, "image_size": 16, "patch_size": 4}
IMAGE = 60
TURNED = {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 1, 1]}}
QWEN = {"depth": 3, "hidden_size": 32, "intermediate_size": 32, "num_heads": 2, "patch_size": 4, "spatial_merge_size": 2}
QWEN |= {"temporal_patch_size": 2, "out_hidden_size": 32, "in_channels": 3}
QWEN_TOKENS = {"image_token_id": IMAGE, "vision_start_token_id": 58, "vision_end_token_id": 59, "video_token_id": 57}


def written(n_image: int) -> dict[str, torch.Tensor]:
    """A text with the places of a picture: "[CLS] cat sat … the . [SEP]"."""
    ids = torch.tensor([[1, 5, 6, *[IMAGE] * n_image, 7, 8, 2]])
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def noise(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def of_types(n_image: int) -> dict[str, torch.Tensor]:
    given = written(n_image)
    return {**given, "token_type_ids": (given["input_ids"] == IMAGE).long()}


def qwen_inputs(side: int = 4) -> dict[str, torch.Tensor]:
    given = written(side * side // 4)
    grid = torch.tensor([[1, side, side]])
    types = (given["input_ids"] == IMAGE).int()
    return {**given, "pixel_values": noise(side * side, 96), "image_grid_thw": grid, "mm_token_type_ids": types}


def siglip(**more: Any) -> t.SiglipVisionConfig:
    return t.SiglipVisionConfig(**VISION, vision_use_head=False, **more)


#: Name → the model without weights; what its processor gives for a text with one picture.
MODELS: dict[str, tuple[Callable[[], Any], Callable[[], dict[str, torch.Tensor]]]] = {
    "llava": (
        lambda: t.LlavaForConditionalGeneration(
            t.LlavaConfig(
                vision_config=t.CLIPVisionConfig(**VISION, projection_dim=32), text_config=t.LlamaConfig(**TEXT), image_token_id=IMAGE
            )
        ),
        lambda: {**written(16), "pixel_values": noise(1, 3, 16, 16)},
    ),
    "paligemma": (
        lambda: t.PaliGemmaForConditionalGeneration(
            t.PaliGemmaConfig(
                vision_config=siglip(projection_dim=32),
                text_config=t.GemmaConfig(**TEXT),
                image_token_id=IMAGE,
                hidden_size=32,
                projection_dim=32,
            )
        ),
        lambda: {**written(16), "token_type_ids": torch.zeros(1, 22, dtype=torch.long), "pixel_values": noise(1, 3, 16, 16)},
    ),
    "gemma3": (
        lambda: t.Gemma3ForConditionalGeneration(
            t.Gemma3Config(
                vision_config=siglip(),
                text_config=t.Gemma3TextConfig(**TEXT, query_pre_attn_scalar=8, sliding_window=8),
                image_token_id=IMAGE,
                boi_token_id=58,
                eoi_token_id=59,
                mm_tokens_per_image=4,
            )
        ),
        lambda: {**of_types(4), "pixel_values": noise(1, 3, 16, 16)},
    ),
    "qwen2.5-vl": (
        lambda: t.Qwen2_5_VLForConditionalGeneration(
            t.Qwen2_5_VLConfig(
                text_config={**TEXT, **TURNED}, vision_config={**QWEN, "window_size": 16, "fullatt_block_indexes": [1]}, **QWEN_TOKENS
            )
        ),
        qwen_inputs,
    ),
    "qwen3-vl": (
        lambda: t.Qwen3VLForConditionalGeneration(
            t.Qwen3VLConfig(
                text_config={**TEXT, **TURNED},
                vision_config={**QWEN, "num_position_embeddings": 16, "deepstack_visual_indexes": [0, 1]},
                **QWEN_TOKENS,
            )
        ),
        qwen_inputs,
    ),
    "smolvlm": (
        lambda: t.SmolVLMForConditionalGeneration(
            t.SmolVLMConfig(vision_config=dict(VISION), text_config=t.LlamaConfig(**TEXT), image_token_id=IMAGE, scale_factor=2)
        ),
        lambda: {**written(4), "pixel_values": noise(1, 1, 3, 16, 16)},
    ),
    "internvl": (
        lambda: t.InternVLForConditionalGeneration(
            t.InternVLConfig(
                vision_config={**VISION, "image_size": [16, 16], "patch_size": [4, 4]},
                text_config=t.Qwen2Config(**{name: value for name, value in TEXT.items() if name != "head_dim"}),
                image_token_id=IMAGE,
                downsample_ratio=0.5,
            )
        ),
        lambda: {**written(4), "pixel_values": noise(1, 3, 16, 16)},
    ),
}


def built(name: str) -> t.PreTrainedModel:
    torch.manual_seed(0)
    hf = MODELS[name][0]().eval()
    hf.set_attn_implementation("eager")
    with torch.no_grad():
        for path, parameter in hf.named_parameters():
            if parameter.ndim > 1 and "embed" not in path:
                parameter.mul_(3.0)
    return hf


def own_maps_of_picture(hf: t.PreTrainedModel, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
    """softmax of what enters the softmax in the vision tower, by hooking torch's own function in the eager attention."""
    maps: list[torch.Tensor] = []
    softmax = torch.nn.functional.softmax

    def kept(*args: Any, **kwargs: Any) -> torch.Tensor:
        weights = softmax(*args, **kwargs)
        if weights.ndim == 4:
            maps.append(weights)
        return weights

    with pytest.MonkeyPatch.context() as patch, torch.no_grad():
        patch.setattr(torch.nn.functional, "softmax", kept)
        hf(**inputs)
    return torch.cat(maps[:3])  # the tower runs first


@pytest.mark.parametrize("name", MODELS)
def test_text_and_picture_are_the_models_own_maps(name):
    inputs = MODELS[name][1]()
    with torch.no_grad():
        own = built(name)(**inputs, output_attentions=True)
    picture = own_maps_of_picture(built(name), inputs)
    hf = built(name)
    model = el.wrap(hf, tiny_tokenizer(), name=name)
    model.trace_inputs(inputs)  # a model's own pass sets attributes (`rope_deltas`, hooks that report its maps)
    before = facts(hf)
    trace = model.trace_inputs(inputs)
    assert list(trace.stacks) == ["decoder", "vision"]
    assert not differences(before, facts(hf))
    assert np.array_equal(trace.stacks["decoder"].weights, torch.cat(own.attentions).numpy())
    assert np.array_equal(trace.stacks["vision"].weights, picture.numpy())
    assert len(trace.stacks["vision"].query_text) == picture.shape[-1]
    assert trace.stacks["decoder"].query_text.tokens[1] == "cat"
    assert trace.stacks["vision"].queries.shape[:2] == (3, 2)
    assert trace.prediction.choices[0].ids[0] == int(own.logits[0, -1].argmax())
    assert not trace.notices
    text = model.trace("the cat sat")
    assert list(text.stacks) == ["decoder"]
    again = el.head_view(trace, stack="vision")
    assert again.spec["stacks"][1]["name"] == "vision"


def test_a_trace_with_a_picture_is_saved_and_opened(tmp_path):
    trace = el.wrap(built("llava"), tiny_tokenizer(), name="llava").trace_inputs(MODELS["llava"][1]())
    again = el.open(trace.save(tmp_path / "trace.safetensors"))
    assert np.array_equal(again.stacks["vision"].weights, trace.stacks["vision"].weights)


@pytest.mark.parametrize(
    ("name", "inputs", "why"),
    [
        (
            "qwen2.5-vl",
            lambda: qwen_inputs(8),
            r"model\.visual\.blocks is not shown: it is computed in windows or in pieces \(\d+ calls in 3 layers\)",
        ),
        (
            "llava",
            lambda: {**written(32), "pixel_values": noise(2, 3, 16, 16)},
            "layers is not shown: there are several pictures, or pieces of one",
        ),
    ],
)
def test_a_tower_without_one_map_a_layer_is_left_out_and_said(name, inputs, why):
    given = inputs()
    with torch.no_grad():
        own = built(name)(**given, output_attentions=True)
    trace = el.wrap(built(name), tiny_tokenizer(), name=name).trace_inputs(given)
    assert list(trace.stacks) == ["decoder"]
    assert np.array_equal(trace.weights, torch.cat(own.attentions).numpy())
    assert len(trace.notices) == 1
    assert re.search(why, str(trace.notices[0]))


def test_an_input_that_the_model_does_not_take_is_an_error_and_leaves_it_as_it_was():
    hf = built("llava")
    model = el.wrap(hf, tiny_tokenizer(), name="llava")
    expected = model.trace("the cat sat").weights
    with pytest.raises(ModelError, match="could not be run"):
        model.trace_inputs({**written(3), "pixel_values": noise(1, 3, 16, 16)})
    assert np.array_equal(model.trace("the cat sat").weights, expected)
