// Drawing on the timeline's canvas: rectangles and lines in drawn time, clipped to a range of positions.

import { hatch } from "../core/colors.js";
import { xAt } from "./layout.js";

/** @import { Cause, Colors } from "../core/colors.js" */
/** @import { Layout } from "./layout.js" */
/** @import { View } from "./model.js" */

const FONT_SIZE = 10.5;
const BLEED = 2; // pixels that rectangles exceed the clipped range

export class Pen {
  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Layout} layout
   * @param {Colors} colors
   * @param {View} view
   */
  constructor(context, layout, colors, view) {
    this.context = context;
    this.layout = layout;
    this.colors = colors;
    this.view = view;
    this.left = 0;
    this.right = layout.width;
    context.textBaseline = "middle";
  }

  /** @param {number} time */
  x(time) {
    return xAt(this.view, this.layout, time);
  }

  /**
   * The positions of an interval; null if it is outside of the clipped range.
   * @param {number} start
   * @param {number} end
   * @returns {[from: number, to: number] | null}
   */
  visible(start, end) {
    const [from, to] = [this.x(start), this.x(end)];
    return to < this.left || from > this.right ? null : [from, to];
  }

  /**
   * Draw only between two positions.
   * @param {number} from
   * @param {number} to
   * @param {() => void} draw
   */
  clipped(from, to, draw) {
    if (to <= from) return;
    const { context, left, right } = this;
    context.save();
    context.beginPath();
    context.rect(from, 0, to - from, this.layout.height);
    context.clip();
    [this.left, this.right] = [from, to];
    draw();
    [this.left, this.right] = [left, right];
    context.restore();
  }

  /**
   * @param {number} from
   * @param {number} to
   * @param {number} top
   * @param {number} height
   * @param {string | CanvasPattern} fill
   * @param {number} [alpha]
   */
  rect(from, to, top, height, fill, alpha = 1) {
    const x0 = Math.max(from, this.left - BLEED);
    const x1 = Math.min(to, this.right + BLEED);
    if (x1 <= x0) return;
    this.context.globalAlpha = alpha;
    this.context.fillStyle = fill;
    this.context.fillRect(x0, top, x1 - x0, height);
    this.context.globalAlpha = 1;
  }

  /**
   * @param {[x: number, y: number]} from
   * @param {[x: number, y: number]} to
   * @param {string} color
   * @param {number[]} [dash]
   */
  line(from, to, color, dash = []) {
    const { context } = this;
    context.strokeStyle = color;
    context.lineWidth = 1;
    context.setLineDash(dash);
    context.beginPath();
    context.moveTo(...from);
    context.lineTo(...to);
    context.stroke();
    context.setLineDash([]);
  }

  /**
   * The outline of a rectangle.
   * @param {number} from
   * @param {number} to
   * @param {number} top
   * @param {number} height
   * @param {string} color
   */
  frame(from, to, top, height, color) {
    this.context.strokeStyle = color;
    this.context.lineWidth = 1.5;
    this.context.strokeRect(from, top, Math.max(2, to - from), height);
  }

  /**
   * A curve with a head at its end.
   * @param {[x: number, y: number]} from
   * @param {[x: number, y: number]} to
   * @param {string} color
   * @param {number[]} dash
   * @param {number} head
   */
  arrow([x0, y0], [x1, y1], color, dash, head) {
    const { context } = this;
    const reach = Math.max(12, Math.abs(x1 - x0) / 2);
    context.strokeStyle = context.fillStyle = color;
    context.lineWidth = 1.5;
    context.setLineDash(dash);
    context.beginPath();
    context.moveTo(x0, y0);
    context.bezierCurveTo(x0 + reach, y0, x1 - reach, y1, x1 - head, y1);
    context.stroke();
    context.setLineDash([]);
    context.beginPath();
    context.moveTo(x1 + 1, y1);
    context.lineTo(x1 - 1.5 * head, y1 - head);
    context.lineTo(x1 - 1.5 * head, y1 + head);
    context.fill();
  }

  /**
   * A sharp vertical line.
   * @param {number} x
   * @param {number} top
   * @param {number} bottom
   * @param {string} color
   * @param {number[]} [dash]
   */
  vertical(x, top, bottom, color, dash) {
    const middle = Math.round(x) + 0.5;
    this.line([middle, top], [middle, bottom], color, dash);
  }

  /**
   * @param {string} text
   * @param {number} x
   * @param {number} y
   * @param {string} color
   * @param {{ align?: CanvasTextAlign, bold?: boolean, size?: number }} [style]
   */
  text(text, x, y, color, { align = "left", bold = false, size = FONT_SIZE } = {}) {
    const { context } = this;
    context.font = `${bold ? "600 " : ""}${size}px ${this.colors.font}`;
    context.fillStyle = color;
    context.textAlign = align;
    context.fillText(text, x, y);
  }

  /**
   * The width of a text in pixels.
   * @param {string} text
   */
  widthOf(text) {
    this.context.font = `${FONT_SIZE}px ${this.colors.font}`;
    return this.context.measureText(text).width;
  }

  /**
   * A hatching in a colour.
   * @param {string} color
   * @param {string} name
   * @param {number} [background]
   */
  hatch(color, name, background) {
    return hatch(this.context, this.colors, color, name, background);
  }

  /**
   * The hatching of a slot that is being filled.
   * @param {string} color
   */
  fillingHatch(color) {
    return this.hatch(color, "forward", 0.12);
  }

  /**
   * The colour of the text of a stall.
   * @param {Cause} cause
   */
  stallColor(cause) {
    return cause === "idle" ? this.colors.muted : this.colors.causes[cause];
  }
}
