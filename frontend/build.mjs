// Builds the core, one file for each further view and one for each host. They are joined end to end by Python: the core defines the
// name `eyeline`, and the others take from `eyeline.modules` what the core already has. The same bytes on every machine: no hashes,
// no dates, no absolute paths.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build, transform } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const source = join(here, "src");
const outdir = process.argv[2] ?? join(here, "../src/eyeline/look/views/static");
const CORE_LIMIT = 160_000; // bytes

const VIEWS = ["model", "neuron", "space", "sentence", "text", "generation"];
/** Hosts whose code is run, and hosts that export something. */
const SCRIPTS = { page: "hosts/page.ts" };
const MODULES = {
  anywidget: "hosts/anywidget.ts",
  "streamlit-front": "hosts/streamlit.ts",
  "streamlit-view": "hosts/streamlit-view.ts",
  "streamlit-answer": "hosts/streamlit-answer.ts",
  "streamlit-bring": "hosts/streamlit-bring.ts",
  "streamlit-seen": "hosts/streamlit-seen.ts",
  "streamlit-view-state": "hosts/streamlit-view-state.ts",
  "streamlit-heads": "hosts/streamlit-heads.ts",
  "streamlit-grid": "hosts/streamlit-grid.ts",
  notes: "hosts/notes.ts",
};

const css = {
  name: "css",
  setup({ onLoad }) {
    onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await transform(readFileSync(path, "utf8"), { loader: "css", minify: true });
      return { contents: code, loader: "text" };
    });
  },
};
const common = {
  absWorkingDir: here,
  bundle: true,
  write: false,
  metafile: true,
  target: "es2022",
  minify: true,
  loader: { ".md": "text" },
  charset: "ascii",
  legalComments: "none",
  logLevel: "warning",
};

/** The name of a source file inside `eyeline.modules`. */
const nameOf = (path) => relative(source, path).replaceAll("\\", "/").replace(/\.ts$/, "");

/** Imports of files that the core holds become look-ups in `eyeline.modules`; which files those are is noted in `used`. */
const fromCore = (held, used) => ({
  name: "from-core",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^\./ }, ({ path, resolveDir }) => {
      const file = `${join(resolveDir, path)}.ts`;
      if (!held.has(file)) return undefined;
      used.add(file);
      return { path: file, namespace: "core" };
    });
    onLoad({ filter: /.*/, namespace: "core" }, ({ path }) => ({
      contents: `module.exports = eyeline.modules[${JSON.stringify(nameOf(path))}]`,
      loader: "js",
    }));
  },
});

/** Modules of the app that take parts of the core: they wait until its component has put it on the page. */
const WAIT = [
  'const loaded = () => new Promise((done) => addEventListener("eyeline:core", () => done(globalThis.eyeline), { once: true }));',
  "const eyeline = globalThis.eyeline ?? (await loaded());",
].join("\n");

async function part(entry, format, held, used) {
  const { outputFiles } = await build({
    ...common,
    entryPoints: [join("src", entry)],
    format,
    plugins: [css, fromCore(held, used)],
  });
  return outputFiles[0].text;
}

const { metafile } = await build({ ...common, entryPoints: ["src/core-bundle.ts"], plugins: [css], format: "esm" });
const held = new Set(Object.keys(metafile.inputs).map((path) => join(here, path)));
const used = new Set();
const files = new Map();
for (const view of VIEWS) files.set(view, await part(`views/${view}/index.ts`, "iife", held, used));
for (const [name, entry] of Object.entries(SCRIPTS)) files.set(name, await part(entry, "iife", held, used));
for (const [name, entry] of Object.entries(MODULES)) {
  const text = await part(entry, "esm", held, used);
  files.set(name, name.startsWith("streamlit-") && text.includes("eyeline.modules") ? `${WAIT}\n${text}` : text);
}

// The name `eyeline` has to stay as it is written: the views that follow read it.
const partHead = await build({ ...common, entryPoints: ["src/hosts/streamlit-part.ts"], format: "esm", minify: false });
files.set("streamlit-part", partHead.outputFiles[0].text);

const shared = [...used].sort().map((path) => [nameOf(path), `./${relative(source, path)}`]);
const contents = [
  'export * from "./core-bundle";',
  ...shared.map(([, path], i) => `import * as m${i} from ${JSON.stringify(path)};`),
  `export const modules = { ${shared.map(([name], i) => `${JSON.stringify(name)}: m${i}`).join(", ")} };`,
].join("\n");
const core = await build({
  ...common,
  stdin: { contents, resolveDir: source, sourcefile: "core.ts", loader: "ts" },
  plugins: [css],
  format: "iife",
  globalName: "eyeline",
});
files.set("core", core.outputFiles[0].text);

for (const [name, code] of [...files].sort()) {
  // The code stands inside a script element, which these characters would end.
  const safe = `// eyeline: ${name}.js, built from frontend/src\n${code.replace(/<(?=\/script|!--)/gi, "\\x3c")}`;
  const path = join(outdir, `${name}.js`);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, safe);
  const size = Buffer.byteLength(safe);
  console.log(`${name}.js ${size} bytes`);
  if (name === "core" && size > CORE_LIMIT) throw new Error(`The core has ${size} bytes; at most ${CORE_LIMIT} are allowed.`);
}
