// The values that components receive, made of app/views by tests/support/record/messages.py.

export type Answer =
  | Answered
  | Candidates
  | Commands
  | DraftsChanged
  | DropRepair
  | DropTargets
  | FoundAnswer
  | GuideText
  | Link
  | Menu
  | PathAnswer
  | PredictedCall
  | PredictedDrop
  | PrimitiveDocs
  | Remedy
  | RunningJobs
  | StepToBlame
  | TimelineAfter
  | TotalsAnswer
  | TreeAfter
  | Uploaded
  | WindowAnswer
  | Words;

/** The lines of both trees, how many `more` there are, and how many of each status. */
export interface AlignedTrees {
  lines: ComparedLine[];
  more: number;
  counts: Partial<Record<"same" | "changed" | "moved" | "only_a" | "only_b", number>>;
}

/** The form of a call may close: a possible refusal was shown. */
export interface Answered {
  kind: "answered";
}

/** A row that a drop adds or moves; `colour` is that of the written buffer. */
export interface AppearingRow {
  kind: "loop" | "block";
  name: string;
  extent: string;
  depth: number;
  colour: number | null;
  new: boolean;
}

/** Consecutive rows that appear below the displayed row `above`, "" at the top. */
export interface AppearingRows {
  above: string;
  rows: AppearingRow[];
}

/** A mark in a row. `revises` is the call whose argument it shows. */
export interface Badge {
  text: string;
  tone: "" | "accent" | "warn" | "good" | "bad";
  tip: string;
  revises?: string;
}

/** A message above the notebook. `others` are the other programs of the text that was opened; `model`: its graph can be opened as a model. `links` are worked examples, `guide` pages of the guide, `calls` primitives of a post, whose documentation is offered. */
export interface Banner {
  kind: string;
  text: string;
  count: number | null;
  others?: OtherProgram[];
  model?: boolean;
  links?: PageLink[];
  guide?: PageLink[];
  calls?: string[];
}

/** A window with too many tasks, as bins. */
export interface BinnedWindow {
  folded: boolean;
  start: number;
  end: number;
  bytes: MemoryLine[];
  exact: false;
  bins: Bins;
}

/** The bands of a window; empty ones are left out. */
export interface Bins {
  count: number;
  task: [number, string][];
  wait: [number, string][];
  overlap: [number, string][];
  fill: [number, string][];
  live: [number, string][];
}

/** A pane without a value: what it `shows`, the reason `why` it is empty, and the `calls` that would fill it. A line of settings has `fields` for its values, and `setting` is its name. */
export interface Blank {
  shows: string;
  why: string;
  expected: string;
  calls: string[];
  setting: string;
  fields: SettingField[];
}

/** How blocks are numbered; as in `cores.Numbering`. */
export interface BlockNumbers {
  step: number;
  stride: number;
  is_static: boolean;
}

/** The effect of a call in a few characters for a menu; `memory` is the peak of the on-chip memory that changes most, else of the fullest one. */
export interface Brief {
  cycles: string;
  trend: "better" | "worse" | "same" | "";
  memory: string;
}

/** A buffer that a block reads or writes; `bytes` is the size as text. */
export interface BufferChip {
  id: string;
  name: string;
  scope: string;
  bytes: string;
  colour: number;
}

/** A block that writes or reads the buffer, and its row of the tree. */
export interface BufferUser {
  row: string;
  block: string;
  side: "read" | "write";
}

/** The accesses and misses of a cache, and the block and buffer with the most misses; `prefetched` is "" if no cache prefetches. */
export interface CacheLevel {
  name: string;
  size: string;
  asked: string;
  missed: string;
  share: string;
  prefetched: string;
  worst: string;
}

/** The predicted effect of a call of a menu or form. */
export interface CallEffect {
  costly: boolean;
  trend: "better" | "worse" | "same" | "";
  label: string;
  lines: PredictedFigure[];
  why: string[];
  others?: string[];
  brief: Brief;
}

/** A parameter of a call: `many`: it takes all further arguments; `named`: it is given by its name; `takes` is the kind of its value. */
export interface CallParameter {
  name: string;
  default: string | null;
  many: boolean;
  named: boolean;
  takes: string;
}

/** A candidate with its choices; `words` compares it with its bounds, `reach` with the cycles that every schedule needs, `why` says what makes it infeasible. */
export interface CandidateCard {
  trial: number;
  point: number[];
  is_best: boolean;
  is_front: boolean;
  status: string;
  why: string;
  choices: CandidateChoice[];
  words: string;
  reach: string;
  limits: CandidateLimit[];
  verdict: "proved" | "tested" | "failed" | "unknown" | "";
}

/** The value of a parameter; `changed`: it is not the default. `worth` is what the best candidate needs more with the fastest of the nearest other values, `next`; both are empty while that is not known. */
export interface CandidateChoice {
  name: string;
  text: string;
  changed: boolean;
  next: string;
  worth: string;
}

/** A lower bound on the cycles of any schedule of the same tasks, as a share of all cycles. */
export interface CandidateLimit {
  name: string;
  kind: string;
  cycles: string;
  share: number;
}

/** Candidates of a search in order of completion, from that at `first` on. */
export interface Candidates {
  kind: "trials";
  search: number;
  from: number;
  rows: ([number, "fits" | "over" | "pruned" | "refused" | "failed", boolean, number[], number[] | null, number, string])[];
}

/** A change as text, and whether it is an improvement. */
export interface Change {
  text: string;
  trend: "better" | "worse" | "same" | "";
}

/** A value that is chosen with a press, with its predicted effect. */
export interface Chip {
  label: string;
  value: string;
}

/** The cores of a chip, named by their `level`. Without `numbers` only the tasks of the first core are known. */
export interface ChipCores {
  level: string;
  cores: number;
  classes: CoreClass[];
  numbers: BlockNumbers | null;
}

/** A value of a field; `sets` are the defaults of other fields with this choice. */
export interface Choice {
  value: string | number | boolean | (string | number | number[])[] | null;
  label: string;
  sets?: Record<string, string> | null;
}

/** A setting that is a choice between calls. `blocked` is the reason why it cannot be changed. */
export interface ChoiceControl {
  id: string;
  label: string;
  value: string;
  options: LayoutOption[];
  help: string;
  blocked: string;
  type: "choice";
}

/** A merge conflict with the line above and below it, which both sides have. */
export interface Clash {
  line: number;
  ours: string[];
  theirs: string[];
  above: string[];
  below: string[];
}

/** A program text. `file` is its name as a download; `reveal`: the view scrolls to the first mark; `playhead`: it follows the timeline. */
export interface Code {
  caption: string;
  file: string | null;
  reveal: boolean;
  lines: CodeLine[];
  playhead: boolean;
}

/** A line; one that was removed has no number. "gap" stands for lines that are left out. */
export interface CodeLine {
  number: number | null;
  text: string;
  mark: "added" | "removed" | "gap" | null;
}

/** A buffer that bars represent. */
export interface ColouredBuffer {
  name: string;
  colour: number;
}

