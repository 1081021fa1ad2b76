// Bundle the components into modules without imports: a page loads one module, a widget in Jupyter gets its own as text.
// `node bundling/build.js [--readable]` writes built/page_root.js for the page and built/widgets/NAME.js for Jupyter (anywidget's contract).

import { readFile, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** The components of components/roots.js that are shown in Jupyter (app/jupyter). */
const WIDGETS = [
  "code",
  "explore",
  "headline",
  "inspector",
  "machine",
  "next",
  "notebook",
  "problems",
  "timeline",
  "traffic",
  "tree",
];

/** A module for anywidget. */
function widgetSource(/** @type {string} */ name) {
  return `import { hosted } from "./jupyter/host.js";
import { ${name} } from "./roots.js";
export default hosted(${name});`;
}

/** @type {import("esbuild").BuildOptions} */
const OPTIONS = {
  absWorkingDir: ROOT,
  bundle: true,
  charset: "utf8",
  format: "esm",
  legalComments: "none",
  loader: { ".css": "text" },
  logLevel: "warning",
  minify: !process.argv.includes("--readable"),
  target: "es2023",
};

await rm(`${ROOT}/built`, { recursive: true, force: true });
const pages = build({
  ...OPTIONS,
  entryPoints: ["page_root", "replay/replay", "shell/entry"].map((name) => `components/${name}.js`),
  outbase: "components",
  outdir: "built",
});
// The page of a model imports this module. Its licence is that of dagre.
const graph = build({
  ...OPTIONS,
  entryPoints: ["components/model/graph.js"],
  outbase: "components",
  outdir: "built",
  banner: { js: `/*\n${await readFile(`${ROOT}/node_modules/@dagrejs/dagre/LICENSE`, "utf8")}*/` },
});
// The notebook imports this module when the first edit is near. Its licence is that of CodeMirror and of the packages that it uses.
const editor = build({
  ...OPTIONS,
  entryPoints: ["components/notebook/code_area.js"],
  outbase: "components",
  outdir: "built",
  banner: { js: `/*\n${await readFile(`${ROOT}/node_modules/@codemirror/view/LICENSE`, "utf8")}*/` },
});
const widgets = WIDGETS.map((name) =>
  build({
    ...OPTIONS,
    stdin: { contents: widgetSource(name), resolveDir: `${ROOT}/components`, sourcefile: `${name}.widget.js` },
    outfile: `built/widgets/${name}.js`,
  }),
);
await Promise.all([pages, graph, editor, ...widgets]);
