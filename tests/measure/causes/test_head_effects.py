"""What each head does to the answer, checked against plain hooks on the model: no stored layers, no shortened head, no interventions."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
import transformers as t
from tokenizers import processors

import eyeline as el
from eyeline.errors import EyelineError, ModelError, TraceError
from eyeline.measure.causes.run import removal_orders
from eyeline.statistics import HeadEffects, Pruning, merge_runs
from tests.models.families import VOCAB, tiny_tokenizer

TEXTS = ["the cat sat on the mat .", "she opened the door", "a dog ran .", "the mat was old and the cat was tired ."]
SIZE = 8


def decoder() -> el.Model:
    """Grouped keys: four heads share two key heads."""
    torch.manual_seed(0)
    config = t.LlamaConfig(
        vocab_size=VOCAB, hidden_size=32, intermediate_size=24, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
        head_dim=SIZE, max_position_embeddings=64,
    )  # fmt: skip
    return el.wrap(t.LlamaForCausalLM._from_config(config, attn_implementation="eager").eval(), tiny_tokenizer(), name="decoder")


def encoder(spread: float = 0.02) -> el.Model:
    """spread: standard deviation of its random weights."""
    torch.manual_seed(0)
    config = t.BertConfig(
        vocab_size=VOCAB, hidden_size=32, intermediate_size=24, num_hidden_layers=3, num_attention_heads=4, max_position_embeddings=64,
        initializer_range=spread,
    )  # fmt: skip
    tokenizer = tiny_tokenizer()
    tokenizer.mask_token = "[UNK]"
    return el.wrap(t.BertForMaskedLM._from_config(config, attn_implementation="eager").eval(), tokenizer, name="encoder")


def projections(model: el.Model) -> list[torch.nn.Module]:
    """The output projection of each layer: its input is what the heads wrote, side by side."""
    if model.hf.config.model_type == "bert":
        return [layer.attention.output.dense for layer in model.hf.bert.encoder.layer]
    return [layer.self_attn.o_proj for layer in model.hf.model.layers]


def questions(model: el.Model, text: str, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids and labels of one text."""
    source = model.read(text).source
    ids = torch.tensor([source.ids])
    if model.hf.config.model_type != "bert":
        return ids, torch.cat([ids[:, 1:], torch.full((1, 1), -100)], 1)
    free = [i for i, special in enumerate(source.special) if not special]
    chosen = random.Random(f"{seed} {source.ids}").sample(free, max(1, round(0.15 * len(free))))  # noqa: S311 - seeded, not a secret
    labels = torch.full_like(ids, -100)
    labels[0, chosen] = ids[0, chosen]
    masked = ids.clone()
    masked[0, chosen] = model.tokenizer.mask_token_id
    return masked, labels


def plain_logits(model: el.Model, ids: torch.Tensor, layer: int | None = None, head: int = 0, by: str = "zero") -> torch.Tensor:
    def change(_module, inputs):
        (z,) = inputs
        z = z.clone()
        part = slice(head * SIZE, (head + 1) * SIZE)
        z[..., part] = 0 if by == "zero" else z[..., part].mean(1, keepdim=True)
        return (z,)

    handle = None if layer is None else projections(model)[layer].register_forward_pre_hook(change)
    try:
        with torch.no_grad():
            return model.hf(input_ids=ids).logits
    finally:
        if handle is not None:
            handle.remove()


def reference(model: el.Model, by: str) -> dict[tuple[int, int], tuple[float, float]]:
    """(loss_change, answer_change) of every head, one text and one head at a time."""
    changes: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for text in TEXTS:
        ids, labels = questions(model, text)
        predicted = labels[0] >= 0
        whole = plain_logits(model, ids)[0, predicted].log_softmax(-1)
        best, right = whole.argmax(-1), labels[0, predicted]
        for layer in range(3):
            for head in range(4):
                less = plain_logits(model, ids, layer, head, by)[0, predicted].log_softmax(-1)
                rows = torch.arange(len(right))
                loss = (whole[rows, right] - less[rows, right]).mean()
                answer = (whole[rows, best].exp() - less[rows, best].exp()).mean()
                changes.setdefault((layer, head), []).append((float(loss), float(answer)))
    return {key: (float(np.mean([a for a, _ in rows])), float(np.mean([b for _, b in rows]))) for key, rows in changes.items()}


