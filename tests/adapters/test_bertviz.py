"""The calls of BertViz' documentation work unchanged, on what transformers gives."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import IPython.display
import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import (
    AutoModel,
    AutoTokenizer,
    BartConfig,
    BartModel,
    BertConfig,
    BertModel,
    GPT2Config,
    GPT2Model,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaModel,
)

import eyeline.bertviz
from eyeline.bertviz import head_view, model_view, neuron_view
from eyeline.bertviz.neuron_view import get_attention
from eyeline.bertviz.neuron_view import show as show_neurons
from eyeline.look.views.view import View
from tests.laws.statistics import new_tiny_model
from tests.look.views.front_end import use_small_front_end

TOKENS = ["[CLS]", "the", "cat", "sat", "[SEP]", "the", "dog", "ran", "[SEP]"]


@pytest.fixture(autouse=True)
def _front_end(monkeypatch: pytest.MonkeyPatch) -> None:
    use_small_front_end(monkeypatch)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[View]]:
    """What was displayed."""
    views: list[View] = []
    monkeypatch.setattr(IPython.display, "display", views.append)
    return views  # type: ignore[return-value]


@pytest.fixture(scope="module")
def attention() -> tuple[torch.Tensor, ...]:
    """Of a tiny BERT."""
    config = BertConfig(hidden_size=24, num_hidden_layers=7, num_attention_heads=6, intermediate_size=16, vocab_size=50)
    model = BertModel(config).eval()
    model.set_attn_implementation("eager")
    return model(torch.arange(9)[None], output_attentions=True).attentions  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def both_towers() -> Any:
    """Of a tiny BART with two encoder layers and one decoder layer."""
    config = BartConfig(
        d_model=16, encoder_layers=2, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=4,
        encoder_ffn_dim=16, decoder_ffn_dim=16, vocab_size=50,
    )  # fmt: skip
    model = BartModel(config).eval()
    model.set_attn_implementation("eager")
    return model(input_ids=torch.arange(5)[None] + 4, decoder_input_ids=torch.arange(3)[None] + 4, output_attentions=True)


@pytest.mark.parametrize(
    ("ours", "arguments"),
    [
        (
            head_view,
            "attention=None, tokens=None, sentence_b_start=None, prettify_tokens=True, layer=None, heads=None, encoder_attention=None, "
            "decoder_attention=None, cross_attention=None, encoder_tokens=None, decoder_tokens=None, include_layers=None, "
            "html_action='view'",
        ),
        (
            model_view,
            "attention=None, tokens=None, sentence_b_start=None, prettify_tokens=True, display_mode='dark', encoder_attention=None, "
            "decoder_attention=None, cross_attention=None, encoder_tokens=None, decoder_tokens=None, include_layers=None, "
            "include_heads=None, html_action='view'",
        ),
        (
            neuron_view,
            "model, model_type, tokenizer, sentence_a, sentence_b=None, display_mode='dark', layer=None, head=None, html_action='view'",
        ),
    ],
)
def test_the_arguments_are_those_of_bertviz_1_4_1(ours: Any, arguments: str) -> None:
    parameters = inspect.signature(ours).parameters.values()
    written = [p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in parameters]
    assert ", ".join(written) == arguments


def test_quick_start(attention: Any, shown: list[View]) -> None:
    assert model_view(attention, TOKENS) is None
    assert head_view(attention, TOKENS) is None
    assert [view.kind for view in shown] == ["model", "head"]
    np.testing.assert_allclose(shown[1].weights(0, 3), attention[3][0].detach(), atol=5e-4)


def test_display_mode(attention: Any, shown: list[View]) -> None:
    model_view(attention, TOKENS, display_mode="light")
    model_view(attention, TOKENS)
    assert [view.state["theme"] for view in shown] == ["light", "dark"]


def test_filtering_layers(attention: Any, shown: list[View]) -> None:
    model_view(attention, TOKENS, include_layers=[5, 6])
    assert [layer["layer"] for layer in shown[0].spec["stacks"][0]["layers"]] == [5, 6]


def test_filtering_heads(attention: Any, shown: list[View]) -> None:
    model_view(attention, TOKENS, include_heads=[1, 2])
    assert shown[0].state["columns"] == [1, 2]


def test_without_a_layer_the_first_one_opens_with_all_heads(shown: list[View]) -> None:
    strong = np.full((2, 1, 3, 5, 5), 0.05, dtype=np.float32)  # [layer, batch, head, query, key]
    strong[1, 0, 2, 0] = [0.0, 0.0, 0.0, 0.0, 1.0]
    head_view(list(strong / strong.sum(-1, keepdims=True)), ["a", "b", "c", "d", "e"])
    head_view(list(strong / strong.sum(-1, keepdims=True)), ["a", "b", "c", "d", "e"], include_layers=[1])
    assert [(view.state["layer"], "heads" in view.state) for view in shown] == [(0, False), (0, False)]


def test_default_layer_and_heads(attention: Any, shown: list[View]) -> None:
    head_view(attention, TOKENS, layer=2, heads=[3, 5])
    assert (shown[0].state["layer"], shown[0].state["heads"]) == (2, [3, 5])


def test_sentence_pairs(attention: Any, shown: list[View]) -> None:
    head_view(attention, TOKENS, 5)
    assert shown[0].spec["texts"][0]["segments"] == [0] * 5 + [1] * 4


def test_html_is_returned_as_a_whole_page(attention: Any, tmp_path: Path) -> None:
    shown = head_view(attention, TOKENS, html_action="return")
    assert isinstance(shown, IPython.display.HTML)
    (tmp_path / "head_view.html").write_text(shown.data)
    assert shown.data.startswith("<!doctype html>")
    assert "</html>" in shown.data
    assert shown._repr_html_().startswith("<iframe")


def test_encoder_decoder_models_of_unequal_depth_and_heads(both_towers: Any, shown: list[View]) -> None:
    for show in (model_view, head_view):
        show(
            encoder_attention=both_towers.encoder_attentions,
            decoder_attention=both_towers.decoder_attentions,
            cross_attention=both_towers.cross_attentions,
            encoder_tokens=["She", "sees", "the", "small", "elephant"],
            decoder_tokens=["Sie", "sieht", "ihn"],
        )
        stacks = shown[-1].spec["stacks"]
        assert [(s["name"], len(s["layers"]), s["layers"][0]["n_heads"]) for s in stacks] == [
            ("encoder", 2, 2),
            ("decoder", 1, 4),
            ("cross", 1, 4),
        ]
    np.testing.assert_allclose(shown[-1].weights(2, 0), both_towers.cross_attentions[0][0].detach(), atol=5e-4)


def test_a_layer_that_only_the_decoder_has_begins_there(shown: list[View]) -> None:
    item, three = [np.full((1, 2, 2), 0.5)], [np.full((1, 2, 2), 0.5)] * 3
    head_view(encoder_attention=item, decoder_attention=three, encoder_tokens=["a", "b"], decoder_tokens=["c", "d"], layer=2)
    assert (shown[0].state["stack"], shown[0].state["layer"]) == (1, 2)


def test_causal_models(shown: list[View]) -> None:
    model = GPT2Model(GPT2Config(n_embd=16, n_layer=2, n_head=2, vocab_size=50)).eval()
    model.set_attn_implementation("eager")
    head_view(model(torch.arange(3)[None], output_attentions=True).attentions, ["The", "Ġcat", "Ġsat"])
    assert shown[0].weights()[0, 0].tolist() == pytest.approx([1, 0, 0], abs=5e-4)
    assert shown[0].spec["texts"][0]["tokens"] == ["The", " cat", " sat"]


def test_tokens_stay_as_they_are_when_asked(shown: list[View]) -> None:
    head_view([np.full((1, 2, 2), 0.5)], ["Ġa", "▁b"], prettify_tokens=False)
    assert shown[0].spec["texts"][0]["tokens"] == ["Ġa", "▁b"]


def test_special_tokens_are_known_by_their_spelling(attention: Any, shown: list[View]) -> None:
    head_view(attention, TOKENS)
    assert [token for token, special in zip(TOKENS, shown[0].spec["texts"][0]["special"], strict=True) if special] == [
        "[CLS]",
        "[SEP]",
        "[SEP]",
    ]


def test_numpy_and_ragged_heads(shown: list[View]) -> None:
    model_view([np.full((1, 2, 3, 3), 1 / 3), np.full((4, 3, 3), 1 / 3)], ["a", "b", "c"])
    assert [layer["n_heads"] for layer in shown[0].spec["stacks"][0]["layers"]] == [2, 4]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a: head_view(a), "'tokens' is required"),
        (lambda a: head_view(), "No attention"),
        (lambda a: head_view((), TOKENS), "Pass outputs.attentions"),
        (lambda a: head_view(a, TOKENS[:-1]), "8 tokens, but the weights of layer 0 have shape [6, 9, 9]"),
        (lambda a: head_view(a, TOKENS, encoder_tokens=TOKENS), "Both 'attention' and encoder-decoder"),
        (lambda a: head_view(a, TOKENS, layer=1, include_layers=[5]), "Layer 1 is not in include_layers: [5]"),
        (lambda a: head_view(a, TOKENS, layer=9), "has layers 0, 1, 2, 3, 4, 5, 6"),
        (lambda a: head_view(a, TOKENS, include_layers=[0, 99]), "Layer 99 in include_layers"),
        (lambda a: model_view(a, TOKENS, include_layers=[-8]), "Layer -8 in include_layers"),
        (lambda a: model_view(a, TOKENS, include_heads=[6]), "It has 6 heads"),
        (lambda a: head_view(a, TOKENS, html_action="save"), "Choices: view, return"),
        (lambda a: model_view(a, TOKENS, display_mode="sepia"), "Choices: light, dark"),
        (lambda a: model_view(cross_attention=a, decoder_tokens=TOKENS), "'encoder_tokens' is required with 'cross_attention'"),
        (lambda a: head_view(torch.cat([a[0], a[0]])[None], TOKENS), "a batch of 2"),
    ],
)
def test_wrong_calls_are_value_errors_that_say_why(call: Any, message: str, attention: Any) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the message is checked below
        call(attention)
    assert message in str(error.value)


def test_the_page_has_the_data_once(attention: Any) -> None:
    page = head_view(attention, TOKENS, html_action="return").data
    parts = re.findall(r'<script type="application/json" id="[a-z-]+">(.*?)</script>', page, re.DOTALL)
    first, others = map(json.loads, parts)
    assert len(first["arrays"]) + len(others) == 7


def test_an_empty_list_of_layers_or_heads_means_all_of_them(attention: Any, shown: list[View]) -> None:
    head_view(attention, TOKENS, include_layers=[])
    model_view(attention, TOKENS, include_layers=[], include_heads=[])
    assert [len(view.spec["stacks"][0]["layers"]) for view in shown] == [7, 7]
    assert shown[1].state.get("columns") is None


def test_negative_layers_count_from_the_end(attention: Any, shown: list[View]) -> None:
    head_view(attention, TOKENS, include_layers=[-1])
    assert [layer["layer"] for layer in shown[0].spec["stacks"][0]["layers"]] == [6]


def test_the_neuron_view_takes_a_model_of_transformers_and_leaves_it_as_it_was(shown: list[View]) -> None:
    model = new_tiny_model()
    hf = model.hf.train()
    hf.set_attn_implementation("sdpa")
    assert show_neurons(hf, "bert", model.tokenizer, "the cat sat", "a dog", display_mode="light", layer=1, head=1) is None
    assert shown[0].kind == "neuron"
    assert shown[0].state["layer"] == 1
    assert shown[0].state["heads"] == [1]
    assert shown[0].state["theme"] == "light"
    assert hf.config._attn_implementation == "sdpa"
    assert hf.training
    assert eyeline.bertviz.neuron_view is show_neurons


def test_the_neuron_view_shows_the_sum_of_values_and_no_folder_of_the_machine(shown: list[View], tmp_path: Path) -> None:
    model = new_tiny_model()
    model.hf.config.name_or_path = str(tmp_path)
    show_neurons(model.hf, "bert", model.tokenizer, "the cat sat")
    assert shown[0].spec["model"] == "bert"
    assert shown[0].spec["stacks"][0]["layers"][0]["values"]


def test_the_models_of_the_neuron_view_are_those_of_transformers() -> None:
    from eyeline.bertviz.transformers_neuron_view import BertModel as Bert
    from eyeline.bertviz.transformers_neuron_view import GPT2Tokenizer, RobertaModel

    assert (Bert, GPT2Tokenizer.__name__, RobertaModel.__module__.split(".")[0]) == (BertModel, "GPT2Tokenizer", "transformers")
    with pytest.raises(ImportError, match=r"TransfoXLModel: transformers .* has no class of this name(?s:.*)neuron_view import show"):
        from eyeline.bertviz.transformers_neuron_view import TransfoXLModel  # noqa: F401


@pytest.fixture(scope="module")
def models_by_name(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with small models under the names by which BertViz' notebooks load them."""
    home = tmp_path_factory.mktemp("models")
    tiny = new_tiny_model()
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
    for name, model in {
        "bert-base-uncased": BertModel(BertConfig(**sizes, vocab_size=len(tiny.tokenizer))),
        "roberta-base": RobertaModel(RobertaConfig(**sizes, vocab_size=300, pad_token_id=1, max_position_embeddings=70)),
        "gpt2": GPT2Model(GPT2Config(n_embd=16, n_layer=2, n_head=2, vocab_size=300, bos_token_id=0, eos_token_id=2)),
        "facebook/bart-base": BartModel(
            BartConfig(
                d_model=16,
                encoder_layers=2,
                decoder_layers=1,
                encoder_attention_heads=2,
                decoder_attention_heads=4,
                encoder_ffn_dim=16,
                decoder_ffn_dim=16,
                vocab_size=300,
            )
        ),
    }.items():
        model.save_pretrained(home / name)
        (tiny.tokenizer if name.startswith("bert") else byte_tokenizer(added=name != "gpt2")).save_pretrained(home / name)
    return home


