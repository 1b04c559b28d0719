"""Interventions inside the attention function, against dense references computed from the trace and the model's own weights."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch

import eyeline as el
from tests.models.families import BY_NAME, FAMILIES, open_family, tiny_tokenizer

#: Families that differ in what the attention function meets; the others run with `make test-families`.
QUICK = ("bert", "albert", "gpt2", "llama", "gemma2", "gpt-oss", "t5", "marian")
RECORDED = [
    pytest.param(family, id=family.name, marks=() if family.name in QUICK else pytest.mark.families)
    for family in FAMILIES
    if family.recorded and family.reads == "text"
]
TEXT, PAIR = "the cat sat on the mat .", "it ran home ."
OTHER = "a dog ran home very long ?"


def written(model: el.Model, interventions=(), text: str = TEXT, pair: str | None = PAIR) -> dict[tuple[str, int], np.ndarray]:
    """What every head writes, as the rest of the model receives it: stack and layer → [query, head, dim]."""
    seen = {}
    example = model.read((text, pair) if pair else text)
    model.passes.output([example], [list(interventions)], receive=lambda slot, z: seen.update({(slot.stack, slot.layer): z[0].numpy()}))
    return seen


def answer(model: el.Model, interventions=(), text: str = TEXT, pair: str | None = PAIR) -> np.ndarray:
    return model.passes.output([model.read((text, pair) if pair else text)], [list(interventions)])[0].numpy()


@pytest.fixture(scope="module", params=RECORDED)
def model(request) -> el.Model:
    return open_family(request.param.name)


def head_of(model: el.Model) -> el.HeadRef:
    slot = model.layout.slots[-1]  # the last call: of an encoder-decoder model, its cross attention
    return el.HeadRef(slot.stack, slot.layer, 1)


def test_every_kind_of_ablation_replaces_what_the_head_writes_and_nothing_else_before_it(model):
    head = head_of(model)
    plain, other = written(model), model.trace(OTHER, PAIR)
    z = plain[head.stack, head.layer][:, head.head]  # [query, dim]
    of_other = other.stacks[head.stack].output_of(head.layer, head.head)
    expected = [
        (el.Ablate([head]), np.zeros_like(z)),
        (el.Ablate([head], by="mean"), np.broadcast_to(z.mean(0), z.shape)),
        (el.Ablate([head], by="mean", source=[other]), np.broadcast_to(of_other.mean(0), z.shape)),
        (el.Scale([head], 2.5), 2.5 * z),
        (el.Patch({head: z[::-1].copy()}), z[::-1]),
    ]
    for intervention, wanted in expected:
        changed = written(model, [intervention])[head.stack, head.layer]
        assert np.abs(changed[:, head.head] - wanted).max() < 1e-5, str(intervention)
        others = [h for h in range(changed.shape[1]) if h != head.head]
        assert np.array_equal(changed[:, others], plain[head.stack, head.layer][:, others]), str(intervention)


def test_a_hidden_key_gets_no_weight_and_the_rest_of_the_softmax_is_computed_again(model):
    head = head_of(model)
    plain, other = (model.trace(TEXT, PAIR, interventions=i) for i in ((), el.KnockOut([2, 3], [1], [head])))
    before, after = (t.stacks[head.stack].weights_by_layer[t.stacks[head.stack].layers.index(head.layer)] for t in (plain, other))
    rest = np.delete(before[head.head, 2:4], 1, axis=1)
    left = np.delete(after[head.head, 2:4], 1, axis=1)
    assert (after[head.head, 2:4, 1] == 0).all()
    if next(slot for slot in model.layout.slots if (slot.stack, slot.layer) == (head.stack, head.layer)).plain:
        assert np.abs(left - rest / rest.sum(-1, keepdims=True)).max() < 1e-5
    before[head.head, 2:4] = after[head.head, 2:4]
    assert np.array_equal(before, after)


def test_a_weight_set_to_zero_leaves_the_others_as_they_were(model):
    head = head_of(model)
    sums = written(model)[head.stack, head.layer]
    trace = model.trace(TEXT, PAIR)
    stack = trace.stacks[head.stack]
    index = stack.layers.index(head.layer)
    weights, values = stack.weights_by_layer[index][head.head].copy(), stack.values_by_layer[index]
    weights[3, [0, 1]] = 0
    wanted = weights @ values[head.head * len(values) // stack.n_heads]
    knocked = el.KnockOut(3, [0, 1], [head], renormalise=False)
    assert np.abs(written(model, [knocked])[head.stack, head.layer][:, head.head] - wanted).max() < 1e-5
    sums[:, head.head] = wanted
    assert np.abs(written(model, [knocked])[head.stack, head.layer] - sums).max() < 1e-5
    recorded = model.trace(TEXT, PAIR, interventions=knocked).stacks[head.stack].weights_by_layer[index][head.head]
    assert np.abs(recorded - weights).max() < 1e-6


def test_values_are_set_to_zero_for_one_head_though_others_share_them(model):
    head = head_of(model)
    plain = written(model)[head.stack, head.layer]
    stack = model.trace(TEXT, PAIR).stacks[head.stack]
    index = stack.layers.index(head.layer)
    values = stack.values_by_layer[index][head.head * stack.n_key_heads // stack.n_heads].copy()
    values[[1, 2]] = 0
    changed = written(model, [el.ZeroValues([1, 2], [head])])[head.stack, head.layer]
    assert np.abs(changed[:, head.head] - stack.weights_by_layer[index][head.head] @ values).max() < 1e-5
    others = [h for h in range(changed.shape[1]) if h != head.head]
    assert np.abs(changed[:, others] - plain[:, others]).max() < 1e-6
    for_all = model.trace(TEXT, PAIR, interventions=el.ZeroValues([1, 2], stack=head.stack)).stacks[head.stack]
    assert all(not values[:, [1, 2]].any() for values in for_all.values_by_layer)


def test_a_text_patched_with_itself_is_unchanged_and_with_another_at_one_position_changed_there(model):
    head = head_of(model)
    trace, other = model.trace(TEXT, PAIR), model.trace(OTHER, PAIR)
    assert np.abs(answer(model, [el.Patch(trace)]) - answer(model)).max() < 1e-4
    plain, changed = written(model), written(model, [el.Patch(other, [head], positions=2)])
    difference = np.abs(changed[head.stack, head.layer] - plain[head.stack, head.layer])
    assert difference[2, head.head].max() > 1e-4
    difference[2, head.head] = 0
    assert difference.max() == 0


def test_a_batch_with_other_interventions_for_each_text_gives_what_each_text_gives_alone(model):
    head = head_of(model)
    lists = [[el.Ablate([head])], [], [el.KnockOut([1], [0], [head]), el.Scale([head], 0.5)], [el.ZeroValues([1], [head])]]
    texts = [TEXT, "the cat .", TEXT, "a dog ran home very long way ."]
    if model.layout.padding_shows:
        texts = [TEXT] * 4
    examples = [model.read((text, PAIR)) for text in texts]
    together = model.passes.output(examples, lists)[0]
    for row, example, interventions in zip(together, examples, lists, strict=True):
        alone = model.passes.output([example], [interventions])[0][0]
        assert torch.allclose(row[: len(alone)], alone, atol=2e-4, rtol=1e-4)


def test_a_pass_that_begins_at_the_changed_layer_gives_what_a_whole_pass_gives(model):
    example = model.read((TEXT, PAIR))
    output, stored = model.passes.store([example])
    assert torch.equal(output[0], model.passes.output([example])[0])
    for slot in model.layout.slots:
        lists = [[el.Ablate([(slot.stack, slot.layer, head)])] for head in range(slot.n_heads)]
        examples = [example] * len(lists)
        whole, begun = (model.passes.output(examples, lists, stored=s)[0] for s in (None, stored))
        assert torch.allclose(whole, begun, atol=1e-4), slot


def test_gates_have_the_gradient_of_the_answer_by_finite_differences():
    model = el.wrap(BY_NAME["llama"].model().double(), tiny_tokenizer(), name="llama")
    example = model.read(TEXT)
    gates = {(s.stack, s.layer): torch.ones(s.n_heads, dtype=torch.double, requires_grad=True) for s in model.layout.slots}
    total = model.passes.output([example], gates=gates, gradients=True)[0][..., :8].sum()
    gradients = torch.autograd.grad(total, list(gates.values()))
    for (stack, layer), gradient in zip(gates, gradients, strict=True):
        up, down = (model.passes.output([example], [[el.Scale([(stack, layer, 2)], 1 + step)]])[0][..., :8].sum() for step in (1e-3, -1e-3))
        assert float(gradient[2]) == pytest.approx(float(up - down) / 2e-3, rel=1e-2, abs=1e-3)


@pytest.mark.parametrize("name", ["bert", "llama", "gpt2", "mistral", "bart"])
def test_the_fused_kernel_gives_the_same_under_interventions(name):
    model = open_family(name)
    head = head_of(model)
    example = model.read((TEXT, PAIR))
    for change in (
        el.Ablate([head], by="mean"),
        el.KnockOut(3, [0, 1], [head]),
        el.KnockOut(3, [0, 1], [head], renormalise=False),
        el.ZeroValues([0, 1], [head]),
        el.ZeroValues([0, 1], stack=head.stack),
    ):
        eager, fused = (model.passes.output([example], [[change]], fused=f)[0] for f in (False, True))
        assert torch.allclose(eager, fused, atol=1e-4), str(change)


def test_a_query_without_any_key_writes_nothing():
    model = open_family("gpt2")
    trace = model.trace(TEXT, interventions=el.KnockOut(None, 0))
    assert not trace.weights[:, :, 0].any()
    assert np.isfinite(trace.weights).all()
    assert trace.weights[:, :, 1:].sum(-1) == pytest.approx(1, abs=1e-5)
    assert not written(model, [el.KnockOut(None, 0)], pair=None)["decoder", 0][0].any()


def test_every_head_may_be_ablated_at_once():
    model = open_family("bert")
    heads = [(layer, head) for layer in range(3) for head in range(4)]
    assert np.isfinite(answer(model, [el.Ablate(heads)])).all()


def test_resampled_heads_are_drawn_by_the_seed_where_lengths_differ():
    model = open_family("bert")
    other = model.trace("a dog .")
    drawn = [answer(model, [el.Ablate([(1, 2)], "resample", other, seed=seed)]) for seed in (0, 0, 1)]
    assert np.array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0], drawn[2])
    same = written(model, [el.Ablate([(1, 2)], "resample", model.trace(OTHER))], pair=None)["encoder", 1][:, 2]
    assert np.abs(same - model.trace(OTHER).outputs[1, 2]).max() < 1e-5


def test_nothing_is_left_in_the_model_and_threads_do_not_see_each_other():
    model = open_family("bert")
    plain, changed = answer(model), answer(model, [el.Ablate([(0, 1)])])
    seen: dict[int, list[np.ndarray]] = {0: [], 1: []}

    def work(which: int) -> None:
        for _ in range(20):
            seen[which].append(answer(model, [el.Ablate([(0, 1)])] if which else []))

    threads = [threading.Thread(target=work, args=(which,)) for which in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(result, plain) for result in seen[0])
    assert all(np.array_equal(result, changed) for result in seen[1])
    assert np.array_equal(answer(model), plain)


def test_a_changed_trace_names_its_changes_and_is_neither_read_from_the_cache_nor_kept_there(tmp_path):
    model = el.wrap(BY_NAME["bert"].model(), tiny_tokenizer(), name="bert", cache=tmp_path)
    plain = model.trace(TEXT)
    entries = len(list(tmp_path.rglob("*.safetensors")))
    changed = model.trace(TEXT, interventions=[el.Ablate([(0, 1)]), el.KnockOut(1, [0, 2])])
    assert changed.about["interventions"] == ["L0·H1 ablated (zero)", "keys 0, 2 hidden from queries 1 in all heads"]
    assert any("L0·H1 ablated" in notice for notice in changed.notices)
    assert len(list(tmp_path.rglob("*.safetensors"))) == entries
    assert np.array_equal(model.trace(TEXT).weights, plain.weights)
    changed.save(tmp_path / "changed.safetensors")
    assert el.traces.open_trace(tmp_path / "changed.safetensors").about["interventions"] == changed.about["interventions"]
