//! Random sessions of random graphs: whatever is handed in, it steps or is refused with what would be accepted; the replay is identical.

use std::sync::Arc;

use trellis_core::{
    Next, Program, Source,
    context_types::ContextTypes,
    engine::{Request, RequestType},
    state::{EndReason, Ended},
    syntax::{document::Bytes, node::InputType},
};
use trellis_tests::harness::{Loaded, run::guarded, transcript::Walk, witness};

use super::{coverage::Coverage, phrases, random, rng::Rng, share::Share};

const GRAPHS: u64 = 2000;
const WALKS: usize = 3;
const STEPS: usize = 40;

#[test]
fn an_accepted_graph_takes_any_input_or_says_what_it_would_take() {
    let mut coverage = Coverage::default();
    let (mut accepted, mut proved, mut landed, mut witnesses, mut smooth) = (0, 0, 0, 0, 0_u64);
    let share = Share::of_today();
    for seed in share.of(GRAPHS) {
        let mut rng = Rng::new(seed);
        let files = random::graph(&mut rng);
        let loaded = guarded(|| Loaded::new(&files)).unwrap_or_else(|panic| panic!("seed {seed}: {panic}\n{}", shown(&files)));
        let found = loaded.diagnostics();
        for diagnostic in &loaded.compiled.diagnostics {
            coverage.hit("code", diagnostic.code.as_str());
        }
        let (walked, flaws) = witness::flaws(&loaded.compiled, &loaded.texts);
        assert!(flaws.is_empty(), "seed {seed}: {}\n{}", flaws.join("\n"), shown(&files));
        witnesses += walked;
        let Some(program) = &loaded.compiled.program else {
            assert!(!found.is_empty(), "seed {seed}: no program and no reason\n{}", shown(&files));
            continue;
        };
        accepted += 1;
        let types = ContextTypes::of(program);
        for _ in 0..WALKS {
            let mut lines = Vec::new();
            let played = guarded(|| walk(program, &mut rng, &mut lines));
            let transcript = || format!("seed {seed}:\n{}\n{}", shown(&files), lines.join("\n"));
            let played = played.unwrap_or_else(|panic| panic!("{panic}\n{}", transcript()));
            assert!(played.problems.is_empty(), "{}\n{}\n{}", played.problems.join("\n"), played.text, shown(&files));
            // An undeclared value from a host is not part of the proof.
            let is_honest = !lines.iter().any(|line| line.starts_with("$ context"));
            let is_proved = loaded.compiled.unchecked.is_empty() && found.is_empty() && is_honest;
            let ended = played.records.last().and_then(|last| last.after.ended.as_ref()).filter(|ended| is_proved && fails_on_data(ended));
            assert!(ended.is_none(), "{ended:?}\n{}", transcript());
            if is_honest {
                for record in &played.records {
                    types.admit(&record.after).unwrap_or_else(|problem| panic!("{problem}\n{}", transcript()));
                    landed += 1;
                }
            }
            proved += u64::from(is_proved);
            // Whoever came through without trouble never lacked what every way without trouble reads (language 8.7).
            let trouble = ["<!", "<~", "<x", "^"];
            let is_smooth =
                !lines.iter().any(|line| trouble.iter().any(|mark| line.starts_with(mark))) && !shown(&files).contains("on_invalid");
            let has_finished = played
                .records
                .last()
                .is_some_and(|last| last.after.ended.as_ref().is_some_and(|ended| ended.reason == EndReason::Finished));
            for record in played.records.iter().filter(|_| is_smooth && has_finished) {
                assert_eq!(program.admits(&record.after), Ok(()), "{}", transcript());
                smooth += 1;
            }
            coverage.walk(program, &played.records);
        }
    }
    println!("{accepted} graphs were accepted; {proved} walks of graphs without unchecked reads");
    println!("{landed} states stand where the analysis thought them possible");
    assert!(landed > share.least(5_000), "only {landed} states were compared with what the analysis knows");
    assert!(witnesses > share.least(500), "only {witnesses} witnesses were walked");
    assert!(smooth > share.least(100), "only {smooth} states were held to their needs");
    assert!(proved > share.least(100), "only {proved} walks show that what is read was set");
    coverage.assert_walks(share.least(100));
    assert!(accepted > share.least(1_000), "only {accepted} random graphs compile: the generator has drifted");
}

/// Returns whether a session ended because of its context: the compiler proves that this cannot happen (language 8.2).
pub(super) fn fails_on_data(ended: &Ended) -> bool {
    let codes = ["template", "condition", "missing-context", "context-schema", "failed-assert", "write", "no-match"];
    ended.code.as_deref().is_some_and(|code| codes.contains(&code))
}

