//! Spans over real OTLP, and metrics: what a run sends, what it never sends, and what it does when nobody takes it.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::TcpListener,
};

use opentelemetry_proto::tonic::trace::v1::Span;

use crate::{
    collector::{Collector, Manner, attribute},
    sandbox::{Ran, Sandbox, finish},
};

/// Asks, calls a tool that fails once with what was said and a secret, and asks again.
const SHOP: &[(&str, &str)] = &[
    ("trellis.yaml", "name: shop\nbindings: {pay: {process: [sh, ./pay.sh]}}\ncontext: {name: string}\n"),
    (
        "pay.sh",
        "cat > /dev/null\nif test -e paid; then echo '{\"receipt\": \"RESULT-VALUE\"}'; else touch paid; echo MESSAGE-VALUE >&2; exit 1; fi\n",
    ),
    ("start.md", "---\ninput_type: text\nsave_to: name\nto: pay\n---\nYour name?\n"),
    (
        "pay.md",
        "---\ndo: {name: pay, args: {to: \"{{ name }}\", fixed: ARGUMENT-VALUE, key: \"{{secret:till}}\"}}\nretry: {max: 2, base: 1ms}\nto: again\non_error: end\n---\n",
    ),
    ("again.md", "---\ninput_type: text\nsave_to: city\nto: end\n---\nYour city, {{ name }}?\n"),
    ("end.md", "---\noutput: \"{{ name }}\"\n---\nBODY-VALUE\n"),
];

/// Values that may never leave the process.
const PRIVATE: &[&str] = &[
    "Ana-INPUT",
    "Recife-INPUT",
    "RESULT-VALUE",
    "MESSAGE-VALUE",
    "ARGUMENT-VALUE",
    "BODY-VALUE",
    "CONTEXT-VALUE",
    "ENVIRONMENT-VALUE",
    "SECRET-VALUE",
];

fn run(sandbox: &Sandbox, args: &[&str], environment: &[(&str, &str)], input: &str) -> Ran {
    let mut command = sandbox.command(&[&["run", "."], args].concat());
    command.envs(environment.iter().copied()).env("SOMETHING", "ENVIRONMENT-VALUE").env("TRELLIS_SECRET_TILL", "SECRET-VALUE");
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes());
    finish(child)
}

