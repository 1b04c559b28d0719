// No line of our own is longer than 140 characters, and no file longer than 300 lines. Biome breaks code, but not strings and comments.
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const LONGEST_LINE = 140;
const LONGEST_FILE = 300;
const folder = fileURLToPath(new URL(".", import.meta.url));
const files = readdirSync(folder, { recursive: true }).filter((path) => /^(src[\\/].*\.(ts|css)|[^\\/]+\.mjs)$/.test(path));
const problems = files.flatMap((path) => {
  const lines = readFileSync(`${folder}${path}`, "utf8").trimEnd().split("\n");
  const long = lines.flatMap((line, i) => (line.length > LONGEST_LINE ? [`${path}:${i + 1}: ${line.length} characters`] : []));
  return path.endsWith(".css") || lines.length <= LONGEST_FILE ? long : [...long, `${path}: ${lines.length} lines`];
});
if (problems.length) {
  console.error(problems.join("\n"));
  process.exitCode = 1;
}
