//! The keys of calls and tools (language 5), for people.

use super::{
    super::decode,
    KeyFormTable,
    KeyShape::{Boolean, Count, Duration, Factor, Form, Levels, List, Map, Mapping, Named, Or, Path, Schema, Text, Words},
};

pub(super) const EFFECT: super::KeyShape = Named(&[
    ("none", "There is nothing to undo."),
    ("undoable", "It can be undone: by the call under `undo`, a key of the node beside `do`, or of a branch."),
    ("irreversible", "It cannot be undone."),
]);

/// A call.
pub(super) static CALL: KeyFormTable = KeyFormTable {
    form: &decode::CALL,
    name: "call",
    about: "A call of a tool, of another part of the graph, or of several.",
    needs: &["name", "graph", "parallel", "each"],
    keys: &[
        ("name", Text, "The tool that is called."),
        ("graph", Text, "The node that is called, as a session of its own whose context is made of `args`."),
        ("parallel", Map(&Or(&[Text, Form("branch")])), "Calls side by side, by branch."),
        ("each", Path, "The path of a list: one call per item `{id?, name, args}`."),
        ("args", Mapping, "The arguments, with templates at any depth."),
        ("body", Text, "The argument that takes the node's body, which is not shown then."),
        (
            "join",
            Named(&[("all", "Wait for all branches."), ("any", "The first success is enough.")]),
            "For `parallel` and `each`: what to wait for.",
        ),
        (
            "on_error",
            Named(&[("fail", "A branch's error is the node's."), ("collect", "Errors become entries of the result.")]),
            "For `parallel` and `each`: what a branch's error does.",
        ),
        ("limit", Levels, "For `parallel` and `each`: how many run at once, from 1 to 64."),
        ("effect", EFFECT, "What the call does to the world. Without it: `undoable`."),
        ("timeout", Duration, "How long the tool may take, from when it starts."),
        ("retry", Form("retry"), "The retry policy of this call."),
        ("approve", Or(&[Boolean, Text, Form("approve")]), "A person is asked first: `true`, a question, or `{ask, expires}`."),
        ("returns", Schema, "A type that every success must meet."),
        ("save_to", Path, "In branches of `parallel` and in `before_each`: where the result goes."),
        ("metadata", Mapping, "A mapping of your own; it travels with the call."),
    ],
};

/// A branch of `parallel`.
pub(super) static BRANCH: KeyFormTable = KeyFormTable {
    form: &decode::BRANCH,
    name: "branch",
    about: "A call of a tool or of another part of the graph, beside others.",
    needs: &["name", "graph"],
    keys: &[
        ("name", Text, "The tool that is called."),
        ("graph", Text, "The node that is called, as a session of its own whose context is made of `args`."),
        ("args", Mapping, "The arguments, with templates at any depth."),
        ("body", Text, "The argument that takes the node's body, which is not shown then."),
        ("effect", EFFECT, "What the call does to the world. Without it: `undoable`."),
        ("timeout", Duration, "How long the tool may take, from when it starts."),
        ("retry", Form("retry"), "The retry policy of this branch."),
        ("approve", Or(&[Boolean, Text, Form("approve")]), "A person is asked first: `true`, a question, or `{ask, expires}`."),
        ("returns", Schema, "A type that every success must meet."),
        ("save_to", Path, "Where the result of this branch goes, if it succeeds."),
        ("metadata", Mapping, "A mapping of your own; it travels with the call."),
        ("undo", Or(&[Text, Form("call")]), "The call that undoes this branch; `input` is the result of the branch."),
    ],
};

/// `retry`.
pub(super) static RETRY: KeyFormTable = KeyFormTable {
    form: &decode::RETRY,
    name: "retry",
    about: "How often a failed call is tried, and when.",
    needs: &["max"],
    keys: &[
        ("max", Count, "All attempts, the first included."),
        ("base", Duration, "The first delay. Without it: `200ms`."),
        ("factor", Factor, "What each delay is multiplied by. Without it: `2`."),
        ("cap", Duration, "The longest delay. Without it: `10s`."),
        ("on", List(&Words(&["error", "timeout"])), "What is tried again. Without it: both."),
    ],
};

/// `approve`.
pub(super) static APPROVE: KeyFormTable = KeyFormTable {
    form: &decode::APPROVE,
    name: "approve",
    about: "A person is asked before the call is made.",
    needs: &[],
    keys: &[
        ("ask", Text, "The question, with templates."),
        ("messages", Map(&Text), "The question in other languages: locale → text."),
        ("expires", Duration, "How long the approval may take; then the call counts as denied."),
    ],
};

/// A tool's contract.
pub(super) static TOOL: KeyFormTable = KeyFormTable {
    form: &decode::TOOL,
    name: "tool",
    about: "What a tool takes and returns.",
    needs: &["name"],
    keys: &[
        ("name", Text, "The name that calls use."),
        ("description", Text, "What it does, also for models that choose among tools."),
        ("effect", EFFECT, "What it does to the world. Without it: `undoable`."),
        ("timeout", Duration, "How long it may take."),
        ("retry", Form("retry"), "The retry policy of its calls."),
        ("parameters", Schema, "A JSON Schema of its arguments."),
        ("returns", Schema, "A type that every success must meet."),
    ],
};