fn of(span: &Span, key: &str) -> String {
    attribute(&span.attributes, key).unwrap_or_else(|| panic!("no `{key}` in {span:#?}"))
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// Standard error of the run.
const RETRIED: &str = "`pay` failed: MESSAGE-VALUE\n`pay` is tried again, attempt 2\n";

#[test]
fn a_collector_gets_the_spans_of_a_run_and_nothing_private() {
    let (sandbox, collector) = (Sandbox::new(SHOP), Collector::new(Manner::Takes));
    let environment = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &*collector.endpoint),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=abc%20def"),
        ("OTEL_SERVICE_NAME", "till"),
        ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test,service.name=other"),
    ];
    let ran = run(&sandbox, &["--session", "ana", "--context", "note=CONTEXT-VALUE"], &environment, "Ana-INPUT\nRecife-INPUT\n");
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), RETRIED), "{ran:?}");

    for head in collector.heads() {
        assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{head}");
        assert!(head.contains("x-key: abc def\r\n") && head.contains("content-type: application/x-protobuf\r\n"), "{head}");
    }
    let resource = collector.exports()[0].resource_spans[0].resource.clone().unwrap();
    assert_eq!(attribute(&resource.attributes, "service.name").as_deref(), Some("till"));
    assert_eq!(attribute(&resource.attributes, "deployment.environment").as_deref(), Some("test"));

    let spans = collector.spans();
    let names: Vec<_> = spans.iter().map(|span| span.name.as_str()).collect();
    // In the order in which they ended.
    assert_eq!(names, ["visit start", "call pay", "call pay", "visit pay", "visit again", "visit end", "session"]);
    let session = spans.last().unwrap();
    assert!(session.parent_span_id.is_empty());
    assert_eq!(
        (of(session, "trellis.graph"), of(session, "trellis.outcome"), of(session, "trellis.node")),
        ("shop".into(), "finished".into(), "end".into())
    );
    for span in &spans {
        assert_eq!(span.trace_id, session.trace_id);
        assert_eq!(of(span, "trellis.session"), "ana");
        assert_eq!(of(span, "trellis.program"), of(session, "trellis.program"));
        assert!(session.start_time_unix_nano <= span.start_time_unix_nano && span.end_time_unix_nano <= session.end_time_unix_nano);
        assert!(span.start_time_unix_nano <= span.end_time_unix_nano);
        if let Some(node) = span.name.strip_prefix("visit ") {
            assert_eq!((&span.parent_span_id, of(span, "trellis.node")), (&session.span_id, node.to_owned()));
        }
    }
    let calls: Vec<_> = spans.iter().filter(|span| span.name == "call pay").collect();
    for (call, (outcome, code)) in calls.iter().zip([("error", 2), ("success", 0)]) {
        assert_eq!(
            (of(call, "trellis.tool"), of(call, "trellis.outcome"), of(call, "trellis.node")),
            ("pay".into(), outcome.into(), "pay".into())
        );
        assert_eq!(call.status.as_ref().map_or(0, |status| status.code), code);
        assert_eq!(call.parent_span_id, spans[3].span_id);
    }
    assert_ne!(of(calls[0], "trellis.call"), of(calls[1], "trellis.call"));
    // Each ends where the next one begins: the times are those of the journal.
    for (left, entered) in [(0, 3), (3, 4), (4, 5)] {
        assert_eq!(spans[left].end_time_unix_nano, spans[entered].start_time_unix_nano);
        assert_eq!(of(&spans[left], "trellis.end_seq"), of(&spans[entered], "trellis.seq"));
    }
    let bytes = collector.bytes();
    assert!(contains(&bytes, "visit again"), "what is looked for could be found");
    for private in PRIVATE {
        assert!(!contains(&bytes, private), "{private} was sent");
    }
}

