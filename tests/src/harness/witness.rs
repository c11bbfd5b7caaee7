//! Witnesses walked again: a finding that shows a way must be met on that way, by the engine and nothing else.
//!
//! In: what compiling came to. Out: what does not happen as a finding says it does.
//!
//! **Invariant:** nothing of the compiler's own walk is used, and between two moments the state goes through JSON.

use trellis_core::{
    Code, Compiled, Diagnostic, Engine, State,
    engine::StartError,
    path::{KeyPath, walk},
    schema::Schema,
    state::{CallKind, EndReason, PendingCall},
    value::Value,
    witness::{Violation, Witness},
};

use super::diagnostics::Texts;

/// Findings that are about a way.
const WITNESSED: [Code; 3] = [Code::MaybeUndefined, Code::UnsetRequiredContext, Code::FailedAssert];

/// Returns the number of findings with a witness, and the witnesses that do not happen as their findings say.
pub fn flaws(compiled: &Compiled, texts: &Texts) -> (usize, Vec<String>) {
    let mut flaws = Vec::new();
    let mut witnesses = 0;
    for found in &compiled.diagnostics {
        let Some(witness) = &found.witness else {
            // The reads of a binding's template are known without a session (language 9.2).
            let is_of_project = found.place.as_ref().is_some_and(|place| place.path.rsplit('/').next() == Some("trellis.yaml"));
            if WITNESSED.contains(&found.code) && !is_of_project && !is_behind(found, &compiled.diagnostics) {
                flaws.push(format!("[{}] {}: no session is known that meets it", found.code, found.message));
            }
            continue;
        };
        witnesses += 1;
        let flaw = match &compiled.draft {
            Some(draft) => told_again(witness).and_then(|witness| meets(&draft.engine(), &witness, found, texts)),
            None => Err("there is nothing to walk".to_owned()),
        };
        if let Err(flaw) = flaw {
            flaws.push(format!("[{}] {}: {flaw}\n  {}", found.code, found.message, json(&**witness)));
        }
    }
    (witnesses, flaws)
}

/// Returns whether a finding stands in one text with another one that is met first.
fn is_behind(found: &Diagnostic, all: &[Diagnostic]) -> bool {
    let path = |found: &Diagnostic| found.place.as_ref().map(|place| place.path.clone());
    all.iter().any(|other| other.witness.is_some() && path(other) == path(found))
}

/// The same witness, as it is after it was written down.
fn told_again(witness: &Witness) -> Result<Witness, String> {
    let again: Witness = serde_json::from_str(&json(witness)).map_err(|error| format!("cannot be read back: {error}"))?;
    if json(&again) == json(witness) { Ok(again) } else { Err(format!("is another one when it was written down: {}", json(&again))) }
}

/// Walks a witness, and holds what happens against the finding.
///
/// # Errors
/// Something else happens; the text says what.
pub fn meets(engine: &Engine, witness: &Witness, found: &Diagnostic, texts: &Texts) -> Result<(), String> {
    let state = match engine.answering(witness.begun.clone()).start(witness.start.clone()) {
        Ok(step) => walked(engine, witness, step.state)?,
        Err(StartError::Inputs { problems }) => {
            let Violation::Refused { missing } = &witness.violation else {
                return Err(format!("it does not begin: {}", problems.join(", ")));
            };
            names(found, missing)?;
            let is_it = problems.contains(&format!("`{missing}` is missing"));
            return if is_it { Ok(()) } else { Err(format!("it does not begin for another reason: {}", problems.join(", "))) };
        }
        Err(error) => return Err(format!("it does not begin: {error}")),
    };
    match &witness.violation {
        Violation::Refused { missing } => Err(format!("it begins, though `{missing}` is missing")),
        Violation::Call { node, callee, takes } => {
            let file = file_of(engine, node)?;
            is_about(found, &file, &[""], texts)?;
            let schema = Schema::new(takes).map_err(|error| format!("`{callee}` takes what is no schema: {error}"))?;
            let unfit = |call: &&PendingCall| call.node == *node && call.name == *callee && !schema.fits(&Value::Map(call.args.clone()));
            match calls(&state).iter().any(unfit) && found.code == Code::BadToolArgs {
                true => Ok(()),
                false => Err(format!("`{node}` does not call `{callee}` with arguments that do not fit")),
            }
        }
        Violation::Failed { node, code, about, missing } => {
            let ended = state.ended.as_ref().ok_or_else(|| format!("it goes on at `{}`", state.current_node_id))?;
            let is_it = ended.reason == EndReason::Failed && ended.node == *node && ended.code.as_deref() == Some(code);
            if !is_it {
                return Err(format!("it ends otherwise: {}", json(&**ended)));
            }
            fits(found.code, code, *missing)?;
            let (file, said) = (file_of(engine, node)?, ended.message.as_deref().unwrap_or_default());
            let said = said.strip_prefix(&format!("`{node}`")).unwrap_or(said);
            let Some(about) = about else { return is_about(found, &file, &[""], texts) };
            names(found, about)?;
            let last = about.rsplit('.').next().unwrap_or(about);
            is_about(found, &file, &quoted(said).chain([last]).collect::<Vec<_>>(), texts)?;
            if *missing && is_set(&state, about) {
                return Err(format!("`{about}` is set there"));
            }
            // Some failures are told without naming anything: of what kind a value is that cannot be used so.
            let is_it = match &**code {
                "template" if found.code == Code::TypeMismatch => !said.ends_with("is not set"),
                "template"
                    if !missing
                        && ["a part of the value is not set", "cannot add nothing to a sum"].iter().any(|it| said.ends_with(it)) =>
                {
                    true
                }
                "failed-assert" => quoted(said).any(|named| found.message.contains(named)),
                "write" => true,
                // Of a value that does not fit the part is named.
                _ => quoted(said).any(|named| {
                    let is_part = named.strip_prefix(&**about).is_some_and(|part| part.is_empty() || part.starts_with('.'));
                    is_part || is_about(found, &file, &[named], texts).is_ok()
                }),
            };
            if is_it { Ok(()) } else { Err(format!("it fails for another reason{said}")) }
        }
    }
}

