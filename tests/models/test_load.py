"""Opening models: embedded, folders, hub ids out of reach, and what is refused."""

from __future__ import annotations

import json
import pickle
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest
import torch
import transformers

import eyeline as el
from eyeline.errors import EyelineError, ModelError, TraceError
from eyeline.look import embedded
from eyeline.models import load
from eyeline.models import load as load_module
from eyeline.models.declared import declared
from eyeline.models.load import open_again
from tests.models.families import BY_NAME, GROUPED, tiny_tokenizer


def small_llama() -> transformers.PreTrainedModel:
    torch.manual_seed(0)
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**GROUPED)).eval()


def save(folder, name: str):
    family = BY_NAME[name]
    family.model().save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return family


def test_a_local_folder_opens_by_its_path(tmp_path):
    family = save(tmp_path / "my-model", "bert")
    model = el.load(tmp_path / "my-model")
    expected = el.wrap(family.model(), tiny_tokenizer()).trace("the cat sat")
    assert model.name == "my-model"
    assert (model.trace("the cat sat").weights == expected.weights).all()


def test_an_unknown_name_is_told_what_there_is():
    with pytest.raises(ModelError, match="minilm, smollm2") as caught:
        el.load("no-such/model")
    assert "local folder" in str(caught.value)


def test_folders_without_a_model_are_named(tmp_path):
    with pytest.raises(ModelError, match=r"no config\.json"):
        el.load(tmp_path)
    with pytest.raises(ModelError, match="There is no folder"):
        el.load(tmp_path / "missing")
    (tmp_path / "file").write_text("x")
    with pytest.raises(ModelError, match="is a file"):
        el.load(tmp_path / "file")
    with pytest.raises(ModelError, match="without a name"):
        el.load("  ")


def test_a_damaged_config_and_damaged_weights_are_refused(tmp_path):
    save(tmp_path / "m", "bert")
    weights = tmp_path / "m" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(ModelError, match="cannot be opened"):
        el.load(tmp_path / "m")
    (tmp_path / "m" / "config.json").write_text("{")
    with pytest.raises(ModelError, match="cannot be opened"):
        el.load(tmp_path / "m")


def test_torch_weights_open_and_a_pickle_that_runs_code_does_not(tmp_path):
    folder = tmp_path / "m"
    save(folder, "bert")
    family = BY_NAME["bert"]
    (folder / "model.safetensors").unlink()
    torch.save(family.model().state_dict(), folder / "pytorch_model.bin")
    assert el.load(folder).layout.n_layers("encoder") == 3

    class Bomb:
        def __reduce__(self):
            return open, (str(tmp_path / "bomb"), "w")

    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(ModelError):
        el.load(folder)
    assert not (tmp_path / "bomb").exists()


def test_code_that_comes_with_a_model_runs_only_when_asked(tmp_path):
    folder = tmp_path / "m"
    save(folder, "bert")
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "custom-thing", "auto_map": {"AutoConfig": "custom.Config", "AutoModel": "custom.Model"}}
    (folder / "config.json").write_text(json.dumps(config))
    marker = tmp_path / "ran"
    (folder / "custom.py").write_text(f"open({str(marker)!r}, 'w')\nclass Config: pass\nclass Model: pass\n")
    with pytest.raises(ModelError, match="trust_remote_code"):
        el.load(folder)
    assert not marker.exists()


def test_a_model_without_attention_says_so():
    import transformers

    config = transformers.MambaConfig(vocab_size=64, hidden_size=32, num_hidden_layers=2)
    with pytest.raises(ModelError, match="reports no attention"):
        el.wrap(transformers.AutoModel.from_config(config), tiny_tokenizer())


def test_an_embedded_model_that_is_not_installed_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(embedded.Embedded, "find", lambda self: None)
    with pytest.raises(ModelError, match="eyeline models get minilm"):
        el.load("minilm")


