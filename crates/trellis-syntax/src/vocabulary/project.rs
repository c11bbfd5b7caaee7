//! The keys of project files and libraries (language 1), for people.

use super::{
    super::decode,
    KeyFormTable,
    KeyShape::{self, Any, Builtin, Count, Duration, Form, Levels, List, Map, MapOf, Named, Or, Path, Schema, Text},
    calls::EFFECT,
    hosts,
};
use trellis_base::diagnostic::Code;

/// `trellis.yaml`, and a graph in one file.
pub(super) static PROJECT: KeyFormTable = KeyFormTable {
    form: &decode::PROJECT,
    name: "project",
    about: "What holds for the whole graph.",
    needs: &[],
    keys: &[
        ("name", Text, "The graph's name, for people."),
        (
            "templates",
            Named(&[
                ("jinja", "`{{ user.name | upper }}`, with conditions, loops and filters."),
                ("go", "The templates of Go Trellis: `{{ .user.name }}`."),
                ("legacy", "`{{ key }}` is replaced, and nothing else."),
            ]),
            "The dialect of all templates. Without it: `jinja`.",
        ),
        ("locale", Path, "The context key that holds the session's locale, for `messages`."),
        ("inputs", Schema, "A JSON Schema of the initial context; a session does not start without it."),
        ("context", Map(&Schema), "Key → type, for the whole graph."),
        ("redact", List(&Path), "Context paths that must not be shown or stored in the clear."),
        ("on_error", Text, "Where a session continues after a failed call, on nodes without their own `on_error`."),
        ("retry", Form("retry"), "The retry policy of calls without their own."),
        ("on_signal_default", Or(&[Text, Map(&Text)]), "Signal → target on nodes that do not handle it, or one target for any signal."),
        ("before_each", Or(&[Text, Form("call")]), "A call that runs before every node."),
        ("on_rolled_back", Text, "Where a session continues when everything was undone."),
        (
            "predicates",
            Or(&[List(&Text), Map(&Or(&[Form("predicate"), KeyShape::Null]))]),
            "Conditions that have a name, and who answers them.",
        ),
        ("limits", Form("limits"), "Bounds; each has a default."),
        (
            "severity",
            MapOf(
                codes,
                &Named(&[
                    ("error", "There is no program."),
                    ("warning", "The author should look."),
                    ("info", "Worth knowing."),
                    ("off", "Not reported."),
                ]),
            ),
            "Diagnostic code → how grave it is in this graph.",
        ),
        ("bindings", Map(&Or(&[Form("binding"), KeyShape::Null])), "Tool → how it is carried out."),
        ("servers", Map(&hosts::SERVER), "MCP servers by name: a `process` or a `url`. Inner graphs find those of outer ones."),
        ("models", hosts::MODELS, "Language models: `providers` by name, and `roles`, each a chain of providers."),
        ("policy", List(&hosts::PROVIDER), "Who decides about calls; the first that decides wins. Of the outermost graph only."),
        ("budget", hosts::BUDGET, "Bounds of a session: `calls`, `tokens`. Of the outermost graph only."),
        ("nodes", Map(&Form("node")), "The nodes of a graph in one file, by their ids."),
    ],
};

fn codes() -> Vec<&'static str> {
    Code::ALL.iter().map(|code| code.as_str()).collect()
}

/// A declared predicate.
pub(super) static PREDICATE: KeyFormTable = KeyFormTable {
    form: &decode::PREDICATE,
    name: "predicate",
    about: "Who answers: the host, a schema over the context, or a bound tool.",
    needs: &[],
    keys: &[
        ("needs", List(&Path), "Keys that must be set when somebody is asked; a bound tool gets these and no others."),
        ("schema", Schema, "A JSON Schema; the predicate holds when the context meets it."),
        ("binding", Text, "A bound tool that answers with a boolean. Without `needs` it gets the keys that its `parameters` name."),
    ],
};

/// `limits`.
pub(super) static LIMITS: KeyFormTable = KeyFormTable {
    form: &decode::LIMITS,
    name: "limits",
    about: "Bounds. Each error names the bound and the value met.",
    needs: &[],
    keys: &[
        ("input", Count, "Bytes of one input. Without it: `4096`."),
        ("depth", Levels, "Levels of lists and mappings in a value that comes in, at most 64. Without it: `64`."),
        ("value", Count, "Bytes of one value as JSON. Without it: `16777216`."),
        ("context", Count, "Bytes of a session's context as JSON. Without it: `16777216`."),
        ("template_output", Count, "Bytes of one rendered template. Without it: `1048576`."),
        ("template_fuel", Count, "Instructions of one rendered template. Without it: `1000000`."),
        ("pass_through", Count, "Steps in a row through nodes that do not stop. Without it: `10000`."),
        ("tool_output", Count, "Bytes of one tool's output. Without it: `1048576`."),
        ("tool_stderr", Count, "Bytes that one tool writes on standard error. Without it: `16777216`."),
        ("effects", Count, "Calls with `undo` remembered at once. Without it: `10000`."),
        (
            "abreast",
            Levels,
            "Parts of a `parallel` or `each` that run at once, where the call sets no `limit`: from 1 to 64. Without it: `16`.",
        ),
        ("parts", Count, "Parts of one `parallel` or `each`. Without it: `1000`."),
        ("parts_output", Count, "Bytes of the results of all parts of one call, as compact JSON. Without it: `16777216`."),
        ("children", Count, "Child sessions alive in one tree. Without it: `1000`."),
        ("nested_children", Count, "Children in children. Without it: `64`."),
    ],
};

