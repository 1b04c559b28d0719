"""A GPT-2 of two layers that was trained to continue repeated random tokens (training/induction.py wrote its weights)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import transformers as t
from safetensors.torch import load_file

import eyeline as el

PATH = Path(__file__).with_name("trained.safetensors")
LETTERS = "abcdefghijklmnopqrstuvwx"
TOKENS, LENGTH, HEADS, WIDTH = len(LETTERS), 28, 4, 48


def untrained() -> Any:
    config = t.GPT2Config(
        vocab_size=TOKENS, n_positions=LENGTH, n_embd=WIDTH, n_layer=2, n_head=HEADS, n_inner=WIDTH, resid_pdrop=0, embd_pdrop=0,
        attn_pdrop=0, tie_word_embeddings=False, bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    return t.GPT2LMHeadModel._from_config(config, attn_implementation="eager")


def trained_model() -> el.Model:
    """The model, one letter a token."""
    hf = untrained().eval()
    hf.load_state_dict({name: tensor.float() for name, tensor in load_file(PATH).items()})
    return el.wrap(hf, tokenizer(), name="trained")


def tokenizer() -> t.PreTrainedTokenizerFast:
    from tokenizers import Tokenizer, models, pre_tokenizers

    backend = Tokenizer(models.WordLevel({letter: i for i, letter in enumerate(LETTERS)}, unk_token="x"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return t.PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="x", pad_token="x")