def test_every_embedded_model_is_pinned_by_hash():
    for model in embedded.EMBEDDED:
        assert "--hash=sha256:" in model.requirement


def test_an_unknown_device_is_refused():
    with pytest.raises(ModelError, match="No device"):
        el.load("minilm", device="quantum")


def test_auto_takes_a_gpu_where_there_is_one(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert load_module.torch_device("auto") == torch.device("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert load_module.torch_device("auto").type in ("cpu", "mps")


def test_an_encoder_decoder_writes_its_own_text_when_none_is_given(tmp_path):
    import transformers

    torch.manual_seed(0)
    config = BY_NAME["bart"].config()
    transformers.BartForConditionalGeneration(config).save_pretrained(tmp_path / "m")
    tiny_tokenizer().save_pretrained(tmp_path / "m")
    model = el.load(tmp_path / "m")
    trace = model.trace("the cat sat")
    assert trace.decoder.query_text.ids[0] == 1
    assert trace.cross.weights.shape[2:] == (len(trace.decoder.query_text), len(trace.encoder.query_text))
    with pytest.raises(TraceError, match="3 kinds of attention"):
        _ = trace.weights
    given = model.trace("the cat sat", "it purred")
    assert given.cross.query_text.tokens == ("[CLS]", "[CLS]", "it", "purred")


def test_an_encoder_decoder_without_a_head_asks_for_the_second_text():
    family = BY_NAME["t5"]
    with pytest.raises(ModelError, match="second text"):
        el.wrap(family.model(), tiny_tokenizer()).trace("the cat sat")


def test_half_precision_weights_become_exact_float32(tmp_path):
    save(tmp_path / "m", "llama")
    trace = el.load(tmp_path / "m", dtype=torch.float16).trace("the cat sat")
    assert trace.about["dtype"] == "float16"
    assert trace.weights.dtype == "float32"
    assert (torch.from_numpy(trace.weights).half().float().numpy() == trace.weights).all()


def test_a_hub_that_does_not_answer_is_noticed_at_once(monkeypatch):
    import socket

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        assert not load.reachable(f"http://127.0.0.1:{port}"), "bound, but not listening"
        listening.listen()
        assert load.reachable(f"http://127.0.0.1:{port}")
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    assert load.reachable("https://127.0.0.1:1"), "only the proxy knows"


def test_a_folder_never_asks_the_network(tmp_path, monkeypatch):
    monkeypatch.setattr(load.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(load, "reachable", lambda _: pytest.fail("asked the network for a folder"))
    save(tmp_path / "m", "bert")
    assert el.load(tmp_path / "m").layout.n_layers("encoder") == 3


def test_weights_that_are_missing_are_named_and_not_made_up(tmp_path):
    save(tmp_path / "m", "bert")
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    (tmp_path / "m" / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 6}))
    with pytest.raises(ModelError, match=r"encoder\.layer\.3"):
        el.load(tmp_path / "m")


def test_a_checkpoint_without_a_pooler_is_the_same_model_each_time(tmp_path):
    config = transformers.BertConfig(vocab_size=64, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
    transformers.BertModel(config, add_pooling_layer=False).save_pretrained(tmp_path / "m")
    first, second = el.load(tmp_path / "m"), el.load(tmp_path / "m")
    assert "pooler.dense.weight" in dict(first.hf.named_parameters())
    assert first.identity() == second.identity()  # else no run of it could ever be resumed


@pytest.mark.parametrize("name", ["bert", "t5", "gpt2", "roberta", "llama"])
def test_a_folder_without_a_tokeniser_has_none(tmp_path, name):
    BY_NAME[name].model().save_pretrained(tmp_path / "m")
    with pytest.raises(ModelError, match="has no tokeniser"):
        el.load(tmp_path / "m").trace("the cat sat")


def test_a_damaged_tokeniser_is_named(tmp_path):
    save(tmp_path / "m", "bert")
    (tmp_path / "m" / "tokenizer.json").write_text("{")
    with pytest.raises(ModelError, match="tokeniser of m cannot be opened"):
        el.load(tmp_path / "m")


def test_the_tokeniser_of_another_model_is_noticed(minilm):
    with pytest.raises(ModelError, match="tokeniser that of this model"):
        el.wrap(BY_NAME["bert"].model(), minilm.tokenizer)


def test_what_is_not_a_transformers_model_is_refused():
    for thing in ("minilm", torch.nn.Linear(2, 2), None):
        with pytest.raises(ModelError, match="where a transformers model was expected"):
            el.wrap(thing)
    for name in (3, "x" * 5000):
        with pytest.raises(ModelError):
            el.load(name)


def test_attention_in_windows_is_refused_and_not_drawn_as_zeros():
    import transformers

    config = transformers.LongformerConfig(
        vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=32, max_position_embeddings=600
    )
    with pytest.raises(ModelError, match="windows"):
        el.wrap(transformers.LongformerModel(config), tiny_tokenizer())


def test_scores_before_the_softmax_are_refused():
    import transformers

    config = transformers.SqueezeBertConfig(
        vocab_size=64, hidden_size=32, embedding_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=32,
        q_groups=1, k_groups=1, v_groups=1, post_attention_groups=1, intermediate_groups=1, output_groups=1,
    )  # fmt: skip
    with pytest.raises(ModelError, match="is not: numbers from -"):
        el.wrap(transformers.SqueezeBertModel(config), tiny_tokenizer())


def test_where_padding_would_show_only_texts_of_one_length_share_a_batch():
    import numpy as np
    import transformers

    torch.manual_seed(0)
    config = transformers.ConvBertConfig(
        vocab_size=64, hidden_size=32, embedding_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=32, head_ratio=2
    )
    hf = transformers.ConvBertModel(config)
    with torch.no_grad():
        for parameter in hf.parameters():
            parameter.mul_(4)
    model = el.wrap(hf, tiny_tokenizer())
    assert model.layout.padding_shows
    texts = ["the cat sat on the mat .", "the dog ran", "a mat"]
    for together, alone in zip(model.traces(texts), map(model.trace, texts), strict=True):
        assert np.abs(together.weights - alone.weights).max() < 1e-5
    whole = el.analyse(model, texts, [el.statistics.Entropy()]).table("entropy")["all"]
    parts = [el.analyse(model, [text], [el.statistics.Entropy()]).table("entropy")["all"] for text in texts]
    np.testing.assert_allclose(whole, np.mean(parts, 0), atol=1e-6)


def test_a_model_whose_calls_do_not_reproduce_its_maps_gives_the_maps_that_it_reports():
    family = BY_NAME["bert"]
    hf = family.model()
    attention = hf.encoder.layer[1].attention.self
    attention.register_forward_hook(lambda module, _, output: (output[0], None if output[1] is None else output[1].flip(-1)))
    model = el.wrap(hf, tiny_tokenizer())
    assert not model.layout.recorded
    with pytest.raises(ModelError, match="do not reproduce the maps"):
        model.trace("the cat", keep={"keys"})


def test_a_text_that_would_not_fit_into_memory_is_refused(minilm, monkeypatch):
    from eyeline.models import inputs

    monkeypatch.setattr(inputs, "free_memory", lambda: 1000)
    with pytest.raises(TraceError, match="GB are free"):
        minilm.trace("the cat sat")


UNKNOWN_IDS = torch.full((1, 3), 10**6)


@pytest.mark.parametrize("given", [{}, [1], {"input_ids": [1, 2]}, {"pixel": torch.ones(1, 2)}, {"input_ids": UNKNOWN_IDS}])
def test_tensors_that_do_not_fit_are_refused(minilm, given):
    with pytest.raises(EyelineError):
        minilm.trace_inputs(given)


def test_tensors_of_two_texts_are_refused_with_how_to_give_one(minilm):
    with pytest.raises(TraceError, match=r"A batch of 2, where 1 was expected.\n.*one text at a time"):
        minilm.trace_inputs({"input_ids": torch.ones(2, 3, dtype=torch.long)})


def with_config(folder, name: str, **changes):
    """A saved model whose config.json says something else."""
    save(folder, name)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **changes}))
    return folder


