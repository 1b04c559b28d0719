"""Every head is measured in every way, and shown on the texts where it looks hardest."""

from __future__ import annotations

import numpy as np
import pytest
import transformers as t

import eyeline as el
from eyeline.measure.gallery import TEXTS, embedding_changes, examples_table, measure_heads
from tests.show.gallery.tiny import HEADS, LAYERS, measured, tiny


def test_all_tables_that_a_page_reads_are_there():
    tables = measured().run.tables
    for name in ("average_attention", "entropy", "distances", "causes", "head_examples", "syntax_heads", "coreference_heads"):
        assert len(tables[name]), name
    assert len(tables["causes"]) == LAYERS * HEADS
    assert len(measured().examples) == len(TEXTS)


def test_a_head_is_shown_on_the_text_with_its_strongest_look_from_word_to_word():
    weights = np.full((2, 1, 1, 5, 5), 0.2, dtype=np.float32)  # [text, layer, head, query, key]
    weights[1, 0, 0, 1] = [0.2, 0.1, 0.05, 0.65, 0.0]
    traces = [
        el.Trace.from_arrays(maps, ["[CLS]", "who", "sat", "down", "."], special=[True, False, False, False, False]) for maps in weights
    ]
    rows = list(examples_table(traces).rows())
    assert next((row["text"], row["query"], row["key"]) for row in rows) == (1, 1, 3)
    assert float(rows[0]["weight"]) == pytest.approx(0.65)


def test_a_head_without_a_look_at_a_distant_word_is_shown_with_its_strongest_look_at_any_token():
    weights = np.zeros((1, 1, 1, 5, 5), dtype=np.float32)  # [text, layer, head, query, key]
    weights[..., 0] = 1.0  # every token looks at [CLS] …
    weights[0, 0, 0, 2] = [0.05, 0.95, 0.0, 0.0, 0.0]  # … but for one, which looks at its neighbour
    weights[0, 0, 0, 3] = [0.98, 0.02, 0.0, 0.0, 0.0]  # a weak look at a distant word
    trace = el.Trace.from_arrays(weights[0], ["[CLS]", "who", "sat", "down", "."], special=[True, False, False, False, False])
    row = next(examples_table([trace]).rows())
    assert (int(row["query"]), int(row["key"]), int(row["distant"])) == (1, 0, 0)
    assert float(row["weight"]) == pytest.approx(1.0)


def test_a_model_without_an_answer_has_the_change_of_its_vectors():
    model = tiny(t.BertModel)
    table = embedding_changes(model, ["The cat sat.", "It was tired."], lambda done, of, tokens=0: None)["embedding_change"]
    assert len(table) == LAYERS * HEADS
    assert (table["change"].astype(float) > 0).all()
    by_hand = []
    for text in ("The cat sat.", "It was tired."):
        side = model.read(text)
        whole = model.passes.output([side]).last_hidden_state.double().mean(1)[0]
        without = model.passes.output([side], [[el.Ablate([(1, 2)])]]).last_hidden_state.double().mean(1)[0]
        by_hand.append(float(1 - (whole @ without) / (whole.norm() * without.norm())))
    assert float(table.where(layer=1, head=2)["change"][0]) == pytest.approx(np.mean(by_hand), rel=1e-3)


def test_a_model_with_several_kinds_of_attention_is_refused():
    config = t.BartConfig(d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2,
                          encoder_ffn_dim=16, decoder_ffn_dim=16)  # fmt: skip
    model = el.wrap(t.BartModel(config).eval(), el.load("minilm").tokenizer, name="two towers")
    with pytest.raises(el.EyelineError, match="3 kinds of attention"):
        measure_heads(model)
