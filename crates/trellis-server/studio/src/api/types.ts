/** The objects of the API, as `docs/reference/openapi.json` has them; only the keys that the studio reads. */

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export interface Page<Item> {
  items: Item[];
  next: string | null;
}

// Graphs

export interface GraphCard {
  name: string;
  status: "sound" | "broken";
  since: number;
  program: string | null;
  nodes: number;
  errors: number;
  warnings: number;
  inputs: JsonObject | null;
  sessions: { open: number; held: number };
}

export type NodeKind = "pass" | "listen" | "act";

export interface GraphNode {
  id: string;
  kind: NodeKind | "end";
  entry: boolean;
  terminal: boolean;
  path: string | null;
  line: number | null;
}

export interface GraphEdge {
  from: string;
  to: string;
  outcome: string;
  signal?: string;
  before_each?: boolean;
  condition: string | null;
  why: string;
  option?: string;
  failure?: string;
  path: string | null;
  line: number | null;
}

export interface Graph {
  name: string;
  program: string;
  status: "sound" | "broken";
  nodes: GraphNode[];
  edges: GraphEdge[];
  modules: { id: string; nodes: string[] }[];
  layout: Layout;
}

export interface NodeDetail {
  id: string;
  kind: string;
  path: string;
  line: number;
  source: string;
  html: string;
  ways: GraphEdge[];
  keys: { key: string; certain: boolean; kind: string }[];
  diagnostics: Diagnostic[];
}

export interface Match {
  id: string;
  field: string;
  path: string;
  line: number;
  excerpt: string;
}

// Findings

export interface Span {
  start: number;
  end: number;
}

export interface Label {
  message: string;
  path: string;
  span: Span;
  line: number;
  column: number;
}

export interface Diagnostic {
  code: string;
  severity: "error" | "warning" | "info";
  message: string;
  path: string | null;
  span: Span | null;
  line: number | null;
  column: number | null;
  end_line: number | null;
  end_column: number | null;
  labels: Label[];
  help: string | null;
  fix: { title: string; edits: { path: string; span: Span; text: string }[] } | null;
}

export interface Report {
  diagnostics: Diagnostic[];
  summary: { nodes: number; errors: number; warnings: number };
  /** The texts of the files that the findings are about. */
  sources: Record<string, string>;
  status: "sound" | "broken";
  since: number;
}

// Sessions

export interface Head {
  session: string;
  graph: string;
  program: string;
  seq: number;
  began: number;
  at: number;
  node: string;
  standing: string;
  due: number | null;
  fits: boolean;
}

export interface Option {
  value: Json;
  text: string;
}

export interface InputQuestion {
  seq: number;
  input_type: string;
  options?: Option[];
  open?: boolean;
  default?: Json;
  schema?: Json;
  timeout?: number;
}

/** A place in arguments where a secret belongs. */
export interface SecretPlace {
  /** The JSON pointer of the text that holds it. */
  pointer: string;
  /** The byte of that text which it stands before. */
  offset: number;
  name: string;
}

export interface ApprovalQuestion {
  id: string;
  name: string;
  args: JsonObject;
  secrets?: SecretPlace[];
  ask?: string;
}

export interface Call {
  id: string;
  name: string;
  args: JsonObject;
  secrets?: SecretPlace[];
  attempt: number;
  node: string;
  of?: string;
  part?: string | number;
  timeout?: number;
  kind?: JsonObject;
}

export interface End {
  reason: string;
  output: Json;
  code?: string;
  node?: string;
  message?: string;
  place?: { path: string; line: number; column: number; key?: string };
  rollback?: { failed: JsonObject[]; irreversible: JsonObject[] };
}

export type Stop =
  | { type: "REQUEST_INPUT"; payload: InputQuestion }
  | { type: "APPROVAL"; payload: ApprovalQuestion }
  | { type: "CALL_TOOL"; payload: Call }
  | { type: "PREDICATE"; payload: { id: string; name: string } }
  | { type: "NEEDS"; payload: { seq: number; node: string; keys: string[] } }
  | { type: "CHANGED"; payload: { seq: number; id: string; pending: string; now: string | null } }
  | { type: "RUNNING"; payload: { node: string; since: number; call?: { id: string; name: string; attempt: number } } }
  | { type: "SLEEPING"; payload: { node: string; until: number } }
  | { type: "END"; payload: End };

/** What happened, as JSON Lines tells it. */
export interface Line {
  type: string;
  payload: Json;
  child?: string;
}

export interface Said {
  node: string;
  text: string;
  html?: string;
  child?: string;
}

export interface Waiting {
  child?: string;
  node: string;
  stop: Stop;
  due: number | null;
}