const PROCESS: &str = "A program and its arguments: `[./bin/weather.sh, --metric]`. There is no shell.";
const ENV: &str = "More environment for the process, name → text.";
const CWD: &str = "Its folder; the folder of this file otherwise.";
const GRACE: &str = "How long a process that must stop may take to end by itself. Without it: `5s`.";
const OUTPUT_LIMIT: &str = "Bytes of its output.";
const FUNCTION: &str = "A name that the embedding program provides.";

/// A binding.
pub(super) static BINDING: KeyFormTable = KeyFormTable {
    form: &decode::BINDING,
    name: "binding",
    about: "How a tool is carried out, and its contract.",
    needs: &[],
    keys: &[
        ("process", Any, PROCESS),
        ("function", Any, FUNCTION),
        (
            "http",
            hosts::REQUEST,
            "A request: one of `get head post put patch delete`, with `base`, `query`, `headers` and a body. Texts are templates.",
        ),
        ("mcp", hosts::MCP, "A tool of an MCP server of `servers`: `server/tool`, or `{ server: …, tool: … }`."),
        ("model", hosts::MODEL, "A language model by its role: `{ role: planner, system: ./prompts/planner.md, format: text }`."),
        ("builtin", Builtin, "A tool that needs no server, by its name."),
        ("compute", Text, "A template file that makes `result` from the arguments."),
        ("env", Any, ENV),
        ("cwd", Any, CWD),
        ("grace", Any, GRACE),
        ("output_limit", Any, OUTPUT_LIMIT),
        ("folder", Text, "The folder of `documents` and `skills`."),
        ("files", Text, "The files of `documents.search`, as a glob. Without it: `**/*.md`."),
        ("database", Text, "The SQLite file of `sql.query`."),
        ("init", Text, "An SQL file that makes the database of `sql.query` where it is missing."),
        ("sql", Text, "The one statement of `sql.query`; arguments are its named parameters."),
        ("write", KeyShape::Boolean, "Whether `sql.query` may write. Without it: `false`."),
        ("one", KeyShape::Boolean, "Whether `sql.query` returns the first row, or null. Without it: `false`."),
        ("space", Text, "The name space of `values`."),
        ("store", Text, "The file of `values`. Without it: `.trellis/values.db`."),
        ("default", Any, "The value that `values.get` returns for an absent key."),
        ("workspace", Text, "The folder that skills work in."),
        ("allow", List(&Text), "Globs of the skills that may be carried out."),
        ("block", List(&Text), "Globs of the skills that may not be carried out; they win over `allow`."),
        ("least", Any, "The least `score_hint` of a candidate of `skills.search`, from 0 to 1. Without it, the query must mean the skill."),
        ("chain", List(&hosts::PROVIDER), "The providers of `policy.decide`, in order."),
        ("args", Any, "The arguments that are handed on, with templates over those of the call. Without it: the call's own."),
        ("rate", hosts::RATE, "How often it may be called: `{ max: 10, per: 1s }`."),
        ("abreast", Count, "How many of its calls may run at once."),
        ("max_wait", Duration, "The longest wait that a server may ask for before the next attempt. Without it: `60s`."),
        ("description", Text, "What it does, also for models that choose among tools."),
        ("effect", EFFECT, "What it does to the world. Without it: `undoable`."),
        ("timeout", Duration, "How long it may take."),
        ("retry", Form("retry"), "The retry policy of its calls."),
        ("parameters", Schema, "A JSON Schema of its arguments."),
        ("returns", Schema, "A type that every success must meet."),
    ],
};

/// A tool of `tools.yaml`.
pub(super) static GO_TOOL: KeyFormTable = KeyFormTable {
    form: &decode::GO_TOOL,
    name: "go_tool",
    about: "A bound tool in the form of Go Trellis.",
    needs: &[],
    keys: &[
        ("name", Text, "The name that calls use."),
        ("command", Any, "The program, or the program and its arguments."),
        ("args", Any, "More arguments."),
        ("process", Any, PROCESS),
        ("http", hosts::REQUEST, "A request that carries the tool out."),
        ("mcp", Any, "A tool of an MCP server."),
        ("model", Any, "A language model."),
        ("function", Any, FUNCTION),
        ("env", Any, ENV),
        ("cwd", Any, CWD),
        ("grace", Any, GRACE),
        ("output_limit", Any, OUTPUT_LIMIT),
        ("description", Text, "What it does, also for models that choose among tools."),
        ("effect", EFFECT, "What it does to the world. Without it: `undoable`."),
        ("timeout", Duration, "How long it may take."),
        ("retry", Form("retry"), "The retry policy of its calls."),
        ("parameters", Schema, "A JSON Schema of its arguments."),
        ("returns", Schema, "A type that every success must meet."),
    ],
};

/// A library.
pub(super) static LIBRARY: KeyFormTable = KeyFormTable {
    form: &decode::LIBRARY,
    name: "library",
    about: "Tools that nodes can name with the path of this file.",
    needs: &["tools"],
    keys: &[("tools", List(&Or(&[Text, Form("tool")])), "Definitions, names of bound tools, and other libraries.")],
};

/// `tools.yaml`.
pub(super) static TOOLS: KeyFormTable = KeyFormTable {
    form: &decode::GO_FILE,
    name: "tools_file",
    about: "Bound tools, read as `bindings`.",
    needs: &[],
    keys: &[("tools", Or(&[List(&Form("go_tool")), Map(&Form("go_tool"))]), "A list of tools, or a mapping by name.")],
};