/** An entry of the palette; the view sends `message`. A primitive has its `method`; `disabled` names the action that it requires first. */
export interface Command {
  label: string;
  group: string;
  help: string;
  key: string;
  message: Record<string, string | number>;
  method?: string;
  disabled?: string;
}

/** The commands of the palette. */
export interface Commands {
  kind: "commands";
  commands: Command[];
}

/** A buffer that a compared block reads or writes. */
export interface ComparedBuffer {
  name: string;
  scope: string;
  colour: number;
}

/** A line of the comparison, and what differs. */
export interface ComparedLine {
  a: ComparedRow | null;
  b: ComparedRow | null;
  status: "same" | "changed" | "moved" | "only_a" | "only_b";
  words: string[];
}

/** A loop or a block of one side. */
export interface ComparedRow {
  name: string;
  kind: "loop" | "block";
  depth: number;
  extent: string;
  detail: string;
  badges: string[];
  reads: ComparedBuffer[];
  writes: ComparedBuffer[];
}

/** A side of the comparison: its key and label, its machine, its cycles as text, or the error. */
export interface ComparedSide {
  key: string;
  label: string;
  machine: string;
  cycles: string;
  error: string;
  waiting: boolean;
}

/** Two programs with their aligned trees, the differences in figures, and the step that explains most. */
export interface Comparison {
  sides: ComparedSide[];
  choices: SideGroup[];
  lines: ComparedLine[];
  more: number;
  counts: Partial<Record<"same" | "changed" | "moved" | "only_a" | "only_b", number>>;
  table: DifferenceGroup[];
  explanation: Explanation | null;
}

/** A way to continue: the message that does it; the view itself performs one of the kind "edit". */
export interface ConflictChoice {
  label: string;
  hint: string;
  message: Record<string, unknown>;
}

/** The question about the merge conflicts of the file `name`. */
export interface ConflictQuestion {
  who: "page" | "program";
  name: string;
  clashes: Clash[];
}

/** A missing name, or an edit that caused a conflict. */
export interface ConflictText {
  text: string;
}

/** A buffer that is copied from a memory to another. */
export interface CopiedBuffer {
  buffer: string;
  colour: number;
  source: string;
  destination: string;
  bytes: string;
}

/** The bytes of a buffer that copies move from a scope to another. */
export interface CopiedBytes {
  buffer: string;
  source: string;
  destination: string;
  bytes: string;
}

/** `count` cores from number `first` on, whose row is `row`. They are `idle` in intervals of compressed time while others run blocks. */
export interface CoreClass {
  row: number;
  first: number;
  count: number;
  idle: [number, number][];
}

/** What a row costs with all rows below it. */
export interface Cost {
  cycles: CostPart;
  bytes: CostPart;
}

/** A share from 0 to 1, its amount, and a sentence. */
export interface CostPart {
  share: number;
  text: string;
  tip: string;
}

/** A way back from a buffer: to a row, or to the overview. */
export interface Crumb {
  label: string;
  row: string;
}

/** The running derivation on a machine, and the fastest schedule so far: its cycles, None before the first one; `now` are those of the displayed schedule. */
export interface Derivation {
  machine: string;
  cycles: number | null;
  now: number | null;
  seconds: number;
  decisions: string[];
}

/** Figures of one kind. */
export interface DifferenceGroup {
  title: string;
  lines: DifferenceLine[];
}

/** A figure of A and of B, and its change. */
export interface DifferenceLine {
  label: string;
  a: string;
  b: string;
  change: string;
  trend: "better" | "worse" | "same" | "";
  hint: string;
}

/** A draft was deleted or renamed; or `lists_all`: all of them are to be listed. */
export interface DraftsChanged {
  kind: "drafts";
  lists_all: boolean;
}

/** A rewrite: the lines of the program before and after, and the notes below them. */
export interface Drawing {
  before: string[];
  after: string[];
  notes: string[];
}

/** An engine in a machine's drawing. */
export interface DrawnEngine {
  name: string;
  kind: string;
}

/** A memory in a machine's drawing. */
export interface DrawnMemory {
  name: string;
  size: string;
}

/** What makes a drop legal: `calls` as texts, with the drop of a single block last, or the `blocks` that have to move too; a single call has the effect of the drop. Both are empty if no repair is known. */
export interface DropRepair {
  kind: "repair";
  request: FindRepair;
  calls: string[];
  blocks: string[];
}

/** A possible or refused drop on a loop; in an answer to the page, on the `loops` with the same answer. `reason` is the refusal, or the effect of a legal move; `costly`: the block runs more iterations than now; `note` is a few characters, `held` the line about memory; `order` has the arguments of a reorder. */
export interface DropTarget {
  legal: boolean;
  costly: boolean;
  primitive: string;
  note: string;
  reason: string;
  code: string;
  fix: string[];
  loop?: string;
  loops?: string[];
  held?: string | null;
  order?: string[];
}

/** The drop targets for `rows` together. */
export interface DropTargets {
  kind: "targets";
  rows: string[];
  entries: DropTarget[];
}

/** A parameter with its editable text and its source; `was` is its value in the machine file, `less` and `more` are the next values, None for those that the machine refuses. */
export interface EditableParameter {
  path: string;
  label: string;
  meaning: string;
  unit: string;
  text: string;
  source: string;
  changed: boolean;
  was: string;
  choices: string[];
  less: string | null;
  more: string | null;
  offers: SizeOffer[];
  gain: ParameterGain | null;
}

/** An engine, or what it does for a group of warps, with its busy cycles, its tasks, and its stalled cycles by cause. */
export interface EngineLane {
  name: string;
  engine: string;
  kind: string;
  busy: number;
  tasks: number;
  waits: Partial<Record<"data" | "slot" | "flag" | "port" | "issue" | "unit" | "idle", number>>;
}

/** The peak operations per cycle of a compute engine, of all cores; one with tasks is `used`. */
export interface EngineRoof {
  name: string;
  peak: number;
  used: boolean;
}

/** The tasks of an engine that begin in an area, its busy cycles there, and its stalled cycles by cause. */
export interface EngineTotals {
  name: string;
  tasks: number;
  busy: number;
  waits: Partial<Record<"data" | "slot" | "flag" | "port" | "issue" | "unit" | "idle", number>>;
}

/** The work of an engine: bars with start, end, colour and words; or colours with the busy share of each stretch. */
export interface EngineWork {
  bars: [number, number, number, string][];
  stretches: [number, number[]][];
}

/** A menu entry. `disabled` is the reason why the program's structure rules out the call; the engine checks the other calls when they are applied. One that `revises` a step of the notebook has the row of the message as its `target`. */
export interface Entry {
  method: string;
  label: string;
  key: string;
  help: string;
  group: string;
  rare: boolean;
  disabled: string;
  fields: Field[];
  revises?: boolean;
  target?: string;
}

/** A window with all its events; in `overlaps` at least two engines are busy. */
export interface ExactWindow {
  folded: boolean;
  start: number;
  end: number;
  bytes: MemoryLine[];
  exact: true;
  tasks: TaskColumns;
  waits: Intervals;
  overlaps: Intervals;
  fills: Intervals;
  lives: Intervals;
}

