"""The identity of a model changes with everything that changes its numbers, and with nothing else."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

import eyeline as el
from eyeline.models import identity
from eyeline.models.identity import model_identity, weights_identity
from tests.models.changed import CHANGES, bert, with_adapter
from tests.models.families import FAMILIES, tiny_tokenizer

TEXT = "the cat sat on the mat ."


def with_lora(hf):
    peft = pytest.importorskip("peft")
    config = peft.LoraConfig(target_modules=["query", "key"], r=4, lora_alpha=64, init_lora_weights=False)
    return peft.get_peft_model(hf, config)


# ---- Every byte of the weights counts


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("make", [bert, with_adapter], ids=["bert", "adapter"])
def test_a_change_of_any_tensor_is_seen_however_it_is_made(make, change):
    hf = make()
    before = weights_identity(hf)
    tensors = dict(hf.named_parameters()) | dict(hf.named_buffers())
    assert len(tensors) > 40
    for name, tensor in tensors.items():
        saved, counter = tensor.detach().clone(), tensor._version
        change(tensor)
        assert tensor._version == counter, "seen by torch itself"
        assert not torch.equal(tensor.view(torch.uint8), saved.view(torch.uint8)), name
        assert weights_identity(hf) != before, name
        tensor.data.copy_(saved)
    assert weights_identity(hf) == before


SIGNS = {
    "all": lambda weight: weight.neg_(),
    "a row": lambda weight: weight[5].neg_(),
    "a column": lambda weight: weight[:, 5].neg_(),
    "even columns": lambda weight: weight[:, ::2].neg_(),
    "odd columns": lambda weight: weight[:, 1::2].neg_(),
}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("positive", [True, False])
def test_changed_signs_are_seen(dtype, positive):
    """Of numbers of one sign, as in a norm, and of both; they sit in the highest bits of words, or in the highest of both halves."""
    torch.manual_seed(0)
    module = torch.nn.Linear(64, 96, dtype=dtype)
    weight = module.weight.data
    if positive:
        weight.abs_()
    before = weights_identity(module)
    for name, change in SIGNS.items():
        change(weight)
        assert weights_identity(module) != before, name
        change(weight)
    weight.mul_(2)
    assert weights_identity(module) != before
    weight.div_(2)
    assert weights_identity(module) == before


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16, torch.int64, torch.int8, torch.bool])
def test_sizes_that_fill_no_word_and_more_than_one_block_are_summed_whole(dtype, monkeypatch):
    monkeypatch.setattr(identity, "AT_ONCE", {"cpu": 8 * identity.BLOCK * 2})
    torch.manual_seed(0)
    for size in (0, 1, 7, 8, 9, identity.BLOCK * 8 + 3, identity.BLOCK * 40 + 5):
        module = torch.nn.Module()
        module.register_buffer("weights", (torch.rand(size) * 5).to(dtype))
        seen = {weights_identity(module)}
        for at in {0, size // 2, size - 1} if size else ():
            module.weights[at] = 1 - module.weights[at].double()  # each a new value in its place
            seen.add(weights_identity(module))
        assert len(seen) == 1 + (len({0, size // 2, size - 1}) if size else 0), size


def test_how_much_is_summed_at_once_does_not_count(monkeypatch):
    """A GPU takes more at once than a processor."""
    module = torch.nn.Module()
    module.register_buffer("weights", torch.randn(identity.BLOCK * 9 + 5))
    identities = set()
    for blocks in (1, 2, 100):
        monkeypatch.setattr(identity, "AT_ONCE", {"cpu": 8 * identity.BLOCK * blocks})
        identities.add(weights_identity(module))
    assert len(identities) == 1


def test_the_order_of_memory_does_not_count_and_the_shape_does():
    module = torch.nn.Module()
    module.weights = torch.nn.Parameter(torch.arange(60.0).reshape(6, 10))
    before = weights_identity(module)
    module.weights = torch.nn.Parameter(module.weights.detach().T.contiguous().T)
    assert not module.weights.is_contiguous()
    assert weights_identity(module) == before
    module.weights = torch.nn.Parameter(torch.arange(60.0).reshape(10, 6))
    assert weights_identity(module) != before


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_processor_and_a_gpu_agree_in_every_bit():
    hf = bert()
    assert weights_identity(hf) == weights_identity(copy.deepcopy(hf).cuda())


# ---- What else decides the numbers


def identity_of(model: el.Model) -> str:
    return model.identity()


def is_decoder(hf, _):
    hf.config.is_decoder = True


def normaliser(_, tokenizer):
    from tokenizers import normalizers

    tokenizer.backend_tokenizer.normalizer = normalizers.Replace("cat", "dog")


def tensor_attribute(hf, _):
    hf.encoder.layer[0].steer = torch.ones(3)


def another_tensor_attribute(hf, _):
    hf.encoder.layer[0].steer = torch.ones(3) * 2


def function_attribute(hf, _):
    hf.encoder.layer[0].act = lambda hidden: hidden * 2


def another_function_attribute(hf, _):
    hf.encoder.layer[0].act = lambda hidden: hidden * 3


def closure(hf, _, factor=4):
    hf.encoder.layer[0].act = lambda hidden: hidden * factor


def another_closure(hf, _, factor=5):
    hf.encoder.layer[0].act = lambda hidden: hidden * factor


def scaling(hf, _):
    hf.encoder.layer[0].attention.self.scaling *= 30


def hook(hf, _):
    hf.embeddings.register_forward_hook(lambda _module, _inputs, output: output * 5)


def replaced_forward(hf, _):
    hf.embeddings.forward = lambda *args, **kwargs: None


def weights_through_data(hf, _):
    hf.embeddings.word_embeddings.weight.data[3] *= 2


OTHERS = [
    is_decoder, normaliser, tensor_attribute, another_tensor_attribute, function_attribute, another_function_attribute, closure,
    another_closure, scaling, hook, replaced_forward, weights_through_data,
]  # fmt: skip


def test_whatever_changes_the_numbers_gives_another_identity():
    plain = el.wrap(bert(), tiny_tokenizer())
    seen = [plain.identity()]
    for change in OTHERS:
        model = el.wrap(bert(), tiny_tokenizer())
        assert model.identity() == seen[0]
        change(model.hf, model.tokenizer)
        seen.append(model.identity())
    assert len(set(seen)) == len(seen)


def test_truncation_that_was_set_in_a_tokeniser_is_not_part_of_the_identity():
    model = el.wrap(bert(), tiny_tokenizer())
    before = model.identity()
    model.tokenizer.backend_tokenizer.enable_truncation(5)
    assert model.identity() == before


def test_the_active_adapter_and_whether_it_is_merged_are_part_of_the_identity():
    hf = with_adapter()
    model = el.wrap(hf, tiny_tokenizer())
    on, trace = model.identity(), model.trace(TEXT)
    hf.encoder.layer[1].attention.self.query.active = False
    assert model.identity() != on
    assert not np.array_equal(model.trace(TEXT).weights, trace.weights)


def test_adapters_of_peft_are_part_of_the_identity():
    peft = pytest.importorskip("peft")
    adapted = with_lora(bert())
    adapted.add_adapter("other", peft.LoraConfig(target_modules=["query", "key"], r=4, init_lora_weights=False))
    model = el.wrap(adapted, tiny_tokenizer())
    seen = [model.identity()]
    adapted.set_adapter("other")
    seen.append(model.identity())
    adapted.merge_adapter()
    seen.append(model.identity())
    assert len(set(seen)) == 3


def test_dynamic_quantisation_is_part_of_the_identity():
    hf = bert()
    before = el.wrap(hf, tiny_tokenizer()).identity()
    quantised = torch.ao.quantization.quantize_dynamic(hf, {torch.nn.Linear}, dtype=torch.qint8)
    model = el.wrap(quantised, tiny_tokenizer())
    after = model.identity()
    assert after != before
    assert model.identity() == after
    changed = bert()
    changed.encoder.layer[0].attention.self.query.weight.data.mul_(2)
    other = torch.ao.quantization.quantize_dynamic(changed, {torch.nn.Linear}, dtype=torch.qint8)
    assert el.wrap(other, tiny_tokenizer()).identity() != after


class Counter(torch.nn.Linear):
    """A layer whose extra state changes its output."""

    factor = 1.0

    def get_extra_state(self):
        return {"factor": self.factor}

    def set_extra_state(self, state):
        self.factor = state["factor"]

    def forward(self, hidden):
        return super().forward(hidden) * type(self).factor


def test_extra_state_is_part_of_the_identity(monkeypatch):
    hf = bert()
    hf.encoder.layer[0].attention.self.query = Counter(32, 32)
    model = el.wrap(hf, tiny_tokenizer())
    before = model.identity()
    monkeypatch.setattr(Counter, "factor", 5.0)
    assert model.identity() != before


def test_a_model_with_hooks_is_never_the_same_again():
    """The same function may hold another value."""
    hf = bert()
    model = el.wrap(hf, tiny_tokenizer())
    before = model.identity()
    handle = hf.embeddings.register_forward_hook(lambda _module, _inputs, output: output * 5)
    assert len({before, model.identity(), model.identity()}) == 3
    handle.remove()
    assert model.identity() == before


@pytest.mark.parametrize("family", [f for f in FAMILIES if f.reads == "text"], ids=str)
def test_a_pass_does_not_change_the_identity_and_the_same_weights_have_the_same(family):
    model = el.wrap(family.model(), tiny_tokenizer())
    before = model.identity()
    trace = model.trace(TEXT, "it ran" if "cross" in family.layers else None)
    assert "context" not in trace.about, "its own code was taken for replaced code"
    assert model.identity() == before
    assert el.wrap(family.model(), tiny_tokenizer()).identity() == before
    assert model_identity(model.hf, tiny_tokenizer()) == before


def test_the_same_files_have_the_same_identity_from_every_path(tmp_path, monkeypatch):
    for folder in ("one", "two"):
        bert().save_pretrained(tmp_path / folder)
        tiny_tokenizer().save_pretrained(tmp_path / folder)
    monkeypatch.chdir(tmp_path)
    identities = {el.load(path).identity() for path in ("one", tmp_path / "one", "two")}
    assert len(identities) == 1  # workers open a model by its whole path, another machine elsewhere


# ---- Who relies on it


def test_the_weights_of_a_trace_are_those_of_its_pass(tmp_path):
    model = el.wrap(bert(), tiny_tokenizer())
    first = model.trace(TEXT)
    assert first.about["weights"] == weights_identity(model.hf)
    for parameter in model.hf.parameters():
        parameter.data.mul_(3)
    assert model.trace(TEXT).about["weights"] == weights_identity(model.hf) != first.about["weights"]
    with pytest.raises(el.EyelineError, match="of other weights"):
        model.trace(TEXT, interventions=el.Patch(first, [(0, 1)]))


def test_a_loaded_model_reads_its_weights_once_until_it_is_handed_out(tmp_path, monkeypatch):
    bert().save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    model, read = el.load(tmp_path), []
    original = weights_identity
    monkeypatch.setattr("eyeline.models.model.weights_identity", lambda body: (read.append(1), original(body))[1])
    first = model.trace(TEXT).about["weights"]
    model.trace(TEXT)
    assert len(read) == 1
    model.hf.embeddings.word_embeddings.weight.data[5] += 1
    assert model.trace(TEXT).about["weights"] != first
    assert len(read) == 2


@pytest.mark.parametrize("change", [weights_through_data, is_decoder, normaliser, hook], ids=lambda change: change.__name__)
def test_a_run_is_not_resumed_with_a_changed_model(tmp_path, change):
    model, texts = el.wrap(bert(), tiny_tokenizer()), [TEXT, "a dog ran home"]
    statistics = [el.statistics.Entropy()]
    el.analyse(model, texts, statistics, folder=tmp_path)
    el.analyse(model, texts, statistics, folder=tmp_path, resume=True)
    change(model.hf, model.tokenizer)
    with pytest.raises(el.EyelineError, match="another model, or its weights have changed"):
        el.analyse(model, texts, statistics, folder=tmp_path, resume=True)
