"""Train the small translator of the lesson, measure which of its heads align words, and write its traces.

    python -m training.translation.train [--steps 1500]

An encoder-decoder (MarianMT's architecture, 2 + 2 layers of 4 heads, 64 numbers wide) learns to translate the made-up sentences of
phrases.py from English into French and Japanese, from nothing, in about a minute on one core. A tenth of all sentences is never trained
on. On 500 of those, the share that it translates word for word is measured, and for every head of its cross attention how often the
English word that it looks at most is the one that is being translated. Written into src/eyeline/look/translation/: the traces of three
sentences, with what the model itself writes, and measured.json; the weights, in half precision, into tests/look/translator.safetensors.
"""

from __future__ import annotations

import argparse
import json
import random
import time
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers as t
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from training.translation.phrases import LANGUAGES, Language, Phrase, made_up

import eyeline as el
from eyeline.look.stack import Layers

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "src/eyeline/look/translation"
WEIGHTS = ROOT / "tests/look/translator.safetensors"
SPECIAL = ("<pad>", "<s>", "</s>", "<unk>", *(f">>{language}<<" for language in LANGUAGES))
PAD, START, END = 0, 1, 2
BATCH, SEED, RATE, HELD_OUT = 64, 0, 3e-3, 500
#: The sentences whose traces are written: English, language, the translation that is expected of the model.
EXAMPLES: dict[str, tuple[str, Language, str]] = {
    "cat-fr": ("the black cat sat on the mat", "fr", "le chat noir s' est assis sur le tapis"),
    "cat-ja": ("the black cat sat on the mat", "ja", "黒い 猫 は マット の 上 に 座りました"),
    "love-ja": ("I love you", "ja", "私 は あなた を 愛しています"),
}


def vocabulary() -> list[str]:
    """Every word of 40,000 sentences, which are all words that there are, after the special tokens."""
    rng = random.Random(SEED)
    phrases = [made_up(rng) for _ in range(40_000)]
    words = {word for phrase in phrases for side in (phrase.french, phrase.japanese) for word, _ in side}
    return [*SPECIAL, *sorted(words | {word for phrase in phrases for word in phrase.english})]


