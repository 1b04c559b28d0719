"""The public calls that a person makes with a model, one after the other: each ends in a result or in our own error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import transformers as t

import eyeline as el
from tests.families.small_models import own_inputs
from tests.models.families import tiny_tokenizer
from tests.models.left import differences, facts

TEXTS = ["the cat sat on the mat .", "a dog ran home", "it purred"]
PAIRS = [(text, "it purred and ran") for text in TEXTS]


@dataclass(frozen=True)
class Outcome:
    """One call: what it was, and the error it ended in, if any."""

    call: str
    error: Exception | None

    @property
    def is_raw(self) -> bool:
        """An error that is not ours: nobody wrote it for the person who reads it."""
        return self.error is not None and not isinstance(self.error, el.EyelineError)

    def __str__(self) -> str:
        return f"{self.call}: {type(self.error).__name__}: {str(self.error).splitlines()[0] if str(self.error) else ''}"


@dataclass(frozen=True)
class Tried:
    """Every call that was tried, in order, and the open model, if it could be opened."""

    calls: list[Outcome]
    model: el.Model | None


def outcomes(hf: t.PreTrainedModel, name: str, folder: Path) -> Tried:
    """wrap, trace, trace_inputs, head_view, save and open, analyse; what needs a result of an earlier call is left out without it."""
    seen: list[Outcome] = []

    def attempt(call: str, function: Callable[[], Any]) -> Any:
        try:
            result = function()
        except Exception as error:  # noqa: BLE001 - the kind of error is what is looked at
            seen.append(Outcome(call, error))
            return None
        seen.append(Outcome(call, None))
        return result

    before, implementation = facts(hf), hf.config._attn_implementation
    tokenizer = tiny_tokenizer() if hf.main_input_name == "input_ids" else None
    model = attempt("wrap", lambda: el.wrap(hf, tokenizer, name=name))
    if changed := differences(before, facts(hf)):
        seen.append(Outcome("wrap leaves the model as it was", AssertionError("\n".join(changed))))
    if model is None:
        if hf.config._attn_implementation != implementation:
            seen.append(Outcome("a refused wrap", AssertionError(f"the model was left with {hf.config._attn_implementation}")))
        return Tried(seen, None)
    texts: list[Any] = PAIRS if hf.config.is_encoder_decoder else TEXTS
    read = texts[0] if isinstance(texts[0], tuple) else (texts[0],)
    traces = [attempt("trace", lambda: model.trace(*read)), attempt("trace_inputs", lambda: model.trace_inputs(own_inputs(hf)))]
    for trace in traces:
        if trace is None:
            continue
        attempt("head_view", partial(_view_page, trace, folder / "view.html"))
        attempt("save", partial(trace.save, folder / "trace.safetensors"))
        attempt("open_trace", lambda: el.traces.open_trace(folder / "trace.safetensors"))
    attempt("analyse", lambda: el.analyse(model, texts, [el.statistics.Entropy()]))
    return Tried(seen, model)


def _view_page(trace: el.Trace, path: Path) -> None:
    el.head_view(trace).save(path)
