// One ES module, the same bytes on every machine: no hashes, no dates, no absolute paths in it.
import { build } from "esbuild";
import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const outfile = process.argv[2] ?? fileURLToPath(new URL("../src/eyeline/views/static/eyeline.js", import.meta.url));
await build({
  absWorkingDir: here,
  entryPoints: ["src/index.ts"],
  outfile,
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  loader: { ".md": "text" },
  charset: "ascii",
  legalComments: "none",
  logLevel: "warning",
});
const limit = 160_000;
const { size } = statSync(outfile);
console.log(`eyeline.js ${size} bytes`);
if (size > limit) throw new Error(`The bundle has ${size} bytes; at most ${limit} are allowed.`);
