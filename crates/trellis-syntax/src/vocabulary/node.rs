//! The keys of a node (language 2), for people.

use super::{
    super::decode,
    KeyFormTable,
    KeyShape::{self, Any, Boolean, Condition, Count, Duration, Form, List, Map, Mapping, Named, Or, Path, Schema, Text},
};

const TARGET: &str = "A target: the name of a node, looked for in this folder and then in those above it; `./x` is this folder, `/x` the root, `fail` and `rollback` end the session.";

/// A node.
pub(super) static NODE: KeyFormTable = KeyFormTable {
    form: &decode::NODE,
    name: "node",
    about: "One node: what it says, what it waits for or calls, what it remembers, where it leads.",
    needs: &[],
    keys: &[
        ("id", Text, "Restates or replaces the id that the path gives the node."),
        ("was", List(&Text), "Former ids, which stored sessions may still hold."),
        (
            "type",
            Named(&[
                ("question", "The node listens."),
                ("prompt", "The node listens."),
                ("tool", "Asserts that there is a `do`."),
                ("text", "Asserts that there is no `do`."),
                ("format", "Asserts that there is no `do`."),
                ("start", "Asserts that there is no `do`."),
            ]),
            "Never needed: `question` and `prompt` make the node listen, the others assert what is there.",
        ),
        ("max_visits", Count, "How many entries of this node a session may make."),
        ("on_max_visits", Text, "Where the entry after the last one goes. Without it the session fails."),
        ("default_context", Mapping, "Values for keys that are absent on entering."),
        ("required_context", List(&Path), "Keys that must be there on entering."),
        ("context_schema", Map(&Schema), "Key → type; what is there on entering must fit."),
        ("assert", List(&Condition), "Conditions that must hold on entering."),
        (
            "content",
            Or(&[Text, List(&Form("part"))]),
            "What the node says, as Markdown with templates: a text, or parts. In a Markdown file the body takes its place.",
        ),
        (
            "input_type",
            Named(&[
                ("text", "Any text."),
                ("confirm", "Yes or no; stored as `yes` or `no`."),
                ("choice", "One of the `options`."),
                ("int", "A whole number."),
                ("float", "A decimal."),
                ("json", "Any JSON value."),
                ("secret", "A text that is not shown, not logged and not stored in `sys.ans`."),
            ]),
            "What the node listens for. Without it a listening node saves the input as it came.",
        ),
        (
            "options",
            List(&Or(&[Text, Form("option")])),
            "What can be chosen: texts, or `{value?, text, save_to?, set?, append?, to?, jump_to?}`. Implies `input_type: choice`.",
        ),
        ("input_default", Any, "The value of an empty input. It must itself be valid."),
        ("input_schema", Schema, "A JSON Schema that the input must meet."),
        ("on_invalid", Form("on_invalid"), "What to say to an invalid input, how often to ask, where to go then."),
        ("wait", Or(&[Boolean, Duration]), "`true`: any input continues. A duration such as `30s`: sleep, then continue."),
        ("metadata", Mapping, "A mapping of your own, with templates. It travels with the request, for the program that shows it."),
        (
            "messages",
            Map(&Or(&[Text, List(&Form("part")), Form("message")])),
            "The words in other languages: locale → a text, parts, or `{content, options}`.",
        ),
        (
            "tools",
            List(&Or(&[Text, Form("tool")])),
            "What may be called here: definitions, names of bound tools, and libraries such as `lib/shop.yaml`.",
        ),
        ("do", Or(&[Text, Form("call")]), "The call that the node makes: the name of a tool, or a mapping."),
        ("undo", Or(&[Text, Form("call")]), "The call that takes it back when the session rolls back."),
        ("retry", Form("retry"), "The retry policy of the call."),
        ("save_to", Path, "The key, or dotted path, for the accepted input or the result."),
        ("set", Mapping, "Key → literal or template, written after `save_to` and before the transitions."),
        ("append", Mapping, "Key → what is added to a list. A list adds its items; an absent key starts a list."),
        ("on_error", Text, "Where a failed call goes."),
        ("on_denied", Text, "Where a denied call goes, or a `confirm` that was answered with no."),
        ("timeout", Duration, "How long to listen, or how long the call may take: `200ms`, `30s`, `1h30m`."),
        ("on_timeout", Text, "Where the session goes when the time is up. Short for an entry of `on_signal`."),
        ("on_interrupt", Text, "Where Ctrl-C goes. Short for an entry of `on_signal`."),
        ("on_signal", Map(&Text), "Signal → target. Signals are taken while the session waits."),
        ("transitions", List(&Form("transition")), "Conditional transitions, tried in order, after the options and before `to`."),
        ("to", Text, TARGET),
        ("jump_to", Text, "As `to`, but looked for at the root first."),
        (
            "end",
            Named(&[("finished", "Ending here is success."), ("failed", "Ending here is failure.")]),
            "Whether ending here is success.",
        ),
        ("reason", Text, "Beside `end: failed`: why, with templates. It becomes the message of the end."),
        ("output", Any, "The typed value of ending here, with templates."),
        (
            "on_signal_default",
            Or(&[Text, Map(&Text)]),
            "In the entry node: signal → target on nodes that do not handle it, or one target for any signal.",
        ),
        ("before_each", Or(&[Text, Form("call")]), "In the entry node: a call that runs before every node."),
        ("on_rolled_back", Text, "In the entry node: where a session continues when everything was undone."),
    ],
};

