// The messages that components send, made of app/protocol by tests/support/record/messages.py.

export type Message =
  | AddBranch
  | ApplySuggestion
  | BeginDrag
  | CallOnRow
  | CallSequence
  | CallOnRows
  | CancelWork
  | ChooseBranch
  | FindCommands
  | CommentItem
  | CompareSides
  | CompareWithText
  | DeleteBranch
  | DiscardDraft
  | Dismiss
  | DismissFileMessage
  | Download
  | DraftCell
  | DraftItem
  | DragOver
  | DropDraft
  | EditCell
  | EditItem
  | EditProse
  | EndCompare
  | EndDrag
  | Explore
  | Export
  | FindTask
  | FindRepair
  | ApplyFix
  | ShowGallery
  | GoTo
  | FindGuide
  | HideVersions
  | InsertCell
  | FindLink
  | ListDrafts
  | PickMachine
  | MakeFast
  | MeasureHere
  | FindMenu
  | ShowModel
  | ChangeModelSizes
  | Move
  | MoveCell
  | MoveItem
  | MoveItemInto
  | MoveSeveral
  | NameReader
  | NewFile
  | Open
  | OpenAsModel
  | OpenKernel
  | OpenPoint
  | OpenProgram
  | OpenTemplate
  | OpenText
  | OpenUpload
  | ShowPane
  | FindPath
  | FindPrimitives
  | Read
  | Redo
  | RefreshModel
  | FindRemedy
  | RemoveCell
  | RemoveItem
  | Rename
  | RenameBranch
  | RenameDraft
  | Reorder
  | RepairOnRow
  | ResetParameter
  | Resolve
  | RestoreStep
  | RestoreVersion
  | ResumeWork
  | ResumeExploring
  | ReviewExport
  | ReviseOnRow
  | Save
  | SaveAs
  | ScheduleAll
  | SelectRow
  | SelectStall
  | SetDefault
  | SetParameter
  | SetText
  | ShowLayout
  | ShowSpan
  | ShowTrial
  | ShowVersions
  | SkipConflicts
  | StopExploring
  | StopHere
  | StopScheduling
  | SwitchItem
  | FindTargets
  | SetTheme
  | FindTimelineAfter
  | FindTotals
  | FindTreeAfter
  | FindTrials
  | TryCalls
  | Undo
  | UploadPart
  | ChooseVersion
  | ViewStep
  | FindWindow
  | FindWords;

/** Add a branch that continues after `steps` steps, None for all. */
export interface AddBranch {
  kind: "add_branch";
  name: string;
  steps?: number | null;
  base?: number | null;
}

/** Apply the suggestion for the notebook's error: a similar name, or the calls that make a step legal. */
export interface ApplySuggestion {
  kind: "apply_suggestion";
  base?: number | null;
}

/** Begin to drag `rows`; the drops near the row `near` are predicted first. */
export interface BeginDrag {
  kind: "begin_drag";
  rows: string[];
  near?: string;
  base?: number | null;
}

/** Append a schedule call, as a row's menu sends it, to the notebook. `target` is the id of a row of the tree, `arguments` are the primitive's other arguments by name; a loop is given by the id of its row: {"kind": "call", "method": "compute_at", "target": "A_local.vtcm", "arguments": {"loop": "ko"}}. With `arguments` {"loops": [...]} (reorder, fuse), the list contains the rows, and `target` is ignored. */
export interface CallOnRow {
  kind: "call";
  method: string;
  target?: string;
  arguments?: Record<string, unknown>;
  base?: number | null;
}

/** Append several calls as one edit: all of them or none. */
export interface CallSequence {
  kind: "call_sequence";
  calls: CallOnRow[];
  base?: number | null;
}

/** Append a call of `method` for each of several rows as one edit: all of them or none. */
export interface CallOnRows {
  kind: "calls";
  method: string;
  targets: string[];
  arguments?: Record<string, unknown>;
  base?: number | null;
}

/** Stop the running change, or the background work. */
export interface CancelWork {
  kind: "cancel_work";
  base?: number | null;
}

/** Continue with another branch. */
export interface ChooseBranch {
  kind: "choose_branch";
  name: string;
  base?: number | null;
}

