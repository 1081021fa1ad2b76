/**
 * Import a module from its text.
 * @param {string} text
 * @returns {Promise<any>}
 */
export async function importText(text) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  const module = await import(url);
  URL.revokeObjectURL(url);
  return module;
}