/** A card. `words` is its search index in lower case, `changed` the time of a user's file in seconds since 1970; a draft has the `path` of its address; `obstacle` is the reason why the file cannot be opened, or "". */
export interface ExampleCard {
  name: string;
  title: string;
  sentence: string;
  facts: string[];
  figures: string[];
  discussion: string;
  question: string;
  machine: string;
  model: string;
  words: string;
  changed: number | null;
  obstacle: string;
  thumbnail: Thumbnail | null;
  path: string;
}

/** The effect of a step, or of two: the `change` in cycles as text, its `size`, and the `part` of the difference, 0 if unknown. */
export interface ExplainedStep {
  side: string;
  number: string;
  text: string;
  change: string;
  trend: "better" | "worse" | "same" | "";
  part: number;
  size: number;
}

/** A sentence, how it was decided, the largest effects; `done` of `total` trials while the study runs. */
export interface Explanation {
  text: string;
  how: string;
  effects: ExplainedStep[];
  done: number;
  total: number;
}

/** The searchable space, the current search, and the derivation that runs before a search. */
export interface ExplorePane {
  offer: SearchOffer | null;
  search: Search | null;
  deriving: Derivation | null;
}

/** An entry of the export menu. */
export interface ExportEntry {
  key: string;
  label: string;
  help: string;
  group: string;
}

/** What an export leaves out, and its effect; None while it is simulated. */
export interface ExportLoss {
  title: string;
  items: string[];
  message: string;
  effect: Change | null;
}

/** The open review of an export of the kind `to`; `not_kept` is the reason why nothing keeps the slots. */
export interface ExportReview {
  to: string;
  label: string;
  losses: ExportLoss[];
  total: ExportTotal | null;
  keep: KeepSlots | null;
  not_kept: string;
  working: boolean;
}

/** The cycles of what TVM runs, and the effect of all losses. */
export interface ExportTotal {
  text: string;
  effect: Change | null;
}

/** A form field; its name is the keyword of the Schedule method. Types: "ints" ("None, 16"), "names" ("io, ii"), "words" (texts), "literal" (a number or text), "index_map" (a lambda). With `spread`, a choice's value is a list with one item for each of these arguments; names follow the number of factors with `stem`; `empty`: whether an empty list is a value. */
export interface Field {
  name: string;
  label: string;
  type: "choice" | "text" | "index_map" | "int" | "ints" | "names" | "words" | "literal";
  choices: Choice[];
  default: string | number | boolean | (string | number | number[])[] | null;
  optional: boolean;
  help: string;
  placeholder?: string;
  stem?: string;
  spread?: string[];
  empty?: boolean;
  chips?: Chip[] | null;
}

/** A Bokeh figure as JSON. */
export interface Figure {
  doc: Record<string, unknown>;
  root_id: string;
}

/** The change of a figure against a baseline. */
export interface FigureChange {
  text: string;
  trend: "better" | "worse" | "same" | "";
  against: string;
  hint: string;
}

/** The notebook's file: its name, "" without one, its status with text and hint; `folder`: there is a place to save it to; `others` are the other pages on it. */
export interface FileLabel {
  name: string;
  status: "none" | "new" | "saving" | "saved" | "failed" | "asking";
  text: string;
  hint: string;
  folder: boolean;
  others: Reader[];
}

/** A version with its time in milliseconds since 1970 and its changes; `now`: it is the current text. */
export interface FileVersion {
  number: number;
  at: number;
  what: string;
  now: boolean;
}

/** The earlier versions of the file `name`, and the diff of the chosen one against the notebook. */
export interface FileVersions {
  name: string;
  chosen: number;
  versions: FileVersion[];
  lines: CodeLine[];
}

/** A memory's fill by column and its capacity, in units of 1 / HEIGHT; `limit` is 0 if the capacity is beyond the scale. */
export interface FillLevel {
  name: string;
  fill: number[];
  limit: number;
  over: boolean;
}

/** The calls that make a refused drop legal, or the blocks that have to move too. `others` are rows that are dropped together with the block. */
export interface FindRepair {
  kind: "find_repair";
  block: string;
  loop: string;
  primitive: string;
  others: string[];
  base: number | null;
}

/** The cycle at which a task starts; None if it does not run. */
export interface FoundAnswer {
  kind: "found";
  ticket: number;
  report: number;
  cycle: number | null;
}

/** The start screen: its cards, the error of a text that failed to open, and the served folder. `more_drafts`: there are older ones. */
export interface Gallery {
  drafts: ExampleCard[];
  more_drafts: boolean;
  examples: ExampleCard[];
  theme: "light" | "dark";
  problem: Notice | null;
  folder: string;
  can_make: boolean;
  templates: TemplateChoice[];
}

/** A tensor from one node to another, by their ids. */
export interface GraphEdge {
  from: string;
  to: string;
  shape: string;
}

/** A node of the graph. A call also has its position in the graph, the `key` of its kernel, and the tensors that it reads and writes. */
export interface GraphNode {
  id: string;
  kind: "input" | "call" | "result";
  label: string;
  shape: string;
  call?: number | null;
  key?: string;
  reads?: string[];
  writes?: string[];
}

/** A page of the guide: its name, its title, and its text in Markdown without pictures and without links to other documents. */
export interface GuidePage {
  name: string;
  title: string;
  text: string;
}

/** The pages of the guide. */
export interface GuideText {
  kind: "guide";
  pages: GuidePage[];
}

/** A figure of the top bar; the level "bad" is over capacity. */
export interface HeadFigure {
  label: string;
  value: string;
  hint: string;
  level: "" | "bad" | "none";
  changes: FigureChange[];
}

/** The top bar. `changed_figures` counts the machine parameters that the notebook changes; `saves`: Save does something; `leaving`: leaving the page loses edits. */
export interface Headline {
  title: string;
  model: string;
  machine: string;
  machines: string[];
  verdict: VerdictLine;
  figures: HeadFigure[];
  can_undo: boolean;
  can_redo: boolean;
  changed_figures: number;
  comparing: boolean;
  theme: "light" | "dark";
  unsaved: boolean;
  saves: boolean;
  leaving: boolean;
  exports: ExportEntry[];
  review: ExportReview | null;
  file: FileLabel;
}

/** The block with the most busy cycles. */
export interface HeaviestBlock {
  row: string;
  name: string;
  text: string;
}

/** A buffer in a memory. */
export interface HeldBuffer {
  id: string;
  name: string;
  colour: number;
  size: string;
  note: string;
  tone: "" | "warn";
  tip: string;
}

/** One inference: for each call its position in the graph, its kernel, and its first and last cycle; the rows of engines and memories. */
export interface Inference {
  cycles: number;
  calls: number[];
  keys: string[];
  starts: number[];
  ends: number[];
  engines: string[];
  memories: MemoryCapacity[];
}

/** Facts about the selection: sections, the memories and copies for an empty selection, and the layout picker of a buffer. */
export interface Inspector {
  kind: "nothing" | "loop" | "block" | "buffer";
  crumbs: Crumb[];
  sections: Section[];
  memories: MemorySummary[];
  traffic: CopiedBuffer[];
  picker: LayoutPicker | null;
}