@pytest.mark.parametrize(
    "entry",
    [
        {"_attn_implementation": "kernels-community/flash-attn2"},
        {"attn_implementation": "somebody/kernel@main:attention"},
        {"_attn_implementation_internal": "somebody/kernel"},
        {"_attn_implementation": {"": "eager", "text_config": "somebody/kernel"}},
        {"_experts_implementation": "somebody/kernel"},
        {"text_config": {"vision_config": {"_attn_implementation": "paged|somebody/kernel"}}},
        {"backbone": "hf-hub:somebody/model"},
    ],
)
def test_code_that_config_json_wants_from_the_hub_is_refused(tmp_path, monkeypatch, entry):
    monkeypatch.setattr("socket.create_connection", lambda *_, **__: pytest.fail("asked the network for a folder"))
    with pytest.raises(ModelError, match="asks for code from the hub"):
        el.load(with_config(tmp_path / "m", "bert", **entry))
    monkeypatch.setattr(load.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError, match="with the hub in reach"):
        el.load(tmp_path / "m", trust_remote_code=True)


@pytest.mark.parametrize("entry", ["_attn_implementation", "attn_implementation", "_attn_implementation_internal"])
def test_an_implementation_that_config_json_chooses_does_not_win_over_ours(tmp_path, entry):
    """flash_attention_2 would be fetched from the hub where its package is not installed."""
    expected = el.wrap(BY_NAME["bert"].model(), tiny_tokenizer()).trace("the cat sat").weights
    model = el.load(with_config(tmp_path / "m", "bert", **{entry: "flash_attention_2"}))
    assert (model.trace("the cat sat").weights == expected).all()


