"""Every public call on an odd model ends in a result or in an error of ours that is true for it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import transformers as t
from torch import nn
from transformers.modeling_outputs import BaseModelOutput
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.utils.output_capturing import capture_outputs

import eyeline as el
from eyeline.errors import EyelineError, ModelError, TextError
from eyeline.text.corpora.mentions import MarkedDocument, Mention
from tests.models.families import GROUPED, SEQ2SEQ, TINY, tiny_tokenizer
from tests.models.unusual import loud

TEXT = "the cat sat on the mat ."


class SmallConfig(t.PreTrainedConfig):
    model_type = "eyeline_small"

    def __init__(self, vocab_size=5, max_position_embeddings=7, hidden_size=8, **options):
        super().__init__(**options)
        self.vocab_size, self.max_position_embeddings, self.hidden_size = vocab_size, max_position_embeddings, hidden_size


def eager_attention_forward(module, query, key, value, attention_mask, scaling=None, **_):
    scores = query @ key.transpose(2, 3) * (query.shape[-1] ** -0.5)
    weights = (scores if attention_mask is None else scores + attention_mask).softmax(-1)
    return (weights @ value).transpose(1, 2).contiguous(), weights


class SmallAttention(nn.Module):
    is_causal = False

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.projections = nn.Linear(config.hidden_size, 3 * config.hidden_size)

    def forward(self, hidden, attention_mask=None, **kwargs):
        batch, n, size = hidden.shape
        query, key, value = self.projections(hidden).view(batch, n, 3, 2, size // 2).permute(2, 0, 3, 1, 4)
        attention_interface = ALL_ATTENTION_FUNCTIONS.get_interface(self.config._attn_implementation, eager_attention_forward)
        output, weights = attention_interface(self, query, key, value, attention_mask, **kwargs)
        return output.reshape(batch, n, size), weights


class SmallModel(t.PreTrainedModel):
    config_class = SmallConfig
    base_model_prefix = "small"
    _supports_sdpa = True
    _supports_attention_backend = True
    _can_record_outputs = {"attentions": SmallAttention}  # noqa: RUF012 - the name and kind that transformers reads

    def __init__(self, config):
        super().__init__(config)
        self.tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.positions = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.layers = nn.ModuleList([SmallAttention(config) for _ in range(2)])
        self.post_init()

    def get_input_embeddings(self):
        return self.tokens

    @capture_outputs
    def forward(self, input_ids, attention_mask=None, **kwargs):
        hidden = self.tokens(input_ids) + self.positions(torch.arange(input_ids.shape[1]))
        mask = None
        if attention_mask is not None:
            mask = (1 - attention_mask[:, None, None].to(hidden.dtype)) * torch.finfo(hidden.dtype).min
        for layer in self.layers:
            hidden = hidden + layer(hidden, mask, **kwargs)[0]
        return BaseModelOutput(last_hidden_state=hidden)


def test_a_model_of_five_tokens_and_seven_positions_is_opened():
    model = el.wrap(SmallModel(SmallConfig()).eval())
    trace = model.trace_inputs({"input_ids": torch.tensor([[0, 4, 2, 1, 3, 2, 1]])})
    assert trace.weights.shape == (2, 2, 7, 7)
    assert np.abs(trace.weights.sum(-1) - 1).max() < 1e-5


def test_sinks_in_some_layers_only_are_no_obstacle():
    config = t.AutoConfig.for_model("mimo_v2_flash", **{**GROUPED, "num_hidden_layers": 4})
    model = el.wrap(t.AutoModel.from_config(config, attn_implementation="eager").eval(), tiny_tokenizer())
    trace = model.trace(TEXT)
    assert len(trace.only.weights_by_layer) == 4
    with torch.no_grad():
        own = model.hf(input_ids=torch.tensor([trace.text.ids]), output_attentions=True).attentions
    for weights, reported in zip(trace.only.weights_by_layer, own, strict=True):
        assert np.abs(weights - reported[0].numpy()).max() < 1e-6


def test_a_model_whose_token_types_are_not_of_this_tokeniser_gives_our_error():
    """TAPAS wants seven types for each token, those of a table."""
    tokenizer = tiny_tokenizer()
    tokenizer.model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
    model = el.wrap(t.TapasModel(t.TapasConfig(**TINY)).eval(), tokenizer)
    with pytest.raises(ModelError, match="could not be run"):
        model.trace(TEXT, "it ran")


def test_a_tokeniser_that_reads_no_text_gives_our_error():
    class Tables(t.PreTrainedTokenizerFast):
        def __call__(self, *args, **kwargs):
            raise AssertionError("give a table")

    tokenizer = tiny_tokenizer()
    tables = Tables(tokenizer_object=tokenizer.backend_tokenizer, pad_token="[PAD]", unk_token="[UNK]")
    model = el.wrap(t.BertModel(t.BertConfig(**TINY)).eval(), tables)
    with pytest.raises(TextError, match="give a table"):
        model.trace(TEXT)


def test_a_text_beyond_mpts_max_seq_len_is_too_long():
    model = el.wrap(t.MptModel(t.MptConfig(vocab_size=64, d_model=32, n_heads=4, n_layers=2, max_seq_len=32)).eval(), tiny_tokenizer())
    assert model.max_tokens == 32
    with pytest.raises(TextError, match="the model takes 32"):
        model.trace("the cat " * 20)


def test_tensors_under_a_wrong_name_give_the_names_that_are_right(minilm):
    with pytest.raises(ModelError, match=r"It takes no 'input_idz'\. Did you mean input_ids"):
        minilm.trace_inputs({"input_idz": torch.tensor([[1, 2]])})


def test_an_error_that_is_not_about_arguments_does_not_blame_them():
    """ProphetNet ignores arguments that it does not know."""
    config = t.ProphetNetConfig(
        vocab_size=64, hidden_size=32, num_encoder_layers=1, num_decoder_layers=1, num_encoder_attention_heads=4,
        num_decoder_attention_heads=4, encoder_ffn_dim=32, decoder_ffn_dim=32, max_position_embeddings=32,
    )  # fmt: skip
    model = el.wrap(t.ProphetNetModel(config).eval(), tiny_tokenizer())
    with pytest.raises(ModelError, match="IndexError") as error:
        model.trace_inputs({name: torch.tensor([[1, 99]]) for name in ("input_ids", "decoder_input_ids", "token_type_ids")})
    assert "It takes no" not in str(error.value)


def whisper() -> el.Model:
    sizes = {"d_model": 16, "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16}
    config = t.WhisperConfig(
        vocab_size=64, encoder_layers=1, decoder_layers=1, num_mel_bins=8, max_source_positions=20, max_target_positions=12, pad_token_id=0,
        bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, **sizes,
    )  # fmt: skip
    return el.wrap(t.WhisperModel(config).eval(), tiny_tokenizer())


@pytest.mark.parametrize("given", [(TEXT,), (TEXT, "it ran")])
def test_a_text_for_a_model_that_reads_sound_is_refused_and_says_what_it_reads(given):
    model = whisper()
    with pytest.raises(ModelError, match="reads 'input_features', not a text"):
        model.trace(*given)
    with pytest.raises(EyelineError):
        el.analyse(model, [TEXT], [el.statistics.Entropy()])


def test_an_image_model_that_takes_any_size_is_opened_with_a_few_patches():
    config = t.Dinov2Config(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, image_size=56, patch_size=4)
    sizes = []
    hf = t.Dinov2Model(config).eval()
    hf.embeddings.register_forward_hook(lambda _module, _inputs, output: sizes.append(output.shape[1]))
    model = el.wrap(hf)
    assert max(sizes) == 17
    assert model.trace_inputs({"pixel_values": torch.zeros(1, 3, 56, 56)}).weights.shape == (2, 4, 197, 197)


@pytest.mark.parametrize(
    "hf",
    [
        lambda: t.PegasusXModel(
            t.PegasusXConfig(
                **SEQ2SEQ, encoder_layers=2, decoder_layers=2, decoder_attention_heads=4, block_size=4, num_global_tokens=2
            )
        ),
        lambda: t.LongT5Model(
            t.LongT5Config(
                vocab_size=64, d_model=32, d_kv=8, num_heads=4, num_layers=2, d_ff=32, local_radius=4, pad_token_id=0,
                decoder_start_token_id=0,
            )
        ),
    ],
    ids=["pegasus_x", "longt5"],
)  # fmt: skip
def test_an_encoder_in_blocks_is_left_out_with_a_notice_on_model_trace_and_run(hf):
    model = el.wrap(hf().eval(), tiny_tokenizer())
    assert model.layout.stacks == ("decoder", "cross")
    (notice,) = model.notices
    assert "encoder's attention is computed in blocks" in notice
    trace = model.trace(TEXT, "it ran")
    assert trace.notices == (notice,)
    assert notice in el.head_view(trace, stack="cross").spec["notices"]
    run = el.analyse(model, [(TEXT, "it ran")], [el.statistics.Entropy()])
    assert notice in run.facts.notices


def test_a_model_that_big_birds_blocks_do_not_suit_gives_its_own_weights():
    config = t.BigBirdPegasusConfig(**SEQ2SEQ, encoder_layers=2, decoder_layers=2, decoder_attention_heads=4, block_size=4)
    model = el.wrap(t.BigBirdPegasusModel(config).eval(), tiny_tokenizer())
    assert not model.layout.recorded
    assert model.trace(TEXT, "it ran").encoder.weights.shape[:2] == (2, 4)


# ---- Texts on which a model computes nan: an embedding that overflows, a damaged row of weights


@pytest.fixture
def broken_at_cat() -> el.Model:
    """It is opened whole, on a tiny text without that token; then the embedding of "cat" is lost."""
    model = el.wrap(loud(t.BertModel(t.BertConfig(**TINY))), tiny_tokenizer())
    with torch.no_grad():
        model.hf.get_input_embeddings().weight[5] = torch.nan
    return model


def test_a_text_without_finite_attention_is_refused_and_others_are_not(broken_at_cat):
    assert np.isfinite(broken_at_cat.trace("the dog ran .").weights).all()
    with pytest.raises(ModelError, match=r"not finite \(nan\), first in layer 0 \(encoder\)"):
        broken_at_cat.trace("the cat sat .")
    with pytest.raises(ModelError, match="not finite"):
        broken_at_cat.trace_inputs({"input_ids": torch.tensor([[1, 4, 5, 2]])})


@pytest.mark.parametrize("statistic", [el.statistics.Entropy, el.statistics.AverageAttention, el.statistics.MaxLogit])
@pytest.mark.parametrize("streamed", [True, False])
def test_a_corpus_with_such_a_text_gives_no_table_of_nan(broken_at_cat, statistic, streamed, monkeypatch):
    if not streamed:
        monkeypatch.setattr(statistic, "reads_weights", lambda self, batch: True)
    assert el.analyse(broken_at_cat, ["the dog ran ."], [statistic()]).tables
    with pytest.raises(EyelineError, match=r"not a number \(nan\)|not finite"):
        el.analyse(broken_at_cat, ["the dog ran .", "the cat sat ."], [statistic()])


def test_word_maps_of_such_a_text_are_refused_not_read_as_its_first_word(broken_at_cat):
    mentions = (Mention(1, 1, 1, 0, "nominal"), Mention(3, 3, 3, 0, "pronoun"))
    document = MarkedDocument("one", (("the", "cat", "ran", "it", "."),), mentions)
    with pytest.raises(ModelError, match="not finite"):
        el.coreference(broken_at_cat, [document])