/** Intervals relative to the window, and the entry of a table that each is of. */
export interface Intervals {
  start: number[];
  length: number[];
  of: number[];
}

/** An iterator of a block, and its type: "spatial", "reduce", ... */
export interface IterName {
  name: string;
  type: string;
}

/** The status of a job, for the user: the `area` of the page that shows its result, a text, the number of pieces done and in total (0: unknown), and whether it was stopped and can be resumed. */
export interface JobStatus {
  key: string;
  area: string;
  text: string;
  done: number;
  total: number;
  stopped: boolean;
}

/** Calls that keep the slots, and their effect on what TVM runs. */
export interface KeepSlots {
  calls: string[];
  text: string;
  effect: Change;
  applicable: boolean;
}

/** A status with the number of its kernels. */
export interface KernelFilter {
  key: string;
  label: string;
  count: number;
}

/** A kernel of the list. `hue` is the colour of one that is called more than once; `bound` are the cycles of all its calls, `share` is its part of the inference, `over` are the bytes over capacity; `loads` has the busy part of each engine, `peaks` the used part and the bytes of each on-chip memory. */
export interface KernelRow {
  key: string;
  name: string;
  label: string;
  functions: number;
  hue: number | null;
  calls: number;
  status: "pending" | "error" | "wrong" | "unscheduled" | "scheduled" | "tested" | "proved";
  cycles: number;
  cycles_text: string;
  each: string;
  share: number;
  bound: number;
  bound_text: string;
  ratio: string;
  engine: string;
  over: string;
  detail: string;
  lines: number;
  loads: Record<string, number>;
  peaks: Record<string, [number, string]>;
}

/** A call that a schedule cell may have. */
export interface KnownCall {
  name: string;
  parameters: CallParameter[];
  summary: string;
}

/** A variable of the notebook. */
export interface KnownHandle {
  name: string;
  kind: "loop" | "block" | "list";
  detail: string;
}

/** An engine's bars. */
export interface Lane {
  name: string;
  bars: [number, number, number, number][];
}

/** One access. `taken` has the positions of its elements as runs: start, step, count. `hits` are the units with its rows and those of other operands at the same time, which `others` names. */
export interface LayoutAccess {
  taken: number[];
  size: number;
  degree: number;
  hits: [number, number, number][];
  others: string[];
}

/** A schedule call, with its text. */
export interface LayoutCall {
  method: string;
  target: string;
  arguments: Record<string, unknown>;
  text: string;
}

/** A candidate layout with its simulated figures: name, value, meaning, "bad" for a costly value. `call` is None for the current layout; `map` is the index map, or ""; `rank` are cycles, conflict cycles and bytes. */
export interface LayoutCard {
  key: string;
  title: string;
  note: string;
  call: LayoutCall | null;
  map: string;
  current: boolean;
  waiting: boolean;
  refused: LayoutError | null;
  thumb: LayoutThumb | null;
  rank: [number, number, number] | null;
  overflows: boolean;
  best: boolean;
  figures: [string, string, string, string][];
  change: string;
  trend: "better" | "worse" | "same" | "";
}

/** The custom index map: its text, the names and extents of the axes, the error with its column (0 without one), the trial's card, and the same map with padding. */
export interface LayoutDraft {
  text: string;
  example: string;
  names: string[];
  extents: number[] | null;
  status: "empty" | "wrong" | "checking" | "right";
  error: LayoutError | null;
  column: number;
  card: LayoutCard | null;
  padded: LayoutCall | null;
}

/** A refused layout. */
export interface LayoutError {
  code: string;
  message: string;
  found: string;
  expected: string;
}

/** A window of the buffer's elements; its cells have `scale` × `scale` elements. `rows`, `columns` and `shape` are those of the buffer, `row` and `column` the first ones of the window, `height` and `width` its size in cells, `across` the requested width in elements. `base` is the address of the first element; `addresses` and `units` are those of the cells, row by row, a unit -1 for several. `preview` is the title of a previewed layout, `axes` are the names of the axes. */
export interface LayoutGrid {
  unit: "bank" | "block" | "set" | "burst" | "memory";
  unit_word: string;
  unit_count: number;
  row_bytes: number;
  memory: string;
  scope: string;
  unit_text: string;
  rows: number;
  columns: number;
  shape: number[];
  row: number;
  column: number;
  height: number;
  width: number;
  scale: number;
  across: number;
  widest: number;
  addresses: number[];
  units: number[];
  slot: number;
  slots: number;
  element_bytes: number;
  base: number;
  preview: string;
  axes: string[];
}

/** A value of a setting; without a call, it is the present one or not possible. */
export interface LayoutOption {
  value: string;
  label: string;
  note: string;
  call: LayoutCall | null;
}

/** A buffer: facts (name, value, meaning), the blocks that access it, and its layouts. Without a simulation `grid` is None, and `uses` and `draft` are not used; `uses` is None until they are computed. `fixed` is the reason why no layout can be applied. */
export interface LayoutPicker {
  id: string;
  name: string;
  dtype: string;
  scope: string;
  colour: number;
  facts: [string, string, string][];
  accesses: BufferUser[];
  controls: (ChoiceControl | NumbersControl)[];
  fixed: string;
  grid: LayoutGrid | null;
  uses: LayoutUse[] | null;
  use: number;
  cards: LayoutCard[];
  draft: LayoutDraft | null;
  note: string;
}

/** A picture of a layout, one character per element: `shades` encodes the bank, else the address, from 0 to z; `blocks` the physical block. `own_axes`: its elements do not correspond to those of the current tile. */
export interface LayoutThumb {
  height: number;
  width: number;
  shades: string;
  blocks: string;
  own_axes: boolean;
}

/** The accesses of one operand; `all`: `count` is their number, and not only a part; `worst` is the highest degree. */
export interface LayoutUse {
  block: string;
  engine: string;
  kind: string;
  written: boolean;
  takes: string;
  run_bytes: number;
  count: number;
  all: boolean;
  worst: number;
  steps: LayoutAccess[];
  note: string;
}

/** The fragment of a link that contains the notebook. */
export interface Link {
  kind: "link";
  fragment: string;
}

/** A loop around tasks, and its row of the tree. */
export interface LoopAround {
  name: string;
  row: string;
  extent: number;
}

/** A preset with its memories from the farthest to the nearest, and its engines. */
export interface MachineChoice {
  name: string;
  description: string;
  memories: DrawnMemory[];
  engines: DrawnEngine[];
  chosen: boolean;
}

/** The parameter at `path` that limits the program, "" for none; `done` of `total` while the parameters are tried. */
export interface MachineLimit {
  text: string;
  detail: string;
  path: string;
  done: number;
  total: number;
}

/** The machine, how many parameters the notebook changes, what limits the program, and the parts. */
export interface MachinePanel {
  name: string;
  description: string;
  changed: number;
  limit: MachineLimit | null;
  sensitivities: SensitiveParameter[];
  parts: PartPanel[];
  measured: MeasuredTimes;
}

/** A problem of a row. */
export interface MarkText {
  severity: "error" | "warning" | "info";
  text: string;
}

