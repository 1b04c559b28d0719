"""`el.attribute`: each quantity agrees with an independent computation of it, and bad input gets a clear error."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers as t

import eyeline as el
from eyeline.errors import EyelineError, ModelError, TextError
from eyeline.measure.causes import gradients
from eyeline.measure.causes.blocks import record_blocks
from eyeline.measure.causes.decomposition import decomposed_layers
from eyeline.measure.causes.gradients import Line, integrated_gradients, path_ends
from eyeline.models.objective import ask
from eyeline.models.single_precision import in_single_precision, original
from tests.measure.causes.tiny import PLAIN, TEXT, classifier, decoder, gated, headless, masked
from tests.models.families import BY_NAME, TINY, tiny_tokenizer

ANSWERING = (masked, decoder, gated, classifier)


def text_for(model: el.Model) -> str:
    return TEXT if model.name == "tiny-masked" else PLAIN


@pytest.mark.parametrize("open_model", ANSWERING, ids=lambda f: f.__name__)
@pytest.mark.parametrize("method", el.attributions.METHODS)
def test_every_method_gives_a_trace_or_says_why_not(open_model, method: str) -> None:
    model = open_model()
    refused = {("tiny-masked", "logits"), ("tiny-classifier", "logits"), ("tiny-gated", "decompx")}
    if (model.name, method) in refused:
        with pytest.raises(ModelError, match=r"gated|norm on the residual stream"):
            el.attribute(model, text_for(model), method=method)
        return
    trace = el.attribute(model, text_for(model), method=method)
    n = len(trace.text)
    assert trace.weights.shape[0] in (1, 3)
    assert trace.weights.shape[1] in (1, 4)
    assert trace.weights.shape[2:] == (n, n)
    assert trace.quantity is not None
    assert trace.quantity.method == method
    assert len(trace.quantity.scores) == n
    assert trace.quantity.signed or trace.weights.min() >= 0
    assert bool(trace.quantity.answer) == (el.attributions.METHODS[method].needs_answer or method == "decompx")


def test_norms_are_those_of_values_times_weights_by_hand() -> None:
    model = masked()
    trace = el.attribute(model, TEXT, method="norms")
    summed = el.attribute(model, TEXT, method="norms-summed")
    attention = model.trace(TEXT)
    dense = model.hf.bert.encoder.layer[1].attention.output.dense.weight.detach().numpy()  # [hidden, head · dim]
    heads, n, dim = attention.values[1].shape
    together = np.zeros((n, n, dense.shape[0]))
    for head in range(heads):
        for query in range(n):
            for key in range(n):
                vector = dense[:, head * dim : (head + 1) * dim] @ attention.values[1, head, key] * attention.weights[1, head, query, key]
                together[query, key] += vector
                assert trace.weights[1, head, query, key] == pytest.approx(np.linalg.norm(vector), abs=1e-5)
    assert np.allclose(summed.weights[1, 0], np.linalg.norm(together, axis=-1), atol=1e-5)


def test_contributions_with_residual_and_norm_are_those_of_three_tokens_by_hand() -> None:
    model = headless()
    trace = el.attribute(model, "cat", method="n-resout")
    globenc = el.attribute(model, "cat", method="globenc")
    attention = model.trace("cat")
    layer = model.hf.encoder.layer[0]
    with torch.no_grad():
        ids = torch.tensor([attention.text.ids])
        x = model.hf(ids, output_hidden_states=True).hidden_states
        dense, norm = layer.attention.output.dense, layer.attention.output.LayerNorm
        before = x[0][0] + dense(torch.from_numpy(attention.outputs[0]).transpose(0, 1).reshape(3, -1))
        middle = norm(before)
        second = middle + layer.output.dense(layer.intermediate(middle))
    deviation = lambda rows: torch.sqrt(rows.var(-1, correction=0) + norm.eps)  # noqa: E731
    shares = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            weighted = torch.from_numpy(attention.weights[0, :, i, j, None] * attention.values[0, :, j]).reshape(-1)
            part = weighted @ dense.weight.T.detach() + (x[0][0, i] if i == j else 0)
            inner = (part - part.mean()) / deviation(before)[i] * norm.weight.detach()
            outer = (inner - inner.mean()) / deviation(second)[i] * layer.output.LayerNorm.weight.detach()
            assert trace.weights[0, 0, i, j] == pytest.approx(float(inner.norm()), rel=1e-4)
            shares[i, j] = float(outer.norm())
    assert np.allclose(globenc.weights[0, 0], shares / shares.sum(-1, keepdims=True), atol=1e-5)


def test_rollout_is_the_product_of_half_attention_and_half_identity() -> None:
    model = masked()
    mean = model.trace(TEXT).weights.mean(axis=1)
    expected = np.eye(mean.shape[-1])
    trace = el.attribute(model, TEXT, method="rollout")
    for layer, weights in enumerate(mean):
        expected = (0.5 * weights + 0.5 * np.eye(len(weights))) @ expected
        assert np.allclose(trace.weights[layer, 0], expected, atol=1e-6)


def test_gradients_of_attention_are_those_of_autograd() -> None:
    """The same model in transformers' own eager attention, with a hook on nothing: its maps are part of the graph."""
    model = masked()
    trace = el.attribute(model, TEXT, method="gradient", answer="cat")
    hf = copy.deepcopy(model.hf)
    hf.set_attn_implementation("eager")
    ids = torch.tensor([trace.text.ids])
    output = hf(ids, output_attentions=True)
    position = trace.text.tokens.index("[MASK]")
    logit = output.logits[0, position, model.tokenizer.convert_tokens_to_ids("cat")]
    gradients = torch.autograd.grad(logit, output.attentions)
    for layer, (weights, gradient) in enumerate(zip(output.attentions, gradients, strict=True)):
        assert np.allclose(trace.weights[layer], (weights * gradient)[0].detach().numpy(), atol=1e-6)


