"""Opening models: embedded, folders, hub ids out of reach, and what is refused."""

from __future__ import annotations

import json
import pickle

import pytest
import torch
import transformers

import eyeline as el
from eyeline.errors import EyelineError, ModelError, TraceError
from eyeline.models import embedded, hub
from eyeline.models import load as load_module
from tests.capture.families import BY_NAME, tiny_tokenizer


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
        assert not hub.reachable(f"http://127.0.0.1:{port}"), "bound, but not listening"
        listening.listen()
        assert hub.reachable(f"http://127.0.0.1:{port}")
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    assert hub.reachable("https://127.0.0.1:1"), "only the proxy knows"


def test_a_folder_never_asks_the_network(tmp_path, monkeypatch):
    monkeypatch.setattr(hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(hub, "reachable", lambda _: pytest.fail("asked the network for a folder"))
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
    assert str(first.fingerprint) == str(second.fingerprint)  # else no run of it could ever be resumed


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
    from eyeline.capture import inputs

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
