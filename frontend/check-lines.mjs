// No line of our own is longer than this; Biome breaks code, but not strings and comments.
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const LONGEST = 140;
const folder = fileURLToPath(new URL(".", import.meta.url));
const files = readdirSync(folder, { recursive: true }).filter((path) => /^(src[\\/].*\.(ts|css)|[^\\/]+\.mjs)$/.test(path));
const long = files.flatMap((path) =>
  readFileSync(`${folder}${path}`, "utf8")
    .split("\n")
    .flatMap((line, i) => (line.length > LONGEST ? [`${path}:${i + 1}: ${line.length} characters`] : [])),
);
if (long.length) {
  console.error(long.join("\n"));
  process.exitCode = 1;
}