@pytest.mark.parametrize("open_model", [masked, gated], ids=lambda f: f.__name__)
def test_integrated_gradients_are_captums(open_model) -> None:
    captum = pytest.importorskip("captum.attr", reason="captum is not installed (make setup)")
    model = open_model()
    question = ask(model, model.read(text_for(model)))
    result = integrated_gradients(question, steps=32)
    vectors, baseline = path_ends(question)

    def logit(embeddings: torch.Tensor) -> torch.Tensor:
        return question.answer.logit(question.hf(inputs_embeds=embeddings, attention_mask=torch.ones(embeddings.shape[:2])).logits)

    theirs = captum.IntegratedGradients(logit).attribute(vectors, baseline, n_steps=32, method="gausslegendre")
    assert np.allclose(result.scores, theirs.sum(-1)[0].detach().numpy(), atol=1e-4)


def test_integrated_gradients_add_up_to_the_change_of_the_logit() -> None:
    model = masked()
    question = ask(model, model.read(TEXT))
    result = integrated_gradients(question)
    vectors, baseline = path_ends(question)
    with torch.no_grad():
        ends = [float(question.answer.logit(question.hf(inputs_embeds=v).logits)) for v in (vectors, baseline)]
    assert result.complete
    assert result.scores.sum() == pytest.approx(ends[0] - ends[1], rel=0.02)


@pytest.mark.parametrize("open_model", ANSWERING, ids=lambda f: f.__name__)
def test_integrated_gradients_are_those_of_a_slow_sum(open_model) -> None:
    """Of 2,000 gradients in equal steps by the model's own forward pass."""
    model = open_model()
    question = ask(model, model.read(text_for(model)))
    vectors, baseline = path_ends(question)
    total = torch.zeros(vectors.shape[1])
    for points in torch.linspace(0, 1, 2001)[:-1].add(0.5 / 2000).split(100):
        embeddings = (baseline + points[:, None, None] * (vectors - baseline)).detach().requires_grad_()
        logits = question.answer.logit(question.hf(inputs_embeds=embeddings).logits)
        total += ((vectors - baseline) * torch.autograd.grad(logits.sum(), embeddings)[0]).sum((0, 2)) / 2000
    result = integrated_gradients(question)
    assert result.complete
    assert np.abs(result.scores - total.numpy()).max() <= 0.02 * max(abs(float(total.sum())), float(total.abs().max()))


def test_halving_the_line_takes_no_gradient_twice(monkeypatch) -> None:
    seen: list[float] = []
    at = Line.at

    def watched(self, points):
        seen.extend(points)
        return at(self, points)

    monkeypatch.setattr(Line, "at", watched)
    model = decoder()
    result = integrated_gradients(ask(model, model.read(PLAIN)))
    assert len(seen) == len(set(seen)) == result.steps


def test_a_line_on_which_the_logit_jumps_is_refused_and_given_with_a_notice_for_a_number_of_steps(monkeypatch) -> None:
    monkeypatch.setattr(gradients, "COMPLETE_WITHIN", 1e-12)
    with pytest.raises(ModelError, match=r"after 2\d\d steps their sum is .* off the change of the logit"):
        el.attribute(masked(), TEXT, method="integrated-gradients")
    trace = el.attribute(masked(), TEXT, method="integrated-gradients", steps=8)
    assert any("not complete: after 8 steps" in notice for notice in trace.notices)


@pytest.mark.parametrize(
    ("method", "steps", "says"), [("norms", 8, "Only integrated-gradients"), ("integrated-gradients", 0, "steps=1 or more")]
)
def test_steps_that_cannot_be_taken_are_refused(method: str, steps: int, says: str) -> None:
    with pytest.raises(EyelineError, match=says):
        el.attribute(masked(), TEXT, method=method, steps=steps)


