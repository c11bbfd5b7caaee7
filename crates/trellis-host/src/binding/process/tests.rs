//! Real processes of every kind of bad manners.

#![cfg(unix)]

use std::{os::unix::fs::PermissionsExt, sync::Arc};

use trellis_core::{engine::ToolErrorKind, state::PendingCall};

use super::*;
use crate::{
    binding::{CallContext, Caller, Cancel, Report, job::Bounds},
    secrets::Mask,
};

/// A project folder with one tool.
struct Bench {
    folder: tempfile::TempDir,
    process: Process,
    timeout: Option<Duration>,
    output: u64,
}

impl Bench {
    /// A shell script as the tool. The shell reads it: to start a file that was just written fails while another test's fork still holds it open.
    fn script(body: &str) -> Self {
        let mut bench = Self::command("sh");
        bench.process.args = vec!["./tool".into()];
        bench.write(body, 0o644);
        bench
    }

    fn command(command: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program = if command.contains('/') { folder.path().join(command) } else { command.into() };
        let process = Process {
            file: "trellis.yaml".into(),
            command: command.into(),
            program,
            args: Vec::new(),
            env: BTreeMap::new(),
            cwd: folder.path().to_owned(),
            grace: Duration::from_millis(200),
            output: None,
        };
        Self { folder, process, timeout: None, output: 1 << 20 }
    }

    fn write(&self, text: &str, mode: u32) {
        let path = self.folder.path().join("tool");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    fn run_with(&self, args: &str, cancel: &Cancel) -> Result<Value, ToolError> {
        let call = call(args);
        let job = self.job(&call, cancel);
        block_on(self.process.run_to_end(job))
    }

    fn job<'c>(&self, call: &'c PendingCall, cancel: &Cancel) -> Job<'c> {
        self.job_with(call, cancel, Mask::default(), Arc::new(|_| {}))
    }

    fn job_with<'c>(&self, call: &'c PendingCall, cancel: &Cancel, mask: Mask, report: Report) -> Job<'c> {
        let caller = Caller::new("s".into(), "g".into(), |_| {}).with_cancel(cancel.clone());
        let context = CallContext::new(&caller, call, report);
        let args = call.args.clone();
        let (offered, returns, bounds) = (Vec::new(), None, self.bounds());
        Job { call, args, timeout: self.timeout, context, offered, returns, bounds, mask, peers: None }
    }

    fn bounds(&self) -> Bounds {
        Bounds { output: self.output, ..Bounds::default() }
    }

    fn run(&self, args: &str) -> Result<Value, ToolError> {
        self.run_with(args, &Cancel::new())
    }

    /// Stops the tool once it says that it is ready.
    fn run_until_ready(&self) -> Result<Value, ToolError> {
        let (call, cancel) = (call("{}"), Cancel::new());
        let job = self.job(&call, &cancel);
        let ready = async {
            self.ready().await;
            cancel.cancel();
        };
        block_on(async { tokio::join!(self.process.run_to_end(job), ready).0 })
    }

    async fn ready(&self) {
        while !self.folder.path().join("ready").exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    fn gone(&self, file: &str) -> bool {
        let pid = std::fs::read_to_string(self.folder.path().join(file)).unwrap();
        // A killed process may be a zombie until its parent looks.
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
        stat.map_or(true, |stat| stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with(['Z', 'X'])))
    }

    fn gone_soon(&self, file: &str) -> bool {
        (0..12_000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            self.gone(file)
        })
    }
}