def tokenizer() -> t.PreTrainedTokenizerFast:
    """One token per word; </s> at the end."""
    backend = Tokenizer(models.WordLevel({word: index for index, word in enumerate(vocabulary())}, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    backend.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", END)])
    named = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    return t.PreTrainedTokenizerFast(tokenizer_object=backend, additional_special_tokens=list(SPECIAL[4:]), **named)


def untrained(words: int) -> Any:
    config = t.MarianConfig(
        vocab_size=words, d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
        encoder_ffn_dim=128, decoder_ffn_dim=128, max_position_embeddings=32, dropout=0.1, activation_function="relu", scale_embedding=True,
        init_std=0.05, pad_token_id=PAD, bos_token_id=START, eos_token_id=END, decoder_start_token_id=START, forced_eos_token_id=None,
    )  # fmt: skip
    return t.MarianMTModel._from_config(config, attn_implementation="eager")


def translator() -> el.Model:
    """The trained model, from its file."""
    words = tokenizer()
    hf = untrained(len(words)).eval()
    hf.load_state_dict({name: tensor.float() for name, tensor in load_file(WEIGHTS).items()}, strict=False)
    hf.tie_weights()
    return el.wrap(hf, words, name="translator")


def held_out(phrase: Phrase) -> bool:
    """A tenth of all sentences, by a sum over their letters: the same tenth on every machine."""
    return zlib.crc32(" ".join(phrase.english).encode()) % 10 == 0


def sentences(rng: random.Random, count: int, *, unseen: bool) -> list[tuple[Phrase, Language]]:
    chosen: list[tuple[Phrase, Language]] = []
    while len(chosen) < count:
        phrase = made_up(rng)
        if held_out(phrase) == unseen:
            chosen.append((phrase, rng.choice(LANGUAGES)))
    return chosen


def batch(words: t.PreTrainedTokenizerFast, chosen: list[tuple[Phrase, Language]]) -> tuple[Any, torch.Tensor]:
    """The encoder's inputs, and the ids that the decoder is to write [text, token], -100 where a text has ended."""
    read = words([f">>{language}<< {' '.join(phrase.english)}" for phrase, language in chosen], padding=True, return_tensors="pt")
    write = words([" ".join(word for word, _ in phrase.target(language)) for phrase, language in chosen], padding=True, return_tensors="pt")
    inputs = {"input_ids": read.input_ids, "attention_mask": read.attention_mask}
    return inputs, write.input_ids.masked_fill(write.attention_mask == 0, -100)


def train(steps: int, words: t.PreTrainedTokenizerFast) -> Any:
    torch.manual_seed(SEED)
    rng = random.Random(SEED + 1)
    hf = untrained(len(words)).train()
    optimizer = torch.optim.AdamW(hf.parameters(), lr=RATE, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps, pct_start=0.1)
    started = time.process_time()
    for step in range(steps):
        inputs, labels = batch(words, sentences(rng, BATCH, unseen=False))
        loss = hf(**inputs, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(hf.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 0:
            print(f"step {step}: loss {loss.item():.3f}, {time.process_time() - started:.0f} s of the processor", flush=True)
    return hf.eval()


@torch.inference_mode()
def measure(hf: Any, words: t.PreTrainedTokenizerFast) -> dict[str, Any]:
    """On sentences that it was not trained on: how many it translates word for word, and how often each head of its cross attention looks
    most at the English word that is being translated, among words that translate one."""
    chosen = sentences(random.Random(SEED + 2), HELD_OUT, unseen=True)
    inputs, labels = batch(words, chosen)
    written = hf.generate(**inputs, max_new_tokens=labels.shape[1], num_beams=1, do_sample=False)[:, 1:]
    right = sum(
        list(row[: int((label >= 0).sum())]) == label[label >= 0].tolist() for row, label in zip(written.tolist(), labels, strict=True)
    )
    maps = [layer.numpy() for layer in hf(**inputs, labels=labels, output_attentions=True).cross_attentions]  # [text, head, written, read]
    rows = [
        (text, position, source + 1)  # the tag of the language stands before the English words
        for text, (phrase, language) in enumerate(chosen)
        for position, (_, source) in enumerate(phrase.target(language))
        if source is not None
    ]
    texts, positions, sources = np.array(rows).T
    heads = []
    for layer, weights in enumerate(maps):
        looks = weights[texts, :, positions]  # [word, head, English token]
        aligned, given = (looks.argmax(-1) == sources[:, None]).mean(0), looks[np.arange(len(rows)), :, sources].mean(0)
        heads += [
            {"layer": layer, "head": head, "aligned": round(float(aligned[head]), 3), "weight": round(float(given[head]), 3)}
            for head in range(looks.shape[1])
        ]
    return {"sentences": HELD_OUT, "exact": right / HELD_OUT, "words": len(rows), "heads": heads}


def rounded(trace: el.Trace) -> el.Trace:
    """Queries and keys as half precision knows them, so that the files pack small; weights as they are."""

    def half(layers: Layers) -> Layers:
        return tuple(layer.astype(np.float16).astype(np.float32) for layer in layers)

    stacks = {
        name: replace(stack, queries_by_layer=half(stack.queries_by_layer), keys_by_layer=half(stack.keys_by_layer))
        for name, stack in trace.stacks.items()
    }
    return replace(trace, stacks=stacks)


def write_examples(model: el.Model) -> None:
    for name, (english, language, expected) in EXAMPLES.items():
        trace = model.trace(f">>{language}<< {english}", keep=("weights", "queries", "keys"))
        words = " ".join(trace.stacks["cross"].query_text.tokens[1:])
        if words != expected:
            raise SystemExit(f"{name}: the model writes {words!r}, not {expected!r}. Train longer.")
        rounded(trace).save(FOLDER / f"{name}.safetensors")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=1500)
    steps = parser.parse_args().steps
    words = tokenizer()
    hf = train(steps, words)
    tied = {"lm_head.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"}
    save_file({name: value.half().contiguous().clone() for name, value in hf.state_dict().items() if name not in tied}, WEIGHTS)
    model = translator()  # as it was written: what is measured is what the file holds
    measured = {"command": "python -m training.translation.train", "steps": steps, **measure(model.hf, words)}
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "measured.json").write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
    write_examples(model)
    print(json.dumps(measured, indent=1))


if __name__ == "__main__":
    main()
