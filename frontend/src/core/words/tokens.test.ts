import { describe, expect, it } from "vitest";
import { pieces, shorten, visible } from "./tokens";

describe("tokens on screen", () => {
  it("leaves ordinary text, markup, emoji and right-to-left words as they are", () => {
    for (const token of ["cat", "</script>", "<img src=x onerror=alert(1)>", "👩‍👩‍👧", "日本語", "שלום", "a b"])
      expect(visible(token)).toBe(token);
  });

  it("spells out what cannot be seen", () => {
    expect(visible("\n")).toBe("\\n");
    expect(visible("a\tb")).toBe("a\\tb");
    expect(visible("\u0000")).toBe("\\x00");
    expect(visible("\u202eabc")).toBe("⟨U+202E⟩abc");
    expect(visible("\u200d")).toBe("⟨U+200D⟩");
    expect(visible("  ")).toBe("␣␣");
    expect(visible("")).toBe("∅");
  });

  it("sets the continuation mark apart, unless it is all there is", () => {
    expect(pieces("##ing")).toEqual({ mark: "##", body: "ing" });
    expect(pieces("▁the")).toEqual({ mark: "▁", body: "the" });
    expect(pieces("##")).toEqual({ mark: "", body: "##" });
  });

  it("shortens in the middle, by characters and not by halves of them", () => {
    expect(shorten("abcdefgh", 5)).toBe("ab…gh");
    expect(shorten("👍👍👍👍", 3)).toBe("👍…👍");
    expect(shorten("abc", 3)).toBe("abc");
  });
});
