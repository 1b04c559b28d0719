"""A GPT-2 whose weights are written by hand, so that its circuit is known: it continues a sequence that it has seen before.

Layer 0, head 0 looks at the previous token and notes which one it was. Layer 1, head 0 looks for a position whose note is the present
token, and says the token that stands there. The other heads look and write at random, into a part of the residual stream that nobody reads.
"""

from __future__ import annotations

from typing import Any

import torch
import transformers as t

import eyeline as el

TOKENS, LONGEST, HEADS, SIZE = 12, 12, 3, 20
WIDTH = HEADS * SIZE
#: Where in the residual stream each thing stands: the token, its position, the note of the previous token, the answer, and rubbish.
TOKEN, POSITION, NOTE, ANSWER, RUBBISH = (slice(i * 12, i * 12 + 12) for i in range(5))
SHARP = 6.0


def induction_model() -> el.Model:
    """The model, with token numbers instead of a tokeniser."""
    torch.manual_seed(0)
    config = t.GPT2Config(
        vocab_size=TOKENS, n_positions=LONGEST, n_embd=WIDTH, n_layer=2, n_head=HEADS, n_inner=4, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0,
        tie_word_embeddings=False, bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    hf: Any = t.GPT2LMHeadModel._from_config(config, attn_implementation="eager").eval()
    with torch.no_grad():
        for p in hf.parameters():
            p.zero_()
        model = hf.transformer
        model.wte.weight[:, TOKEN] = torch.eye(12)
        model.wpe.weight[:, POSITION] = torch.eye(12)
        for norm in (model.ln_f, *(norm for block in model.h for norm in (block.ln_1, block.ln_2))):
            norm.weight.fill_(1)
        for block in model.h:
            for head in range(1, HEADS):
                _random_head(block.attn, head)
        _head(model.h[0].attn, 0, queries=(POSITION, torch.roll(torch.eye(12), -1, 1)), keys=(POSITION, torch.eye(12)), writes=NOTE)
        _head(model.h[1].attn, 0, queries=(TOKEN, torch.eye(12)), keys=(NOTE, torch.eye(12)), writes=ANSWER)
        hf.lm_head.weight[:, ANSWER] = torch.eye(12)
    return el.wrap(hf, tokenizer(), name="by hand")


def _part(head: int, what: int) -> slice:
    """The columns of the fused projection: queries 0, keys 1, values 2."""
    return slice(what * WIDTH + head * SIZE, what * WIDTH + head * SIZE + 12)


def _head(attention: Any, head: int, queries: Any, keys: Any, writes: slice) -> None:
    for what, (reads, matrix) in enumerate((queries, keys)):
        attention.c_attn.weight[reads, _part(head, what)] = SHARP * matrix
    attention.c_attn.weight[TOKEN, _part(head, 2)] = torch.eye(12)
    attention.c_proj.weight[head * SIZE : head * SIZE + 12, writes] = torch.eye(12)


def _random_head(attention: Any, head: int) -> None:
    for what in range(3):
        attention.c_attn.weight[TOKEN, _part(head, what)] = 0.3 * torch.randn(12, 12)
    attention.c_proj.weight[head * SIZE : head * SIZE + 12, RUBBISH] = 0.03 * torch.randn(12, 12)


def tokenizer() -> t.PreTrainedTokenizerFast:
    """One letter, one token."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    backend = Tokenizer(models.WordLevel({letter: i for i, letter in enumerate("abcdefghijkl")}, unk_token="l"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return t.PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="l", pad_token="l")