#[test]
fn a_session_of_several_runs_is_one_trace() {
    let (sandbox, collector) = (Sandbox::new(SHOP), Collector::new(Manner::Takes));
    let environment = [("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &*format!("{}/custom", collector.endpoint))];
    let args = ["--session", "ana"];
    assert_eq!(run(&sandbox, &args, &environment, "").code, Some(1));
    assert_eq!(run(&sandbox, &args, &environment, "Ana\n").code, Some(1));
    // Looking at it is not seen.
    assert_eq!(run(&sandbox, &args, &environment, "").code, Some(1));
    assert_eq!(run(&sandbox, &args, &environment, "Recife\n").code, Some(0));
    assert!(collector.heads().iter().all(|head| head.starts_with("POST /custom HTTP/1.1\r\n")));

    let spans = collector.spans();
    let names: Vec<_> = spans.iter().map(|span| span.name.as_str()).collect();
    let expected = ["session", "visit start", "call pay", "call pay", "visit pay", "session", "visit again", "visit end", "session"];
    assert_eq!(names, expected);
    let traces: BTreeSet<_> = spans.iter().map(|span| &span.trace_id).collect();
    let ids: BTreeSet<_> = spans.iter().map(|span| &span.span_id).collect();
    assert_eq!((traces.len(), ids.len()), (1, spans.len()));
    let root = &spans[0];
    assert!(root.parent_span_id.is_empty() && spans[1..].iter().all(|span| ids.contains(&span.parent_span_id)), "{spans:#?}");
    assert_eq!((&spans[5].parent_span_id, &spans[8].parent_span_id), (&root.span_id, &root.span_id));
    assert_eq!(attribute(&root.attributes, "trellis.outcome"), None, "it was left, not ended");
    // A node that was entered in one run and left in the next has one visit, with its whole time.
    assert_eq!(spans[1].start_time_unix_nano, root.start_time_unix_nano);
    assert_eq!(spans[6].start_time_unix_nano, spans[4].end_time_unix_nano);
}

#[test]
fn without_a_collector_that_takes_them_a_run_goes_on_and_ends() {
    let alone = run(&Sandbox::new(SHOP), &["--session", "ana"], &[], "Ana\nRecife\n");
    assert_eq!((alone.code, alone.err.as_str()), (Some(0), RETRIED));
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let cases = [
        (None, "7 spans were not sent to `OTEL_EXPORTER_OTLP_ENDPOINT`: nothing listens there"),
        (
            Some(Manner::Says("401 Unauthorized")),
            "7 spans were not sent to `OTEL_EXPORTER_OTLP_ENDPOINT`: the collector answers 401 Unauthorized",
        ),
        (Some(Manner::Says("503 Service Unavailable")), "7 spans were not sent"),
        (Some(Manner::Says("302 Found\r\nlocation: http://127.0.0.1:1/")), "the collector answers 302 Found"),
        (Some(Manner::Says("nonsense\u{1b}[31m")), "7 spans were not sent"),
        (Some(Manner::IsSilent), "7 spans were not sent"),
    ];
    for (manner, warning) in cases {
        let collector = manner.map(Collector::new);
        let endpoint = collector.as_ref().map_or_else(|| format!("http://user:PASSWORD@{free}"), |collector| collector.endpoint.clone());
        let environment = [("OTEL_EXPORTER_OTLP_ENDPOINT", &*endpoint), ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=PASSWORD")];
        let ran = run(&Sandbox::new(SHOP), &["--session", "ana"], &environment, "Ana\nRecife\n");
        assert_eq!((ran.code, &ran.out), (Some(0), &alone.out), "{manner:?}: {}", ran.err);
        assert!(ran.err.starts_with(&format!("{RETRIED}warning: ")) && ran.err.contains(warning), "{manner:?}: {}", ran.err);
        assert_eq!(ran.err.lines().count(), 3, "{}", ran.err);
        assert!(!ran.err.contains("PASSWORD") && !ran.err.contains('\u{1b}'), "{}", ran.err);
        assert!(collector.is_none_or(|collector| collector.requests() > 0));
    }
}

#[test]
fn the_environment_says_whether_and_how() {
    let collector = Collector::new(Manner::Takes);
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", &*collector.endpoint);
    let said = |environment: &[(&str, &str)]| {
        let ran = run(&Sandbox::new(SHOP), &["--session", "ana"], environment, "Ana\nRecife\n");
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        ran.err.replacen(RETRIED, "", 1)
    };
    for off in [
        ("OTEL_SDK_DISABLED", "TRUE"),
        ("OTEL_TRACES_EXPORTER", "none"),
        ("OTEL_TRACES_SAMPLER", "always_off"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", ""),
    ] {
        assert_eq!(said(&[endpoint, off]), "", "{off:?}");
    }
    let wrong = [
        (("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"), "`OTEL_EXPORTER_OTLP_PROTOCOL` names a protocol that is not here: `http/protobuf` is"),
        (("OTEL_TRACES_EXPORTER", "zipkin"), "`OTEL_TRACES_EXPORTER` names an exporter that is not here: `otlp` and `none` are"),
        (
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318/SECRET"),
            "`OTEL_EXPORTER_OTLP_ENDPOINT` is no address: `http://localhost:4318` is one",
        ),
        (
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a b/SECRET"),
            "`OTEL_EXPORTER_OTLP_ENDPOINT` is no address: `http://localhost:4318` is one",
        ),
    ];
    for (variable, why) in wrong {
        assert_eq!(said(&[endpoint, variable]), format!("warning: no spans are sent: {why}\n"), "{variable:?}");
    }
    assert_eq!(collector.requests(), 0);
    let sampler = "names a sampler that is not here: `always_on`, `always_off` and `traceidratio` are";
    let share = ("OTEL_TRACES_SAMPLER", "traceidratio");
    let ignored: [(&[(&str, &str)], &str); 9] = [
        (&[("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "soon")], "is no number above 0"),
        (&[("OTEL_TRACES_SAMPLER", "foo")], sampler),
        (&[("OTEL_TRACES_SAMPLER_ARG", "abc"), share], "is no share from 0 to 1"),
        (&[("OTEL_TRACES_SAMPLER_ARG", "-1"), share], "is no share from 0 to 1"),
        (&[("OTEL_EXPORTER_OTLP_HEADERS", "key=%zz-SECRET")], "has an entry that is no `key=value`, percent-encoded"),
        (&[("OTEL_RESOURCE_ATTRIBUTES", "SECRET")], "has an entry that is no `key=value`, percent-encoded"),
        (&[("OTEL_BSP_SCHEDULE_DELAY", "-1")], "is no number above 0"),
        (&[("OTEL_BSP_MAX_QUEUE_SIZE", "0")], "is no number above 0"),
        (&[("OTEL_SDK_DISABLED", "no")], "is neither `true` nor `false`"),
    ];
    for (at, (variables, why)) in ignored.into_iter().enumerate() {
        let variable = variables[0].0;
        assert_eq!(said(&[&[endpoint], variables].concat()), format!("warning: `{variable}` {why}; it counts as not set\n"));
        assert!(collector.requests() > at, "{variable}: spans are sent");
    }
    assert_eq!(said(&[endpoint, ("OTEL_SERVICE_NAME", "")]), "");
    let resource = collector.exports()[0].resource_spans[0].resource.clone().unwrap();
    assert_eq!(attribute(&resource.attributes, "service.name").as_deref(), Some("trellis"));
}

/// The samples of a text in the format of Prometheus, by name and labels; every sample must be of a family that was described before.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let mut families = BTreeMap::new();
    let mut samples = BTreeMap::new();
    for line in text.lines() {
        if let Some(described) = line.strip_prefix("# TYPE ") {
            let (name, kind) = described.split_once(' ').unwrap();
            assert!(families.insert(name.to_owned(), kind.to_owned()).is_none(), "{name} is described twice");
        } else if !line.starts_with("# HELP ") {
            let (series, value) = line.rsplit_once(' ').unwrap();
            let name = series.split('{').next().unwrap();
            let parts = ["_bucket", "_sum", "_count"].into_iter().find_map(|part| name.strip_suffix(part));
            let kind = families.get(name).or_else(|| families.get(parts?).filter(|kind| *kind == "histogram"));
            assert!(kind.is_some(), "{line}");
            assert!(samples.insert(series.to_owned(), value.parse().unwrap()).is_none(), "{series} twice");
        }
    }
    samples
}

#[test]
fn metrics_count_what_the_run_did() {
    let sandbox = Sandbox::new(SHOP);
    sandbox.write("out/.keep", b"");
    let args = ["--session", "ana", "--metrics", "out/trellis.prom"];
    let ran = run(&sandbox, &args, &[], "Ana-INPUT\nRecife-INPUT\n");
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), RETRIED));
    let text = std::fs::read_to_string(sandbox.path().join("out/trellis.prom")).unwrap();
    let samples = samples(&text);
    for (series, value) in [
        ("trellis_sessions_started_total", 1.0),
        ("trellis_sessions_resumed_total", 0.0),
        ("trellis_sessions_ended_total{reason=\"finished\"}", 1.0),
        ("trellis_steps_total", 4.0),
        ("trellis_node_visits_total{node=\"start\"}", 1.0),
        ("trellis_node_visits_total{node=\"pay\"}", 1.0),
        ("trellis_node_visits_total{node=\"again\"}", 1.0),
        ("trellis_node_visits_total{node=\"end\"}", 1.0),
        ("trellis_tool_calls_total{tool=\"pay\"}", 2.0),
        ("trellis_tool_results_total{tool=\"pay\",outcome=\"error\"}", 1.0),
        ("trellis_tool_results_total{tool=\"pay\",outcome=\"success\"}", 1.0),
        ("trellis_tool_seconds_count{tool=\"pay\"}", 2.0),
        ("trellis_tool_seconds_bucket{le=\"+Inf\",tool=\"pay\"}", 2.0),
        ("trellis_hook_events_dropped_total", 0.0),
    ] {
        assert_eq!(samples.get(series), Some(&value), "{series}\n{text}");
    }
    assert!(samples["trellis_store_append_seconds_count"] >= 3.0, "{text}");
    assert!(!text.contains("ana") && PRIVATE.iter().all(|private| !text.contains(private)), "{text}");
    assert_eq!(std::fs::read_dir(sandbox.path().join("out")).unwrap().count(), 2, "nothing else is left there");

    let ran = run(&sandbox, &["--metrics", "nowhere/trellis.prom"], &[], "");
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("`nowhere/trellis.prom` cannot be written"), "{}", ran.err);
}

#[test]
fn what_is_no_file_is_written_to_and_never_replaced() {
    use std::os::unix::fs::{FileTypeExt, symlink};
    let sandbox = Sandbox::new(SHOP);
    let path = |name: &str| sandbox.path().join(name);
    sandbox.write("out/.keep", b"");
    sandbox.write("there.txt", b"before");
    symlink("out/new.txt", path("to-new")).unwrap();
    symlink(path("there.txt"), path("to-there")).unwrap();
    for (argument, begins) in [("--metrics", "# HELP"), ("--output", "\"Ana\"")] {
        let fifo = format!("fifo{argument}");
        assert!(std::process::Command::new("mkfifo").arg(path(&fifo)).status().unwrap().success());
        let reader = std::thread::spawn({
            let fifo = path(&fifo);
            move || std::fs::read_to_string(fifo).unwrap()
        });
        let ran = run(&sandbox, &["--session", &format!("a{argument}"), argument, &fifo], &[], "Ana\nRecife\n");
        assert_eq!((ran.code, &*ran.err.replacen(RETRIED, "", 1)), (Some(0), ""));
        assert!(std::fs::symlink_metadata(path(&fifo)).unwrap().file_type().is_fifo(), "{argument}");
        assert!(reader.join().unwrap().starts_with(begins));
        for (link, file) in [("to-new", "out/new.txt"), ("to-there", "there.txt")] {
            let ran = run(&sandbox, &["--session", &format!("{link}{argument}"), argument, link], &[], "Ana\nRecife\n");
            assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
            assert!(path(link).is_symlink(), "{argument} {link}");
            assert!(std::fs::read_to_string(path(file)).unwrap().starts_with(begins), "{argument} {file}");
        }
    }
}

#[test]
fn sessions_that_wake_are_seen_too() {
    let (sandbox, collector) = (
        Sandbox::new(&[
            ("start.md", "---\ninput_type: text\ntimeout: 2s\non_timeout: late\nto: late\n---\nYour name?\n"),
            ("late.md", "Too late.\n"),
        ]),
        Collector::new(Manner::Takes),
    );
    for name in ["a", "b"] {
        run(&sandbox, &["--session", name], &[], "");
    }
    // Until their time has come.
    std::thread::sleep(std::time::Duration::from_secs(2));
    let environment = [("OTEL_EXPORTER_OTLP_ENDPOINT", &*collector.endpoint)];
    let ran = run(&sandbox, &["--all", "--metrics", "all.prom"], &environment, "");
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let samples = samples(&std::fs::read_to_string(sandbox.path().join("all.prom")).unwrap());
    assert_eq!((samples["trellis_sessions_resumed_total"], samples["trellis_sessions_ended_total{reason=\"finished\"}"]), (2.0, 2.0));
    let spans = collector.spans();
    assert_eq!(spans.iter().filter(|span| span.name == "session").count(), 2);
    let waits: Vec<_> = spans.iter().filter(|span| span.name == "visit start").collect();
    assert_eq!(waits.len(), 2);
    assert!(waits.iter().all(|wait| wait.events.iter().any(|event| event.name == "signal")), "{waits:#?}");
}