/** A program: its name, the predicted and the measured time, the spread of the samples, their ratio, and what is wrong with it. */
export interface MeasuredRow {
  name: string;
  predicted: string;
  measured: string;
  spread: string;
  ratio: string;
  problem: string;
}

/** The measured times, the computer and compiler (`host`), the machine that predicts, and why there are no times (`problem`). `is_running`: they were asked for and are not known yet. */
export interface MeasuredTimes {
  rows: MeasuredRow[];
  host: string;
  machine: string;
  problem: string;
  is_running: boolean;
}

/** A physical block of a memory: its peak and its capacity, and the `share` of the capacity from 0 to 1. */
export interface MemoryBlock {
  name: string;
  peak: string;
  capacity: string;
  share: number;
  percent: string;
  use: string;
  over: boolean;
}

/** An on-chip memory. */
export interface MemoryCapacity {
  name: string;
  capacity: string;
}

/** A slot of a buffer at a byte `address`; `low` and `high` are parts of its row's height. Other slots use the addresses of a `shared` one at other times. */
export interface MemoryCell {
  row: number;
  label: string;
  buffer: string;
  colour: number;
  bytes: string;
  address: string;
  shared: boolean;
  low: number;
  high: number;
}

/** The bytes of a memory from each of `at` on; `least` if a bin covers several values. */
export interface MemoryLine {
  at: number[];
  live: number[];
  allocated: number[];
  least: number[];
}

/** A memory: `scale` are the bytes that the row's height represents, `limit` is the capacity as a part of the height, 0 if beyond the scale; `over`: whether the capacity is exceeded. A class of cores has the blocks that each holds in place of bytes, a port its busy part; `tip` says more about these. */
export interface MemoryRow {
  name: string;
  scope: string;
  scale: number;
  capacity: number;
  limit: number;
  text: string;
  over: boolean;
  kind: "memory" | "cores" | "port";
  tip: string;
}

/** The bandwidth of the largest memory. */
export interface MemorySlope {
  name: string;
  bytes_per_cycle: number;
}

/** A memory with its physical blocks and its buffers. */
export interface MemorySummary {
  name: string;
  scope: string;
  blocks: MemoryBlock[];
  buffers: HeldBuffer[];
}

/** The menu of a row. */
export interface Menu {
  kind: "menu";
  row: string;
  entries: Entry[];
}

/** A metric of candidates. */
export interface Metric {
  key: string;
  label: string;
  unit: "cycles" | "pJ" | "bytes";
}

/** The calls of an inference, its inputs and its results. */
export interface ModelGraph {
  nodes: GraphNode[];
  edges: GraphEdge[];
}

/** The figures of the whole: `done` of `total` kernels have a cost, `count` are the cycles as a number, `on_chip` counts the tensors that stay on chip between kernels, `waits` are the cycles of waits for their copies, and `misfit` says why they do not fit. `sizes` are those that the model leaves open, with their values. */
export interface ModelHead {
  title: string;
  machine: string;
  done: number;
  total: number;
  cycles: string;
  count: number;
  bound: string;
  ratio: string;
  calls: number;
  kernels: number;
  prepared: number;
  preparation: string;
  failed: string[];
  on_chip: number;
  waits: string;
  misfit: string;
  sizes: ValueField[];
}

/** A model: its figures, its kernels, those with most cycles first, and one inference over time. */
export interface ModelPage {
  name: string;
  head: ModelHead;
  filters: KernelFilter[];
  kernels: KernelRow[];
  timeline: Inference;
  theme: "light" | "dark";
  search: ModelSearchLine | null;
  exports: ExportEntry[];
  is_example: boolean;
}

/** The search of all kernels: its progress, the cycles of an inference with the schedules found so far, the seconds left, and the reason of a failure. `can_resume`: kernels are left to search. */
export interface ModelSearchLine {
  status: "waiting" | "running" | "stopped" | "ended" | "failed";
  done: number;
  total: number;
  cycles: string;
  seconds_left: number;
  can_resume: boolean;
  reasons: string[];
  error: string;
}

/** What limits the program, and suggestions, the best first. `looking`: suggestions are still being tried; `bound` is the distance from the lower bound of the program, `machines` are to choose from while the schedule has no steps, `tiles` are those that a derivation can keep. A program without sizes or data has the `setting` that it needs, with its `fields`. */
export interface NextSteps {
  looking: boolean;
  limit: ProgramLimit | null;
  bound: string;
  heaviest: HeaviestBlock | null;
  machines: MachineChoice[];
  tiles: string;
  suggestions: SuggestedStep[];
  setting: string;
  fields: SettingField[];
}

/** A branch, and how many of the first steps it shares with the current one; None for that one, or if its text cannot be read. */
export interface NotebookBranch {
  name: string;
  current: boolean;
  shared: number | null;
}

/** A cell. `first_line` is that of its body, `lines` counts them; one of Markdown has `prose`, a schedule that can be read its `rows`; one without steps may take the steps of drags. */
export interface NotebookCell {
  index: number;
  kind: string;
  title: string;
  body: string;
  first_line: number;
  lines: number;
  prose?: string | null;
  rows?: (ScheduleLine | ScheduleNote)[] | null;
  takes_steps?: boolean;
}

/** The cells in the order of the file. `chosen` is the number of lines that the displayed program has, `examined`: a step was selected; `draft`: something is being typed; `revision` identifies the text that is shown. */
export interface NotebookColumn {
  title: string;
  revision: number;
  cells: NotebookCell[];
  chosen: number;
  examined: boolean;
  banners: Banner[];
  branches: NotebookBranch[];
  problems: TextProblem[];
  draft: boolean;
}

/** The refusal of the last action, for the user. `fix` are calls that would make the action legal. `where` is its place: beside the tree that the call came from, or above the page. `choice` is that of a text that did not open. */
export interface Notice {
  code: string;
  message: string;
  found: string;
  expected: string;
  fix: string[];
  place: string;
  where: "tree" | "page";
  choice: ProgramChoice | null;
}

/** A setting of `count` numbers for the arguments `fields` of a call. */
export interface NumbersControl {
  id: string;
  label: string;
  value: string;
  count: number;
  placeholder: string;
  fields: string[];
  call: LayoutCall;
  help: string;
  blocked: string;
  type: "ints";
}

/** A parameter of the schedule, and the variable that its line assigns. */
export interface OfferedHole {
  name: string;
  target: string;
  values: string[];
}

/** Another program of the text that was opened. */
export interface OtherProgram {
  number: number;
  label: string;
}

/** The work of an engine in A and in B. */
export interface OverlaidEngine {
  name: string;
  a: EngineWork;
  b: EngineWork;
}

/** The most live bytes of a memory in each stretch, as parts of the height; `limit` is the capacity's height, 0 if beyond the scale. */
export interface OverlaidMemory {
  name: string;
  a: number[];
  b: number[];
  limit: number;
  words: string;
  over: boolean;
}

/** Two runs on one scale: the cycles of both, the longest, and the visible cycles from `start` to `end`; without both reports only a note. */
export interface Overlay {
  engines: OverlaidEngine[];
  memories: OverlaidMemory[];
  note: string;
  cycles: [number, number];
  longest: number;
  start: number;
  end: number;
}

