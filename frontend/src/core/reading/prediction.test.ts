import { expect, test } from "vitest";
import { answerRows, changeText, type PredictionSpec } from "./prediction";

const answer = (tokens: string[], ids: number[], probabilities: number[]): PredictionSpec => ({
  kind: "masked",
  choices: [{ position: 6, tokens, ids, probabilities }],
});

test("each choice keeps its row, with its probability before and after", () => {
  const rows = answerRows(answer(["tea", "wine"], [1, 2], [0.4, 0.1]), answer(["wine", "tea"], [2, 1], [0.3, 0.2]));
  expect(rows[0].bars).toEqual([
    { name: "tea", before: 0.4, after: 0.2 },
    { name: "wine", before: 0.1, after: 0.3 },
  ]);
  expect(answerRows(answer(["tea"], [1], [0.4]), null)[0].bars[0].after).toBeNull();
});

test("a choice that became the first is shown though it was not among the first", () => {
  const [row] = answerRows(answer(["tea"], [1], [0.4]), answer(["milk", "tea"], [9, 1], [0.5, 0.1]));
  expect(row.bars.at(-1)).toEqual({ name: "milk", before: null, after: 0.5 });
});

test("what was less probable than all that are listed is 0.00 only where that is true to two decimals", () => {
  const [row] = answerRows(answer(["tea", "ale"], [1, 2], [0.9, 0.004]), answer(["milk"], [9], [0.5]));
  expect(row.bars.at(-1)).toEqual({ name: "milk", before: 0, after: 0.5 });
});

test("spans that begin at one token are told apart", () => {
  const [row] = answerRows(answer(["the cat", "the cat sat"], [3, 3], [0.5, 0.3]), answer(["the cat sat", "the cat"], [3, 3], [0.6, 0.2]));
  expect(row.bars.map(({ after }) => after)).toEqual([0.2, 0.6]);
});

test("a change is written as numbers", () => {
  expect(changeText("negative", 0.934, 0.61)).toBe("negative 0.93 → 0.61");
  expect(changeText("she", 0.16, null)).toBe("she 0.16 → <0.01");
  expect(changeText("milk", null, 0.5)).toBe("milk … → 0.50");
});
