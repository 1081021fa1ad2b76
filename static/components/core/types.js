// Types that the components share. The server makes the values (app/components); `messages.d.ts` has the messages.

/**
 * The model of a component: Panel's on the page, the widget's in a notebook (jupyter/host.js). Its parameters are properties.
 * @typedef {object} Model
 * @property {(event: string, listener: (message?: any) => void) => void} on Events: the name of a parameter, "msg:custom", "remove".
 * @property {(message: Message) => void} send_msg Send a message to the server.
 */

/** @typedef {{ kind: string, [field: string]: unknown }} Message */

/** @typedef {(message: Message) => void} Send */

/**
 * A model that draws a JSON value.
 * @typedef {Model & { payload: string }} PayloadModel
 */

/** @typedef {{ left: number, top: number, right: number, bottom: number }} Rect In CSS pixels of the viewport. */

/**
 * A refusal or an error.
 * @typedef {object} Notice
 * @property {string} code
 * @property {string} message
 * @property {string} place Where: a block, a loop, a line; may be empty.
 * @property {string} found
 * @property {string} expected
 * @property {string[]} fix Calls that would help.
 */

/**
 * A pane without a value: its subject, the reason, and the calls that would fill it.
 * @typedef {{ shows: string, why: string, expected: string, calls: string[] }} Blank
 */

export {};