/** The commands of the palette. */
export interface FindCommands {
  kind: "commands";
  base?: number | null;
}

/** Change the comment above schedule line `item`; an empty `text` removes it. */
export interface CommentItem {
  kind: "comment_item";
  item: number;
  text: string;
  base?: number | null;
}

/** Compare two programs: "now", "step:N", "opened", "branch:NAME", "example:NAME". A side without a key stays as it is shown; at first it is the program before the last change, and now. */
export interface CompareSides {
  kind: "compare";
  a?: string | null;
  b?: string | null;
  base?: number | null;
}

/** Compare with a text, as one side. */
export interface CompareWithText {
  kind: "compare_text";
  side: "a" | "b";
  name: string;
  text: string;
  base?: number | null;
}

/** Delete a branch that is not the current one. */
export interface DeleteBranch {
  kind: "delete_branch";
  name: string;
  base?: number | null;
}

/** Delete a draft by its name; `is_model`: the folder of a model among the drafts. */
export interface DiscardDraft {
  kind: "discard_draft";
  name: string;
  is_model?: boolean;
  base?: number | null;
}

/** Remove the notice. */
export interface Dismiss {
  kind: "dismiss";
  base?: number | null;
}

/** Remove the message about the file. */
export interface DismissFileMessage {
  kind: "dismiss_file_message";
  base?: number | null;
}

/** Download the notebook's text. */
export interface Download {
  kind: "download";
  base?: number | null;
}

/** The unfinished text below the marker of cell `cell`; in a markdown cell its words. */
export interface DraftCell {
  kind: "draft_cell";
  cell: number;
  text: string;
  base?: number | null;
}

/** The unfinished text of schedule line `item`. */
export interface DraftItem {
  kind: "draft_item";
  item: number;
  text: string;
  base?: number | null;
}

/** The pointer of a drag is over a row. */
export interface DragOver {
  kind: "drag_over";
  row: string;
  base?: number | null;
}

/** Discard the draft. */
export interface DropDraft {
  kind: "drop_draft";
  base?: number | null;
}

/** Set the text below the marker of cell `cell`. */
export interface EditCell {
  kind: "edit";
  cell: number;
  body: string;
  base?: number | null;
}

/** Set schedule line `item` (an index over steps and disabled lines) to `text`; the later lines are applied again. */
export interface EditItem {
  kind: "edit_item";
  item: number;
  text: string;
  base?: number | null;
}

/** Set the words of markdown cell `cell`. */
export interface EditProse {
  kind: "edit_prose";
  cell: number;
  text: string;
  base?: number | null;
}

/** Return to the tree and the timeline. */
export interface EndCompare {
  kind: "end_compare";
  base?: number | null;
}

/** End a drag without a drop. */
export interface EndDrag {
  kind: "end_drag";
  base?: number | null;
}

/** Search the schedule of the visible notebook. `objectives` are figures to minimise ("cycles", "energy", "traffic", "peak", "peak SCOPE"), `budgets` upper limits of figures. A small space is searched exhaustively, otherwise `trials` points are tried. After `seconds` the search ends with its results so far (0: no limit). `keep` pins holes: by name the source texts of the values to search. */
export interface Explore {
  kind: "explore";
  objectives?: string[];
  budgets?: Record<string, number>;
  trials?: number;
  seed?: number;
  seconds?: number;
  keep?: Record<string, string[]>;
  base?: number | null;
}

/** Download an export; `to` is its kind. If it leaves out what changes the cycles, the review comes first, unless it was `reviewed`. */
export interface Export {
  kind: "export";
  to?: string;
  reviewed?: boolean;
  base?: number | null;
}

/** The cycle at which a task starts: its template, and the iterations of the loops around it. */
export interface FindTask {
  kind: "find";
  ticket: number;
  template: number;
  place: number[];
  base?: number | null;
}

/** The calls that make a refused drop legal, or the blocks that have to move too. `others` are rows that are dropped together with the block. */
export interface FindRepair {
  kind: "find_repair";
  block: string;
  loop: string;
  primitive: string;
  others?: string[];
  base?: number | null;
}

