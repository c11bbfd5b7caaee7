//! The graph that is walked while its process is killed: calls with undos and retries, approvals, questions, sleeps, rollbacks, children side by
//! side of which some fail after they did something, and values that are appended once.

use std::{fs, io, path::Path, sync::Arc};

use trellis_core::{Dialect, Document, Engine, Program, Source, compile};
use trellis_host::{Bindings, assembly::deferred_predicates};

/// Its name, as stores have it.
pub const NAME: &str = "crash";

/// The file, in the folder of a round, in which `values.append` stores.
pub const VALUES: &str = "values.db";

const FILES: [(&str, &str); 13] = [
    (
        "trellis.yaml",
        "\
name: crash
inputs:
  type: object
  required: [who, n]
  properties: { who: { type: string }, n: { type: integer } }
on_rolled_back: undone
bindings:
  take: { process: [sh, ./tool.sh, take], returns: { type: integer }, retry: { max: 5, base: 2ms, factor: 1, cap: 2ms } }
  give: { process: [sh, ./tool.sh, give], returns: { type: integer }, retry: { max: 9, base: 2ms, factor: 1, cap: 2ms } }
  pay: { process: [sh, ./tool.sh, pay], returns: { type: integer }, retry: { max: 5, base: 2ms, factor: 1, cap: 2ms } }
  note:
    builtin: values.append
    space: crash
    store: ./values.db
    args: { key: \"{{ who }}\", item: \"{{ call.key }}\", keep: 1000 }
    parameters: { type: object, required: [who], properties: { who: { type: string } } }
    retry: { max: 9, base: 2ms, factor: 1, cap: 2ms }
",
    ),
    ("start.md", "---\ndefault_context: { taken: 0 }\nto: take\n---\n{{ who }} begins.\n"),
    (
        "take.md",
        "\
---
do: { name: take, args: { who: \"{{ who }}\", n: \"{{ n }}\" } }
undo: { name: give, args: { who: \"{{ who }}\", n: \"{{ taken }}\" } }
save_to: taken
on_error: nap
to: nap
---
Taking {{ n }}.
",
    ),
    ("nap.md", "---\nwait: 5ms\nto: share\n---\n"),
    (
        "share.md",
        "\
---
do:
  parallel:
    left: { graph: branch, args: { who: \"{{ who }}/left\", n: \"{{ n }}\" } }
    right: { graph: branch, args: { who: \"{{ who }}/right\", n: \"{{ n }}\" } }
  on_error: collect
to: note
---
",
    ),
    ("note.md", "---\ndo: { name: note, args: { who: \"{{ who }}\" } }\non_error: ask\nto: ask\n---\n"),
    (
        "branch.md",
        "\
---
required_context: [who]
context_schema: { n: { type: integer } }
do: { name: take, args: { who: \"{{ who }}\", n: \"{{ n }}\" } }
undo: { name: give, args: { who: \"{{ who }}\", n: \"{{ taken }}\" } }
save_to: taken
to: rest
---
",
    ),
    ("rest.md", "---\nwait: 2ms\ntransitions: [{ condition: n == 3, to: fail }, { to: shared }]\n---\n"),
    ("shared.md", "---\noutput: \"{{ taken }}\"\n---\n"),
    (
        "ask.md",
        "\
---
options: [pay, unwind, stop]
transitions:
  - { condition: input == \"pay\", to: pay }
  - { condition: input == \"unwind\", to: rollback }
  - { to: end }
---
{{ who }} has {{ taken }}.
",
    ),
    (
        "pay.md",
        "\
---
do: { name: pay, args: { who: \"{{ who }}\", n: \"{{ n }}\" }, approve: true }
save_to: n
on_error: ask
on_denied: ask
to: take
---
Paying.
",
    ),
    ("undone.md", "Everything of {{ who }} was given back.\n"),
    ("end.md", "---\noutput: \"{{ n }}\"\n---\nThe end.\n"),
];

/// Writes down what it is called for, then answers, now and then with a failure.
const TOOL: &str = "\
printf '%s %s %s\\n' \"$1\" \"$TRELLIS_IDEMPOTENCY_KEY\" \"$TRELLIS_ARGS\" >> called
[ $(($$ % 7)) = 0 ] && { echo busy >&2; exit 1; }
n=${TRELLIS_ARGS#*\\\"n\\\":}
echo $((${n%%[!0-9]*} + 1))
";

/// The graph, compiled.
pub fn program() -> Arc<Program> {
    let parse = |&(path, text): &(&str, &str)| Arc::new(Document::parse(&Source::text(path, text), Dialect::default()));
    let compiled = compile(&FILES.iter().map(parse).collect::<Vec<_>>());
    compiled.program.unwrap_or_else(|| panic!("the graph is sound: {:#?}", compiled.diagnostics))
}

/// Its engine.
///
/// # Panics
/// Never: the graph asks no predicates.
pub fn engine() -> Engine {
    let program = program();
    Engine::new(Arc::clone(&program), deferred_predicates(&program)).expect("no predicates")
}

/// Returns the bindings of its calls in `folder`, where the tool writes its record.
///
/// # Errors
/// The tool cannot be written.
pub fn bindings(folder: &Path) -> io::Result<Bindings> {
    fs::write(folder.join("tool.sh"), TOOL)?;
    let (bindings, found) = Bindings::new(&program(), folder, &trellis_host::binding::Host::new());
    assert!(found.is_empty(), "{found:?}");
    Ok(bindings)
}