/** The whole run in real time: the busy share of each engine by bin, and the share with at least two busy engines, as bytes in base 64. */
export interface Overview {
  count: number;
  lanes: string[];
  overlap: string;
}

/** The page around the panes; the tree and the gallery show their own notices. `question` is about the merge conflicts of the file; `save_as`: saving asks for a name; `unsaved`: leaving would lose edits. `address` is the page's path after the server's prefix; None keeps the current one. `revision` differs for each text of the notebook; `durable`: the text is on disk. */
export interface PageFrame {
  screen: "gallery" | "model" | "notebook";
  theme: "light" | "dark";
  pane: "next" | "script" | "python" | "problems" | "machine" | "traffic" | "explore";
  comparing: boolean;
  title: string;
  notice: Notice | null;
  question: ConflictQuestion | null;
  versions: FileVersions | null;
  save_as: boolean;
  address: string | null;
  unsaved: boolean;
  revision: number;
  durable: boolean;
  problem_count: number;
  tour: Tour | null;
}

/** A worked example or a page of the guide: its address or its name, and its title. */
export interface PageLink {
  path: string;
  title: string;
}

/** The gain of a parameter that is made twice as good: its `better` value, and the saved `share` of all cycles; `width` is that share relative to the largest one. */
export interface ParameterGain {
  better: string;
  change: string;
  trend: "better" | "worse" | "same" | "";
  share: number;
  hint: string;
  width: number;
}

/** A part of the machine with its parameters; `used`: by the program. `note` says what limits the program at this part. */
export interface PartPanel {
  path: string;
  name: string;
  kind: string;
  about: string;
  figures: EditableParameter[];
  used: boolean;
  note: string;
}

/** The critical path from cycle `start` to `end`: its steps, or the share of each bin on each lane; and its parts by cause. */
export interface PathAnswer {
  kind: "path";
  ticket: number;
  report: number;
  start: number;
  end: number;
  parts: PathPart[];
  steps: PathSteps | null;
  lanes: string[];
}

/** Cycles of the critical path in which `block` runs on `engine`, and the cause for which the next task of the path waits for it. Causes are "engine" (the engine itself), "data" or "slot" of `buffer`, the "flag" named in `buffer`, "issue" (a place in its queue), and "end" (the end of the run). The cycles of "port" are those in which such tasks themselves wait for a shared port. */
export interface PathPart {
  engine: string;
  block: string;
  cause: string;
  buffer: string;
  cycles: number;
  tasks: number;
}

/** The steps of the path, backward in time and relative to its start. */
export interface PathSteps {
  lane: number[];
  start: number[];
  length: number[];
}

/** The prediction for the call at `index` of the request `ticket`. */
export interface PredictedCall {
  kind: "tried";
  ticket: number;
  index: number;
  value: CallEffect | RefusedCall;
}

/** The prediction for a drop of `rows` on `loop`. */
export interface PredictedDrop {
  kind: "predicted";
  rows: string[];
  loop: string;
  primitive: string;
  value: Prediction | RefusedCall;
}

/** A figure before and after a call; `sign` is the trend of its number, `trend` and `word` are the judgement. */
export interface PredictedFigure {
  name: string;
  text: string;
  change: string;
  sign: "better" | "worse" | "same" | "";
  trend: "better" | "worse" | "same" | "";
  word: string;
}

/** The predicted effect of a legal call. `costly`: it is worse, with more cycles, a block with more iterations, or a memory over capacity; `why` lists the reasons as sentences. `label` is a short text for the row, `others` are the blocks that move too. */
export interface Prediction {
  costly: boolean;
  trend: "better" | "worse" | "same" | "";
  label: string;
  lines: PredictedFigure[];
  why: string[];
  others?: string[];
}

/** A primitive's page. `call` is its signature on a schedule; `about` holds further paragraphs. */
export interface PrimitiveDoc {
  name: string;
  call: string;
  summary: string;
  drawing: Drawing;
  about: string[];
  requires: string;
  returns: string;
  errors: string;
  source: string;
}

/** The pages of all primitives. */
export interface PrimitiveDocs {
  kind: "primitives";
  pages: PrimitiveDoc[];
}

/** An error, a lint or a note; `rows` are those of the tree, `no_fix` is the reason why a lint has no fixes. */
export interface Problem {
  severity: "error" | "warning" | "info";
  code: string;
  message: string;
  found: string;
  expected: string;
  place: string;
  rows: string[];
  fixes: ProposedFix[];
  no_fix: string;
}

/** The problems, most severe first, then by the cycles that the best fix saves; `looking`: lints are running. */
export interface Problems {
  problems: Problem[];
  looking: boolean;
}

/** What a text that did not open may be opened with: its programs, the number of the one that was tried (from 1; 0: none), and the values that it needs. `listed` is the name of a file of the start screen; with `is_model` the text is opened as a model. */
export interface ProgramChoice {
  programs: string[];
  number: number;
  fields: ValueField[];
  listed: string;
  is_model: boolean;
}

/** The cycles of the program, and what bounds them. */
export interface ProgramLimit {
  text: string;
  detail: string;
}

/** Calls as texts; `replaces` is the call that they replace or that is removed; `applicable`: they apply to the displayed schedule. Tried ones have the `change` of the cycles and a `detail`. A line of settings, `sizes` or `data`, has `fields` for its values, and `setting` is its name. */
export interface ProposedFix {
  calls: string[];
  replaces: string;
  applicable: boolean;
  change: Change | null;
  detail: string;
  setting: string;
  fields: SettingField[];
}

/** Another page on the file: its reader's name, the selected step, counted from 1 (0: the last), and the selected row of the tree. */
export interface Reader {
  name: string;
  step: number;
  row: string;
}

/** A timeline, and the answers of the server: the steps to blame by buffer and block, and the critical path of the run; and the lines of the program. */
export interface Recording {
  value: Timeline;
  steps: Record<string, StepToBlame>;
  path: PathAnswer;
  script: string[];
}

/** The prediction for a call that is refused when it is tried. */
export interface RefusedCall {
  refused: string;
  code?: string;
}

/** What would end the selected stall: its figures, and the best of the calls that were tried; `looking` while others are tried. */
export interface Remedy {
  kind: "remedy";
  reason: string;
  looking: boolean;
  fix: StallFix | null;
}

/** The machine's roofs and the program's points; those without operations or without bytes are left out. `ridge` is the x of the highest roof's end, `words` is a sentence about the present point. */
export interface Roofline {
  roofs: EngineRoof[];
  slope: MemorySlope | null;
  points: RooflinePoint[];
  ridge: number | null;
  clock_hz: number;
  note: string;
  words: string;
}

/** A version of the program: `x` operations per byte of the largest memory, `y` operations per cycle, `share` of its `roof`. */
export interface RooflinePoint {
  key: string;
  label: string;
  x: number;
  y: number;
  roof: number;
  share: number;
  operations: string;
  bytes: string;
  cycles: string;
}

/** An intermediate buffer that is copied to a larger memory and back. */
export interface RoundTrip {
  buffer: string;
  scope: string;
  bytes: number;
  text: string;
}