/** Append calls as Python text with the notebook's variables, as in a problem's `fixes`: all of them or none. With `replaces`, they replace that call: {"kind": "fix", "calls": ["sch.compute_at(AL, ko)"]}. */
export interface ApplyFix {
  kind: "fix";
  calls: string[];
  replaces?: string;
  base?: number | null;
}

/** Return to the start screen. */
export interface ShowGallery {
  kind: "gallery";
  base?: number | null;
}

/** Show the page's address: the path of a file, an example, a draft, a model or a kernel. */
export interface GoTo {
  kind: "go";
  path: string;
  base?: number | null;
}

/** The pages of the guide. */
export interface FindGuide {
  kind: "guide";
  base?: number | null;
}

/** Hide the earlier versions of the file. */
export interface HideVersions {
  kind: "hide_versions";
  base?: number | null;
}

/** Insert an empty cell before cell `cell`; `cell_kind` is "markdown", "schedule", … */
export interface InsertCell {
  kind: "insert_cell";
  cell: number;
  cell_kind: string;
  base?: number | null;
}

/** A link that contains the notebook. */
export interface FindLink {
  kind: "link";
  base?: number | null;
}

/** List all drafts on the start screen; the first page has the newest. */
export interface ListDrafts {
  kind: "list_drafts";
  base?: number | null;
}

/** Name another machine in the notebook. */
export interface PickMachine {
  kind: "machine";
  name: string;
  base?: number | null;
}

/** Derive a schedule with holes from program and machine, open it with its best values so far, and search all values for at most `seconds`. It becomes a branch if a schedule exists already. The derivation runs in the background, and `stop_exploring` ends it. With `keep_tiles` the loops keep the tiles that the present schedule splits them into. */
export interface MakeFast {
  kind: "make_fast";
  seconds?: number;
  keep_tiles?: boolean;
  base?: number | null;
}

/** Build the displayed program, and that before the schedule, with TVM, and run them on the server's computer. */
export interface MeasureHere {
  kind: "measure";
  base?: number | null;
}

/** The menu of a row. */
export interface FindMenu {
  kind: "menu";
  row: string;
  base?: number | null;
}

/** Return from a kernel to its model, whose figures have the kernel's schedule then. */
export interface ShowModel {
  kind: "model";
  base?: number | null;
}

/** Change sizes that the open model leaves open, in its file. */
export interface ChangeModelSizes {
  kind: "model_sizes";
  values?: Record<string, string>;
  base?: number | null;
}

/** Drop a block on a loop: `primitive` is "compute_at" or "reverse_compute_at". If a step has already placed the block, that step gets the loop, and the later steps are applied again. If some of them no longer apply, the move is refused, unless `switch_off`: then they are switched off, and stay in the text. Later steps that placed other blocks get the loop too if they would no longer apply. With `repair`, a refused move is made after the calls that make it legal, or with the blocks that have to move too. */
export interface Move {
  kind: "move";
  block: string;
  loop: string;
  primitive: string;
  switch_off?: boolean;
  repair?: boolean;
  base?: number | null;
}

/** Move cell `cell` to position `to`. */
export interface MoveCell {
  kind: "move_cell";
  cell: number;
  to: number;
  base?: number | null;
}

/** Move schedule line `item` before or after line `target`. */
export interface MoveItem {
  kind: "move_item";
  item: number;
  target: number;
  after?: boolean;
  base?: number | null;
}

/** Move schedule line `item` to the end of cell `cell`, which may be empty. */
export interface MoveItemInto {
  kind: "move_item_into";
  item: number;
  cell: number;
  base?: number | null;
}

/** Drop several blocks on a loop, as one edit: all of them or none. `switch_off` and `repair` as in `move`. */
export interface MoveSeveral {
  kind: "moves";
  rows: string[];
  loop: string;
  switch_off?: boolean;
  repair?: boolean;
  base?: number | null;
}

/** The name of this page's reader, for the other pages on its file. */
export interface NameReader {
  kind: "name_reader";
  name: string;
  base?: number | null;
}

/** Create a notebook in a file `name` of the served folder. */
export interface NewFile {
  kind: "new_file";
  name: string;
  base?: number | null;
}

