//! Runs in plain text.

use std::time::Duration;

use tokio::{
    io::{AsyncWriteExt, BufReader},
    sync::mpsc,
};
use trellis_core::{Start, Value};
use trellis_host::{Policy, Reason, Unbound};

use crate::stage::{Stage, run, run_timeless};

fn survey() -> Stage {
    Stage::new(&[
        ("start.md", "---\ninput_type: text\nsave_to: name\nto: drink\n---\nWho are you?\n"),
        (
            "drink.md",
            "---\noptions: [{text: Tea, to: sure}, {text: Coffee, value: c, to: sure}]\nsave_to: drink\n---\nTea or coffee, {{ name }}?\n",
        ),
        ("sure.md", "---\ninput_type: confirm\ninput_default: \"yes\"\non_denied: drink\nto: end\n---\nSure?\n"),
        ("end.md", "---\noutput: \"{{ drink }}\"\n---\nOne {{ drink }}.\n"),
    ])
}

#[test]
fn a_person_is_shown_contents_and_prompts_that_say_what_is_accepted() {
    let (outcome, output) = survey().text("Ann\n2\ny\n");
    assert_eq!(outcome.reason, Reason::Finished);
    assert_eq!(outcome.output, Some(Value::text("c")));
    let expected =
        "Who are you?\n[text] > Ann\n\nTea or coffee, Ann?\n  1) Tea\n  2) Coffee\n[1-2] > 2\n\nSure?\n[y/n, default yes] > y\n\nOne c.\n";
    assert_eq!(output, expected);
}

#[test]
fn an_answer_that_cannot_be_taken_is_asked_again() {
    let (outcome, output) = survey().text(b"Ann\nquit\ncof\n\xff\nmaybe\n\n");
    assert_eq!(outcome.reason, Reason::Finished, "{output}");
    assert_eq!(output.matches("  1) Tea").count(), 2, "{output}");
    assert_eq!(output.matches("Tea or coffee").count(), 1, "{output}");
    assert_eq!(output.matches("Sure?").count(), 1, "{output}");
    assert!(output.contains("the line is not UTF-8"), "{output}");
}

#[test]
fn no_word_is_special() {
    let (_, output) = survey().text("exit\nquit\n1\ny\n");
    assert!(output.contains("Tea or coffee, exit?") && output.ends_with("One Tea.\n"), "{output}");
}

#[test]
fn the_end_of_input_ends_the_run_and_the_last_line_counts_without_a_newline() {
    let (outcome, output) = survey().text("Ann\ntea");
    assert_eq!(outcome.reason, Reason::EndOfInput);
    assert!(output.ends_with("[y/n, default yes] > \nthe input ended while `sure` was waiting\n"), "{output}");
    assert_eq!(outcome.session.unwrap().state().current_node_id.as_str(), "sure");
    let (outcome, _) = survey().text("Ann\ntea\ny");
    assert_eq!(outcome.reason, Reason::Finished);
}

#[test]
fn an_input_over_the_bound_is_refused_with_both_sizes() {
    let mut input = b"x".repeat(10 << 20);
    input.extend_from_slice(b"\nAnn\n1\ny\n");
    let (outcome, output) = survey().text(input);
    assert_eq!(outcome.reason, Reason::Finished);
    assert!(output.contains("the input is 10485760 bytes, the limit is 4096\n"), "{output}");
}

#[test]
fn a_thousand_lines_at_once_are_a_thousand_answers() {
    let stage = Stage::new(&[
        (
            "start.md",
            "---\ninput_type: int\nappend: {seen: \"{{ input }}\"}\ntransitions: [{condition: input == 999, to: end}]\nto: start\n---\n",
        ),
        ("end.md", "---\noutput: \"{{ seen }}\"\n---\n"),
    ]);
    let lines: String = (0..1000).map(|line| format!("{line}\n")).collect();
    let (outcome, _) = stage.text(lines);
    let numbers: Vec<_> = (0..1000).map(Value::Int).collect();
    assert!(outcome.output == Some(Value::from(numbers)));
}

