"""Models that answer differently when they are watched, change themselves, share configurations, or are trained while they are traced."""

from __future__ import annotations

import copy
import itertools
import logging
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import transformers as t

import eyeline as el
from eyeline.text.corpora.mentions import MarkedDocument, Mention
from tests.attack.family import Family
from tests.measure.causes.tiny import masking_tokenizer
from tests.models.families import GROUPED, TINY, tiny_tokenizer
from tests.models.left import differences, facts
from tests.models.unusual import FORMS, WITHOUT_BASE, OwnConfig, OwnModel, big_bird, falcon, loud, vision_and_text

TEXTS = ("the cat sat on the mat .", "a dog ran home", "the cat " * 7)
MODELS = {
    **{f"falcon {name}": lambda form=form: falcon(**form) for name, form in FORMS.items()},
    "falcon with alibi": lambda: falcon(alibi=True, multi_query=False),
    "big bird": big_bird,
    "code of others": lambda: loud(OwnModel(OwnConfig())),
    "longformer": lambda: loud(t.LongformerModel(t.LongformerConfig(**{**TINY, "max_position_embeddings": 80}, attention_window=8))),
    **{name: lambda make=make: loud(make()) for name, make in WITHOUT_BASE.items()},
}


def attack_opening(_folder: Path) -> list[Family]:
    """Every odd model in both implementations and modes; pictures for a tower that was not opened; one model in many threads."""
    logging.getLogger("transformers").setLevel(logging.ERROR)
    odd = Family("models that are not what they seem when opened", "the maps and the answer of its own computation, or our error")
    for (name, make), implementation, training in itertools.product(MODELS.items(), ("eager", "sdpa"), (False, True)):
        if implementation == "sdpa" and not make()._supports_sdpa:
            continue
        what = f"{name}, {implementation}, {'training' if training else 'evaluation'}"
        for text in TEXTS:
            odd.check(f"{what}, {len(text)} characters", lambda: _wrong(make(), implementation, training, text))  # noqa: B023 - called at once
    model = el.wrap(vision_and_text(), tiny_tokenizer())
    for images in (1, 2, 3):
        inputs = {"input_ids": torch.tensor([[1, *[40] * 17 * images, 5]]), "pixel_values": torch.randn(images, 3, 16, 16)}
        odd.check(f"{images} pictures", lambda: f"a trace of {model.trace_inputs(inputs).weights.shape}")  # noqa: B023 - called at once
    return [odd, _attack_threads(), _attack_numbers()]


def _wrong(hf: t.PreTrainedModel, implementation: str, training: bool, text: str) -> str | None:
    """What is wrong with a model's trace; None: nothing."""
    config = hf.config
    config._attn_implementation = implementation
    own = copy.deepcopy(hf)
    own.config._attn_implementation = "eager"
    hf.train(training)
    before = facts(hf)
    model = el.wrap(hf, tiny_tokenizer())
    trace = model.trace(text)
    if config._attn_implementation != implementation:
        return "another model's configuration was switched"
    if changed := [line for line in differences(before, facts(hf)) if "output_capturing" not in line]:
        return f"the model was changed: {changed[0][:200]}"
    ids = torch.tensor([trace.text.ids])
    with torch.no_grad():
        own(ids)  # some replace parts of themselves first
        output = own(ids, output_attentions=True)
    worst = max(float((torch.as_tensor(w) - o[0]).abs().max()) for w, o in zip(trace.weights, output.attentions, strict=True))
    if worst > 1e-6:
        return f"maps are off by {worst:.2g}"
    if trace.prediction is not None and trace.prediction.kind == "next":
        off = abs(trace.prediction.probabilities[0] - float(output.logits[0, -1].softmax(-1).max()))
        return f"the answer is off by {off:.2g}" if off > 1e-5 else None
    return None