/** A loop or a block of the tree; `parent` is "" at the top. A loop has `extent`, `loop_kind` and `reduces`; a block `iters`, `reads` and `writes`. In a notebook, a row also has `by`, the primitives called on it or that made it (then also `made`); `revises`, the calls whose arguments the row can change; and `variable` if the notebook uses another name for it. */
export interface Row {
  id: string;
  parent: string;
  depth: number;
  kind: "loop" | "block";
  name: string;
  detail: string;
  badges: Badge[];
  tooltip: string;
  extent?: string;
  loop_kind?: string;
  reduces?: boolean;
  iters?: IterName[];
  reads?: BufferChip[];
  writes?: BufferChip[];
  by?: string[];
  made?: boolean;
  revises?: string[];
  variable?: string;
}

/** The problems of a row, most severe first, and the highest severity. */
export interface RowMark {
  severity: "error" | "warning" | "info";
  messages: MarkText[];
}

/** The running jobs. */
export interface RunningJobs {
  kind: "doing";
  doing: JobStatus[];
}

/** A line of the schedule, or a disabled one ("off"). `item` is its number among all lines, `line` that in the file, `index` that among the enabled lines, `number` that of the step, `count` the number of lines up to it; `comment` stands behind it, `note` above it, `query`: it changes nothing; `underline` is the part of the text that the error is about. The chosen step has `details`, the one that does not apply a `conflict`. */
export interface ScheduleLine {
  kind: "step" | "off";
  text: string;
  item: number;
  line: number;
  comment: string;
  note: string;
  hole: StepHole | null;
  index: number;
  number: number;
  count: number;
  status: "" | "applied" | "failed" | "skipped";
  query: boolean;
  error: string | null;
  underline: [number, number] | null;
  change: string | null;
  trend: "better" | "worse" | "same" | "" | null;
  hint: string | null;
  details: StepDetails | null;
  conflict: StepConflict | null;
}

/** A comment between the lines of the schedule that belongs to none of them. */
export interface ScheduleNote {
  text: string;
  kind: "note";
}

/** The current search; `key` identifies its candidates. `stale` is their origin, if the notebook has changed; `now` are the metrics of the displayed schedule, `left` the estimated seconds, `checking` the progress while the best candidates are verified, `checked` the verdicts. */
export interface Search {
  asked: string;
  kept: string[];
  branch: string;
  decisions: string[];
  left_out: string[];
  lost: string[];
  holes: SearchedHole[];
  figures: Metric[];
  objectives: string[];
  all: boolean;
  size: number;
  key: number;
  status: "waiting" | "running" | "stopped" | "ended" | "failed";
  stale: string;
  count: number;
  total: number;
  counts: Partial<Record<"fits" | "over" | "pruned" | "refused" | "failed", number>>;
  front: number[];
  best: number | null;
  checking: [number, number] | null;
  seconds: number;
  left: number | null;
  error: string | null;
  database: SearchDatabase;
  now: number[] | null;
  bound: SpaceBound | null;
  checked: Record<string, "proved" | "tested" | "failed" | "unknown">;
  card: CandidateCard | null;
}

/** The results that a search took from its database, as text. */
export interface SearchDatabase {
  text: string;
  failed: boolean;
}

/** The searchable space. `exhaustive` is the largest space that is searched completely, `tiles` are those of the schedule as text, `example` is a line with a parameter. */
export interface SearchOffer {
  holes: OfferedHole[];
  size: number;
  figures: Metric[];
  usual: UsualSettings;
  exhaustive: number;
  most_trials: number;
  machine: string;
  tiles: string;
  example: string;
  error: string;
}

/** A parameter, and the title of the rule that wrote it; "" for a person's own. */
export interface SearchedHole {
  name: string;
  values: string[];
  order: number[];
  rule: string;
}

/** A table: `kind` says what the title or the values are, `swatch` is the colour of a buffer, and `buffer` its id. A row has a name, a value and an explanation. */
export interface Section {
  title: string;
  kind: string;
  swatch: number | null;
  rows: [string, string, string][];
  note: string;
  buffer: string;
}

/** A parameter with its gain. */
export interface SensitiveParameter {
  better: string;
  change: string;
  trend: "better" | "worse" | "same" | "";
  share: number;
  hint: string;
  width: number;
  path: string;
  name: string;
}

/** A name in a line of settings, and an example of its value. */
export interface SettingField {
  name: string;
  example: string;
}

/** A possible side. */
export interface SideChoice {
  key: string;
  text: string;
}

/** Possible sides of one kind. */
export interface SideGroup {
  title: string;
  items: SideChoice[];
}

/** A size to set with one click; `chosen`: it is the present one. */
export interface SizeOffer {
  text: string;
  value: string;
  hint: string;
  chosen: boolean;
  possible: boolean;
}

/** The smallest lower bound of all feasible and pruned candidates; `whole`: it covers the entire space. */
export interface SpaceBound {
  cycles: number;
  whole: boolean;
}

/** Calls that end a stall, the call that they replace, and what they save. */
export interface StallFix {
  calls: string[];
  replaces: string;
  text: string;
}

/** A kind of stall: `what` is the awaited slot, port, queue or engine; `block` holds it, and `row` is its row of the tree. */
export interface StallKind {
  lane: number;
  cause: "data" | "slot" | "flag" | "port" | "issue" | "unit" | "idle";
  what: string;
  buffer: string;
  block: string;
  colour: number;
  row: string;
}

/** Why a step does not apply: what it needs, the edits that caused it, and the ways to continue; `waiting` counts the later steps. */
export interface StepConflict {
  title: string;
  why: string;
  found: string;
  expected: string;
  code: string;
  needs: ConflictText[];
  changes: ConflictText[];
  waiting: number;
  choices: ConflictChoice[];
}

/** The effect of a step on the cycles, None if they stay the same; and all figures that changed. */
export interface StepCosts {
  change: string | null;
  trend: "better" | "worse" | "same" | "" | null;
  hint: string | null;
  figures: StepFigure[];
}

/** What the chosen step changed. */
export interface StepDetails {
  figures: StepFigure[];
  changes: TreeChange[];
}

/** A figure before and after a step. */
export interface StepFigure {
  label: string;
  before: string;
  after: string;
  change: string;
  trend: "better" | "worse" | "same" | "";
}

/** A parameter in a line, and the variable that the line assigns; the first value is the default. */
export interface StepHole {
  name: string;
  values: string[];
  order: number[];
  target: string;
}

/** The step that introduced an awaited block or buffer, with its text; 0 for those of the original program. */
export interface StepToBlame {
  kind: "blamed";
  step: number;
  text: string;
}

/** A suggestion of a rule; `decisions` say what its calls do. */
export interface SuggestedStep {
  rule: string;
  title: string;
  decisions: string[];
  fix: ProposedFix;
}

/** Tasks by start, relative to the window. `place` has the iterations of the loops around, `row` numbers in compressed time. */
export interface TaskColumns {
  kind: number[];
  start: number[];
  length: number[];
  place: number[][];
  row: number[];
}

/** `reads` and `writes` are labels of cells, `inputs` and `outputs` the cells that the replay waits for: numbers and labels. `place` is the place for the block on its core. */
export interface TaskKind {
  template: number;
  reads: string[];
  writes: string[];
  inputs: [number, string][];
  outputs: [number, string][];
  place: number;
}