@pytest.mark.parametrize("make", [encoder, decoder])
@pytest.mark.parametrize("by", ["zero", "mean"])
def test_every_effect_is_that_of_a_plain_hook_on_the_output_projection(make, by):
    model = make()
    table = el.analyse(model, TEXTS, [HeadEffects(by)]).table("causes")
    expected = reference(model, by)
    assert len(table) == 12
    for layer, head, loss, answer in zip(table["layer"], table["head"], table["loss_change"], table["answer_change"], strict=True):
        np.testing.assert_allclose((loss, answer), expected[int(layer), int(head)], atol=2e-5)


@pytest.mark.parametrize("make", [encoder, decoder])
def test_the_gradient_is_that_of_a_gate_on_the_head(make):
    model = make()
    table = el.analyse(model, TEXTS, [HeadEffects()]).table("causes")
    sizes, signed = np.zeros((3, 4)), np.zeros((3, 4))
    for text in TEXTS:
        ids, labels = questions(model, text)
        gates = torch.ones(3, 4, requires_grad=True)
        handles = [
            projection.register_forward_pre_hook(lambda _m, z, gate=gates[layer]: (z[0] * gate.repeat_interleave(SIZE),))
            for layer, projection in enumerate(projections(model))
        ]
        loss = torch.nn.functional.cross_entropy(model.hf(input_ids=ids).logits.transpose(1, 2), labels)
        (slope,) = torch.autograd.grad(loss, gates)
        for handle in handles:
            handle.remove()
        sizes += slope.abs().numpy() / len(TEXTS)
        signed -= slope.numpy() / len(TEXTS)
    np.testing.assert_allclose(table["gradient"].astype(float), sizes.ravel(), atol=2e-5)
    np.testing.assert_allclose(table["attribution"].astype(float), signed.ravel(), atol=2e-5)


def classifier() -> el.Model:
    torch.manual_seed(0)
    config = t.BertConfig(
        vocab_size=VOCAB, hidden_size=32, intermediate_size=24, num_hidden_layers=3, num_attention_heads=4, max_position_embeddings=64,
        num_labels=3, initializer_range=0.2,
    )  # fmt: skip
    return el.wrap(
        t.BertForSequenceClassification._from_config(config, attn_implementation="eager").eval(), tiny_tokenizer(), name="labels"
    )


def test_of_a_classifier_the_effects_are_those_on_its_own_answer():
    model = classifier()
    table = el.causes(model, TEXTS, pruning=False).table("causes")
    losses, answers = np.zeros((3, 4)), np.zeros((3, 4))
    for text in TEXTS:
        ids = torch.tensor([model.read(text).source.ids])
        whole = plain_logits(model, ids)[0].log_softmax(-1)
        best = int(whole.argmax())
        for layer, head in np.ndindex(3, 4):
            less = plain_logits(model, ids, layer, head)[0].log_softmax(-1)
            losses[layer, head] += float(whole[best] - less[best]) / len(TEXTS)
            answers[layer, head] += float(whole[best].exp() - less[best].exp()) / len(TEXTS)
    np.testing.assert_allclose(table["loss_change"].astype(float), losses.ravel(), atol=2e-5)
    np.testing.assert_allclose(table["answer_change"].astype(float), answers.ravel(), atol=2e-5)


def test_parts_of_a_corpus_merged_give_the_effects_of_the_whole(tmp_path):
    model = encoder()
    folders = []
    for number, part in enumerate((TEXTS[:2], TEXTS[2:])):
        folders.append(tmp_path / str(number))
        el.analyse(model, part, [HeadEffects()], folder=folders[-1]).save(folders[-1])
    whole = el.analyse(model, TEXTS, [HeadEffects()]).table("causes")
    merged = merge_runs(folders).table("causes")
    for column in ("loss_change", "answer_change", "gradient", "attribution"):
        np.testing.assert_allclose(merged[column].astype(float), whole[column].astype(float), atol=1e-6)