/// Hands in the moments of a witness.
fn walked(engine: &Engine, witness: &Witness, begun: State) -> Result<State, String> {
    let mut state = begun;
    for (at, moment) in witness.moments.iter().enumerate() {
        state = serde_json::from_str(&json(&state)).map_err(|error| format!("its state cannot be read back: {error}"))?;
        let step = engine.answering(moment.answers.clone()).navigate(&state, moment.input.clone());
        state = step.map_err(|error| format!("moment {at} is refused at `{}`: {error}", state.current_node_id))?.state;
        if moment.to.as_ref().is_some_and(|to| *to != state.current_node_id) {
            return Err(format!("moment {at} leads to `{}`", state.current_node_id));
        }
    }
    Ok(state)
}

/// Checks that a session that ends with this code is what findings of that code are about.
fn fits(found: Code, ended: &str, missing: bool) -> Result<(), String> {
    let is_it = match found {
        Code::UndefinedVariable | Code::MaybeUndefined | Code::BadToolArgs => matches!(ended, "template" | "condition"),
        Code::UnsetRequiredContext => ended == "missing-context" && missing,
        Code::FailedAssert => ended == "failed-assert" || ended == "condition",
        Code::NonExhaustive => ended == "no-match",
        Code::TypeMismatch => matches!(ended, "template" | "condition" | "context-schema" | "write") && !missing,
        _ => false,
    };
    if is_it { Ok(()) } else { Err(format!("`{ended}` is not what `{found}` is about")) }
}

/// Checks that a finding mentions a path.
fn names(found: &Diagnostic, path: &str) -> Result<(), String> {
    let said = found.labels.iter().map(|label| &label.message).chain([&found.message]);
    let is_named = said.into_iter().any(|said| said.contains(path));
    if is_named { Ok(()) } else { Err(format!("it says nothing of `{path}`")) }
}

/// Checks that a finding points into a file, at a place that names one of these.
fn is_about(found: &Diagnostic, file: &str, names: &[&str], texts: &Texts) -> Result<(), String> {
    let places = found.place.iter().chain(found.labels.iter().filter(|label| !label.is_step).map(|label| &label.place));
    let is_it = places.into_iter().any(|place| {
        let text = texts.get(&place.path).and_then(|text| text.get(place.span.range())).unwrap_or_default();
        // Actions of a graph at every node stand in its own file.
        let is_there = *place.path == *file || place.path.ends_with("trellis.yaml") || place.path.ends_with("start.md");
        is_there && names.iter().any(|name| text.contains(name))
    });
    if is_it { Ok(()) } else { Err(format!("it points at nothing in `{file}` that names `{}`", names.join("`, `"))) }
}

/// Returns the texts that the engine puts between backticks.
fn quoted(said: &str) -> impl Iterator<Item = &str> {
    said.split('`').skip(1).step_by(2)
}

fn file_of(engine: &Engine, node: &trellis_core::NodeId) -> Result<String, String> {
    let program = engine.inspect();
    let index = program.find(node).ok_or_else(|| format!("there is no `{node}`"))?;
    Ok(program.path_of(program.node(index)).to_string())
}

