"""A model writes, and what it looked at while it wrote is recorded: of new text (`generate`) and of text that others wrote (`replay`).

transformers' own `generate` writes. Then one pass over the last token of the prompt and the written tokens but the last gives all rows, on
the cache that `generate` leaves, cropped to the prompt. Whether these rows are those of the steps is seen in every call: the pass's logits
must be those of the steps. Where they are not, or the cache cannot be cropped, the whole text is passed over; where that differs too, the
steps are made again and recorded; and where even those differ, the call is refused.
"""

from __future__ import annotations

import copy
import inspect
import random
import re
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from tqdm.auto import tqdm  # type: ignore[import-untyped]
from transformers import LogitsProcessor, LogitsProcessorList, StoppingCriteria, StoppingCriteriaList
from transformers.cache_utils import DynamicCache, DynamicLayer

from eyeline.errors import ModelError, TextError, TraceError
from eyeline.look.answer import Choices
from eyeline.look.generation import WRITTEN, Generation, GenerationFacts, WrittenAttention
from eyeline.look.interventions import Intervention, several_heads
from eyeline.look.stack import free_memory
from eyeline.messages import Message
from eyeline.models.attention import LayerAttention, UncheckedMaskError, changing, streaming
from eyeline.models.changes import ChangesOfSteps, full_name
from eyeline.models.evaluation import evaluating, no_cache, restored
from eyeline.models.inputs import WRITES_AT_MOST, Example, ExampleReader, decoder_start, filled, vocabulary_size
from eyeline.models.layout import Layout, check_layers
from eyeline.models.passes import Passes, model_errors
from eyeline.models.watch import PlacedRows, Watched, watch_rows
from eyeline.text.conversation import FIRST, REST, THINKING, THOUGHT
from eyeline.text.source import Source
from eyeline.text.tokenized import TokenizedText
from eyeline.text.words import describe, spans_of_ids, written_token
from eyeline.version import __version__

#: How many tokens a model writes where nobody says.
NEW_TOKENS = WRITES_AT_MOST

#: How many tokens are named at each step.
ALTERNATIVES = 5

#: How far the logits of a pass may be from those of the steps, in single precision.
AGREE = 1e-3

#: A pass over a long text without a fused kernel computes this many rows at a time.
ROWS = 256

#: Options of transformers' generate that are set here.
OURS = {
    "return_dict_in_generate": "The result is a Generation.",
    "output_logits": "Probabilities are in generation.probabilities and generation.alternatives.",
    "output_scores": "Probabilities are in generation.probabilities and generation.alternatives.",
    "output_attentions": 'Rows are recorded anyway, in less memory: keep="rows".',
    "output_hidden_states": "Record them in a pass over generation.text: model.trace(…).",
    "input_ids": "Give the prompt as a text or as messages.",
    "inputs": "Give the prompt as a text or as messages.",
    "inputs_embeds": "Give the prompt as a text or as messages.",
    "attention_mask": "Give the prompt as a text or as messages.",
    "past_key_values": "Give the whole prompt: its cache is made here.",
    "use_cache": "Writing needs the cache.",
    "max_length": "Say how many tokens to write: max_new_tokens.",
}

KEEP = ("shares", "rows")


@dataclass(frozen=True)
class WhatToKeep:
    """Which whole rows of which layers and heads to keep, beside the shares of the parts; by what thoughts are known; what is changed
    inside the model while it writes and while it is recorded."""

    layers: Mapping[str, tuple[int, ...]]
    heads: Mapping[tuple[str, int], tuple[int, ...]]
    thinking: re.Pattern[str]
    changes: tuple[Intervention, ...] = ()


def what_to_keep(
    layout: Layout,
    name: str,
    keep: str,
    layers: Iterable[int] | None,
    heads: Iterable[Any] | None,
    thinking: str | None,
    changes: tuple[Intervention, ...] = (),
) -> WhatToKeep:
    """Checked against the model."""
    if keep not in KEEP:
        raise TraceError(f"keep={keep!r}.", f"Choices: {', '.join(KEEP)}.")
    chosen = check_layers(layout, layers)
    rows: dict[tuple[str, int], tuple[int, ...]] = {}
    if heads is not None:
        for head in [full_name(head, layout, name) for head in several_heads(heads)]:
            if head.layer not in chosen[head.stack]:
                raise TraceError(f"Rows of {head}, but layer {head.layer} is not kept.", f"layers={list(chosen[head.stack])}.")
            rows[head.stack, head.layer] = tuple(sorted({*rows.get((head.stack, head.layer), ()), head.head}))
    elif keep == "rows":
        rows = {(s.stack, s.layer): tuple(range(s.n_heads)) for s in layout.slots if s.layer in chosen[s.stack]}
    try:
        pattern = THOUGHT if thinking is None else re.compile(thinking, re.DOTALL)
    except re.error as error:
        raise TextError(f"thinking={thinking!r} is no regular expression: {error}.", r'Such as thinking=r"<think>.*?</think>".') from None
    return WhatToKeep(chosen, rows, pattern, changes)