def test_a_run_holds_effects_their_agreement_and_the_pruning_curve(tmp_path):
    (tmp_path / "run" / "pruning").mkdir(parents=True)
    (tmp_path / "run" / "pruning" / "notes.txt").write_text("mine")
    run = el.causes(encoder(), TEXTS, folder=tmp_path / "run")
    assert {"causes", "causes_agreement", "pruning", "entropy", "average_attention"} <= set(run.tables)
    assert (tmp_path / "run" / "pruning" / "notes.txt").exists()
    assert not list((tmp_path / "run").glob(".eyeline-*"))
    agreement = {(row["first"], row["second"]): row["correlation"] for row in run.table("causes_agreement").rows()}
    assert agreement["loss_change", "attribution"] > 0.5
    assert all(-1 <= value <= 1 for value in agreement.values() if np.isfinite(value))
    curve = run.table("pruning")
    whole = curve.where(removed=0)
    assert set(curve["order"]) == {"least effect first", "random 0", "random 1"}
    assert (whole["kept"].astype(float) == 1).all()
    assert np.ptp(whole["loss"].astype(float)) == 0
    gone = curve.where(removed=12)["loss"].astype(float)  # all heads gone: the order no longer counts
    np.testing.assert_allclose(gone, gone[0], atol=1e-6)


def test_the_pruning_curve_ablates_the_heads_of_its_order_together():
    model = encoder()
    orders = {"one": [("encoder", 0, 1), ("encoder", 2, 3)]}
    table = el.analyse(model, TEXTS[:1], [Pruning(orders, steps=2)]).table("pruning")
    ids, labels = questions(model, TEXTS[0])
    handles = [
        projections(model)[layer].register_forward_pre_hook(
            lambda _m, z, head=head: (z[0] * (torch.arange(32) // SIZE != head),),
        )
        for _, layer, head in orders["one"]
    ]
    with torch.no_grad():
        loss = torch.nn.functional.cross_entropy(model.hf(input_ids=ids).logits.transpose(1, 2), labels)
    for handle in handles:
        handle.remove()
    assert float(table["loss"][-1]) == pytest.approx(float(loss), abs=1e-5)


def test_heads_with_the_least_effect_go_first():
    rows = [
        {"layer": 0, "head": 0, "loss_change": 0.3},
        {"layer": 0, "head": 1, "loss_change": -0.1},
        {"layer": 1, "head": 0, "loss_change": 0.1},
    ]
    orders = removal_orders(el.runs.Table.from_rows(rows, ("layer", "head", "loss_change")), "encoder", 0)
    assert [str(head) for head in orders["least effect first"]] == ["L0·H1", "L1·H0", "L0·H0"]
    assert all(sorted(order) == sorted(orders["least effect first"]) for order in orders.values())


def test_a_text_that_asks_for_no_prediction_is_left_out_and_counted():
    model = decoder()
    model.tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(single="$A", pair="$A $B", special_tokens=[])
    statistic = HeadEffects()
    run = el.analyse(model, ["cat", *TEXTS], [statistic])
    assert run.facts.notices == ("1 of 5 texts are too long or too short for causes and missing there alone.",)
    whole = el.analyse(model, TEXTS, [statistic]).table("causes")
    np.testing.assert_allclose(run.table("causes")["loss_change"].astype(float), whole["loss_change"].astype(float), atol=1e-6)


def test_the_model_is_left_as_it_was():
    model = encoder()
    before = {name: value.clone() for name, value in model.hf.state_dict().items()}
    modules = dict(model.hf.named_modules())
    el.analyse(model, TEXTS, [HeadEffects()])
    assert all(torch.equal(value, before[name]) for name, value in model.hf.state_dict().items())
    assert dict(model.hf.named_modules()) == modules
    assert all(not module._forward_pre_hooks for module in modules.values())


def test_a_shortcut_that_would_give_another_number_is_an_error(monkeypatch):
    from eyeline.models import passes

    monkeypatch.setattr(passes.StoredPass, "layers_before", lambda *_: 3)  # every layer taken from the store, the ablated one too
    with pytest.raises(ModelError, match="begins at a stored layer"):
        el.analyse(encoder(spread=0.4), TEXTS, [HeadEffects()])


def test_a_model_without_a_loss_is_an_error_that_says_so():
    torch.manual_seed(0)
    config = t.BertConfig(vocab_size=VOCAB, hidden_size=32, intermediate_size=24, num_hidden_layers=1, num_attention_heads=4)
    model = el.wrap(t.BertModel._from_config(config, attn_implementation="eager").eval(), tiny_tokenizer(), name="headless")
    with pytest.raises(EyelineError, match="no language-modelling head"):
        el.causes(model, TEXTS)


@pytest.mark.parametrize("by", ["resample", "", None])
def test_an_ablation_that_is_not_offered_is_named(by):
    with pytest.raises(TraceError, match="Heads ablated by"):
        HeadEffects(by)
