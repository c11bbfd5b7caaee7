// Walks the tour with a client that was made from openapi.json, types included: node walk.ts URL TOKEN. Prints the outputs and what was refused.
import createClient from "openapi-fetch";
import type { components, paths } from "./api";

type Turn = components["schemas"]["turn"];
type Reply = components["schemas"]["in"];

const [url, token] = process.argv.slice(2) as [string, string];
const client = createClient<paths>({ baseUrl: url, headers: { Authorization: `Bearer ${token}` } });

/** The chapters, in the order in which they are read, and what is answered at each node. */
const chapters = ["words", "answers", "tools", "undo", "leave"];
const answers: Record<string, unknown> = {
  name: "Ada",
  "answers/start": "Tea",
  "answers/guess": 7,
  "answers/keep": true,
  "tools/told": "left",
  "undo/start": "winter",
  "undo/booked": "cancel",
};

function reply(turn: Turn): Reply {
  switch (turn.stop.type) {
    case "REQUEST_INPUT":
      return { input: turn.node === "menu" ? chapters.shift() : (answers[turn.node] ?? "") };
    case "APPROVAL":
      return { approve: turn.stop.payload.id };
    default:
      throw new Error(`nothing is known to answer ${turn.stop.type} with`);
  }
}

const begun = await client.POST("/api/sessions", { body: { id: "typed" } });
if (!begun.data) throw new Error(begun.error.detail);
let turn: Turn = begun.data;
const asked: string[] = [];
while (turn.stop.type !== "END") {
  asked.push(turn.stop.type);
  const answered = await client.POST("/api/sessions/{id}/turns", {
    params: { path: { id: turn.session }, header: { "If-Match": `"${turn.seq}"`, Prefer: "wait=60" } },
    body: reply(turn),
  });
  if (!answered.data) throw new Error(answered.error.detail);
  turn = answered.data;
}

const late = await client.POST("/api/sessions/{id}/turns", { params: { path: { id: turn.session } }, body: { input: "more" } });
const listed = await client.GET("/api/sessions", { params: { query: { standing: "finished" } } });
const records = await client.GET("/api/sessions/{id}/records", { params: { path: { id: turn.session }, query: { limit: 1 } } });
console.log(
  JSON.stringify({
    output: turn.stop.payload.output,
    approvals: asked.filter((type) => type === "APPROVAL").length,
    late: late.error?.code,
    listed: listed.data?.items.map((head) => head.session),
    first: records.data?.first,
  }),
);