export interface Turn {
  session: string;
  graph: string;
  program: string;
  seq: number;
  node: string;
  standing: string;
  now: number;
  child?: string;
  said: Said[];
  happened: Line[];
  stop: Stop;
  /** It does not go on by itself until it is resumed, or gets a reply. */
  paused?: boolean;
  due: number | null;
  others?: Waiting[];
  budget?: { calls?: { used: number; max: number }; tokens?: { used: number; max: number } };
}

export type Reply =
  | { input: Json; to?: string }
  | { tool_result: JsonObject }
  | { signal: string; to?: string }
  | { approve: string }
  | { deny: string }
  | { predicate: { id: string; value: boolean } }
  | { context: JsonObject }
  | { keep: boolean };

export interface HeldCall {
  session: string;
  graph: string;
  child?: string;
  call: Call;
  ask: string | null;
  why?: { decision: string; source: string; notes: string[] };
  asked: number;
  due: number | null;
}

/** A call that was given up. */
export interface DeadCall {
  key: string;
  session: string;
  graph: string;
  child?: string;
  node: string;
  tool: string;
  args?: JsonObject;
  cause: string;
  error?: Json;
  denied?: Json;
  result?: Json;
  /** Whether another try did it. */
  settled?: boolean;
}

// The orchestrator: `/api/state` and the chat

/** Where a session of a chat stands. */
export interface RunStanding {
  status: string;
  node: string;
  waiting?: string;
}

export interface Place {
  provider: string;
  chat: string;
  thread?: string;
}

export interface Run extends RunStanding, Place {
  id: string;
  entry: string;
  sender: string;
  created_at: number;
}

export interface Task extends RunStanding, Place {
  id: string;
  title: string;
  session: string;
  turn?: number;
  max_turns?: number;
  steps: { title: string; status: string }[];
  created_at: number;
  updated_at: number;
  result?: string;
  error?: string;
}

export interface Service {
  name: string;
  state: string;
  since: number;
  error?: string;
  restarts: number;
}

export interface DeadMessage extends Place {
  kind: "message";
  id: number;
  at: number;
  text: string;
  attempts: number;
  error: { code: string; message: string };
}

export interface Schedule extends Place {
  id: string;
  name?: string;
  /** When it happens, as somebody wrote it. */
  when?: string;
  expr?: string;
  every_ms?: number;
  at?: number | string;
  tz?: string;
  prompt: string;
  enabled: boolean;
  next_at?: number;
  last_at?: number;
  runs: number;
}

export interface State {
  services: Service[];
  channels: { name: string; lag: number; cursor: string | null; error?: string }[];
  runs: Run[];
  tasks: Task[];
  approvals: HeldCall[];
  outbox: { queued: number; oldest: number | null };
  dead: (DeadMessage | { kind: "call"; letter: DeadCall })[];
  cron: Schedule[];
  memory: { bytes: number; days: number };
  decisions: number;
}

/** A message of the chat in the browser. */
export interface ChatMessage {
  id: string;
  chat: string;
  thread?: string;
  from: "person" | "agent" | "schedule";
  at: number;
  text: string;
  html?: string;
  /** The call that it asks about. */
  call?: string;
}

// The past

/** A record; what it holds besides depends on its kind. */
export interface SessionRecord {
  seq: number;
  at: number;
  kind: string;
  child?: string;
  from?: string;
  to?: string;
  until?: number;
  unreadable?: string;
  input?: Json;
  result?: JsonObject;
  signal?: string;
  ended?: JsonObject;
  destination?: JsonObject;
  keys?: JsonObject;
  request?: { by?: string };
  [key: string]: Json | undefined;
}

export interface RecordPage extends Page<SessionRecord> {
  first: number;
}

export interface Change {
  path: string;
  before?: Json;
  after?: Json;
}

export interface StateAt {
  seq: number;
  at: number;
  kind: string;
  child?: string | undefined;
  from?: string;
  to: string;
  state: { context?: JsonObject };
  said?: string;
  html?: string;
  changed: Change[];
  call?: Call;
  is_same_graph: boolean;
}

/** One hop of a session; it comes from nowhere where the session began. */
export interface Hop {
  seq: number;
  from: string | null;
  to: string;
}

// The drawing

export interface Layout {
  direction: "down" | "right";
  width: number;
  height: number;
  /** The modules that are folded, also those inside of others. */
  collapsed: string[];
  nodes: LaidNode[];
  modules: LaidModule[];
  edges: LaidEdge[];
}

/** A rectangle: its upper left corner and its size. */
export interface Area {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface LaidNode extends Area {
  id: string;
}

export interface LaidModule extends Area {
  id: string;
  collapsed: boolean;
  nodes: number;
}

/** A line, for the edges of the graph with these places in its list. */
export interface LaidEdge {
  from: string;
  to: string;
  edges: number[];
  /** Whether a graph goes there when nothing goes wrong. */
  main: boolean;
  back: boolean;
  points: [number, number][];
  label?: Area & { text: string };
}