/** Open an example, or a file of the served folder, by its name in GET /api/notebooks; `program` and `values` are those of `open_text`. */
export interface Open {
  kind: "open";
  name: string;
  program?: number;
  values?: Record<string, string>;
  base?: number | null;
}

/** Write the model that the opened text describes, a module with a relax function, to a new folder beside the served notebooks, and show it. `values` are the sizes that it leaves open. */
export interface OpenAsModel {
  kind: "open_as_model";
  values?: Record<string, string>;
  base?: number | null;
}

/** Open a kernel of the open model by its name. */
export interface OpenKernel {
  kind: "open_kernel";
  kernel: string;
  base?: number | null;
}

/** Open a candidate as a branch of the notebook, beside the schedule that was there. `point` is that of its trial. */
export interface OpenPoint {
  kind: "open_point";
  point: number[];
  name?: string;
  compare?: boolean;
  base?: number | null;
}

/** Open another program of the text that was opened; `number` counts from 1. `values` are those of `open_text`. Raises DocumentError "no-such-program". */
export interface OpenProgram {
  kind: "open_program";
  number: number;
  values?: Record<string, string>;
  base?: number | null;
}

/** Open a template for a typical kernel by its name in `tilewright new --list`. */
export interface OpenTemplate {
  kind: "open_template";
  name: string;
  base?: number | null;
}

/** Open a notebook, a TVMScript program or a post from its text, without running it. `title` is for a text without a heading. A text that is `linked` came with the page's address, which stays; any other text becomes a draft. `program` is the number of the program in a text with several (0: the first), and `values` are those of the parameters of functions that make it, by name. */
export interface OpenText {
  kind: "open_text";
  text: string;
  title?: string;
  linked?: boolean;
  program?: number;
  values?: Record<string, string>;
  base?: number | null;
}

/** Open the uploaded files: a model with `values` for the sizes that it leaves open, or a program with its `values` as in `open_text`. A model gets a folder of notebooks in the served folder, else among the drafts. */
export interface OpenUpload {
  kind: "open_upload";
  upload: number;
  program?: number;
  values?: Record<string, string>;
  base?: number | null;
}

/** Show another pane beside the timeline. The machine pane computes the gain from each machine parameter while it is open. */
export interface ShowPane {
  kind: "pane";
  pane: "next" | "script" | "python" | "problems" | "machine" | "traffic" | "explore";
  base?: number | null;
}

/** The critical path of the run between two cycles, and its parts by cause. */
export interface FindPath {
  kind: "path";
  ticket: number;
  start: number;
  end: number;
  base?: number | null;
}

/** The documentation of all primitives. */
export interface FindPrimitives {
  kind: "primitives";
  base?: number | null;
}

/** Evaluate the notebook's text: it came from elsewhere, or the user had stopped its evaluation. */
export interface Read {
  kind: "read";
  base?: number | null;
}

/** Restore the document that was undone. */
export interface Redo {
  kind: "redo";
  base?: number | null;
}

/** Read the kernels of the open model that changed on disk. */
export interface RefreshModel {
  kind: "refresh_model";
  base?: number | null;
}

/** What would end the selected stall, as far as it is known. */
export interface FindRemedy {
  kind: "remedy";
  base?: number | null;
}

/** Remove cell `cell` from the notebook. */
export interface RemoveCell {
  kind: "remove_cell";
  cell: number;
  base?: number | null;
}

/** Remove schedule line `item` from the text; the later lines are applied again. */
export interface RemoveItem {
  kind: "remove_item";
  item: number;
  base?: number | null;
}

/** Rename a loop or a block (by the id of its row) everywhere in the notebook's text. */
export interface Rename {
  kind: "rename";
  id: string;
  name: string;
  base?: number | null;
}

/** Rename branch `name` to `new`. */
export interface RenameBranch {
  kind: "rename_branch";
  name: string;
  new: string;
  base?: number | null;
}

/** Give a draft a heading; `is_model` as in `discard_draft`. */
export interface RenameDraft {
  kind: "rename_draft";
  name: string;
  title: string;
  is_model?: boolean;
  base?: number | null;
}