def _attack_threads() -> Family:
    family = Family("one model in training mode, wrapped and traced in four threads", "attention without dropout, and training mode again")
    hf = loud(t.BertModel(t.BertConfig(**TINY, hidden_dropout_prob=0.5, attention_probs_dropout_prob=0.5)))
    expected = el.wrap(copy.deepcopy(hf), tiny_tokenizer()).trace(TEXTS[0]).weights
    hf.train()

    def passes(number: int) -> None:
        model = el.wrap(hf, tiny_tokenizer())
        for index in range(200):
            if index % 50 == 49:
                model = el.wrap(hf, tiny_tokenizer())
            family.check(f"thread {number}, pass {index}", lambda: _differs(model.trace(TEXTS[0]).weights, expected))  # noqa: B023

    threads = [threading.Thread(target=passes, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    family.check("training mode", lambda: None if all(module.training for module in hf.modules()) else "it is not restored")
    return family


def _differs(weights: np.ndarray, expected: np.ndarray) -> str | None:
    worst = float(np.abs(weights - expected).max())
    return f"off by {worst:.2g}" if worst > 1e-6 else None


# ---- Weights that are nan or infinite for some of the texts alone


HEADS = {"bert": lambda: t.BertForMaskedLM(t.BertConfig(**TINY)), "llama": lambda: t.LlamaForCausalLM(t.LlamaConfig(**GROUPED))}
DOCUMENT = MarkedDocument(
    "one", (("a", "cat", "ran", "and", "it", "purred", "."),), (Mention(0, 1, 1, 0, "nominal"), Mention(4, 4, 4, 0, "pronoun"))
)
MEASURES: dict[str, Callable[[el.Model], object]] = {
    "trace": lambda model: model.trace(TEXTS[0]).weights,
    "analyse": lambda model: el.analyse(model, TEXTS),
    "importance": lambda model: el.analyse(model, TEXTS, [el.statistics.Importance()]),
    "causes": lambda model: el.causes(model, TEXTS),
    "coreference": lambda model: el.coreference(model, [DOCUMENT]),
    "space": lambda model: el.space(model, TEXTS).run(),
    **{name: lambda model, name=name: el.attribute(model, TEXTS[0], method=name).weights for name in ("norms", "rollout", "value-zeroing")},
}


def _attack_numbers() -> Family:
    """One number of one tensor is changed after a model was opened: that of one token, so that only some texts meet it, or of a layer."""
    family = Family("weights that are nan or infinite for some texts", "our error, or finite numbers")
    for (name, make), value in itertools.product(HEADS.items(), (torch.nan, torch.inf)):
        for part in ("the embedding of a token", "query"):
            for what, measure in MEASURES.items():

                def attack(
                    make: Callable[[], t.PreTrainedModel] = make,
                    part: str = part,
                    value: float = value,
                    measure: Callable[[el.Model], object] = measure,
                ) -> str | None:
                    model = el.wrap(loud(make()), masking_tokenizer())
                    _damage(model.hf, part, value)
                    return _not_finite(measure(model))

                family.check(f"{name}, {part}, {value}: {what}", attack)
    return family


def _damage(hf: t.PreTrainedModel, part: str, value: float) -> None:
    with torch.no_grad():
        if part == "query":
            queries = [tensor for name, tensor in hf.named_parameters() if "query" in name or "q_proj" in name]
            queries[-1].view(-1)[0] = value
        else:
            hf.get_input_embeddings().weight[5] = value  # of "cat"


def _not_finite(result: object) -> str | None:
    """What is not finite in numbers or in the means of a run; cells may be empty where a text has no such token."""
    if not isinstance(result, el.Run):
        return None if np.isfinite(np.asarray(result)).all() else "nan in what was recorded"
    for name, table in result.tables.items():
        columns = [values for title, values in table.columns.items() if title in ("mean", "all", "loss_change", "gradient", "weight")]
        numbers = [number for column in columns for number in column if isinstance(number, float)]
        if numbers and not np.isfinite(numbers).any():
            return f"nothing but nan in {name}"
    return None
