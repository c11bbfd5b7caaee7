//! The keys of what hosts read (language 9, 11), for people: requests, servers, models, policies. A host says which others there are.

use super::KeyShape::{self, Any, List, Map, Named, Open, Or, Schema, Text};

/// `http`.
pub(super) const REQUEST: KeyShape = Open(&[
    ("base", Any, "The beginning of URLs: a URL, or `{ env: NAME, default: URL }`."),
    ("get", Text, "The URL of a GET request; one that begins with `/` is appended to `base`."),
    ("head", Text, "The URL of a HEAD request."),
    ("post", Text, "The URL of a POST request."),
    ("put", Text, "The URL of a PUT request."),
    ("patch", Text, "The URL of a PATCH request."),
    ("delete", Text, "The URL of a DELETE request."),
    ("query", Any, "A mapping of pairs; null and absent values leave their pair out."),
    ("headers", Any, "A mapping; texts may hold `{{secret:name}}`."),
    ("json", Any, "The body: any value."),
    ("form", Any, "The body: a mapping, sent as a form."),
    ("text", Any, "The body: a text."),
    ("idempotency", Any, "The header that carries the key of the call; `false` for none. Without it: `Idempotency-Key`."),
    ("ca", Text, "A PEM file with certificates to trust beside those of the system."),
    (
        "response",
        Named(&[("auto", "By its content type."), ("json", "JSON."), ("text", "A text.")]),
        "How the body of a success is read. Without it: `auto`.",
    ),
    ("accept", Any, "Statuses beyond the successes that count as one."),
    ("redirects", Any, "How many redirects are followed."),
    ("max_wait", Text, "The longest wait that a server may ask for by `Retry-After`."),
]);

/// `mcp`.
pub(super) const MCP: KeyShape =
    Or(&[Text, Open(&[("server", Text, "A name of `servers`."), ("tool", Text, "The name of the tool there.")])]);

/// `model` of a binding.
pub(super) const MODEL: KeyShape = Open(&[
    ("role", Text, "A name of `models.roles`."),
    ("system", Text, "A Markdown file whose text stands before all messages."),
    ("format", Named(&[("text", "The answer is a text."), ("json", "The answer is JSON.")]), "The form of the answer. Without it: `text`."),
    (
        "stream",
        Named(&[
            ("auto", "Where somebody watches, and the format is text."),
            ("always", "The text is told while it is written."),
            ("never", "The text is told when it is complete."),
        ]),
        "Whether the text is told while it is written. Without it: `auto`.",
    ),
    ("max_tokens", Any, "The longest answer, in tokens."),
    ("temperature", Any, "From 0 to 2."),
]);

/// A server of `servers`.
pub(super) const SERVER: KeyShape = Open(&[
    ("process", Any, "The command and its arguments."),
    ("env", Any, "Beside `process`: variables, which may hold `{{secret:name}}`."),
    ("cwd", Text, "Beside `process`: the folder that it runs in."),
    ("url", Text, "The URL of a server over HTTP."),
    ("headers", Any, "Beside `url`: headers of every request, which may hold `{{secret:name}}`."),
    (
        "era",
        Named(&[("auto", "The server is asked."), ("modern", "Revisions since 2026-07-28."), ("legacy", "Revisions up to 2025-11-25.")]),
        "The revision of the protocol. Without it: `auto`.",
    ),
    ("idle", Text, "How long a connection without calls stays open. Without it: `5m`."),
    ("grace", Text, "How long the server may take to end. Without it: `5s`."),
    ("rate", RATE, "How often its tools may be called: `{ max: 10, per: 1s }`."),
    ("abreast", Any, "How many calls of its tools may run at once."),
]);

/// `rate`.
pub(super) const RATE: KeyShape = Open(&[("max", Any, "How many calls."), ("per", Text, "In which time: `1s`, `1m`.")]);