def test_the_first_token_of_a_decoder_stays_on_the_line() -> None:
    for model in (decoder(), gated()):
        question = ask(model, model.read(PLAIN))
        vectors, baseline = path_ends(question)
        same = (vectors == baseline).all(-1)[0].tolist()
        assert same == [True, *question.text.special[1:]]


@pytest.mark.parametrize("open_model", [masked, decoder, classifier], ids=lambda f: f.__name__)
def test_decompx_adds_up_to_the_logit_of_the_answer(open_model) -> None:
    model = open_model()
    question = ask(model, model.read(text_for(model)))
    trace = el.attribute(model, text_for(model), method="decompx")
    with torch.no_grad():
        logit = float(question.answer.logit(question.hf(**question.inputs).logits))
    assert sum(trace.quantity.scores) == pytest.approx(logit, rel=1e-3)


def test_decompx_adds_up_in_every_layer() -> None:
    model = decoder()
    question = ask(model, model.read(PLAIN))
    blocks = record_blocks(model.hf, model.layout, question.inputs, model.name).blocks
    for block, parts in zip(blocks, decomposed_layers(blocks), strict=True):
        assert torch.allclose(parts.sum(1), block.layer.left, atol=1e-4)


def test_direct_logits_and_the_rest_add_up_to_the_logit() -> None:
    """Heads, their biases, feed-forward parts and embeddings, each through the frozen norm: here the heads alone against a pass without."""
    model = decoder()
    trace = el.attribute(model, PLAIN, method="logits")
    question = ask(model, model.read(PLAIN))
    pass_ = record_blocks(model.hf, model.layout, question.inputs, model.name)
    position, index = question.answer.position, question.answer.index
    last = pass_.blocks[-1].layer.left[position]
    norm = model.hf.transformer.ln_f
    scale = 1 / torch.sqrt(last.var(correction=0) + norm.eps)
    column = model.hf.lm_head.weight[index].detach() * norm.weight.detach() * scale
    for layer, block in enumerate(pass_.blocks):
        written = block.output.left[position] - block.output.of(torch.zeros_like(block.output.entered[:1]))[0]
        centred = written - written.mean()
        assert trace.weights[layer, :, position].sum() == pytest.approx(float(centred @ column), abs=1e-5)


def test_a_trace_of_a_quantity_is_saved_and_opened_with_its_name(tmp_path: Path) -> None:
    trace = el.attribute(masked(), TEXT, method="alti")
    trace.save(tmp_path / "alti.safetensors")
    again = el.open(tmp_path / "alti.safetensors")
    assert again.quantity == trace.quantity
    assert np.array_equal(again.weights, trace.weights)


def test_scores_of_words_are_the_sums_of_their_pieces() -> None:
    trace = el.attribute(masked(), "the catmat sat on the [MASK]", method="integrated-gradients")
    words = trace.words()
    assert len(words.quantity.scores) == len(words.text) < len(trace.text)
    assert sum(words.quantity.scores) == pytest.approx(sum(trace.quantity.scores), abs=1e-5)
    assert words.text.tokens[words.quantity.position] == "[MASK]"
    assert words.words().quantity == words.quantity


def test_nothing_is_left_behind_in_the_model() -> None:
    model = masked()
    before = {name: tensor.clone() for name, tensor in model.hf.state_dict().items()}
    hooks = [(len(module._forward_hooks), len(module._forward_pre_hooks)) for module in model.hf.modules()]  # transformers has its own
    for method in ("value-zeroing", "decompx", "integrated-gradients", "gradient"):
        el.attribute(model, TEXT, method=method)
    assert [(len(module._forward_hooks), len(module._forward_pre_hooks)) for module in model.hf.modules()] == hooks
    assert all(parameter.grad is None for parameter in model.hf.parameters())
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.hf.state_dict().items())


#: Methods that take the blocks of a model apart: in half precision each layer runs in single precision.
OF_BLOCKS = ("norms", "norms-summed", "n-resout", "globenc", "alti", "logits", "value-zeroing", "value-zeroing-rollout", "decompx")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize(("open_model", "refused"), [(masked, "logits"), (decoder, None), (gated, "decompx")])
def test_a_model_in_half_precision_gives_the_numbers_of_the_same_weights_in_single(open_model, refused, dtype) -> None:
    half = copy.deepcopy(open_model())
    half.hf.to(dtype)
    single = copy.deepcopy(half)
    single.hf.float()
    before = {name: tensor.clone() for name, tensor in half.hf.state_dict().items()}
    for method in el.attributions.METHODS:
        if method == refused:
            continue
        given = {"answer": 10} if el.attributions.METHODS[method].needs_answer or method == "decompx" else {}
        numbers, expected = (el.attribute(model, text_for(model), method=method, **given).weights for model in (half, single))
        size = np.abs(expected).max()
        if method == "integrated-gradients":  # gradients along a line, which rounding bends
            continue
        assert np.abs(numbers - expected).max() <= (1e-4 if method in OF_BLOCKS else 0.3) * size, method
    assert all(torch.equal(tensor, before[name]) and tensor.dtype == before[name].dtype for name, tensor in half.hf.state_dict().items())


