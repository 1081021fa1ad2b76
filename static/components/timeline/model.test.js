import assert from "node:assert/strict";
import { test } from "node:test";
import { binnedWindow, exactWindow, timelineData } from "./example.js";
import { TimelineModel } from "./model.js";

/** @import { Message } from "../core/dom.js" */
/** @import { SentWindow } from "./windows.js" */

/** A model of the example, and the messages that it sent. */
function opened() {
  /** @type {Message[]} */
  const sent = [];
  const model = new TimelineModel(
    (message) => sent.push(message),
    () => {},
  );
  model.isFoldChosen = true;
  model.show(timelineData());
  return { model, sent };
}

/**
 * @param {TimelineModel} model
 * @param {Message} request
 * @param {SentWindow} window
 */
function answer(model, request, window) {
  model.receive({ kind: "window", ticket: Number(request.ticket), report: model.data.report, window });
}

test("without a report there is nothing to request or to know", () => {
  const model = new TimelineModel(
    () => assert.fail(),
    () => {},
  );
  model.requestMissing();
  assert.deepEqual(model.windows(), []);
});

test("a zoom keeps the time under the pointer, and stays within the run", () => {
  const { model } = opened();
  model.zoom(0.5, 20);
  assert.deepEqual(model.view, { start: 10, end: 60 });
  model.pan(1000);
  assert.deepEqual(model.view, { start: 50, end: 100 });
  model.zoom(100, 75);
  assert.deepEqual(model.view, { start: 0, end: 100 });
  model.showRange(50, 51);
  assert.equal(model.span, 8);
});

test("the visible range stays for a run of the same length, and is the whole of another run", () => {
  const { model } = opened();
  model.showRange(20, 40);
  model.show(timelineData({ report: 8 }));
  assert.deepEqual(model.view, { start: 20, end: 40 });
  model.show(timelineData({ report: 9, cycles: 500 }));
  assert.deepEqual(model.view, { start: 0, end: 100 });
});

test("the playhead chooses the copy that the folded timeline shows", () => {
  const { model } = opened();
  model.seek(230);
  assert.deepEqual(model.copies, { 0: 2 });
  assert.equal(model.toDrawn(230), 30);
  assert.equal(model.toReal(45), 245);
  assert.deepEqual(
    model.stateAtPlayhead()?.tasks.map((task) => [task.template.block, task.place]),
    [["copy", [2]]],
  );
  model.seek(9999);
  assert.equal(model.cycle, 399);
});

test("the state at the playhead has tasks, stalls and cells", () => {
  const { model } = opened();
  assert.deepEqual(model.stateAtPlayhead()?.cells, { 0: "filling" });
  assert.deepEqual(model.stateAtPlayhead()?.waits, [0]);
  model.seek(50);
  assert.deepEqual(model.stateAtPlayhead()?.cells, { 0: "live" });
  assert.equal(model.latestTask(0)?.template.block, "copy");
});

test("edges and stalls are found in both directions", () => {
  const { model } = opened();
  model.seek(150);
  assert.equal(model.nextEdge(1), 190);
  assert.equal(model.nextEdge(-1), 140);
  assert.equal(model.nextStall(-1), 100);
  assert.equal(model.nextStall(1), null, "the engine is idle afterwards, which is no stall");
});

test("the axis is true by default; the folded run is requested once it is chosen", () => {
  /** @type {Message[]} */
  const sent = [];
  const model = new TimelineModel(
    (message) => sent.push(message),
    () => {},
  );
  model.show(timelineData({ run: null, bins: [binnedWindow()] }));
  assert.deepEqual([model.folded, model.length], [false, 400]);
  model.requestMissing();
  assert.equal(sent.length, 0);
  model.setFolded(true);
  assert.deepEqual(model.view, { start: 0, end: 100 });
  model.requestMissing();
  assert.deepEqual(sent, [{ kind: "window", ticket: 1, start: 0, end: 100, folded: true }]);
  model.show(timelineData({ report: 8, repeats: [], cycles: 100 }));
  assert.equal(model.folded, false, "there is nothing to fold");
});

test("windows of a known run need no request", () => {
  const { model, sent } = opened();
  model.show(timelineData({ report: 8, bins: [binnedWindow()] }));
  model.setFolded(false);
  model.showRange(220, 240);
  model.requestMissing();
  const [whole, part] = model.windows();
  assert.deepEqual([whole.exact, part.exact, part.start, part.end], [false, true, 208, 252]);
  model.seek(230);
  assert.deepEqual(model.stateAtPlayhead()?.tasks[0].place, [2]);
  assert.equal(sent.length, 0);
});

test("a window of too many tasks is requested", () => {
  const { model, sent } = opened();
  model.show(timelineData({ report: 8, drawn: 3, bins: [binnedWindow()] }));
  model.setFolded(false);
  model.showRange(50, 300);
  model.requestMissing();
  assert.deepEqual(sent, [], "the bins of the whole run are fine enough");
  model.showRange(110, 240);
  model.requestMissing();
  assert.deepEqual(sent, [{ kind: "window", ticket: 1, start: 32, end: 318, folded: false }]);
  model.showRange(110, 130);
  model.requestMissing();
  assert.equal(model.current?.exact, true, "fewer tasks are cut while a request is under way");
});

test("expanded repeats keep the visible range, and request the whole run once", () => {
  const { model, sent } = opened();
  model.show(timelineData({ report: 8, run: null }));
  model.seek(230);
  model.showRange(20, 40);
  model.setFolded(false);
  assert.deepEqual(model.view, { start: 220, end: 240 });
  model.requestMissing();
  model.requestMissing();
  assert.deepEqual(sent, [{ kind: "window", ticket: 1, start: 0, end: 400, folded: false }]);
  answer(model, sent[0], binnedWindow());
  assert.equal(model.windows().length, 1);
  model.requestMissing();
  assert.deepEqual(sent[1], { kind: "window", ticket: 2, start: 208, end: 252, folded: false });
  answer(model, sent[1], exactWindow({ folded: false, start: 208, end: 252 }));
  assert.deepEqual(
    model.windows().map((window) => window.exact),
    [false, true],
  );
});

test("an answer about another report is ignored", () => {
  const { model, sent } = opened();
  model.show(timelineData({ run: null }));
  model.setFolded(false);
  model.requestMissing();
  model.show(timelineData({ report: 8, run: null }));
  model.receive({ kind: "window", ticket: 1, report: 7, window: binnedWindow() });
  assert.equal(model.whole.has(false), false);
  assert.equal(sent.length, 1);
});

test("where only bins are known, the window at the playhead is requested", () => {
  const { model, sent } = opened();
  model.setFolded(false);
  model.show(timelineData({ report: 8, run: null, bins: [binnedWindow()] }));
  model.seek(120.5);
  assert.equal(model.stateAtPlayhead(), null);
  assert.equal(model.stateAtPlayhead(), null);
  assert.deepEqual(sent, [{ kind: "window", ticket: 1, start: 120, end: 124, folded: false }]);
});