/// One random session; `lines` holds what was handed in even when it panics.
fn walk(program: &Arc<Program>, rng: &mut Rng, lines: &mut Vec<String>) -> trellis_tests::harness::transcript::Played {
    let mut walk = Walk::new(Arc::clone(program));
    let mut say = |walk: &mut Walk, line: String| {
        lines.push(line.clone());
        walk.take(&line);
    };
    if rng.chance(50) {
        let context = format!("$ context {{\"k2\":{},\"k3\":{}}}", json(rng), json(rng));
        say(&mut walk, context);
    }
    say(&mut walk, format!("@ p0 = {}", rng.chance(50)));
    walk.begin();
    let mut looped = 0;
    for _ in 0..STEPS {
        let line = match walk.next() {
            Some(Next::Ask(request)) => answer(&request, walk.calls(), rng),
            Some(Next::Call(_) | Next::Parts { .. }) => result(walk.calls(), rng),
            Some(Next::Pass) if looped > 1 => break,
            Some(Next::Pass) => {
                looped += 1;
                ".".into()
            }
            Some(Next::End(_)) if rng.chance(50) => stray(walk.calls(), rng),
            Some(Next::End(_)) | None => break,
        };
        if rng.chance(10) {
            say(&mut walk, format!("@ p0 = {}", rng.chance(50)));
        }
        say(&mut walk, line);
    }
    walk.finish()
}

fn answer(request: &Request, calls: usize, rng: &mut Rng) -> String {
    if rng.chance(20) {
        return stray(calls, rng);
    }
    if !request.options.is_empty() && rng.chance(85) {
        let value = &rng.pick(&request.options).value;
        return if rng.chance(50) { format!(">= {}", value.to_json()) } else { format!("> {value}") };
    }
    match request.input_type {
        RequestType::None(_) => ".".into(),
        _ if rng.chance(15) => format!("> {}", text(rng)),
        RequestType::Declared(InputType::Confirm) => format!("> {}", rng.pick(&["yes", "no", "Y", "0", "maybe"])),
        RequestType::Declared(InputType::Int) => format!("> {}", rng.pick(&["1", "7", "-3", "12", "x"])),
        RequestType::Declared(InputType::Float) => format!("> {}", rng.pick(&["1.5", "7", "1e3", "x"])),
        RequestType::Declared(InputType::Json) => format!("> {}", json(rng)),
        RequestType::Declared(InputType::Text | InputType::Choice | InputType::Secret) => format!("> {}", text(rng)),
        RequestType::Any(_) => format!(">= {}", json(rng)),
    }
}

fn result(calls: usize, rng: &mut Rng) -> String {
    match rng.below(20) {
        0..=4 => format!("< {}", rng.pick(&phrases::RESULTS)),
        5..=9 => format!("< {}", json(rng)),
        10..=12 => "<! {\"message\":\"broken\",\"code\":7}".into(),
        13..=14 => "<~".into(),
        15..=16 => "<x no".into(),
        _ => stray(calls, rng),
    }
}

/// Something that is probably not awaited: a signal, a late or foreign result, an input of another kind.
fn stray(calls: usize, rng: &mut Rng) -> String {
    match rng.below(8) {
        0 => "^ interrupt".into(),
        1 => "^ timeout".into(),
        2 => "^ s0".into(),
        3 => "^ other".into(),
        4 => format!("<{} {}", rng.below(calls + 1), json(rng)),
        5 => format!("<{}! late", rng.below(calls + 1)),
        6 => ".".into(),
        _ => format!("> {}", text(rng)),
    }
}

fn text(rng: &mut Rng) -> &'static str {
    rng.pick::<&'static str>(&["", "yes", "o1", "7", "Option 0", "{{ k0 }}", "two words", "é\u{301}\u{200b}", "\u{7}", "null", "[1", "-0"])
}

fn json(rng: &mut Rng) -> &'static str {
    rng.pick::<&'static str>(&[
        "1",
        "true",
        "\"yes\"",
        "null",
        "{\"ok\":true}",
        "{}",
        "[]",
        "[{\"name\":\"t0\"}]",
        "18446744073709551615",
        "1.5",
        "{\"deep\":{\"er\":[1]}}",
    ])
}

/// The files of a graph, to be copied into a case.
pub(super) fn shown(files: &[Source]) -> String {
    let text = |file: &Source| match &file.bytes {
        Bytes::Read(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Bytes::TooLarge { .. } => String::new(),
    };
    files.iter().map(|file| format!("```yaml {}\n{}\n```\n", file.path, text(file))).collect()
}
