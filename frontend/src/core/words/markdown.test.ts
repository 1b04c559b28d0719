import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { blocks, inline, type Block, type Inline } from "./markdown";

const page = readFileSync(new URL("../../../../docs/attention-is-not-importance.md", import.meta.url), "utf8");

const inlines = (block: Block): Inline[] => (block.type === "list" ? block.items.flat() : block.inline);

describe("our pages", () => {
  it("joins the lines of a paragraph and of an item", () => {
    expect(blocks("one\ntwo\n\n- a\n  b\n- c")).toEqual([
      { type: "paragraph", inline: [{ type: "text", text: "one two" }] },
      { type: "list", ordered: false, items: [[{ type: "text", text: "a b" }], [{ type: "text", text: "c" }]] },
    ]);
  });

  it("knows numbered lists and headings", () => {
    expect(blocks("## Title\n\n1. a\n2. b").map((block) => block.type)).toEqual(["heading", "list"]);
    expect(blocks("1. a")[0]).toMatchObject({ ordered: true });
  });

  it("marks emphasis, code and links", () => {
    expect(inline("a **b** *c* `d*e*` <https://x.org/> [f](https://y.org)")).toEqual([
      { type: "text", text: "a " },
      { type: "strong", text: "b" },
      { type: "text", text: " " },
      { type: "em", text: "c" },
      { type: "text", text: " " },
      { type: "code", text: "d*e*" },
      { type: "text", text: " " },
      { type: "link", text: "x.org", href: "https://x.org/" },
      { type: "text", text: " " },
      { type: "link", text: "f", href: "https://y.org" },
    ]);
  });

  it("makes no link of another scheme", () => {
    expect(inline("[x](javascript:alert) <javascript:alert>").every((part) => part.type === "text")).toBe(true);
  });

  it("reads the page on attention with no mark left over", () => {
    const all = blocks(page);
    expect(all[0]).toMatchObject({ type: "heading", level: 1 });
    expect(all.filter((block) => block.type === "list").length).toBeGreaterThan(2);
    for (const part of all.flatMap(inlines))
      if (part.type !== "code" && part.type !== "link") expect(part.text).not.toMatch(/[*`<>|[\]]|^#/);
    expect(all.flatMap(inlines).filter((part) => part.type === "link").length).toBe(page.match(/https?:/g)!.length);
  });
});