const CHARGE: &[(&str, &str)] = &[
    (
        "start.md",
        "---\ntools: [{name: charge}]\ndo: {name: charge, args: {total: 7}, approve: {ask: \"Charge 7?\", expires: 15m}, retry: {max: 2, on: [error]}}\nsave_to: id\non_denied: no\nto: paid\n---\n",
    ),
    ("paid.md", "Paid: {{ id }}.\n"),
    ("no.md", "Not paid.\n"),
];

#[test]
fn an_approval_shows_the_exact_call_and_only_a_clear_yes_is_one() {
    let stage = || Stage::new(CHARGE).function(|bindings| bindings.function("charge", |_, args| Ok(args.get("total").cloned().unwrap())));
    let (_, output) = stage().text("maybe\ny\n");
    let ask = "Charge 7?\n  charge {\"total\":7}\n[y/N] > ";
    assert_eq!(output, format!("{ask}maybe\nanswer `y` or `n`\n{ask}y\n\nPaid: 7.\n"));
    assert!(stage().text("\n").1.ends_with("Not paid.\n"));
    let (outcome, output) = stage().policy(Policy::new().approve_all(true)).text("");
    assert_eq!((outcome.reason, output.as_str()), (Reason::Finished, "Paid: 7.\n"));
    let (outcome, _) = stage().text("");
    assert_eq!(outcome.reason, Reason::EndOfInput);
}

#[test]
fn the_attempts_of_a_call_are_approved_once_and_an_approval_expires() {
    let attempts = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let stage = Stage::new(CHARGE).function(move |bindings| {
        let attempts = attempts.clone();
        bindings.function_async("charge", move |_, _| {
            let attempt = attempts.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            async move { if attempt == 0 { Err(trellis_core::ToolError::new("busy")) } else { Ok(Value::Int(1)) } }
        })
    });
    let (_, output) = stage.text("y\n");
    assert_eq!((output.matches("[y/N]").count(), output.ends_with("Paid: 1.\n")), (1, true), "{output}");
    let (_writer, reader) = tokio::io::duplex(64);
    let mut output = Vec::new();
    let outcome = run_timeless(stage.text_runner(BufReader::new(reader), &mut output).run(Start::default())).unwrap();
    assert_eq!(outcome.reason, Reason::Finished);
    assert!(String::from_utf8(output).unwrap().ends_with("Not paid.\n"));
}

#[test]
fn a_call_without_a_binding_is_typed_in_or_fails() {
    let files =
        &[("start.md", "---\ntools: [{name: find}]\ndo: find\nsave_to: found\nto: end\n---\n"), ("end.md", "Found {{ found.id }}.\n")];
    let with = |unbound| Stage::new(files).policy(Policy::new().unbound(unbound));
    let (_, output) = with(Unbound::TypedIn).text("{\"id\": 4}\n");
    assert_eq!(output, "  find {}\n[its result, JSON or text] > {\"id\": 4}\n\nFound 4.\n");
    let (outcome, output) = with(Unbound::Fail).text("");
    assert_eq!(outcome.reason, Reason::Failed);
    assert!(output.contains("nothing here carries out `find`"), "{output}");
}

#[test]
fn a_predicate_is_asked_once_a_step_and_the_journal_keeps_the_answer() {
    let stage = Stage::new(&[
        ("trellis.yaml", "predicates: [urgent]\n"),
        ("start.md", "---\nassert: [\"not urgent\"]\ntransitions: [{condition: urgent, to: now}]\nto: later\n---\nHello.\n"),
        ("now.md", "Now.\n"),
        ("later.md", "Later.\n"),
    ]);
    let (outcome, output) = stage.text("n\nwhat\nyes\n");
    assert_eq!(
        output,
        "does `urgent` hold? [y/n] > n\n\nHello.\ndoes `urgent` hold? [y/n] > what\nanswer `y` or `n`\ndoes `urgent` hold? [y/n] > yes\n\nNow.\n"
    );
    let session = outcome.session.unwrap();
    let folded = trellis_host::journal::fold(session.journal().records()).unwrap();
    assert_eq!(&folded, session.state());
}