/** Reorder loops; `loops` are their rows in the new order. */
export interface Reorder {
  kind: "reorder";
  loops: string[];
  base?: number | null;
}

/** Append a call that is refused now, after the calls that make it legal (`repair` of its refusal): all of them or none. The fields are those of `call`. */
export interface RepairOnRow {
  kind: "repair";
  method: string;
  target?: string;
  arguments?: Record<string, unknown>;
  base?: number | null;
}

/** Reset a parameter to the value of the machine file; without a path, all of them. */
export interface ResetParameter {
  kind: "reset_parameter";
  path?: string | null;
  base?: number | null;
}

/** Resolve a conflict with another writer of the file (`conflict` in the part `file`): one choice per conflicting place. With the conflict's `id`, the answer is refused if the conflict has changed. */
export interface Resolve {
  kind: "resolve";
  choices: ("ours" | "theirs" | "both")[];
  id?: string;
  base?: number | null;
}

/** Restore step `step` of the last notebook without an error. */
export interface RestoreStep {
  kind: "restore_step";
  step: number;
  base?: number | null;
}

/** Set the whole text to an earlier version of the file, by its number among those shown. */
export interface RestoreVersion {
  kind: "restore_version";
  version: number;
  base?: number | null;
}

/** Repeat the change that was stopped, and resume the background work. */
export interface ResumeWork {
  kind: "resume";
  base?: number | null;
}

/** Resume a stopped search. */
export interface ResumeExploring {
  kind: "resume_exploring";
  base?: number | null;
}

/** Show what an export for TVM leaves out; `to` is its kind, "" ends the review. */
export interface ReviewExport {
  kind: "review_export";
  to?: string;
  base?: number | null;
}

/** Change arguments of the last step of `method` that made a row or was called on it; the later steps are applied again, with `switch_off` as in `move`: {"kind": "revise", "method": "split", "target": "ko", "arguments": {"factors": [null, 32]}}. */
export interface ReviseOnRow {
  kind: "revise";
  method: string;
  target: string;
  arguments?: Record<string, unknown>;
  switch_off?: boolean;
  base?: number | null;
}

/** Save the notebook to the file that it was opened from. */
export interface Save {
  kind: "save";
  base?: number | null;
}

/** Save the notebook to a file `name` in the served folder and continue with that file; `replacing` allows an existing file. */
export interface SaveAs {
  kind: "save_as";
  name: string;
  replacing?: boolean;
  base?: number | null;
}

/** Search schedules for all kernels of the open model within `seconds`, those with most cycles to win first. Each is written into its kernel's file as soon as it is found, and a later call resumes. Kernels that somebody scheduled are kept; with `again` they are searched too, and a faster schedule becomes a branch. An example is copied to the served folder, or to the drafts, first. */
export interface ScheduleAll {
  kind: "schedule_all";
  seconds?: number;
  again?: boolean;
  base?: number | null;
}

/** Choose a row of the tree by its id, or a buffer, which leaves the row as it is; "" chooses none. */
export interface SelectRow {
  kind: "select";
  id?: string;
  buffer?: string;
  base?: number | null;
}

/** Select a stall of an engine: its cause, and the buffer that a block holds, or (as `block`) another awaited resource. `row` is that of the block that holds the resource. */
export interface SelectStall {
  kind: "select_stall";
  engine: string;
  cause: string;
  buffer?: string;
  block?: string;
  row?: string;
  base?: number | null;
}

/** Set the default of the hole on schedule line `step`, its value outside a search: the one at `position` becomes the first. */
export interface SetDefault {
  kind: "set_default";
  step: number;
  position: number;
  base?: number | null;
}

/** Set a parameter of the machine, by its path; the value is written into the machine cell. It may be a text such as "256 KiB". */
export interface SetParameter {
  kind: "set_parameter";
  path: string;
  value: number | boolean | string;
  base?: number | null;
}

/** Set the whole text of the notebook: an earlier version, or text from an API client. */
export interface SetText {
  kind: "set_text";
  text: string;
  base?: number | null;
}

/** Show another part of the chosen buffer, follow another access to it, or type an index map. */
export interface ShowLayout {
  kind: "show_layout";
  look: Look;
  base?: number | null;
}

