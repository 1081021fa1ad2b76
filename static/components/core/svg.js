// Pictures out of plain values: SVG elements, logarithmic scales, arrows.

export const SVG = "http://www.w3.org/2000/svg";

/** An SVG element with attributes and children: nodes or text. */
export function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** A function from [low, high] to pixels [from, to], by powers of ten; `ticks` are the powers inside. */
export function logScale(low, high, from, to) {
  const [first, last] = [Math.log10(low), Math.log10(high)];
  const at = (value) => from + ((Math.log10(value) - first) / (last - first)) * (to - from);
  at.ticks = [];
  for (let power = Math.ceil(first - 1e-9); power <= last + 1e-9; power++) at.ticks.push(10 ** power);
  return at;
}

/** 0.001, 10, 10⁶: a power of ten as a tick says it. */
export function tickText(value) {
  const power = Math.round(Math.log10(value));
  if (power >= -3 && power <= 4) return String(Number(value.toPrecision(1)));
  return `10${[...String(power)].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit] ?? "⁻").join("")}`;
}

/** Draw `view`'s picture again when its width is another one. */
export function followWidth(view, draw) {
  let width = 0;
  new ResizeObserver(() => {
    if (view.clientWidth && Math.abs(view.clientWidth - width) > 1) {
      width = view.clientWidth;
      draw();
    }
  }).observe(view);
}