/** The tasks of one block: the loops around, and the rows of the tree for both. On a chip, `grid` are the first and the last (exclusive) of the loops whose iterations run on the cores. */
export interface TaskTemplate {
  lane: number;
  block: string;
  rows: string[];
  loops: LoopAround[];
  colour: number;
  grid: [number, number];
}

/** A template for a typical kernel. */
export interface TemplateChoice {
  name: string;
  title: string;
}

/** An error of the text. Lines of the file and columns count from 1; `mend` is the replacement text of the fix. */
export interface TextProblem {
  line: number | null;
  column: number | null;
  end_line: number | null;
  end_column: number | null;
  message: string;
  found: string;
  expected: string;
  code: string;
  mend: string | null;
}

/** `text` is the digest of the notebook's text. Without a report, `cycles` is None and there are no lanes and levels. */
export interface Thumbnail {
  text: string;
  rows: [number, number, number][];
  cycles: number | null;
  overlap: number | null;
  engines: Lane[];
  memories: FillLevel[];
}

/** The tables and the events. Times are in cycles: `cycles` of the run in real time, `length` in compressed time, which contains each repeat once. `run` has all events in compressed time, unless they are too many. `bins` are the whole run in real time, if it has more tasks than the `drawn` ones of a window; in a replay also in compressed time. Lanes and rows are numbered as they are listed; `lines` has the line of the program's text by row of the tree. Without a report `cycles` is 0, and the tables are empty. */
export interface Timeline {
  report: number;
  cycles: number;
  length: number;
  repeats: TimelineRepeat[];
  engines: EngineLane[];
  rows: MemoryRow[];
  cells: MemoryCell[];
  templates: TaskTemplate[];
  kinds: TaskKind[];
  waits: StallKind[];
  lines: Record<string, number>;
  figures: [string, string][];
  buffers: ColouredBuffer[];
  note: string;
  drawn: number;
  blank?: Blank | null;
  overview?: Overview | null;
  run?: ExactWindow | null;
  bins?: BinnedWindow[];
  chip?: ChipCores | null;
}

/** The run after a drop of `rows` on `loop`, of so many `cycles`: from `start` to `end` the work by engine, and the bytes by the scope of the memory. */
export interface TimelineAfter {
  kind: "timeline_after";
  rows: string[];
  loop: string;
  primitive: string;
  cycles: number;
  start: number;
  end: number;
  lanes: Record<string, EngineWork>;
  bytes: Record<string, MemoryLine>;
}

/** An interval of compressed time that occurs `extra` more times in real time, `cycles` apart; as in the engine's `Repeat`. `level` counts the repeats around it, `names` and `extents` are those of its loops, `base` their indices in the first copy, `iterations` those in one copy; `length` has the terms of a copy's cycles, a factor and the orders of repeats each; `runs` counts the copies in the whole run. */
export interface TimelineRepeat {
  start: number;
  end: number;
  cycles: number;
  extra: number;
  first: number;
  last: number;
  depth: number;
  extents: number[];
  iterations: number;
  level: number;
  names: string[];
  base: number[];
  length: [number, [number, number][]][];
  more: Record<number, number>;
  runs: number;
  moves: Record<number, number[]>;
}

/** The totals from cycle `start` to `end`: the engines, and the copies that begin there. */
export interface TotalsAnswer {
  kind: "totals";
  ticket: number;
  report: number;
  start: number;
  end: number;
  engines: EngineTotals[];
  copies: CopiedBytes[];
}

/** The tour of an example. */
export interface Tour {
  name: string;
  steps: TourStep[];
  example: string;
}

/** An edit of a kernel's text, as a message `call`. */
export interface TourEdit {
  method: string;
  target: string;
  arguments: Record<string, unknown>;
}

/** A step of the tour, as in `Step`; `done`: the program passes its test. */
export interface TourStep {
  title: string;
  text: string;
  anchors: string[];
  task: string;
  keys: string;
  notice: string;
  calls: string[];
  edit: TourEdit | null;
  done: boolean;
  result: string;
}

/** A memory or an engine. */
export interface TrafficColumn {
  name: string;
  short: string;
  kind: "memory" | "engine";
  hint: string;
}

/** The memories, largest first, and the compute engines; the flows between them, copies first; the round trips, and the caches. */
export interface TrafficDiagram {
  columns: TrafficColumn[];
  flows: TrafficFlow[];
  trips: RoundTrip[];
  caches: CacheLevel[];
  total: string;
  note: string;
}

/** The figures that have something to show. */
export interface TrafficFigures {
  traffic?: Figure | null;
  roofline?: Figure | null;
}

/** The bytes of a buffer from one column to another: a copy, or the access of an engine. `least` is the lower bound of a copy in bytes, `times` the ratio to it as text; `round_trip`: the copy is avoidable. */
export interface TrafficFlow {
  kind: "copy" | "access";
  buffer: string;
  colour: number;
  source: string;
  destination: string;
  bytes: number;
  text: string;
  exact: string;
  least: number | null;
  least_text: string;
  times: string;
  round_trip: boolean;
}

/** Traffic and roofline, or the reason why there are none, with their figures in the light theme; `dark` are the dark theme's colours. */
export interface TrafficPane {
  traffic: TrafficDiagram;
  roofline: Roofline;
  blank: Blank | null;
  figures: TrafficFigures;
  dark: Record<string, string>;
}

/** The tree after a drop of `rows` on `loop`: the rows that appear, and the displayed rows that end or move. */
export interface TreeAfter {
  kind: "tree_after";
  rows: string[];
  loop: string;
  primitive: string;
  groups: AppearingRows[];
  leaving: string[];
}

/** A change of the tree by a step. */
export interface TreeChange {
  sign: "+" | "\u2212" | "\u2192" | "~";
  word: string;
  text: string;
  rows: string[];
}

/** A part of an uploaded file was written; else `error` says why not. */
export interface Uploaded {
  kind: "uploaded";
  upload: number;
  error: string;
}

/** The default settings of a search. */
export interface UsualSettings {
  objectives: string[];
  trials: number;
  seed: number;
  seconds: number | null;
}

/** A value that a program needs: its name, what it is ("size", "dtype", "flag", "scope", "list", "dict", "tensor", "target"), an example, and the values that the code knows: all of a flag, some of others. */
export interface ValueField {
  name: string;
  what: string;
  example: string;
  choices: string[];
}

/** The verdict on correctness with a sentence; `stopped`: the user stopped the check. */
export interface VerdictLine {
  status: "checking" | "tested" | "proved" | "failed" | "unknown";
  detail: string;
  stopped: boolean;
}

/** A requested window of the report. */
export interface WindowAnswer {
  kind: "window";
  ticket: number;
  report: number;
  window: ExactWindow | BinnedWindow;
}

/** The words for completion: the variable that calls are made on, the calls, the variables in the order of the text, and texts by kind. */
export interface Words {
  kind: "words";
  schedule: string;
  calls: KnownCall[];
  handles: KnownHandle[];
  strings: Record<string, string[]>;
}