def byte_tokenizer(added: bool) -> PreTrainedTokenizerFast:
    """A byte-level tokeniser; added: with <s> and </s> around a text, two between the texts of a pair, as RoBERTa's."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate([*specials, *letters])}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    if added:
        tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    named = {"bos_token": "<s>", "cls_token": "<s>", "sep_token": "</s>", "eos_token": "</s>"} if added else {"eos_token": "</s>"}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", unk_token="<unk>", mask_token="<mask>", **named)


#: What BertViz' eight notebooks call, with their names of models, and sentences of ours. They say `model(…)[-1]` and `encode_plus`,
#: which transformers 5 has changed: this says `.attentions` and the tokeniser itself.
NOTEBOOKS = {
    "head_view_bert": """
from transformers import AutoTokenizer, AutoModel, utils
from eyeline.bertviz import head_view
utils.logging.set_verbosity_error()
model = AutoModel.from_pretrained("bert-base-uncased", output_attentions=True)
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
inputs = tokenizer("the cat sat", "a dog ran", return_tensors="pt", return_token_type_ids=True)
attention = model(inputs["input_ids"], token_type_ids=inputs["token_type_ids"]).attentions
sentence_b_start = inputs["token_type_ids"][0].tolist().index(1)
tokens = tokenizer.convert_ids_to_tokens(inputs["input_ids"][0].tolist())
head_view(attention, tokens, sentence_b_start)
""",
    "model_view_bert": """
