// No line of our own is longer than 140 characters. Biome breaks code, but not strings and comments.
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const LONGEST_LINE = 140;
const folder = fileURLToPath(new URL(".", import.meta.url));
const files = readdirSync(folder, { recursive: true }).filter((path) => /^(src[\\/].*\.(ts|css)|[^\\/]+\.mjs)$/.test(path));
const problems = files.flatMap((path) => {
  const lines = readFileSync(`${folder}${path}`, "utf8").trimEnd().split("\n");
  return lines.flatMap((line, i) => (line.length > LONGEST_LINE ? [`${path}:${i + 1}: ${line.length} characters`] : []));
});
if (problems.length) {
  console.error(problems.join("\n"));
  process.exitCode = 1;
}
