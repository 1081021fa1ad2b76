// Bundle each component into one module: components load from blob URLs, where relative imports fail.
// `node bundling/build.js [--readable]` writes built/NAME.js for the page and built/widgets/NAME.js for notebooks (anywidget's contract).

import { readFile, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

const COMPONENTS = [
  "compare/compare",
  "compare/overlay",
  "explore/explore",
  "files/gallery",
  "inspector/inspector",
  "machine/machine",
  "machine/traffic",
  "model/model",
  "notebook/code_view",
  "notebook/notebook",
  "shell/headline",
  "shell/next",
  "shell/page",
  "shell/palette",
  "shell/problems",
  "timeline/timeline",
  "tree/loop_tree",
];

/** A module for anywidget. The server replaces the placeholder by the component's style sheets. */
function widgetSource(/** @type {string} */ name) {
  return `import { render } from "./${name}.js";
import { hosted } from "./jupyter/host.js";
export default hosted(render, "@style-sheets@");`;
}

/** @type {import("esbuild").BuildOptions} */
const OPTIONS = {
  absWorkingDir: ROOT,
  bundle: true,
  charset: "utf8",
  format: "esm",
  legalComments: "none",
  logLevel: "warning",
  minify: !process.argv.includes("--readable"),
  target: "es2023",
};

await rm(`${ROOT}/built`, { recursive: true, force: true });
const pages = build({
  ...OPTIONS,
  entryPoints: [...COMPONENTS, "replay/replay", "shell/entry"].map((name) => `components/${name}.js`),
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
const widgets = COMPONENTS.map((name) =>
  build({
    ...OPTIONS,
    stdin: { contents: widgetSource(name), resolveDir: `${ROOT}/components`, sourcefile: `${name}.widget.js` },
    outfile: `built/widgets/${name}.js`,
  }),
);
await Promise.all([pages, graph, editor, ...widgets]);
