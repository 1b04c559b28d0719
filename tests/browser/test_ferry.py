"""A real generation in a real browser: a click on the written 7 lights the document's own 7 in the induction head L18·H6."""

from __future__ import annotations

import pytest

import eyeline as el

DOCUMENT = "The ferry to Norden leaves at 7:40 and at 16:15. Dogs travel free. On Sundays there is no morning ferry."
QUESTION = "When does the ferry leave on Sundays?"


@pytest.mark.slow
def test_a_click_on_the_written_7_lights_the_7_of_the_document(show, smollm2: el.Model) -> None:
    messages = [{"role": "system", "content": "Answer in one short sentence."}, {"role": "user", "content": f"{DOCUMENT}\n{QUESTION}"}]
    parts = {"document": DOCUMENT, "question": QUESTION}
    generation = smollm2.generate(messages, max_new_tokens=12, parts=parts, heads=[(18, 6)])
    seven = generation.written.index("7")
    shown = show(el.generation_view(generation, layer=18, head=6, written=0))
    shown.page.locator(f"[data-written='{seven}']").click()
    shown.page.mouse.move(2, 2)
    shown.until(f"state.written === {seven} && scene.written === {seven}")
    strongest = max(shown.scene["lit"], key=lambda entry: entry["value"])
    assert generation.text.tokens[strongest["position"]] == "7"
    assert strongest["position"] in generation.text.in_part("document")
    assert strongest["value"] == pytest.approx(0.68, abs=0.02)
    lit = shown.page.locator(".gen-token[data-weight]", has_text="7").first
    assert lit.get_attribute("data-weight") == f"{generation.row_of((18, 6))[seven].max():.3f}"
    assert "L18·H6" in shown.page.locator(".gen-sentence").inner_text()