/// An entry of `options`.
pub(super) static OPTION: KeyFormTable = KeyFormTable {
    form: &decode::OPTION,
    name: "option",
    about: "One thing that can be chosen.",
    needs: &["text"],
    keys: &[
        ("value", KeyShape::Or(&[Text, Boolean]), "The identity: what is sent, saved and compared. The text, where it is absent."),
        ("text", Text, "What is shown, with templates where there is a `value`. Without one the text is the value too, and literal."),
        ("save_to", Path, "Where the value is saved when it is chosen, in place of the node's `save_to`."),
        ("set", Mapping, "Key → literal or template, written when it is chosen, after what the node sets and appends."),
        ("append", Mapping, "Key → what is added to a list when it is chosen, likewise."),
        ("to", Text, TARGET),
        ("jump_to", Text, "As `to`, but looked for at the root first."),
    ],
};

/// `on_invalid`.
pub(super) static ON_INVALID: KeyFormTable = KeyFormTable {
    form: &decode::ON_INVALID,
    name: "on_invalid",
    about: "What happens after an invalid input.",
    needs: &[],
    keys: &[
        ("text", Text, "What to say, with templates; `input` is what was given."),
        ("messages", Map(&Text), "What to say in other languages: locale → text."),
        ("max", Count, "How many invalid inputs are taken; the last of them leads to `to`."),
        ("to", Text, TARGET),
        ("jump_to", Text, "As `to`, but looked for at the root first."),
    ],
};

/// A locale of `messages`.
pub(super) static MESSAGE: KeyFormTable = KeyFormTable {
    form: &decode::MESSAGE,
    name: "message",
    about: "The words of one language.",
    needs: &[],
    keys: &[
        ("content", Or(&[Text, List(&Form("part"))]), "What the node says in this language."),
        ("options", Map(&Text), "Option value → its text in this language."),
    ],
};

/// A part of the content of a node.
pub(super) static SPEECH: KeyFormTable = KeyFormTable {
    form: &decode::SPEECH,
    name: "part",
    about: "A part of what is said, if its condition holds.",
    needs: &["text"],
    keys: &[
        ("text", Text, "What is said, with templates."),
        ("condition", Condition, "When it is said; no predicate of a host. Without one: always."),
    ],
};

/// An entry of `transitions`.
pub(super) static TRANSITION: KeyFormTable = KeyFormTable {
    form: &decode::TRANSITION,
    name: "transition",
    about: "One transition, taken when its condition holds.",
    needs: &["to", "jump_to"],
    keys: &[
        ("condition", Condition, "When it is taken. Without one: always."),
        ("to", Text, TARGET),
        ("jump_to", Text, "As `to`, but looked for at the root first."),
        ("text", Text, "A note for readers of the graph."),
    ],
};