/// Returns whether something stands at a path of the context, or of `sys`; a node's own resolved values are gone by then.
fn is_set(state: &State, path: &str) -> bool {
    let Some(path) = KeyPath::parse(path) else { return false };
    let segments = path.segments();
    let context = Value::Map(state.context.to_mapping());
    let system = serde_json::to_string(&state.system_context).ok().and_then(|text| Value::from_json(&text).ok());
    let is_of = |value: &Value, segments| walk(value, segments).is_some();
    is_of(&context, segments) || (&**path.root() == "sys" && system.is_some_and(|system| is_of(&system, &segments[1..])))
}

/// Every call that is pending or kept to undo something.
fn calls(state: &State) -> Vec<&PendingCall> {
    let undone = state.effects.undoable().filter_map(|effect| effect.undo.as_deref());
    let mut open: Vec<&PendingCall> = state.pending_tool_call.as_deref().into_iter().chain(undone).collect();
    let mut calls = Vec::new();
    while let Some(call) = open.pop() {
        calls.push(call);
        if let CallKind::Parallel { branches, .. } = &call.kind {
            open.extend(branches.iter().map(|(_, branch)| branch));
        }
    }
    calls
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("it is JSON")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use trellis_core::{Input, Source};

    use super::{super::Loaded, *};

    /// On one way `name` is missing; on the other it is set.
    const FILES: [(&str, &str); 3] = [
        ("start.md", "---\noptions:\n  - {text: Ask, to: ask}\n  - {text: Skip, to: end}\n---\nWell?\n"),
        ("ask.md", "---\ninput_type: text\nsave_to: name\nto: end\n---\nName?\n"),
        ("end.md", "Dear {{ name }}.\n"),
    ];

    fn loaded() -> Loaded {
        let files: Vec<Source> = FILES.iter().map(|(path, text)| Source::new(*path, text.as_bytes())).collect();
        Loaded::new(&files)
    }

    /// Returns the flaws of a witness that somebody forged.
    fn forged(forge: impl Fn(&mut Diagnostic, &mut Witness)) -> Vec<String> {
        let mut loaded = loaded();
        let found = &mut loaded.compiled.diagnostics[0];
        let mut witness = found.witness.as_deref().cloned().expect("it has one");
        forge(found, &mut witness);
        found.witness = Some(Arc::new(witness));
        flaws(&loaded.compiled, &loaded.texts).1
    }

    #[test]
    fn a_witness_is_walked_and_a_forged_one_is_found_out() {
        let loaded = loaded();
        assert_eq!(flaws(&loaded.compiled, &loaded.texts), (1, Vec::new()), "the true one holds");
        let said = |forged: Vec<String>, flaw: &str| {
            let [found] = &forged[..] else { panic!("{flaw}: {forged:?}") };
            assert!(found.contains(flaw), "{flaw}: {found}");
        };
        let answer = |text: &str| Input::Value(Value::text(text));
        // Another way, on which nothing is missing.
        said(forged(|_, witness| witness.moments[0].input = answer("Ask")), "moment 0 leads to `ask`");
        said(forged(|_, witness| (witness.moments[0].input, witness.moments[0].to) = (answer("Ask"), None)), "it goes on at `ask`");
        said(forged(|_, witness| witness.moments.clear()), "it goes on at `start`");
        said(forged(|_, witness| witness.moments[0].input = answer("Stay")), "moment 0 is refused");
        said(forged(|_, witness| witness.moments.push(witness.moments[0].clone())), "moment 1 is refused");
        // The same way, for another reason.
        let accident = |node: &str, code: &str, about: &str| Violation::Failed {
            node: node.into(),
            code: code.into(),
            about: Some(about.into()),
            missing: true,
        };
        said(forged(|_, witness| witness.violation = accident("ask", "template", "name")), "it ends otherwise");
        said(forged(|_, witness| witness.violation = accident("end", "condition", "name")), "it ends otherwise");
        said(forged(|_, witness| witness.violation = accident("end", "template", "age")), "it says nothing of `age`");
        said(forged(|found, _| found.code = Code::FailedAssert), "`template` is not what `failed-assert` is about");
        said(forged(|_, witness| drop(witness.start.context.insert("name".into(), "Ana".into()))), "it ends otherwise");
        // The same accident, at another place.
        let elsewhere = |found: &mut Diagnostic| {
            let step = found.labels.iter().find(|label| label.is_step).map(|label| label.place.clone());
            (found.place, found.labels) = (step, Vec::new());
        };
        said(forged(|found, _| elsewhere(found)), "it points at nothing in `end.md` that names `name`");
    }
}
