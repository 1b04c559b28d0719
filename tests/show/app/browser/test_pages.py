"""The app in a browser: what a visitor sees and does, in all three languages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from eyeline.words import LANGUAGES, Words
from tests.show.app.conftest import MARKUP
from tests.tiers import slow_but

pytestmark = pytest.mark.browser

LOCALES = {"en": "en-US", "ja": "ja-JP", "ko": "ko-KR"}
PATIENCE = 120_000  # ms; a quiet machine needs a second
VIEW = ".eyeline-view[data-drawn]"
SCENE = "document.querySelector('.eyeline-view')?.eyeline"  # while the page is drawn again there is none


class Visitor:
    """A browser of its own, with its own cookies; it notes every request that leaves this machine and every error."""

    def __init__(self, context: Any, url: str) -> None:
        self.context, self.url = context, url
        self.page = context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.foreign: list[str] = []
        self.errors: list[str] = []
        self.page.on("request", lambda request: self._note(request.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.errors.append(dialog.message), dialog.dismiss()))

    def _note(self, url: str) -> None:
        if not url.startswith((self.url, self.url.replace("http", "ws"), "data:", "blob:")):
            self.foreign.append(url)

    def open(self, path: str = "/", wait: str = VIEW) -> Visitor:
        self.page.goto(self.url + path)
        self.page.wait_for_selector(wait, state="attached")
        return self

    def until(self, condition: str) -> None:
        self.page.wait_for_function(condition)

    def come_to_the_figures(self) -> None:
        """Scroll to the figures of the text until they are there: they are measured for those who come to them."""
        self.page.evaluate("document.querySelector('.st-key-figures').scrollIntoView()")
        self.until("document.querySelector('.st-key-figures img')")

    def open_menu(self, name: str) -> None:
        """Open a menu of the page."""
        self.key(name).get_by_role("button").first.click()

    def tokens(self) -> list[str]:
        """The tokens that the view draws."""
        result = self.page.locator(f"{VIEW} [role=listbox]").first.locator("[role=option]").all_inner_texts()
        return [text.strip() for text in result]

    def key(self, name: str) -> Any:
        return self.page.locator(f".st-key-{name}")

    @property
    def address(self) -> dict[str, str]:
        return {key: value[0] for key, value in parse_qs(urlsplit(self.page.url).query).items()}


@pytest.fixture
def visit(served: Any, browser: Any) -> Iterator[Callable[..., Visitor]]:
    contexts = []

    def arrive(language: str = "en", width: int = 1280, scheme: str = "light") -> Visitor:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, locale=LOCALES[language], accept_downloads=True
        )
        contexts.append(context)
        return Visitor(context, served.url)

    yield arrive
    for context in contexts:
        context.close()


@pytest.mark.parametrize("language", slow_but(["en"], LANGUAGES))
def test_a_newcomer_gets_from_opening_the_page_to_a_saved_picture(visit, language, tmp_path):
    say = Words(language)
    me = visit(language).open()
    assert me.page.locator("h1").inner_text() == say("look.title")
    assert me.page.evaluate("document.documentElement.lang") == language
    me.key("look-text").locator("input").fill("Birds sing because they are happy.")
    me.key("look-show").get_by_role("button").click()
    me.until("location.search.includes('Birds')")
    me.page.wait_for_selector(VIEW)
    assert me.address["text"] == "Birds sing because they are happy."
    me.open_menu("look-share")
    with me.page.expect_download() as waiting:
        me.key("save-svg").get_by_role("button").click()
    saved = Path(tmp_path / "head.svg")
    waiting.value.save_as(saved)
    assert "happy" in saved.read_text()
    assert "because" in me.key("look-words").inner_text(), "what a word looks at is said below the picture"
    me.page.keyboard.press("Escape")
    me.come_to_the_figures()
    assert me.foreign == []
    assert me.errors == []


@pytest.mark.slow
def test_what_a_reader_does_is_in_the_link_and_someone_else_sees_the_same(visit):
    me = visit().open("/?text=The+cat+sat.&pair=It+purred.&view=head&layer=1&heads=8")
    me.page.locator(f"{VIEW} select[name=layer]").select_option("3")
    me.until("new URLSearchParams(location.search).get('layer') === '3'")
    other = visit("ko").open(me.page.url.removeprefix(me.url))
    other.until(f"{SCENE}?.state().layer === 3 && {SCENE}.state().heads.join() === '8'")
    other.open_menu("look-more")
    assert other.key("look-pair").locator("textarea").input_value() == "It purred."


@pytest.mark.parametrize("kind", slow_but([], ["model", "neuron"]))
def test_the_other_views_are_drawn(visit, kind):
    me = visit("ja").open()
    me.open_menu("look-more")
    me.page.get_by_role("radio", name=Words("ja")(f"look.view_{kind}")).or_(
        me.page.get_by_role("button", name=Words("ja")(f"look.view_{kind}"), exact=True)
    ).first.click()
    me.until(f"new URLSearchParams(location.search).get('view') === '{kind}'")
    me.page.wait_for_selector(VIEW)
    me.page.get_by_text(Words("ja")(f"view.{kind}_title")).first.wait_for()


@pytest.mark.parametrize("language", slow_but([], LANGUAGES))
def test_the_lesson_goes_from_start_to_end(visit, language, tmp_path):
    say = Words(language)
    me = visit(language).open("/learn")
    for step, name in enumerate(("tokens", "attention", "vectors", "self", "bert", "special", "heads", "depth", "limits"), 1):
        me.page.get_by_text(say("learn.numbered", n=step, of=9, title=say(f"learn.{name}.title"))).wait_for()
        me.page.wait_for_selector(VIEW)
        me.key("lesson-next").get_by_role("button").click()
    me.page.get_by_text(say("learn.exercise.title")).wait_for()
    me.page.get_by_label(say("learn.exercise.notes")).fill("L0·H2 ← <b>前</b>")
    me.key("lesson-back").get_by_role("button").click()
    me.page.get_by_text(say("learn.numbered", n=9, of=9, title=say("learn.limits.title"))).wait_for()
    me.key("lesson-next").get_by_role("button").click()
    with me.page.expect_download() as waiting:
        me.page.get_by_role("button", name=say("learn.exercise.save")).click()
    waiting.value.save_as(tmp_path / "notes.txt")
    notes = (tmp_path / "notes.txt").read_text()
    assert "L0·H2 ← <b>前</b>" in notes, "notes stay while one turns pages"
    assert f"lang={language}" in notes, "the link opens in the same language"
    assert me.foreign == []
    assert me.errors == []


@pytest.mark.slow
@pytest.mark.parametrize("language", slow_but(["ko"], LANGUAGES))
def test_a_bad_upload_is_answered_in_words_and_the_page_goes_on(visit, language, tmp_path):
    say = Words(language)
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"caf\xe9 " * 50)
    me = visit(language).open("/corpus", wait=".st-key-corpus-run button")
    me.page.get_by_text(say("corpus.source_upload"), exact=True).click()
    me.page.locator("input[type=file]").set_input_files(str(bad))
    me.page.get_by_text("bad.txt").wait_for()
    me.key("corpus-run").get_by_role("button").click()
    me.page.get_by_text(say("corpus.bad_text")).wait_for()
    me.page.get_by_text(re.compile(r"bad\.txt.*1.*UTF-8")).wait_for()
    assert me.key("corpus-run").get_by_role("button").is_enabled()
    assert me.errors == []


@pytest.mark.slow
def test_two_visitors_at_once_see_each_their_own(visit):
    first, two = visit().open(), visit("ja").open()
    for me, text in ((first, "My secret garden is green."), (two, "Your quiet river runs deep.")):
        me.key("look-text").locator("input").fill(text)
    for me in (first, two):
        me.key("look-show").get_by_role("button").click()
    for me, own, theirs in ((first, "garden", "river"), (two, "river", "garden")):
        me.until(f"location.search.includes('{own}')")
        me.page.wait_for_selector(VIEW)
        me.come_to_the_figures()
        assert own in me.page.content()
        assert theirs not in me.page.content()
    first.page.goto(first.url + "/runs?run=from-the-command-line")  # the newest run may be of another test
    first.page.get_by_text("minilm").filter(visible=True).first.wait_for()


@pytest.mark.slow
@pytest.mark.parametrize("path", slow_but(["/corpus"], ["/", "/learn?step=2", "/corpus", "/runs?run=from-the-command-line"]))
@pytest.mark.parametrize("width", slow_but([360], [360, 1920]))
def test_nothing_sticks_out_of_a_narrow_or_a_wide_window(visit, path, width):
    me = visit("ko", width=width).open(path, wait="h1")
    me.page.wait_for_selector(".st-key-foot")
    assert me.page.evaluate("document.documentElement.scrollWidth") <= width
    outside = me.page.evaluate("""() => [...document.querySelectorAll('.stMainBlockContainer button, .stMainBlockContainer input')]
        .filter((e) => e.offsetParent && e.getBoundingClientRect().left > innerWidth).length""")
    assert outside == 0


@pytest.mark.slow
def test_dark_is_dark_in_page_view_and_figure(visit):
    me = visit("ja", scheme="dark").open("/runs?run=from-the-command-line")
    me.page.locator(".js-plotly-plot .main-svg").first.wait_for()
    assert me.page.evaluate("getComputedStyle(document.querySelector('.stApp')).backgroundColor") == "rgb(15, 17, 21)"
    assert me.page.evaluate("document.querySelector('.eyeline-view > div').shadowRoot.querySelector('.view').dataset.theme") == "dark"
    assert "rgb(15, 17, 21)" in me.page.evaluate("document.querySelector('.js-plotly-plot .main-svg').style.background")


def test_the_language_is_switched_on_the_page(visit):
    me = visit("en").open()
    me.open_menu("languages")
    me.page.get_by_text("한국어", exact=True).click()
    me.page.get_by_role("heading", name=Words("ko")("look.title")).wait_for()
    me.page.get_by_text(Words("ko")("look.share")).first.wait_for()
    me.page.get_by_text(Words("ko")("learn.name"), exact=True).first.click()
    me.page.get_by_role("heading", name=Words("ko")("learn.title")).wait_for()
    me.until(f"document.title === '{Words('ko')('learn.name')} · eyeline'")


#: Every visible text that is not a token, a text of the visitor's, or code; views keep theirs in shadow roots.
SHOWN_TEXT = """() => {
  const texts = [];
  const walk = (node) => {
    if (node.nodeType === Node.TEXT_NODE && node.textContent.trim()) texts.push(node.textContent.trim());
    if (node.nodeType !== Node.ELEMENT_NODE && node.nodeType !== Node.DOCUMENT_FRAGMENT_NODE) return;
    if (node.nodeType === Node.ELEMENT_NODE) {
      if (node.matches("style, script, code, pre, em, textarea, svg, [role=listbox], [translate=no], .el-table .token")) return;
      if (!node.checkVisibility() && getComputedStyle(node).display !== "contents") return;
      if (node.shadowRoot) walk(node.shadowRoot);
    }
    node.childNodes.forEach(walk);
  };
  walk(document.querySelector(".stMainBlockContainer"));
  return [...texts, ...[...document.querySelectorAll(".js-plotly-plot text")].map((text) => text.textContent)];
}"""
#: Names, formats, and the sentences of the lesson, which are English in every language.
KEPT = re.compile(
    r"minilm|e5-small-mlm|e5-small|nats|python scripts|lesson_data|GPT|SmolLM2|Transformer|classification|her → book|She .*|sat|cat|the|mat"
    r"|chat|sur|tapis"
    r"|\b(acl|advcl|advmod|amod|aux|case|cc|ccomp|compound|conj|cop|det|mark|nmod|nsubj|nummod|obj|obl|pass|poss|xcomp)\b"
    r"|smollm2|BERT|Python|English|eyeline|SVG|PDF|PNG|HTML|CSV|CLS|SEP|UTF|jsonl|conllu|txt|softmax|separator|self-attention"
    r"|cos|BertViz|Vaswani|Vig|Jain|Wallace|Serrano|Smith|Wiegreffe|Pinter"
    r"|Clark|query|key|value|base|texts|tired|soft|because|Tab|Enter|Esc|[“(]?(The|Cats|Birds|My|Mary|Tom|We|Time|I) .*"
)
TOKENS = "the cat sat on the mat because it was tired"  # of the sentence that pages begin with
PATHS = (
    "/",
    "/?view=model",
    "/?view=neuron",
    "/learn?step=3",
    "/learn?step=7",
    "/learn?step=10",
    "/corpus",
    "/runs?run=from-the-command-line",
)


@pytest.mark.slow
@pytest.mark.parametrize("path", slow_but(["/corpus"], PATHS))
@pytest.mark.parametrize("language", slow_but(["ja"], ["ja", "ko"]))
def test_no_english_is_left_on_a_page(visit, path, language):
    me = visit(language).open(path, wait=".st-key-foot" if path == "/corpus" else VIEW)
    if path.startswith("/runs"):
        me.page.locator(".js-plotly-plot .main-svg").first.wait_for()
    me.page.wait_for_selector(".st-key-foot")
    me.page.wait_for_function(f"() => ({SHOWN_TEXT})().length > 15")
    message = me.page.evaluate(SHOWN_TEXT)
    left = [text for text in message if re.search("[A-Za-z]{3,}", KEPT.sub("", text))]
    assert sorted(set(left) - set(TOKENS.split())) == []
    assert me.errors == []


@pytest.mark.slow
def test_names_of_runs_models_and_corpora_are_never_markup(visit):
    me = visit().open("/runs?run=with+odd+names")
    me.page.get_by_text(MARKUP).first.wait_for()
    assert me.page.get_by_text(f"{MARKUP} · {MARKUP}").count() >= 1, "shown letter by letter"
    assert me.page.locator("img[src='x'], .katex, .stMainBlockContainer a[href^='javascript']").count() == 0
    assert me.page.locator(".stMainBlockContainer strong", has_text="bold").count() == 0
    assert me.errors == []


@pytest.mark.parametrize("path", slow_but([], ["/", "/learn?step=10"]))
def test_what_a_visitor_types_is_never_markup(visit, path):
    me = visit().open(path)
    field = me.key("look-text").locator("input") if path == "/" else me.key("exercise-text").locator("input")
    if path != "/":
        me.key("exercise-view").get_by_role("radio").or_(
            me.key("exercise-view").get_by_role("button")
        ).last.click()  # one head, whose tokens are text
    field.fill(MARKUP)
    (me.key("look-show").get_by_role("button").click() if path == "/" else field.press("Enter"))
    me.until("[...document.querySelectorAll('.eyeline-view *')].some((part) => part.shadowRoot?.textContent.includes('alert'))")
    assert me.page.locator("img[src='x'], .katex").count() == 0
    assert me.page.locator(".stMainBlockContainer strong", has_text="bold").count() == 0
    assert me.errors == []


@pytest.mark.slow
def test_text_in_a_link_is_shown_as_it_is(visit):
    me = visit().open("/?text=%3Cimg+src%3Dx+onerror%3Dalert(1)%3E+%24%24x%24%24+%5Ba%5D(javascript:alert(2))")
    me.come_to_the_figures()
    assert me.page.locator("img[src='x']").count() == 0
    assert me.errors == []