from transformers import AutoTokenizer, AutoModel
from eyeline.bertviz import model_view
model = AutoModel.from_pretrained("bert-base-uncased", output_attentions=True)
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
inputs = tokenizer.encode("the cat sat", return_tensors="pt")
outputs = model(inputs)
model_view(outputs.attentions, tokenizer.convert_ids_to_tokens(inputs[0]), display_mode="light")
""",
    "model_view_gpt2": """
from transformers import AutoTokenizer, AutoModel
from eyeline.bertviz import model_view
model = AutoModel.from_pretrained("gpt2", output_attentions=True)
tokenizer = AutoTokenizer.from_pretrained("gpt2")
inputs = tokenizer.encode("the cat sat", return_tensors="pt")
attention = model(inputs).attentions
model_view(attention, tokenizer.convert_ids_to_tokens(inputs[0]))
""",
    **{
        f"{kind}_view_encoder_decoder": f"""
from transformers import AutoTokenizer, AutoModel
from eyeline.bertviz import {kind}_view
tokenizer = AutoTokenizer.from_pretrained("facebook/bart-base")
model = AutoModel.from_pretrained("facebook/bart-base", output_attentions=True)
encoder_input_ids = tokenizer("the cat", return_tensors="pt", add_special_tokens=True).input_ids
decoder_input_ids = tokenizer("a dog", return_tensors="pt", add_special_tokens=True).input_ids
outputs = model(input_ids=encoder_input_ids, decoder_input_ids=decoder_input_ids)
{kind}_view(
    encoder_attention=outputs.encoder_attentions,
    decoder_attention=outputs.decoder_attentions,
    cross_attention=outputs.cross_attentions,
    encoder_tokens=tokenizer.convert_ids_to_tokens(encoder_input_ids[0]),
    decoder_tokens=tokenizer.convert_ids_to_tokens(decoder_input_ids[0]),
)
"""
        for kind in ("head", "model")
    },
    **{
        f"neuron_view_{model_type}": f"""
