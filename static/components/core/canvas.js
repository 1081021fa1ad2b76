// Canvases whose pixels are those of the screen.

/** The context of a canvas that covers `width` × `height` CSS pixels: clear, as new, and in CSS pixels. */
export function sharp(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const [wide, tall] = [Math.round(width * ratio), Math.round(height * ratio)];
  const context = canvas.getContext("2d");
  if (canvas.width !== wide || canvas.height !== tall) Object.assign(canvas, { width: wide, height: tall });
  else context.reset();
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}
