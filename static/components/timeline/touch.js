// Two fingers on the timeline: what lies between them stays between them, so that they zoom and move at once.

const NEAREST = 24; // fingers that are closer than this do not zoom further

export class Fingers {
  /** `host` has model, layout, stage and moved(); `timeAt(x, view)` is the time at a place of the screen. */
  constructor(host, left, width) {
    Object.assign(this, { host, left, width });
    this.at = new Map();
    this.grip = null;
    const { stage } = host;
    stage.addEventListener("pointermove", (event) => this.move(event));
    for (const name of ["pointerup", "pointercancel"]) stage.addEventListener(name, (event) => this.up(event));
  }

  /** A finger comes down; whether it is the second one, with which a pinch begins. */
  down(event) {
    if (event.pointerType !== "touch") return false;
    if (event.isPrimary) this.at.clear();
    this.at.set(event.pointerId, event.clientX);
    if (this.at.size !== 2) return this.at.size > 2;
    this.host.stage.setPointerCapture(event.pointerId);
    const [one, other] = this.at.values();
    const { start, end } = this.host.model.view;
    const time = (x) => start + ((x - this.left()) * (end - start)) / this.width();
    this.grip = { span: end - start, apart: Math.max(NEAREST, Math.abs(one - other)), time: time((one + other) / 2) };
    return true;
  }

  move(event) {
    if (!this.at.has(event.pointerId)) return;
    this.at.set(event.pointerId, event.clientX);
    if (!this.grip || this.at.size < 2) return;
    const [one, other] = this.at.values();
    const { model } = this.host;
    const span = (this.grip.span * this.grip.apart) / Math.max(NEAREST, Math.abs(one - other));
    const start = this.grip.time - (((one + other) / 2 - this.left()) * span) / this.width();
    model.look(start, start + span);
    this.host.moved();
  }

  up(event) {
    this.at.delete(event.pointerId);
    if (this.at.size < 2) this.grip = null;
  }
}
