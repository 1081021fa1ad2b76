// Canvases with the resolution of the screen.

/**
 * The cleared context of a canvas that covers `width` × `height` CSS pixels, with CSS pixels as its unit.
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 */
export function sharp(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const [wide, tall] = [Math.round(width * ratio), Math.round(height * ratio)];
  const context = context2d(canvas);
  if (canvas.width !== wide || canvas.height !== tall) Object.assign(canvas, { width: wide, height: tall });
  else context.reset();
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

/** @param {HTMLCanvasElement} canvas */
export function context2d(canvas) {
  const context = canvas.getContext("2d");
  if (!context) throw new Error("the browser has no 2D canvas");
  return context;
}