LAYERS = [("bert", "num_hidden_layers"), ("llama", "num_hidden_layers"), ("t5", "num_decoder_layers"), ("gpt2", "n_layer")]
AXES = [
    ("bert", "hidden_size"), ("llama", "vocab_size"), ("llama", "intermediate_size"), ("llama", "head_dim"), ("gpt2", "n_positions"),
    ("bert", "max_position_embeddings"), ("vit", "image_size"), ("vit", "num_channels"),
]  # fmt: skip


@pytest.mark.parametrize(("family", "name"), [*LAYERS, ("bert", "num_labels"), *AXES])
def test_sizes_that_the_weights_do_not_have_are_refused_before_anything_is_built(tmp_path, family, name):
    folder = with_config(tmp_path / "m", family, **{name: 10**9})
    with pytest.raises(ModelError, match=r"[Ii]ts weights are|asks for pictures"):
        el.load(folder)
    if (family, name) not in AXES:
        assert declared(str(folder)) is None


@pytest.mark.parametrize(("family", "name"), [*LAYERS, *AXES])
@pytest.mark.parametrize("size", [-1, 0, 9_999, 2**62])
def test_other_wrong_sizes_are_refused_too(tmp_path, family, name, size):
    folder = with_config(tmp_path / "m", family, **{name: size})
    with suppress(ModelError):  # some are not read at all
        el.load(folder)


@pytest.mark.parametrize(
    ("name", "size"), [("num_hidden_layers", -1), ("num_hidden_layers", 0), ("num_attention_heads", 0), ("vocab_size", -1)]
)
def test_a_count_that_no_model_has_is_refused_by_its_name(tmp_path, name, size):
    with pytest.raises(ModelError, match=f"(?s)says {name} = {size}.*or more"):
        el.load(with_config(tmp_path / "m", "bert", **{name: size}))


