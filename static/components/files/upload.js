// Files that are dropped on the start page or chosen there: which of them are sent, and the sending in parts, each after the answer to the last.

/** @import { PayloadModel } from "../core/dom.js" */

/** @typedef {{ name: string, file: File }} NamedFile `name` is the path in the dropped folder. */

const PART_BYTES = 3 << 20;
const MOST_FILES = 2000;
const SKIPPED = new Set(["__pycache__", "node_modules", "build", "dist", "site-packages"]);

const TEXTS = /\.(?:py|txt|tir|ipynb|html?|eml|mhtml|diff|patch|json|md|rst)$/i;
const MODELS = /\.(?:onnx|pt2|tflite|mlir|stablehlo)$/i;

/** What the file dialog offers. */
export const ACCEPTED =
  ".py,.txt,.tir,.ipynb,.html,.eml,.mhtml,.diff,.patch,.json,.md,.zip,.onnx,.pt2,.tflite,.mlir,.stablehlo,text/x-python,text/plain";

/**
 * The files of a drop. Folders are read to the end; hidden files, and files that are neither text nor a model, are left out there.
 * @param {DataTransfer} data
 * @returns {Promise<NamedFile[]>}
 */
export async function droppedFiles(data) {
  const entries = [...data.items].map((item) => item.webkitGetAsEntry?.() ?? null); // the list is empty after the first await
  const plain = [...data.files].map((file) => ({ name: file.name, file }));
  if (!entries.some((entry) => entry?.isDirectory)) return plain;
  /** @type {NamedFile[]} */
  const found = [];
  for (const entry of entries) if (entry) await addFiles(entry, "", found);
  return found;
}

/**
 * @param {FileSystemEntry} entry
 * @param {string} path
 * @param {NamedFile[]} found
 */
async function addFiles(entry, path, found) {
  if (entry.name.startsWith(".") || found.length >= MOST_FILES) return;
  // Chromium has no FileSystemFileEntry to compare with.
  if (entry.isFile) {
    if (!isWanted(entry.name)) return;
    const at = /** @type {FileSystemFileEntry} */ (entry);
    /** @type {File} */
    const file = await new Promise((resolve, reject) => at.file(resolve, reject));
    found.push({ name: path + entry.name, file });
  } else if (entry.isDirectory && !SKIPPED.has(entry.name)) {
    const reader = /** @type {FileSystemDirectoryEntry} */ (entry).createReader();
    for (;;) {
      /** @type {FileSystemEntry[]} */
      const entries = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
      if (!entries.length) return;
      for (const inner of entries) await addFiles(inner, `${path}${entry.name}/`, found);
    }
  }
}

/** Whether a frontend reads the file, by its name. */
export const isModel = (/** @type {string} */ name) => MODELS.test(name);

/**
 * Whether a file of a folder may be part of a program or a model.
 * @param {string} name
 */
export function isWanted(name) {
  return TEXTS.test(name) || MODELS.test(name);
}

/**
 * The text of the only file, which the page shows; null for others, which are uploaded.
 * @param {NamedFile[]} files
 */
export async function shownText(files) {
  const [{ name, file }] = files;
  if (files.length > 1 || name.includes("/") || isModel(name) || file.size > 10_000_000) return null;
  const text = await file.text();
  return text.includes("\0") || text.startsWith("PK\u0003\u0004") ? null : text;
}

export class Uploads {
  /** @param {PayloadModel} model */
  constructor(model) {
    this.model = model;
    this.number = 0;
    /** @type {((error: string) => void) | null} */
    this.answered = null;
    model.on("msg:custom", (message) => {
      if (message.kind === "uploaded" && message.upload === this.number) this.answered?.(message.error);
    });
  }

  /**
   * Send files. A later call, or `cancel`, ends it.
   * @param {NamedFile[]} files
   * @param {(sent: number, all: number) => void} progress
   * @returns {Promise<{ number: number, error: string } | null>} The number of the upload; null if it was cancelled.
   */
  async send(files, progress) {
    const number = ++this.number;
    const all = files.reduce((sum, { file }) => sum + file.size, 0);
    let sent = 0;
    for (const { name, file } of files)
      for (let start = 0; start === 0 || start < file.size; start += PART_BYTES) {
        progress(sent, all);
        const part = file.slice(start, start + PART_BYTES);
        const data = await base64Of(part);
        if (number !== this.number) return null;
        const error = await new Promise((resolve) => {
          this.answered = resolve;
          this.model.send_msg({ kind: "upload", upload: number, name, data });
        });
        if (number !== this.number) return null;
        if (error) return { number, error };
        sent += part.size;
      }
    progress(all, all);
    return { number, error: "" };
  }

  cancel() {
    this.number += 1;
    this.answered?.("");
  }
}

/**
 * @param {Blob} part
 * @returns {Promise<string>}
 */
function base64Of(part) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,?/, ""));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(part);
  });
}