/** Set the range of cycles that the overlaid timelines show; None is all of them. */
export interface ShowSpan {
  kind: "show_span";
  start?: number | null;
  end?: number | null;
  base?: number | null;
}

/** Choose a candidate by its number, to show its choices, its cost and the reasons; None is the best. */
export interface ShowTrial {
  kind: "show_trial";
  trial: number | null;
  base?: number | null;
}

/** Show the earlier versions of the file. */
export interface ShowVersions {
  kind: "show_versions";
  base?: number | null;
}

/** Switch off every step that does not apply. */
export interface SkipConflicts {
  kind: "skip_conflicts";
  base?: number | null;
}

/** Stop the search; its results stay, and it can be resumed. A derivation ends without a result. */
export interface StopExploring {
  kind: "stop_exploring";
  base?: number | null;
}

/** Switch off the step that does not apply and all later ones. */
export interface StopHere {
  kind: "stop_here";
  base?: number | null;
}

/** Stop the search of all kernels; the schedules that it found stay. */
export interface StopScheduling {
  kind: "stop_scheduling";
  base?: number | null;
}

/** Switch schedule line `item` on or off; it stays in the text. */
export interface SwitchItem {
  kind: "switch_item";
  item: number;
  on: boolean;
  base?: number | null;
}

/** The drop targets for the blocks or loops of `rows`. */
export interface FindTargets {
  kind: "targets";
  rows: string[];
  base?: number | null;
}

/** Light or dark. */
export interface SetTheme {
  kind: "theme";
  theme: "light" | "dark";
  base?: number | null;
}

/** The timeline after a predicted drop of `rows` on `loop`, between two cycles. */
export interface FindTimelineAfter {
  kind: "timeline_after";
  rows: string[];
  loop: string;
  primitive: string;
  start: number;
  end: number;
  base?: number | null;
}

/** The totals of the run between two cycles: busy cycles and stalls of each engine, and bytes copied. */
export interface FindTotals {
  kind: "totals";
  ticket: number;
  start: number;
  end: number;
  base?: number | null;
}

/** The rows of the tree that a predicted drop of `rows` on `loop` changes. */
export interface FindTreeAfter {
  kind: "tree_after";
  rows: string[];
  loop: string;
  primitive: string;
  base?: number | null;
}

/** Candidates of a search, the `first` one on. */
export interface FindTrials {
  kind: "trials";
  search: number;
  from: number;
  base?: number | null;
}

/** Predict the effect of each of `calls`, as for an open menu or form; the answers have the `ticket`. It cancels earlier predictions; without calls it does only that. */
export interface TryCalls {
  kind: "try_calls";
  ticket: number;
  calls?: (CallOnRow | ReviseOnRow)[];
  base?: number | null;
}

/** Return to the previous document. */
export interface Undo {
  kind: "undo";
  base?: number | null;
}

/** A part of a file, in base64, which follows the parts before. `name` is the path of the file in the dropped folder. `upload` numbers the drops of a page: a new number discards the files of the one before. The answer follows the write. */
export interface UploadPart {
  kind: "upload";
  upload: number;
  name: string;
  data: string;
  base?: number | null;
}

/** Choose one of the shown versions by its number. */
export interface ChooseVersion {
  kind: "version";
  version: number;
  base?: number | null;
}

/** Show the program after `count` schedule lines; None is now. */
export interface ViewStep {
  kind: "view";
  count: number | null;
  base?: number | null;
}

/** The events of the timeline between two cycles; `folded` is the time in which each repeat occurs once. */
export interface FindWindow {
  kind: "window";
  ticket: number;
  start: number;
  end: number;
  folded: boolean;
  base?: number | null;
}

/** The words for completion in the editor. */
export interface FindWords {
  kind: "words";
  base?: number | null;
}

/** The visible part of the chosen buffer: `across` elements (0: a suitable number) from `row` and `column` in one of its slots; the number of the access that is followed (`use`); an index map as far as it is typed (`draft`); and the key of the candidate that is previewed as if it were applied. */
export interface Look {
  row?: number;
  column?: number;
  across?: number;
  slot?: number;
  use?: number;
  draft?: string;
  preview?: string;
}