@pytest.mark.parametrize(
    "entry", [{"max_relative_positions": -1}, {"vision_feature_layer": -1}, {"num_experts": 0}, {"text_config": {"num_hidden_layers": 0}}]
)
def test_entries_in_which_0_or_less_has_a_meaning_are_not_refused(tmp_path, entry):
    assert el.load(with_config(tmp_path / "m", "bert", **entry)).trace("the cat sat").weights.shape[0]


def test_the_entry_that_asks_for_code_is_named_without_a_trailing_dot(tmp_path):
    with pytest.raises(ModelError, match=r"\(_attn_implementation: 'a/b'\)"):
        el.load(with_config(tmp_path / "m", "bert", _attn_implementation={"": "a/b"}))


def test_weights_that_unpack_to_more_than_their_file_are_refused(tmp_path):
    save(tmp_path / "m", "bert")
    (tmp_path / "m" / "model.safetensors").unlink()
    with zipfile.ZipFile(tmp_path / "m" / "pytorch_model.bin", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", bytes(10**7))
    with pytest.raises(ModelError, match="would grow from"):
        el.load(tmp_path / "m")


def test_a_model_built_elsewhere_meanwhile_is_not_counted(tmp_path):
    """The limit holds in the context that loads, and ends with it."""
    from eyeline.models.claims import WeightFiles, built_from

    with built_from(WeightFiles(1, 1, 1), "m"), ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: len(torch.nn.ModuleList(torch.nn.Linear(1, 1) for _ in range(2000)))).result() == 2000
        with pytest.raises(ModelError, match="describes a model of more than 1,003 tensors"):
            torch.nn.ModuleList(torch.nn.Linear(1, 1) for _ in range(2000))
    torch.nn.ModuleList(torch.nn.Linear(1, 1) for _ in range(2000))


def test_further_options_go_to_transformers(tmp_path):
    small_llama().bfloat16().save_pretrained(tmp_path / "all" / "inner", max_shard_size="20KB")
    tiny_tokenizer().save_pretrained(tmp_path / "all" / "inner")
    model = el.load(tmp_path / "all", subfolder="inner", dtype="auto", device_map={"": "cpu"})
    assert model.hf.dtype == torch.bfloat16
    plain = el.load(tmp_path / "all" / "inner", dtype=torch.bfloat16)
    assert np.array_equal(model.trace("the cat sat").weights, plain.trace("the cat sat").weights)
    again = open_again(pickle.loads(pickle.dumps(model.source)), model.identity())
    assert again.hf.dtype == torch.bfloat16
    with pytest.raises(ModelError, match="has no folder other"):
        el.load(tmp_path / "all", subfolder="other")
    with pytest.raises(ModelError, match=r'Give a type of torch, such as torch.bfloat16, or "auto"'):
        el.load(tmp_path / "all", subfolder="inner", dtype="bfloat16")
    with pytest.raises(ModelError, match="unexpected keyword argument 'devise_map'"):
        el.load(tmp_path / "all", subfolder="inner", devise_map="auto")


def test_a_model_with_options_keeps_no_traces(tmp_path, caplog):
    small_llama().save_pretrained(tmp_path / "m")
    tiny_tokenizer().save_pretrained(tmp_path / "m")
    model = el.load(tmp_path / "m", device_map={"": "cpu"}, cache=tmp_path / "cache")
    assert "are not kept on disk" in caplog.text
    model.trace("the cat sat")
    assert not list((tmp_path / "cache").rglob("*.safetensors"))