@dataclass(frozen=True)
class Writer:
    """Writes with one model, and records what it looked at."""

    passes: Passes
    reader: ExampleReader

    @property
    def tokenizer(self) -> Any:
        if self.passes.tokenizer is None:
            raise ModelError(f"{self.passes.name} has no tokeniser.", "Open it with one: el.wrap(hf, tokenizer).")
        return self.passes.tokenizer

    # ---- What users ask for

    def generate(
        self, examples: Sequence[Example], max_new_tokens: int, keep: WhatToKeep, seed: int | None, options: Mapping[str, Any]
    ) -> list[Generation]:
        """A generation for each text that is written, in the order of the prompts."""
        self._check_can_write()
        for name, why in OURS.items():
            if options.get(name) not in (None, False) or (name == "use_cache" and options.get(name) is False):
                raise TraceError(f"{name}={str(options[name])[:40]} in model.generate.", why)
        if not isinstance(max_new_tokens, int) or isinstance(max_new_tokens, bool) or max_new_tokens < 1:
            raise TraceError(f"max_new_tokens={max_new_tokens!r}.", "Give a whole number from 1 on.")
        two_towers = self.passes.hf.config.is_encoder_decoder
        if two_towers and keep.changes:
            raise ModelError(f"{self.passes.name} has an encoder and a decoder.", "Change it in a pass over its texts: model.trace(…).")
        apart = two_towers or self.passes.layout.padding_shows or options.get("stop_strings") is not None or bool(keep.changes)
        batches = [[example] for example in examples] if apart else [examples]
        return [each for batch in batches for each in self._generate_batch(batch, max_new_tokens, keep, seed, options)]

    def replay(self, source: Source, completion: str | Sequence[int], keep: WhatToKeep) -> Generation:
        """The record of a text that is there already."""
        prompt = self.prompt(source)
        self._check_can_write()
        ids, notices = self._completion(source, prompt, completion)
        written = Written(prompt, tuple(ids), {"recorded": "text"}, notices)
        self._check_context(len(self._read_by_decoder(prompt)), len(ids), exact=True)
        self._check_positions(len(self._read_by_decoder(prompt)), len(ids))
        self._check_memory([prompt], len(ids), keep, 1)
        text = self._text(written, keep)
        keeper = self._keeper(text, prompt, len(ids), keep)
        logits = self._over_text(text, prompt, len(ids), keeper)
        return self._generation(text, written, logits, keeper)

    # ---- Writing

    def _generate_batch(
        self, examples: Sequence[Example], max_new_tokens: int, keep: WhatToKeep, seed: int | None, options: Mapping[str, Any]
    ) -> list[Generation]:
        hf = self.passes.hf
        longest = max(len(self._read_by_decoder(example)) for example in examples)
        room = self._check_context(longest, max_new_tokens)
        notices = [Message("notice.generation.shortened", tokens=f"{room:,}")] if room < max_new_tokens else []
        copies = max(int(options.get("num_beams") or 1), int(options.get("num_return_sequences") or 1))
        self._check_memory(examples, room, keep, copies)
        inputs = self._padded(examples)
        config = options.get("generation_config") or hf.generation_config
        samples = bool(options.get("do_sample", config.do_sample))
        seed = random.SystemRandom().randrange(1 << 31) if samples and seed is None else seed
        stop = _Stop(room)
        criteria = StoppingCriteriaList([*(options.get("stopping_criteria") or ()), stop])
        further = {**options, "stopping_criteria": criteria}
        if options.get("stop_strings") is not None:
            further["tokenizer"] = self.tokenizer
        with self._writing(inputs, keep, seed if samples else None), stop.on_interrupt():
            out = hf.generate(
                **inputs,
                **further,
                max_new_tokens=room,
                use_cache=True,
                return_dict_in_generate=True,
                output_logits=True,
                output_attentions=False,
                output_hidden_states=False,
                disable_compile=True,
            )
        ends = _ends(options.get("eos_token_id", config.eos_token_id))
        pad = options.get("pad_token_id", config.pad_token_id)
        sequences, steps, beams = out.sequences, out.logits, getattr(out, "beam_indices", None)
        cache = _OneUse(getattr(out, "past_key_values", None))
        del out
        first = sequences.shape[1] - len(steps)
        returned = len(sequences) // len(examples)
        generations = []
        for row, ids in enumerate(sequences[:, first:].tolist()):
            written_ids = _until_end(ids, ends, pad)
            if not written_ids:
                raise ModelError(f"{self.passes.name} wrote nothing.", "Give another prompt, or min_new_tokens=1.")
            facts: GenerationFacts = {"options": {name: _plain(value) for name, value in options.items()}}
            facts["ended"] = (
                "stopped"
                if stop.stopped
                else "end"
                if written_ids[-1] in ends
                else "stop string"
                if options.get("stop_strings") and len(written_ids) < room
                else "length"
            )
            if seed is not None and samples:
                facts["seed"] = seed
            of_step = [row if beams is None else int(beams[row, t]) for t in range(len(written_ids))]
            logits = torch.stack([steps[t][of_step[t]].float() for t in range(len(written_ids))])  # [written, token]
            told = [*notices, *([Message("notice.generation.stopped")] if stop.stopped else [])]
            written = Written(examples[row // returned], tuple(written_ids), facts, told)
            usable = cache if beams is None else None
            last = row == len(sequences) - 1
            generations.append(self._recorded(written, logits, keep, usable, row, inputs["input_ids"].shape[1], last, options))
        return generations

    @contextmanager
    def _writing(self, inputs: Mapping[str, torch.Tensor], keep: WhatToKeep, seed: int | None = None) -> Iterator[None]:
        """A block in which the model writes: in evaluation mode, left as it was, attention in its fused kernel where it has one."""
        passes, hf = self.passes, self.passes.hf
        devices = [hf.device] if hf.device.type == "cuda" else []
        fused = streaming(lambda _call: None, passes.layout.causal) if passes.gives.streamed else nullcontext()
        own_numbers = torch.random.fork_rng(devices, enabled=seed is not None)
        with (
            model_errors(hf, passes.name, inputs),
            evaluating(hf),
            restored(hf),
            torch.inference_mode(),
            own_numbers,
            fused,
            self._changed(keep),
        ):
            if seed is not None:
                torch.manual_seed(seed)
            yield

    def _changed(self, keep: WhatToKeep, n_before: int = 0) -> AbstractContextManager[None]:
        """A block in which every pass over one text is changed. n_before: tokens of it that are in the cache already."""
        steps = ChangesOfSteps(keep.changes, self.passes.layout, self.passes.name, n_before)
        return changing(steps) if keep.changes else nullcontext()

    @contextmanager
    def _watched(self, inputs: Mapping[str, torch.Tensor], keeper: _Keeper, n_before: int = 0) -> Iterator[Watched]:
        """A block in which the rows of every pass are kept."""
        hf, watching, changed = self.passes.hf, watch_rows(self.passes, keeper.receive), self._changed(keeper.keep, n_before)
        with model_errors(hf, self.passes.name, inputs), evaluating(hf), restored(hf), torch.inference_mode(), watching as seen, changed:
            yield seen

    def _padded(self, examples: Sequence[Example]) -> dict[str, torch.Tensor]:
        """Prompts of a batch, padded on the left."""
        device = self.passes.hf.device
        rows = [example.source.ids for example in examples]
        pad = getattr(self.passes.tokenizer, "pad_token_id", None) or 0
        ids = np.ascontiguousarray(filled([row[::-1] for row in rows], pad)[:, ::-1])
        mask = np.ascontiguousarray(filled([[1] * len(row) for row in rows], 0)[:, ::-1])
        known = vocabulary_size(self.passes.hf)
        if known is not None and ids.max() >= known:
            raise ModelError(
                f"The tokeniser gives token {ids.max()}, but the model knows {known} tokens.", "It is another model's tokeniser."
            )
        return {"input_ids": torch.from_numpy(ids).to(device), "attention_mask": torch.from_numpy(mask).to(device)}

    # ---- The rows of the written tokens: three ways, each checked against the steps

    def _recorded(
        self,
        written: Written,
        of_steps: torch.Tensor,
        keep: WhatToKeep,
        cache: _OneUse | None,
        row: int,
        n_padded: int,
        last: bool,
        options: Mapping[str, Any],
    ) -> Generation:
        """The generation with the rows of the first way whose logits are those of the steps."""
        text = self._text(written, keep)
        example, n = written.prompt, len(written.ids)
        ways: dict[str, Callable[[_Keeper], torch.Tensor | None]] = {
            "cache": lambda keeper: self._on_cache(cache, row, n_padded, text, example, n, last, keeper),
            "text": lambda keeper: self._over_text(text, example, n, keeper),
            "steps": lambda keeper: self._in_steps(text, example, n, options, keeper),
        }
        differences: dict[str, float] = {}
        for way, record in ways.items():
            keeper = self._keeper(text, example, n, keep)
            try:
                logits = record(keeper)
            except (TraceError, UncheckedMaskError):  # such a pass does not cover the tokens one to one
                continue
            if logits is None or not keeper.whole:
                continue
            difference = float((logits - of_steps).abs().max())
            allowed = self._allowed(of_steps, text, n, keep)
            if difference <= allowed:
                facts: GenerationFacts = {**written.facts, "recorded": way, "difference": difference, "allowed": allowed}
                notices = list(written.notices)
                if differences:
                    notices.append(Message("notice.generation.steps", difference=f"{max(differences.values()):.2g}"))
                return self._generation(text, replace(written, facts=facts, notices=notices), of_steps, keeper)
            differences[way] = difference
        found = "; ".join(f"{way}: {difference:.2g}" for way, difference in differences.items()) or "no pass could be recorded"
        raise ModelError(
            f"What {self.passes.name} looked at while it wrote cannot be computed:"
            " its logits are not the same when its text is read again.",
            f"largest difference: {found}; allowed: {self._allowed(of_steps, text, n, keep):.2g}",
            f"It wrote: {self._decoded(written.ids)[:200]!r}",
            "Caches that lose keys (quantised, evicting) and options that change attention cannot be recorded.",
        )

    def _allowed(self, logits: torch.Tensor, text: TokenizedText, n: int, keep: WhatToKeep) -> float:
        """How far the logits of a pass may be from those of the steps: 1e-3; in half precision twice the largest difference between a pass
        over the text and the same pass made in two pieces, and at least one unit in the last place of the largest logit."""
        dtype = self.passes.hf.dtype
        if dtype not in (torch.float16, torch.bfloat16):
            return AGREE
        unit = float(logits.abs().max()) * torch.finfo(dtype).eps
        return max(unit, 2 * self._difference_of_pieces(text, n, keep))

    def _difference_of_pieces(self, text: TokenizedText, n: int, keep: WhatToKeep) -> float:
        """The largest difference between the logits of the written tokens in one pass and in two pieces."""
        hf = self.passes.hf
        if hf.config.is_encoder_decoder:
            return 0.0
        ids = torch.tensor([text.ids[:-1]], device=hf.device)
        first = ids.shape[1] - n
        cut = first + max(1, n // 2) if n > 1 else max(1, first)
        if cut >= ids.shape[1]:
            return 0.0
        with self._writing({"input_ids": ids}, keep):
            whole = hf(input_ids=ids, **no_cache(hf)).logits[0, first:].float()
        with self._writing({"input_ids": ids}, keep):
            begun = hf(input_ids=ids[:, :cut], use_cache=True)
            rest = hf(input_ids=ids[:, cut:], past_key_values=begun.past_key_values, use_cache=True)
        pieces = torch.cat([begun.logits[0, first:], rest.logits[0]])[-n:].float()
        return float((whole - pieces).abs().max())

    def _on_cache(
        self,
        held: _OneUse | None,
        row: int,
        n_padded: int,
        text: TokenizedText,
        example: Example,
        n: int,
        last: bool,
        keeper: _Keeper,
    ) -> torch.Tensor | None:
        """A pass over the prompt's last token and the written tokens but the last, on the cache without them; None where it cannot be
        cropped, or the model's passes cannot be watched."""
        hf, n_prompt = self.passes.hf, len(self._read_by_decoder(example))
        takes = inspect.signature(hf.forward).parameters
        cache = None if held is None else held.cache
        if (
            held is None
            or cache is None
            or type(cache) is not DynamicCache
            or n_prompt < 2
            or not self.passes.layout.recorded
            or hf.config.is_encoder_decoder
        ):
            return None
        if any(type(layer) is not DynamicLayer or not layer.is_initialized for layer in cache.layers):
            return None
        padding = n_padded - n_prompt
        if padding and "position_ids" not in takes:
            return None
        own = copy.copy(cache)
        own.layers = [_cropped(layer, row, n_padded - 1) for layer in cache.layers]
        if last:
            held.cache = cache = None  # so that a layer of it is freed when the pass replaces it
        ids = torch.tensor([text.ids[n_prompt - 1 : -1]], device=hf.device)
        mask = torch.ones(1, n_padded + n - 1, dtype=torch.long, device=hf.device)
        mask[:, :padding] = 0
        inputs = {"input_ids": ids, "attention_mask": mask}
        if "position_ids" in takes:
            inputs["position_ids"] = torch.arange(n_prompt - 1, n_prompt + n - 1, device=hf.device)[None]
        with self._watched(inputs, keeper, n_prompt - 1) as seen:
            output = hf(**inputs, past_key_values=own, use_cache=True)
        return None if seen.left_out else output.logits[0].float()

    def _over_text(self, text: TokenizedText, example: Example, n: int, keeper: _Keeper) -> torch.Tensor:
        """One pass over all tokens but the last: its logits at the positions where the written tokens were chosen."""
        passes = self.passes
        two_towers = passes.hf.config.is_encoder_decoder
        read = text.only(range(len(text) - 1))
        whole = Example(example.source, read) if two_towers else Example(_with_types(read, example.source))
        first = len(read) - n
        inputs = passes.inputs([whole])
        at = torch.arange(first, first + n)[None]
        with restored(passes.hf):
            if passes.gives.streamed and not keeper.keep.changes:

                def take_streamed(attention: LayerAttention) -> None:
                    if keeper.wants(attention.stack, attention.layer):
                        call = attention.call
                        chosen = at[0].to(call.queries.device)
                        weights = call.own_of_rows(slice(0, 1), chosen, attention.stack, single=False)[1]
                        keeper.take(attention.stack, attention.layer, 0, weights[0])

                try:
                    result = passes.layers_without_maps([whole], take_streamed, answered=True)
                    with torch.inference_mode():
                        return passes.head(result, inputs, at)["logits"][0].float()  # type: ignore[no-any-return]
                except UncheckedMaskError:  # the model changes its own masks: the maps are computed instead
                    keeper.clear()

            def take(attention: LayerAttention) -> None:
                if not keeper.wants(attention.stack, attention.layer):
                    return
                begin = 0 if attention.recorded is None else attention.recorded.first
                end = begin + attention.weights.shape[2]
                if end > first:
                    keeper.take(attention.stack, attention.layer, max(0, begin - first), attention.weights[0, :, max(0, first - begin) :])

            result = passes.layers([whole], take, inputs=inputs, rows=ROWS, interventions=keeper.keep.changes, answered=True)
            with torch.inference_mode():
                return passes.head(result, inputs, at)["logits"][0].float()  # type: ignore[no-any-return]

    def _in_steps(self, text: TokenizedText, example: Example, n: int, options: Mapping[str, Any], keeper: _Keeper) -> torch.Tensor | None:
        """The steps of generate made again, each forced to the token that was written; None where they cannot be watched."""
        hf, n_prompt = self.passes.hf, len(text) - n
        free = free_memory()
        map_of_prompt = 12 * max(slot.n_heads for slot in self.passes.layout.slots) * n_prompt * n_prompt
        if not self.passes.layout.recorded or (free is not None and map_of_prompt > free):
            return None
        forced = _Forced(text.ids[-n:])
        inputs = self._padded([example])
        kind = {name: options[name] for name in ("cache_implementation", "cache_config") if name in options}
        with self._watched(inputs, keeper) as seen:
            out = hf.generate(
                **inputs,
                **kind,
                max_new_tokens=n,
                do_sample=False,
                num_beams=1,
                logits_processor=LogitsProcessorList([forced]),
                use_cache=True,
                return_dict_in_generate=True,
                output_logits=True,
                output_attentions=False,
                disable_compile=True,
            )
        if seen.left_out or len(out.logits) != n:
            return None
        return torch.stack([step[0].float() for step in out.logits])

    # ---- What is read and written, as texts

    def prompt(self, source: Source) -> Example:
        """The tokens of a prompt, with parts: those of its messages, those that were named, or one for the whole."""
        if source.pair is not None or source.pair_words is not None:
            raise TextError("A second text in a prompt.", "Give one text, or messages.")
        if WRITTEN in (source.parts or ()):
            raise TextError(f"A part of the prompt named {WRITTEN!r}.", "That is the name of what the model writes: give another.")
        if self.passes.hf.config.is_encoder_decoder and self.tokenizer is not None:
            return Example(_named(self.reader._encode(source, False)[0]))
        return Example(_named(self.reader.read(source, False).source))

    def _read_by_decoder(self, example: Example) -> tuple[int, ...]:
        """The ids that the decoder begins with: the prompt, or in an encoder-decoder model the start of the decoder."""
        hf = self.passes.hf
        return (decoder_start(hf),) if hf.config.is_encoder_decoder else example.source.ids

    def _text(self, written: Written, keep: WhatToKeep) -> TokenizedText:
        """What the decoder has read and written, as one text with parts."""
        tokenizer = self.tokenizer
        two_towers = self.passes.hf.config.is_encoder_decoder
        start = describe(tokenizer, self._read_by_decoder(written.prompt)) if two_towers else written.prompt.source
        prompt = start.with_parts([FIRST], [0] * len(start)) if two_towers else start
        new = describe(tokenizer, written.ids)
        completion, spans = spans_of_ids(tokenizer, written.ids)
        names, part_of = list(prompt.parts), list(prompt.part_of)
        thoughts = sum(name.startswith(THINKING) for name in names)
        of = [WRITTEN] * len(new)
        for number, match in enumerate(keep.thinking.finditer(completion) if spans else (), thoughts + 1):
            for token, (begin, end) in enumerate(spans or ()):
                if begin < match.end() and end > match.start() and end > begin:
                    of[token] = f"{THINKING} {number}"
        names += [name for name in dict.fromkeys(of) if name not in names]
        placed = bool(prompt.spans and spans and len(prompt.sources) == 1)
        begin = len(prompt.sources[0]) if placed else 0
        return TokenizedText(
            tokens=prompt.tokens + new.tokens,
            words=(*prompt.words, *(None if word is None else word + len(prompt.word_texts) for word in new.words)),
            word_texts=prompt.word_texts + new.word_texts,
            segments=(0,) * (len(prompt) + len(new)),
            special=prompt.special + new.special,
            ids=prompt.ids + new.ids,
            spans=(*prompt.spans, *((a + begin, b + begin) for a, b in spans or ())) if placed else (),
            sources=(prompt.sources[0] + completion,) if placed else (),
            parts=tuple(names),
            part_of=(*part_of, *map(names.index, of)),
        )

    def _completion(self, source: Source, prompt: Example, completion: str | Sequence[int]) -> tuple[list[int], list[Message]]:
        """The ids of a completion; a notice where the tokeniser would have written its text with other ids."""
        known = vocabulary_size(self.passes.hf)
        if not isinstance(completion, str):
            try:
                ids = [int(number) for number in completion]
            except (TypeError, ValueError):
                raise TextError(f"completion_ids={str(completion)[:60]}.", "Give a list of token ids.") from None
            wrong = [number for number in ids if number < 0 or (known is not None and number >= known)]
            if wrong or not ids:
                raise TextError(
                    f"Token {wrong[0]} in a completion." if wrong else "A completion of no token.",
                    f"{self.passes.name} knows tokens 0…{(known or 1) - 1}.",
                )
            again = self._ids_after(source, prompt, self._decoded(ids))
            return ids, [] if again == ids else [Message("notice.generation.other_ids")]
        if not completion:
            raise TextError("An empty completion.", "Give what was written.")
        return self._ids_after(source, prompt, completion), []

    def _ids_after(self, source: Source, prompt: Example, completion: str) -> list[int]:
        """The ids of a text that follows the prompt, tokenised together with it where the prompt's ids stay as they are."""
        tokenizer = self.tokenizer
        if self.passes.hf.config.is_encoder_decoder:
            return list(self.reader._decoded(Source(completion), False)[0].ids[1:])
        with self.reader.lock:
            alone = tokenizer(completion, add_special_tokens=False).input_ids
            before = prompt.source.sources[0] if len(prompt.source.sources) == 1 else None
            if before is None:
                return list(alone)
            special = source.conversation is None
            together = tokenizer(before + completion, add_special_tokens=special).input_ids
        n = len(prompt.source)
        return list(together[n:]) if tuple(together[:n]) == prompt.source.ids else list(alone)

    def _decoded(self, ids: Sequence[int]) -> str:
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=False))

    # ---- Refused before anything runs

    def go_on_from(self, generation: Generation, at: int) -> Example:
        """The prompt that ends before written token `at` of a generation."""
        if generation.model != self.passes.name or "cross" in generation.stacks:
            raise TraceError(
                f"A generation of {generation.model} cannot go on in {self.passes.name}.",
                "Give the model that wrote it; of an encoder-decoder model, write again.",
            )
        if isinstance(at, bool) or not isinstance(at, int) or not 0 <= at <= generation.n_written:
            raise TraceError(f"at={at!r} of {generation.n_written} written tokens.", f"Give a number from 0 to {generation.n_written}.")
        text = generation.text.only(range(generation.n_prompt + at))
        used = sorted(set(text.part_of))
        return Example(text.with_parts([text.parts[part] for part in used], [used.index(part) for part in text.part_of]))

    def _check_can_write(self) -> None:
        if not self.passes.hf.can_generate():
            raise ModelError(
                Message("refusal.cannot_write", model=f"{self.passes.name} ({type(self.passes.hf).__name__})"),
                "Open a model that was saved as …ForCausalLM or …ForConditionalGeneration.",
            )

    def _check_context(self, n_prompt: int, n_new: int, *, exact: bool = False) -> int:
        """How many tokens there is room for."""
        longest = self.reader.max_tokens
        if longest is None or n_prompt + n_new <= longest:
            return n_new
        if n_prompt >= longest or exact:
            raise TextError(
                f"A prompt of {n_prompt:,} tokens and {n_new:,} written ones, but {self.passes.name} takes {longest:,} in all.",
                "Shorten the prompt.",
            )
        return longest - n_prompt

    def _check_positions(self, n_prompt: int, n_new: int) -> None:
        """Refuse a text whose positions were others in the steps: where the model stretches them with the length of the text."""
        config = self.passes.hf.config.get_text_config()
        rope = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
        kinds = [rope, *(each for each in rope.values() if isinstance(each, Mapping))]
        for each in kinds:
            kind = each.get("rope_type") or each.get("type")
            limit = each.get("original_max_position_embeddings") or getattr(config, "max_position_embeddings", None)
            if limit is None or n_prompt + n_new - 1 <= limit:
                continue
            if kind == "dynamic" or (kind == "longrope" and n_prompt <= limit):
                raise ModelError(
                    f"The positions of {self.passes.name} depend on the length of the text (rope_type {kind}, beyond {limit:,} tokens):"
                    " how they were while this was written cannot be known.",
                    "Let the model write itself, which records the steps: model.generate(…); or give a shorter text.",
                )

    def _check_memory(self, examples: Sequence[Example], n: int, keep: WhatToKeep, copies: int) -> None:
        """Refuse what does not fit in memory, before anything is computed.

        For P tokens of prompt and N written ones, in bytes: shares L·H·N·parts·4; mean rows L·N·(P+N)·b and whole rows
        (heads kept)·N·(P+N)·b, where b is 2 in half precision, else 4; the logits of the steps N·vocabulary·4 for each beam or
        text; and three maps of one layer, 3·H·N·(P+N)·4.
        """
        layout, size = self.passes.layout, _bytes(self.passes.hf.dtype)
        need = 0
        for example in examples:
            n_keys = len(self._read_by_decoder(example)) + n
            for slot in layout.slots:
                if slot.stack == "encoder" or slot.layer not in keep.layers[slot.stack]:
                    continue
                keys = len(example.source) if slot.stack == "cross" else n_keys
                kept = len(keep.heads.get((slot.stack, slot.layer), ()))
                need += slot.n_heads * n * (len(example.source.parts) + 1) * 4 + (1 + kept) * n * keys * size
            need += 3 * max(slot.n_heads for slot in layout.slots) * n * n_keys * 4
        need += len(examples) * copies * n * (vocabulary_size(self.passes.hf) or 0) * 4
        free = free_memory()
        if free is not None and need > free:
            raise TraceError(
                f"{need / 1e9:.1f} GB would be needed for {n:,} written tokens, and {free / 1e9:.1f} GB are free.",
                'Keep fewer rows (heads=[(layer, head)], layers=[…], or keep="shares"), or write fewer tokens.',
            )

    # ---- What is kept

    def _keeper(self, text: TokenizedText, example: Example, n: int, keep: WhatToKeep) -> _Keeper:
        stacks = {"decoder": text} | ({"cross": example.source} if "cross" in self.passes.layout.stacks else {})
        dtype = np.dtype(np.float16 if _bytes(self.passes.hf.dtype) == 2 else np.float32)
        return _Keeper(self.passes.layout, stacks, len(text) - n, n, keep, dtype)

    def _generation(self, text: TokenizedText, written: Written, logits: torch.Tensor, keeper: _Keeper) -> Generation:
        hf, tokenizer, n_prompt = self.passes.hf, self.tokenizer, len(text) - len(written.ids)
        logs = logits.log_softmax(-1).cpu()  # [written, token]
        best = logs.topk(min(ALTERNATIVES, logs.shape[1]))
        names = {number: written_token(tokenizer, number) for number in set(best.indices.flatten().tolist())}
        alternatives = tuple(
            Choices(n_prompt + t - 1, tuple(names[i] for i in ids), tuple(ids), tuple(values))
            for t, (ids, values) in enumerate(zip(best.indices.tolist(), best.values.exp().tolist(), strict=True))
        )
        changed = [Message("notice.changed", change=str(change)) for change in keeper.keep.changes]
        about: GenerationFacts = {
            "class": type(hf).__name__,
            "dtype": str(hf.dtype).removeprefix("torch."),
            "device": hf.device.type,
            "eyeline": __version__,
            **written.facts,
            **({"interventions": list(map(str, changes))} if (changes := keeper.keep.changes) else {}),
            "notices": [*self.passes.layout.notices, *changed, *written.notices],
        }
        return Generation(
            model=self.passes.name,
            text=text,
            n_prompt=n_prompt,
            completion=self._decoded(written.ids),
            probabilities=logs[torch.arange(len(written.ids)), torch.tensor(written.ids)].exp().double().numpy(),
            alternatives=alternatives,
            stacks=keeper.stacks(),
            about=about,
        )


@dataclass(frozen=True)
class Written:
    """What was written after a prompt."""

    prompt: Example
    ids: tuple[int, ...]
    facts: GenerationFacts
    notices: Sequence[Message] = ()


@dataclass
class _OneUse:
    """The cache that generate left, until its last text is read."""

    cache: Any


@dataclass(eq=False)
class _Keeper:
    """Adds up the rows of the written tokens as they come: shares of parts, mean rows, and the whole rows that are to be kept.

    texts      stack → the tokens that are looked at
    first      the position of the query of the first written token, plus one: how many tokens the decoder began with
    """

    layout: Layout
    texts: Mapping[str, TokenizedText]
    first: int
    n: int
    keep: WhatToKeep
    dtype: np.dtype[Any]
    _shares: dict[tuple[str, int], np.ndarray] = field(default_factory=dict)
    _means: dict[tuple[str, int], np.ndarray] = field(default_factory=dict)
    _rows: dict[tuple[str, int], np.ndarray] = field(default_factory=dict)
    _seen: dict[tuple[str, int], set[int]] = field(default_factory=dict)
    _membership: dict[str, torch.Tensor] = field(default_factory=dict)

    def wants(self, stack: str, layer: int) -> bool:
        return stack in self.texts and layer in self.keep.layers[stack]

    def clear(self) -> None:
        for kept in (self._shares, self._means, self._rows, self._seen):
            kept.clear()

    def receive(self, rows: PlacedRows) -> None:
        """Rows of a pass that was watched: those of queries before the last token of the prompt are left out."""
        if not self.wants(rows.stack, rows.layer):
            return
        begin = rows.first - (self.first - 1)
        self.take(rows.stack, rows.layer, max(0, begin), rows.weights[:, max(0, -begin) :])

    def take(self, stack: str, layer: int, begin: int, weights: torch.Tensor) -> None:
        """Rows of the written tokens from `begin` on: [head, row, key]."""
        n_heads, n_rows, n_keys = weights.shape
        if not n_rows:
            return
        key, text = (stack, layer), self.texts[stack]
        if key not in self._shares:
            self._shares[key] = np.zeros((n_heads, self.n, len(text.parts)), np.float32)
            self._means[key] = np.zeros((self.n, len(text)), self.dtype)
            self._rows[key] = np.zeros((len(self.keep.heads.get(key, ())), self.n, len(text)), self.dtype)
            self._seen[key] = set()
        rows = slice(begin, begin + n_rows)
        weights = weights.float()
        self._shares[key][:, rows] = (weights @ self._parts(stack, weights.device)[:n_keys]).cpu().numpy()  # [head, row, part]
        self._means[key][rows, :n_keys] = weights.mean(0).cpu().numpy()
        if heads := self.keep.heads.get(key):
            self._rows[key][:, rows, :n_keys] = weights[list(heads)].cpu().numpy()
        self._seen[key] |= set(range(begin, begin + n_rows))

    def _parts(self, stack: str, device: torch.device) -> torch.Tensor:
        """[key, part]: 1 where the key belongs to the part."""
        if stack not in self._membership:
            text = self.texts[stack]
            of = torch.tensor(text.part_of)
            self._membership[stack] = (of[:, None] == torch.arange(len(text.parts))).float().to(device)
        return self._membership[stack]

    @property
    def whole(self) -> bool:
        """Whether every row of every layer came."""
        return all(len(self._seen.get((stack, layer), ())) == self.n for stack in self.texts for layer in self.keep.layers[stack])

    def stacks(self) -> dict[str, WrittenAttention]:
        if not self.whole:
            raise ModelError("Some layers made no attention call that could be recorded.", "Name the layers to keep: layers=[…].")
        result = {}
        for stack, text in self.texts.items():
            keys = [(stack, layer) for layer in self.keep.layers[stack]]
            result[stack] = WrittenAttention(
                name=stack,
                keys=text,
                layers=self.keep.layers[stack],
                shares_by_layer=tuple(self._shares[key] for key in keys),
                mean_by_layer=tuple(self._means[key] for key in keys),
                heads_by_layer=tuple(self.keep.heads.get(key, ()) for key in keys),
                rows_by_layer=tuple(self._rows[key] for key in keys),
            )
        return result


# ---- Stopping, forcing, and what is left of a cache


class _Stop(StoppingCriteria):  # type: ignore[misc]
    """Counts the written tokens in a progress bar, and stops writing when the user interrupts: what was written and its cache remain."""

    def __init__(self, n: int) -> None:
        self.stopped = False
        self._bar = tqdm(total=n, unit="token", leave=False, delay=1.0)

    def __call__(self, input_ids: torch.Tensor, scores: Any, **_: Any) -> torch.Tensor:
        self._bar.update(1)
        return torch.full((len(input_ids),), self.stopped, dtype=torch.bool, device=input_ids.device)

    @contextmanager
    def on_interrupt(self) -> Iterator[None]:
        """A block in which the first Ctrl-C stops writing; the second interrupts as always."""

        def stop(number: int, frame: Any) -> None:
            if self.stopped:
                raise KeyboardInterrupt
            self.stopped = True

        before = signal.getsignal(signal.SIGINT)
        ours = threading.current_thread() is threading.main_thread() and before is signal.default_int_handler
        if ours:
            signal.signal(signal.SIGINT, stop)
        try:
            yield
        finally:
            self._bar.close()
            if ours:
                signal.signal(signal.SIGINT, before)


class _Forced(LogitsProcessor):  # type: ignore[misc]
    """Leaves one token to choose at each step: the one that was written."""

    def __init__(self, ids: Sequence[int]) -> None:
        self.ids = iter(ids)

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        only = torch.full_like(scores, -torch.inf)
        only[:, next(self.ids)] = 0
        return only


def _cropped(layer: Any, row: int, n: int) -> Any:
    """The first n keys and values of one text of a cache's layer: views, which the next pass replaces."""
    own = copy.copy(layer)
    own.keys, own.values = layer.keys[row : row + 1, :, :n], layer.values[row : row + 1, :, :n]
    return own


def _ends(ids: Any) -> set[int]:
    if ids is None:
        return set()
    return {int(ids)} if isinstance(ids, int) else {int(number) for number in (ids.tolist() if hasattr(ids, "tolist") else ids)}


def _until_end(ids: Sequence[int], ends: set[int], pad: int | None) -> list[int]:
    """The ids up to the first that ends a text, that one included; without the padding of a batch."""
    end = next((index + 1 for index, number in enumerate(ids) if number in ends), None)
    if end is not None:
        return list(ids[:end])
    kept = list(ids)
    while ends and kept and kept[-1] == pad:
        kept.pop()
    return kept


def _plain(value: Any) -> Any:
    """An option as a file can keep it."""
    return value if isinstance(value, str | int | float | bool | None) else str(value)[:200]


def _bytes(dtype: torch.dtype) -> int:
    return 2 if dtype in (torch.float16, torch.bfloat16) else 4


def _named(text: TokenizedText) -> TokenizedText:
    """A text with parts: its own, or the first position and the rest."""
    if text.parts:
        return text
    names = [FIRST, REST] if len(text) > 1 else [FIRST]
    return text.with_parts(names, [min(position, 1) for position in range(len(text))])


def _with_types(read: TokenizedText, prompt: TokenizedText) -> TokenizedText:
    """Token types go on as those of the prompt end, where the tokeniser gives them."""
    return replace(read, types=prompt.types + prompt.types[-1:] * (len(read) - len(prompt))) if prompt.types else read