def test_the_weights_of_one_layer_at_a_time_are_raised() -> None:
    half = copy.deepcopy(decoder())
    half.hf.to(torch.bfloat16)
    raised = in_single_precision(half.hf)
    layers = list(raised.transformer.h)
    seen: list[list[bool]] = []
    layers[1].mlp.register_forward_pre_hook(
        lambda *_: seen.append([next(layer.parameters()).dtype == torch.float32 for layer in layers]) and None
    )
    with torch.no_grad():
        logits = raised(torch.tensor([[1, 5, 6]])).logits
    assert seen == [[False, True, False]]
    assert logits.dtype == torch.float32
    assert all(tensor.dtype == torch.bfloat16 for tensor in (*half.hf.parameters(), *raised.parameters()))
    assert original(layers[1]) is half.hf.transformer.h[1]
    assert in_single_precision(decoder().hf) is decoder().hf


def test_a_model_that_reads_one_text_and_writes_another_is_refused() -> None:
    family = BY_NAME["t5"]
    with pytest.raises(ModelError, match="reads one text and writes another"):
        el.attribute(el.wrap(family.model(), tiny_tokenizer(), name="tiny-t5"), PLAIN, "it purred", method="rollout")


def test_the_choices_are_listed_once_where_no_method_has_a_similar_name() -> None:
    with pytest.raises(EyelineError) as error:
        el.attribute(decoder(), PLAIN, method="nonsense")
    assert str(error.value).count("integrated-gradients") == 1


def test_a_model_without_a_head_has_no_gradients_and_says_so() -> None:
    with pytest.raises(ModelError, match="answers nothing"):
        el.attribute(headless(), PLAIN, method="integrated-gradients")


def test_the_model_s_answer_goes_with_every_quantity() -> None:
    for model, text in ((masked(), TEXT), (decoder(), PLAIN), (classifier(), PLAIN)):
        for method in ("rollout", "gradient"):
            assert el.attribute(model, text, method=method).prediction == model.predict(text)
    assert el.attribute(masked(), PLAIN, method="rollout").prediction is None  # no mask, nothing to answer
    assert el.attribute(headless(), PLAIN, method="rollout").prediction is None


@pytest.mark.parametrize(
    ("kind", "reason"),
    [(t.BertForTokenClassification, "gives a label to every token"), (t.BertForQuestionAnswering, "answers with a part of the text")],
)
def test_a_model_with_several_answers_is_refused_with_the_true_reason(kind: type[t.PreTrainedModel], reason: str) -> None:
    model = el.wrap(kind(t.BertConfig(**TINY)).eval(), tiny_tokenizer(), name="tiny-other")
    with pytest.raises(ModelError, match=reason):
        el.attribute(model, PLAIN, method="gradient")
    with pytest.raises(ModelError, match=reason):
        el.causes(model, [PLAIN])
    assert el.attribute(model, PLAIN, method="rollout").prediction == model.predict(PLAIN)


def test_an_answer_that_is_no_token_is_refused_with_its_pieces() -> None:
    with pytest.raises(TextError, match=r"'catmat' is not one token of tiny-masked: cat ##m ##a ##t"):
        el.attribute(masked(), TEXT, method="gradient", answer="catmat")
    with pytest.raises(TextError, match="Token ids of tiny-decoder are from 0 to 63"):
        el.attribute(decoder(), PLAIN, method="gradient", answer=64)


def test_a_label_that_the_classifier_lacks_is_refused_with_the_nearest() -> None:
    with pytest.raises(el.EyelineError, match="Did you mean positive"):
        el.attribute(classifier(), PLAIN, method="gradient", answer="positve")


def test_a_text_without_a_mask_is_refused_by_a_masked_model() -> None:
    with pytest.raises(TextError, match=r"No \[MASK\] in the text"):
        el.attribute(masked(), PLAIN, method="gradient")


def test_an_unknown_method_is_refused_with_all_of_them() -> None:
    with pytest.raises(el.EyelineError, match="Did you mean rollout"):
        el.attribute(masked(), TEXT, method="rolout")


def test_gradients_that_are_not_finite_are_refused() -> None:
    model = copy.deepcopy(classifier())
    with torch.no_grad():
        model.hf.bert.encoder.layer[2].output.LayerNorm.weight[0] = float("nan")
    with pytest.raises(ModelError, match="not finite"):
        el.attribute(model, PLAIN, method="gradient")