def test_an_adapter_is_opened_with_its_model(tmp_path):
    peft = pytest.importorskip("peft")
    base = small_llama()
    base.save_pretrained(tmp_path / "base")
    tiny_tokenizer().save_pretrained(tmp_path / "base")
    adapted = peft.get_peft_model(base, peft.LoraConfig(target_modules=["q_proj", "v_proj"], r=4, init_lora_weights=False))
    adapted.save_pretrained(tmp_path / "adapter")
    model = el.load(tmp_path / "base", adapter=tmp_path / "adapter")
    expected = el.wrap(adapted.eval(), tiny_tokenizer()).trace("the cat sat")
    assert np.abs(model.trace("the cat sat").weights - expected.weights).max() < 1e-6
    assert np.abs(model.trace("the cat sat").weights - el.load(tmp_path / "base").trace("the cat sat").weights).max() > 1e-3
    assert open_again(model.source, model.identity()).weights() == model.weights()
    with pytest.raises(ModelError, match="cannot be opened as an adapter of base"):
        el.load(tmp_path / "base", adapter=tmp_path / "base")


@pytest.mark.parametrize("second", ["cpu", "cuda:0"])
def test_a_model_over_several_devices_is_recorded_where_its_layers_lie(second):
    """With accelerate's hooks, which replace the forward of every module. Without a GPU both devices are the processor."""
    accelerate = pytest.importorskip("accelerate")
    if second != "cpu" and not torch.cuda.is_available():
        pytest.skip("no GPU: a model that lies on the processor and on a GPU was not tried")
    placed = {"model.embed_tokens": "cpu", "model.rotary_emb": "cpu", "model.layers.0": "cpu", "model.layers.1": second}
    placed |= {"model.layers.2": second, "model.norm": second, "lm_head": second}
    hf = accelerate.dispatch_model(small_llama(), placed, main_device="cpu", force_hooks=True)
    model, plain = el.wrap(hf, tiny_tokenizer(), name="m"), el.wrap(small_llama(), tiny_tokenizer(), name="m")
    texts = ["the cat sat on the mat", "the dog ran home and sat down"]
    for ours, theirs in zip(model.traces(texts), plain.traces(texts), strict=True):
        assert np.abs(ours.weights - theirs.weights).max() < 1e-5
        assert ours.notices == theirs.notices
    assert model.weights() == plain.weights()
    assert model.identity() == plain.identity()
    off = [el.Ablate([(1, 2)])]
    assert torch.allclose(*(m.passes.output([m.read(texts[0])], [off]).logits.cpu() for m in (model, plain)), atol=1e-4)
    runs = [el.analyse(m, texts, statistics=[el.statistics.Entropy(), el.statistics.AverageAttention()]) for m in (model, plain)]
    for name in ("entropy", "average_attention"):
        values = [[value for row in run.table(name).rows() for value in row.values() if isinstance(value, float)] for run in runs]
        assert values[0]
        assert np.allclose(*values, atol=1e-5, equal_nan=True)
    for method in ("norms", "alti", "logits", "gradient", "integrated-gradients"):
        maps = [el.attribute(m, texts[0], method=method).weights for m in (model, plain)]
        assert np.abs(maps[0] - maps[1]).max() < 1e-4, method
    circuits = [el.circuit(m, "the cat sat", "the dog sat", answer=10, against=11).table("patching")["restored"] for m in (model, plain)]
    assert np.allclose(*circuits, atol=1e-4)
    half = [el.wrap(m.to(torch.bfloat16), tiny_tokenizer(), name="m") for m in (hf, plain.hf)] if second == "cpu" else []
    norms = [el.attribute(m, texts[0], method="norms").weights for m in half]
    assert not norms or np.abs(norms[0] - norms[1]).max() < 1e-4


def test_a_model_that_is_offloaded_to_disk_is_refused_with_the_way_out(tmp_path):
    accelerate = pytest.importorskip("accelerate")
    hf = accelerate.disk_offload(small_llama(), tmp_path, execution_device=torch.device("cpu"))
    with pytest.raises(ModelError, match=r"offloaded \(device meta\)[\s\S]*device_map without disk"):
        el.wrap(hf, tiny_tokenizer())