from eyeline.bertviz.transformers_neuron_view import {name}Model, {name}Tokenizer
from eyeline.bertviz.neuron_view import show
model = {name}Model.from_pretrained("{version}", output_attentions=True)
tokenizer = {name}Tokenizer.from_pretrained("{version}", do_lower_case=True)
show(model, "{model_type}", tokenizer, "the cat sat", {second}, layer=1, head=0)
"""
        for name, model_type, version, second in (
            ("Bert", "bert", "bert-base-uncased", '"a dog ran"'),
            ("Roberta", "roberta", "roberta-base", '"a dog ran"'),
            ("GPT2", "gpt2", "gpt2", "None"),
        )
    },
}


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_calls_of_bertviz_notebooks_run(name: str, models_by_name: Path, shown: list[View], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(models_by_name)
    exec(compile(NOTEBOOKS[name], name, "exec"), {})  # noqa: S102 - the text stands above
    assert [view.kind for view in shown] == [name.partition("_")[0]]


@pytest.mark.parametrize("model_type", ["bert", "roberta"])
def test_the_arrays_behind_the_neuron_view_are_bertviz_dictionary(model_type: str, models_by_name: Path) -> None:
    folder = models_by_name / {"bert": "bert-base-uncased", "roberta": "roberta-base"}[model_type]
    model, tokenizer = AutoModel.from_pretrained(folder, attn_implementation="eager"), AutoTokenizer.from_pretrained(folder)
    found = get_attention(model, model_type, tokenizer, "the cat", "a dog", include_queries_and_keys=True)
    inputs = tokenizer("the cat", "a dog", return_tensors="pt")
    ids = inputs.input_ids[0].tolist()
    first = ids.index(tokenizer.sep_token_id) + 1  # BertViz: what closes the first sentence belongs to it, the rest to the second
    expected = torch.stack(model(**inputs, output_attentions=True).attentions)[:, 0].detach().numpy()  # [layer, head, query, key]
    parts = {"all": (slice(None), slice(None)), "ab": (slice(first), slice(first, None)), "ba": (slice(first, None), slice(first))}
    for name, (queries, keys) in parts.items():
        np.testing.assert_allclose(found[name]["attn"], expected[:, :, queries, keys], atol=1e-6)
    assert set(found) == {"all", "aa", "ab", "ba", "bb"}
    assert found["all"]["left_text"] == found["aa"]["left_text"] + found["bb"]["right_text"]
    assert (found["all"]["left_text"][0], found["bb"]["left_text"][-1]) == ("[CLS]", "[SEP]")
    scores = np.array(found["ab"]["queries"]) @ np.array(found["ab"]["keys"]).swapaxes(-1, -2) / np.sqrt(8)  # [layer, head, query, key]
    ratios = np.log(np.array(found["ab"]["attn"])) - scores  # the same for all keys of a query
    np.testing.assert_allclose(ratios, np.broadcast_to(ratios.mean(-1, keepdims=True), ratios.shape), atol=1e-4)
    assert set(get_attention(model, model_type, tokenizer, "the cat")) == {"all"}
    assert set(get_attention(model, model_type, tokenizer, "the cat")["all"]) == {"attn", "left_text", "right_text"}