/// `models`.
pub(super) const MODELS: KeyShape = Open(&[
    ("providers", Map(&MODEL_PROVIDER), "Where models are asked, by name."),
    (
        "roles",
        Map(&List(&Open(&[
            ("provider", Text, "A name of `providers`."),
            ("model", Any, "The model: a text, or `{ env, default }`."),
            ("max_tokens", Any, "The longest answer, in tokens."),
            ("temperature", Any, "From 0 to 2."),
        ]))),
        "Role → its providers, in the order in which they are tried.",
    ),
]);

const MODEL_PROVIDER: KeyShape = Open(&[
    ("openai", Any, "Where the API begins: a text, or `{ env, default }`."),
    ("key", Text, "The key, sent as `Authorization: Bearer`; it may hold `{{secret:name}}`."),
    ("headers", Any, "More headers, which may hold `{{secret:name}}`."),
    ("ca", Text, "A PEM file that is trusted beside the certificates of the system."),
    (
        "schema",
        Named(&[("json_schema", "A JSON Schema."), ("object", "Any JSON object."), ("none", "Nothing.")]),
        "What the endpoint takes as `response_format`. Without it: `json_schema`.",
    ),
    (
        "limit_key",
        Named(&[("max_tokens", "Most endpoints."), ("max_completion_tokens", "Those of models that think.")]),
        "The key that bounds the answer. Without it: `max_tokens`.",
    ),
    ("extra", Any, "More keys of the request."),
    ("process", Any, "A command that gets the request as JSON and prints a result."),
    ("headless", Named(&[("claude", "Claude Code."), ("codex", "Codex.")]), "A program with a model of its own."),
    ("args", Any, "Beside `headless`: its arguments."),
    ("own_shell", Named(&[("accept", "It may use a shell of its own.")]), "Beside `headless`: whether it may use a shell of its own."),
    ("env", Any, "Variables of the program."),
    ("cwd", Text, "The folder of the program."),
    ("grace", Text, "How long the program may take to end."),
    ("scripted", Text, "A file of replies, which stands in where no other provider is set up."),
    ("timeout", Text, "How long this provider may take."),
]);

const PATTERNS: KeyShape = List(&Or(&[
    Text,
    Open(&[
        ("tool", Text, "A glob of tools; `*` stands for any characters."),
        ("args", Schema, "A JSON Schema that the arguments must fit."),
    ]),
]));

/// An entry of `policy`, and of the chain of `policy.decide`.
pub(super) const PROVIDER: KeyShape = Open(&[
    ("ask", PATTERNS, "Calls that wait for an approval."),
    ("block", PATTERNS, "Calls that are denied."),
    ("allow", PATTERNS, "Calls that run."),
    (
        "else",
        Named(&[
            ("ask", "The others wait for an approval."),
            ("block", "The others are denied."),
            ("pass", "The next entry decides about the others."),
        ]),
        "Beside `allow`: what holds for all others. Without it: `pass`.",
    ),
    ("tool", Text, "A bound tool that decides."),
    ("forced", Open(&[("env", Text, "The variable.")]), "A variable that holds `AUTO_RUN`, `ASK` or `BLOCK`."),
    (
        "score",
        Open(&[
            ("files", Text, "A glob of files with a score; the newest counts."),
            ("field", Text, "The path of the score in a file."),
            ("verdict", Text, "A path in a file; the text `BLOCK` there denies."),
            ("at", Text, "The path of the moment in a file. Without it, the time of the file."),
            ("max_age", Text, "How old a score may be. Without it: `60m`."),
            ("max_age_env", Text, "A variable with another age, in minutes."),
            ("block_below", Any, "Scores below this deny. Without it: `80`."),
            ("auto_above", Any, "Scores above this let run. Without it: `90`."),
            ("risk", Text, "The path of the risk in the arguments of the call."),
            ("risk_below", Any, "The risk below which a call may run by itself. Without it: `10`."),
            ("future", Text, "How far ahead of the clock a file may be. Without it: `2m`."),
        ]),
        "A score in files decides.",
    ),
]);

/// `budget`.
pub(super) const BUDGET: KeyShape =
    Open(&[("calls", Any, "The most calls of a session."), ("tokens", Any, "The most tokens that a session may spend.")]);
