//! Lines that claude 2.1.332 and codex 0.169.0 printed before an endpoint of the test, shortened.

use super::*;

fn read(program: HeadlessProgram, lines: &[&str]) -> Result<Completion, String> {
    let headless = Headless { program, args: None, is_shell_accepted: true };
    let text = lines.join("\n");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let read = runtime.block_on(headless.answer(Some(text.as_bytes())));
    read.map_err(|error| error.code.and_then(|code| code.as_str().map(str::to_owned)).unwrap_or_default())
}

const INIT: &str = r#"{"type":"system","subtype":"init","tools":[],"mcp_servers":[],"model":"claude-opus-5-5"}"#;
const RESULT: &str = r#"{"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":4},"type":"result","subtype":"success","is_error":false,"result":"Hello"}"#;

// orchestrator 5.2
#[test]
fn lines_of_both_programs_become_an_answer() {
    let claude = read(HeadlessProgram::Claude, &[INIT, "no JSON", r#"{"type":"assistant","message":{}}"#, RESULT]).unwrap();
    assert_eq!((&*claude.content, claude.model.as_deref()), ("Hello", Some("claude-opus-5-5")));
    assert_eq!((claude.usage, claude.finish.as_deref()), (Usage { input: 3, output: 4 }, Some("stop")));
    let codex = [
        r#"{"type":"thread.started","thread_id":"01a2"}"#,
        r#"{"type":"turn.started"}"#,
        r#"{"type":"error","message":"Reconnecting... 2/5"}"#,
        r#"{"type":"item.completed","item":{"id":"item_0","type":"reasoning","text":"hm"}}"#,
        r#"{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"Hello"}}"#,
        r#"{"type":"turn.completed","usage":{"input_tokens":3,"cached_input_tokens":0,"output_tokens":4}}"#,
    ];
    let codex = read(HeadlessProgram::Codex, &codex).unwrap();
    assert_eq!((&*codex.content, codex.usage), ("Hello", Usage { input: 3, output: 4 }));
}

// orchestrator 5.2: their own tools are off, since they would pass by our approvals
#[test]
fn a_program_with_tools_of_its_own_is_ended() {
    let init = INIT.replace("[]", r#"["Bash","Read"]"#);
    assert_eq!(read(HeadlessProgram::Claude, &[&init, RESULT]).unwrap_err(), "own-tools");
}

// orchestrator 5.2: error codes are those of language 9.4
#[test]
fn failures_have_codes() {
    let result = |said: &str| format!(r#"{{"type":"result","is_error":true,"result":"{said}"}}"#);
    for (said, code) in [("Not logged in · Please run /login", "http-401"), ("usage limit reached", "http-429"), ("what?", "cut")] {
        assert_eq!(read(HeadlessProgram::Claude, &[INIT, &result(said)]).unwrap_err(), code, "{said}");
    }
    let failed = r#"{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized"}}"#;
    assert_eq!(read(HeadlessProgram::Codex, &[failed]).unwrap_err(), "http-401");
    let long = format!(r#"{{"type":"x","text":"{}"}}"#, "x".repeat(MAX_HEADLESS_OUTPUT));
    assert_eq!(read(HeadlessProgram::Codex, &[&long]).unwrap_err(), "too-large");
}

// orchestrator 5.2: tool calls come back as JSON; an answer that is none is what the model says
#[test]
fn calls_are_read_from_json() {
    let taken = |content: &str| {
        let mut completion = Completion { content: content.to_owned(), ..Completion::default() };
        take_calls(&mut completion);
        let calls: Vec<(String, String)> = completion.calls.into_iter().map(|call| (call.name, call.arguments)).collect();
        (completion.content, calls)
    };
    let fenced = "```json\n{\"content\": \"a moment\", \"tool_calls\": [{\"name\": \"file.read\", \"args\": {\"path\": \"a\"}}]}\n```";
    assert_eq!(taken(fenced), ("a moment".to_owned(), vec![("file.read".to_owned(), "{\"path\":\"a\"}".to_owned())]));
    assert_eq!(taken("{\"content\": \"done\", \"tool_calls\": []}"), ("done".to_owned(), vec![]));
    assert_eq!(taken("Hello {"), ("Hello {".to_owned(), vec![]));
    assert_eq!(taken("{\"a\": 1}"), ("{\"a\": 1}".to_owned(), vec![]));
}

// orchestrator 5.2: codex starts in `bwrap` only, which hides the files of this user
#[test]
fn the_sandbox_shows_no_home() {
    let home = Path::new("/home/ana");
    let args = sandbox(Path::new("/tmp/trellis-1-0"), Some(Path::new("/usr/local/bin/codex")), Some(home)).join(" ");
    assert!(args.contains("--tmpfs /") && args.contains("--bind-try /home/ana/.codex /home/ana/.codex"), "{args}");
    assert!(!args.contains("bind /home/ana ") && !args.contains("--ro-bind / /"), "{args}");
    assert!(args.find("--tmpfs /tmp") < args.find("--bind /tmp/trellis-1-0"), "{args}");
    let codex = |is_shell_accepted| Headless { program: HeadlessProgram::Codex, args: None, is_shell_accepted };
    assert!(codex(false).needs_sandbox() && !codex(true).needs_sandbox());
}