#[test]
fn a_counted_invalid_input_says_so_without_repeating_the_content() {
    let stage = Stage::new(&[
        ("start.md", "---\ninput_type: int\non_invalid: {text: A number please., max: 2, to: bye}\nto: bye\n---\nHow many?\n"),
        ("bye.md", "Bye.\n"),
    ]);
    let (_, output) = stage.text("a\nb\n");
    assert_eq!(output, "How many?\n[integer] > a\nA number please.\n[integer] > b\nA number please.\n\nBye.\n");
}

const LISTEN: &[(&str, &str)] = &[
    ("start.md", "---\nwait: 30s\nto: ask\n---\nA nap.\n"),
    ("ask.md", "---\ninput_type: text\ntimeout: 1m\non_timeout: slow\nto: end\n---\nQuick!\n"),
    ("slow.md", "Too slow.\n"),
    ("end.md", "---\nto: start\n---\n"),
];

#[test]
fn sleeps_are_slept_and_a_timeout_is_a_signal() {
    let stage = Stage::new(LISTEN);
    let (_writer, reader) = tokio::io::duplex(64);
    let mut output = Vec::new();
    let (outcome, took) = run_timeless(async {
        let began = tokio::time::Instant::now();
        let outcome = stage.text_runner(BufReader::new(reader), &mut output).run(Start::default()).await.unwrap();
        (outcome, began.elapsed())
    });
    assert_eq!((outcome.reason, took.as_secs()), (Reason::Finished, 90));
    assert_eq!(String::from_utf8(output).unwrap(), "A nap.\n\nQuick!\n[text] > \n\nToo slow.\n");
}

#[test]
fn an_interrupt_is_taken_by_the_node_or_ends_the_run_and_the_session_stays() {
    let stage = Stage::new(&[
        ("start.md", "---\ninput_type: text\non_interrupt: really\nto: end\n---\nHello.\n"),
        ("really.md", "---\ninput_type: confirm\nto: end\non_denied: end\n---\nLeave?\n"),
        ("end.md", "Bye.\n"),
    ]);
    let (_writer, reader) = tokio::io::duplex(64);
    let mut output = Vec::new();
    let outcome = run(async {
        let (signals, receiver) = mpsc::channel(4);
        signals.send("interrupt".into()).await.unwrap();
        signals.send("interrupt".into()).await.unwrap();
        stage.text_runner(BufReader::new(reader), &mut output).signals(receiver).run(Start::default()).await.unwrap()
    });
    assert_eq!(outcome.reason, Reason::Interrupted);
    assert_eq!(outcome.session.unwrap().state().current_node_id.as_str(), "really");
    assert!(String::from_utf8(output).unwrap().ends_with("Leave?\n[y/n] > \ninterrupted\n"));
}

#[test]
fn an_interrupt_stops_the_tool_that_runs() {
    let stage = Stage::new(&[
        ("trellis.yaml", "bindings: {slow: {process: [sh, ./slow]}}\n"),
        ("start.md", "---\ndo: slow\non_interrupt: stopped\nto: end\n---\n"),
        ("stopped.md", "Stopped.\n"),
        ("end.md", "Done.\n"),
    ])
    .script("slow", "trap 'touch ended; exit 1' TERM; touch begun; while :; do sleep 0.01; done");
    let (mut writer, reader) = tokio::io::duplex(64);
    let mut output = Vec::new();
    let outcome = run(async {
        let (signals, receiver) = mpsc::channel(1);
        let interrupt = async {
            while !stage.path().join("begun").exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            signals.send("interrupt".into()).await.unwrap();
            writer.write_all(b"a line that nobody asked for\n").await.unwrap();
        };
        let run = stage.text_runner(BufReader::new(reader), &mut output).signals(receiver).run(Start::default());
        tokio::join!(run, interrupt).0.unwrap()
    });
    assert_eq!(outcome.reason, Reason::Finished);
    assert!(stage.path().join("ended").exists());
    assert_eq!(String::from_utf8(output).unwrap(), "Stopped.\n");
}