fn call(args: &str) -> PendingCall {
    let json = format!(r#"{{"id":"c1","name":"tool","role":"do","node":"n","args":{args},"idempotency_key":"k1","attempt":2}}"#);
    serde_json::from_str(&json).unwrap()
}

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

#[test]
fn arguments_arrive_in_the_environment_and_on_standard_input() {
    let bench = Bench::script(
        r#"read -r line; printf '[%s,%s,"%s"]' "$TRELLIS_ARGS" "$line" "$TRELLIS_CALL_ID $TRELLIS_IDEMPOTENCY_KEY $TRELLIS_ATTEMPT""#,
    );
    let value = bench.run(r#"{"n":9007199254740993,"s":"é'\"$(x)"}"#).unwrap().to_json();
    let args = r#"{"n":9007199254740993,"s":"é'\"$(x)"}"#;
    assert_eq!(value, format!(r#"[{args},{args},"c1 k1 2"]"#));
}

#[test]
fn arguments_too_large_for_the_environment_go_to_standard_input_only() {
    let bench = Bench::script(r#"echo "$TRELLIS_ARGS_ON_STDIN ${TRELLIS_ARGS-unset} $(wc -c)""#);
    // `{"x":"…"}` and the newline are 9 bytes more.
    assert_eq!(bench.run(&format!(r#"{{"x":"{}"}}"#, "y".repeat(MAX_ENV_ARGS - 9))).unwrap().as_str().unwrap().split(' ').next(), Some(""));
    let value = bench.run(&format!(r#"{{"x":"{}"}}"#, "y".repeat(1_000_000))).unwrap();
    assert_eq!(value, Value::text("1 unset 1000009"));
}

#[test]
fn a_tool_that_closes_standard_input_does_not_fail() {
    let bench = Bench::script("exec <&-; sleep 0.05; echo done");
    assert_eq!(bench.run(&format!(r#"{{"x":"{}"}}"#, "y".repeat(1_000_000))).unwrap(), Value::text("done"));
}

#[test]
fn a_failure_shows_the_end_of_standard_error_and_its_code() {
    let error = Bench::script("echo out; echo 'no such order' >&2; exit 3").run("{}").unwrap_err();
    assert_eq!((error.message.as_str(), error.code), ("no such order", Some(Value::Int(3))));
    let error = Bench::script("exit 4").run("{}").unwrap_err();
    assert_eq!(error.message, "`tool` exited with 4");
}

#[test]
fn a_death_names_its_signal() {
    let error = Bench::script("kill -KILL $$").run("{}").unwrap_err();
    assert_eq!((error.message.as_str(), error.code), ("`tool` died by signal 9 (SIGKILL)", None));
}

#[test]
fn ten_mebibytes_stop_at_the_bound() {
    let bench = Bench::script("head -c 10485760 /dev/zero; echo $$ > survived");
    let error = bench.run("{}").unwrap_err();
    assert_eq!(error.message, "`tool` printed more than 1048576 bytes, the bound `limits.tool_output`, and was stopped");
    assert!(!bench.folder.path().join("survived").exists());
    let within = Bench { output: 6, ..Bench::script("echo hello") };
    assert_eq!(within.run("{}").unwrap(), Value::text("hello"));
    let mut over = Bench { output: 5, ..Bench::script("echo hello") };
    assert!(over.run("{}").unwrap_err().message.contains("more than 5 bytes, the bound `limits.tool_output`"));
    over.process.output = Some(4);
    assert!(over.run("{}").unwrap_err().message.contains("more than 4 bytes, the bound `output_limit`"));
}

#[test]
fn a_tool_that_ignores_sigterm_is_killed_with_all_it_started() {
    let bench = Bench::script("trap '' TERM; sleep 60 & echo $! > child; echo $$ > self; touch ready; wait; sleep 60");
    let error = bench.run_until_ready().unwrap_err();
    assert_eq!(error.message, "`tool` was stopped");
    assert!(bench.gone_soon("self") && bench.gone_soon("child"));
}

#[test]
fn a_tool_that_takes_too_long_is_a_timeout() {
    let bench = Bench { timeout: Some(Duration::from_millis(50)), ..Bench::script("sleep 60") };
    let error = bench.run("{}").unwrap_err();
    assert_eq!((error.kind, error.message.as_str()), (ToolErrorKind::Timeout, "`tool` took longer than 50ms"));
}

#[test]
fn a_run_that_is_dropped_leaves_nothing_behind() {
    let bench = Bench::script("trap '' TERM; sleep 60 & echo $! > child; echo $$ > self; touch ready; wait");
    let (call, cancel) = (call("{}"), Cancel::new());
    let job = bench.job(&call, &cancel);
    block_on(async {
        tokio::select! {
            _ = bench.process.run_to_end(job) => panic!("it ended"),
            () = bench.ready() => {}
        }
    });
    assert!(bench.gone_soon("self") && bench.gone_soon("child"));
}

#[test]
fn a_grandchild_that_keeps_the_output_open_does_not_hang_the_run_and_is_ended() {
    let bench = Bench::script("sleep 60 & echo $! > child; echo '{\"ok\":true}'");
    assert_eq!(bench.run("{}").unwrap().to_json(), r#"{"ok":true}"#);
    assert!(bench.gone_soon("child"));
}

#[test]
fn a_stopped_tool_may_still_say_what_it_did() {
    let cancel = Cancel::new();
    cancel.cancel();
    let error = Bench::script("sleep 60").run_with("{}", &cancel).unwrap_err();
    assert_eq!(error.message, "`tool` was stopped");
    let kind = Bench::script("trap 'echo charged; exit 0' TERM; touch ready; while :; do sleep 0.01; done");
    assert_eq!(kind.run_until_ready().unwrap(), Value::text("charged"));
}

#[test]
fn what_cannot_start_says_why_and_what_to_do() {
    let message = |bench: &Bench| bench.run("{}").unwrap_err().message;
    let missing = Bench::command("./tool");
    assert_eq!(
        message(&missing),
        "the binding `tool` of `trellis.yaml` cannot start: `./tool` does not exist; paths start at the folder of the project file"
    );
    let bare = Bench::command("no-such-program-here");
    assert!(message(&bare).contains("`no-such-program-here` is not on the PATH"));
    missing.write("#!/bin/sh\n", 0o644);
    assert!(message(&missing).ends_with("`./tool` may not be run; try `chmod +x ./tool`"));
    missing.write("#!/no/interpreter -x\n", 0o755);
    assert!(
        message(&missing)
            .ends_with("the interpreter `/no/interpreter` of `./tool` does not exist; install it, or correct the script's `#!` line")
    );
    missing.write("echo no shebang\n", 0o755);
    assert!(message(&missing).ends_with("`./tool` is no program; a script begins with a line such as `#!/bin/sh`"));
    let mut nowhere = Bench::script("echo x");
    nowhere.process.cwd = nowhere.folder.path().join("nowhere");
    let cwd = nowhere.process.cwd.display();
    assert!(message(&nowhere).ends_with(&format!("its `cwd`, `{cwd}`, does not exist; make that folder, or change `cwd`")));
}

/// Everything that a tool says, and what its failure says, with these secrets.
fn told(bench: &Bench, secrets: &[&str]) -> (Vec<String>, String) {
    let (call, cancel, lines) = (call("{}"), Cancel::new(), Arc::new(std::sync::Mutex::new(Vec::new())));
    let heard = Arc::clone(&lines);
    let report: Report = Arc::new(move |line| heard.lock().unwrap().push(line.to_owned()));
    let mask = Mask::of_secrets(secrets.iter().copied());
    let job = bench.job_with(&call, &cancel, mask, report);
    let error = block_on(bench.process.run_to_end(job)).unwrap_err();
    let lines = std::mem::take(&mut *lines.lock().unwrap());
    (lines, error.message)
}

#[test]
fn no_part_of_a_secret_is_kept_or_told_wherever_it_is_cut() {
    const SECRET: &str = "S3cret/of-the:call";
    // Lines are cut every 1024 bytes, what is read every 2048, and the message is the last 2048: the secret stands at every place around each of these.
    let bench = Bench::script("cat ./text >&2; exit 1");
    for boundary in [1024, 2048, 4096] {
        for before in boundary - SECRET.len() - 1..=boundary + 1 {
            let (before, after) = ("x".repeat(before), "y".repeat(4200 - before));
            std::fs::write(bench.folder.path().join("text"), format!("{before}{SECRET}{after}")).unwrap();
            let (lines, message) = told(&bench, &[SECRET]);
            assert_eq!(lines.concat(), format!("{before}***{after}"), "{}", before.len());
            assert!(message.chars().all(|char| "xy*".contains(char)), "{}: {message}", before.len());
        }
    }
}

#[test]
fn standard_error_has_a_bound() {
    let bench = Bench::script("head -c 20000000 /dev/zero | tr '\\0' y >&2; echo $$ > survived");
    let (lines, message) = told(&bench, &[]);
    assert_eq!(message, "`tool` wrote more than 16777216 bytes to standard error, the bound `limits.tool_stderr`, and was stopped");
    assert!(lines.iter().map(String::len).sum::<usize>() < 2 << 20 && lines.iter().any(|line| line.ends_with("lines were left out")));
    assert!(!bench.folder.path().join("survived").exists());
}

#[test]
fn a_timeout_wins_over_noise() {
    let bench = Bench { timeout: Some(Duration::from_millis(200)), ..Bench::script("trap '' TERM; while :; do echo noise >&2; done") };
    let (lines, message) = told(&bench, &[]);
    assert_eq!(message, "`tool` took longer than 200ms");
    assert!(lines.len() < 1000, "{}", lines.len());
}
