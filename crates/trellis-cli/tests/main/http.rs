//! A graph over a REST service that others wrote: run with a key, recorded, replayed without both, and reached (language 9.6–9.12).

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use crate::sandbox::{Ran, Sandbox, finish};

const KEY: &str = "key-9f3a77";

/// Python's own server, with a handler that wants a key, keeps notes, and writes down what it got.
const SERVICE: &str = r#"
import http.server, json

class Notes(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    notes = {}

    def answer(self, status, value, **headers):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(body)))
        for name, text in headers.items():
            self.send_header(name.replace('_', '-'), text)
        self.end_headers()
        self.wfile.write(body)

    def heard(self):
        with open('heard', 'a') as heard:
            heard.write('%s %s %s\n' % (self.command, self.path, self.headers.get('Idempotency-Key')))

    def do_GET(self):
        self.heard()
        name = self.path.rsplit('/', 1)[1]
        if self.headers.get('Authorization') != 'Bearer key-9f3a77':
            return self.answer(401, {'why': 'no access with ' + str(self.headers.get('Authorization'))})
        self.answer(200, self.notes[name]) if name in self.notes else self.answer(404, {'why': 'no note ' + name})

    def do_POST(self):
        self.heard()
        note = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        key = self.headers['Idempotency-Key']
        if key not in self.notes:
            self.notes[key] = note
            return self.answer(503, {'why': 'busy'}, Retry_After='0')
        self.notes['tea'] = note
        self.answer(201, {'id': 'tea', 'seen': self.headers['Authorization']})

    def log_message(self, *args):
        pass

server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Notes)
print(server.server_port, flush=True)
server.serve_forever()
"#;

struct NotesServer {
    child: Child,
    url: String,
}

impl NotesServer {
    fn start(folder: &Path) -> Self {
        let mut python = Command::new("python3");
        python.args(["-c", SERVICE]).current_dir(folder).stdout(Stdio::piped());
        let mut child = python.spawn().expect("python3 starts; install the package python3");
        let mut port = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
        Self { child, url: format!("http://127.0.0.1:{}/v1", port.trim()) }
    }
}

impl Drop for NotesServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const NOTES: &[(&str, &str)] = &[
    (
        "trellis.yaml",
        "name: notes\nbindings:\n  notes.add:\n    http:\n      base: { env: NOTES_URL }\n      post: /notes\n      headers: { authorization: \"Bearer {{secret:notes}}\" }\n    parameters: { type: object, required: [text], properties: { text: { type: string } } }\n    returns: { type: object, required: [id, seen], properties: { id: { type: string }, seen: { type: string } } }\n    effect: irreversible\n    retry: { max: 2 }\n  notes.read:\n    http:\n      base: { env: NOTES_URL }\n      get: \"/notes/{{ id }}\"\n      headers: { authorization: \"Bearer {{secret:notes}}\" }\n    parameters: { type: object, required: [id], properties: { id: { type: string } } }\n    effect: none\n",
    ),
    ("start.md", "---\ndo: { name: notes.add, args: { text: \"Buy tea\" } }\nsave_to: added\nto: read\n---\n"),
    ("read.md", "---\ndo: { name: notes.read, args: { id: \"{{ added.id }}\" } }\nsave_to: note\nto: gone\n---\n"),
    ("gone.md", "---\ndo: { name: notes.read, args: { id: \"../{{ added.id }}\" } }\non_error: told\nto: told\n---\n"),
    (
        "told.md",
        "---\noutput: { note: \"{{ note }}\", seen: \"{{ added.seen }}\", code: \"{{ sys.error.code | default(0) }}\", data: \"{{ sys.error.data | default(0) }}\" }\n---\nDone.\n",
    ),
];

fn run(sandbox: &Sandbox, args: &[&str], env: &[(&str, &str)]) -> Ran {
    finish(sandbox.command(args).envs(env.iter().copied()).spawn().unwrap())
}

#[test]
fn a_service_is_called_recorded_and_replayed() {
    let sandbox = Sandbox::new(NOTES);
    let service = NotesServer::start(sandbox.path());
    let env = [("NOTES_URL", service.url.as_str()), ("TRELLIS_SECRET_NOTES", KEY)];
    let ran = run(&sandbox, &["run", ".", "--json", "--record", "calls.jsonl"], &env);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
    let last = ran.out.lines().last().unwrap();
    // The service repeats the key, in a result and in an error.
    assert!(last.contains(r#""note":{"text":"Buy tea"}"#) && last.contains(r#""seen":"Bearer ***""#), "{last}");
    assert!(last.contains(r#""code":"http-404""#) && last.contains("no note ..%2Ftea"), "{last}");
    let recorded = std::fs::read_to_string(sandbox.path().join("calls.jsonl")).unwrap();
    assert!(
        recorded.contains(r#""meta":{"status":201}"#) && recorded.contains(r#""after":0"#) && recorded.contains(r#""final":true"#),
        "{recorded}"
    );
    assert!(!format!("{recorded}{}", ran.out).contains(KEY), "{recorded}");

    let heard = std::fs::read_to_string(sandbox.path().join("heard")).unwrap();
    let lines: Vec<&str> = heard.lines().collect();
    assert_eq!(lines.len(), 4, "{heard}");
    assert!(lines[0].starts_with("POST /v1/notes ") && lines[0] == lines[1] && !lines[0].ends_with("None"), "{heard}");
    assert_eq!(lines[2..], ["GET /v1/notes/tea None", "GET /v1/notes/..%2Ftea None"]);

    // language 9.7: neither server nor key nor variable
    drop(service);
    let again = run(&sandbox, &["run", ".", "--json", "--replay-tools", "calls.jsonl"], &[]);
    assert_eq!((again.code, again.out.lines().last()), (Some(0), Some(last)), "{again:?}");
}

#[test]
fn what_is_missing_and_who_does_not_answer_is_found_before_the_run() {
    let sandbox = Sandbox::new(NOTES);
    let ran = sandbox.trellis(&["check", "."]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "4 nodes, no problems\n"), "{ran:?}");
    let ran = sandbox.trellis(&["check", "--host", "."]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.out.contains("`notes.add` cannot be carried out: the variable `NOTES_URL` is not set\n  trellis.yaml:5:"), "{}", ran.out);
    assert!(ran.out.contains("the secret `notes` is not known here") && ran.out.ends_with("3 errors in 4 nodes\n"), "{}", ran.out);

    let service = NotesServer::start(sandbox.path());
    let url = service.url.clone();
    let env = [("NOTES_URL", url.as_str()), ("TRELLIS_SECRET_NOTES", KEY)];
    let ran = run(&sandbox, &["check", "--host", "--reach", "."], &env);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "4 nodes, no problems\n"), "{ran:?}");
    assert!(!sandbox.path().join("heard").exists(), "nothing is sent");
    drop(service);
    let ran = run(&sandbox, &["check", "--host", "."], &env);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let ran = run(&sandbox, &["check", "--host", "--reach", "--format", "json", "."], &env);
    assert_eq!(ran.code, Some(1));
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let found = &report["diagnostics"][0];
    assert_eq!(found["code"], "unbound-tool", "{report}");
    assert!(
        found["message"]
            .as_str()
            .unwrap()
            .starts_with("`notes.add` and another binding cannot be carried out: no connection to `http://127.0.0.1:"),
        "{report}"
    );
    assert_eq!(sandbox.trellis(&["check", "--reach", "."]).code, Some(2));
}

// language 9.8: what `--host` says about a server, `--reach` does not say again
#[test]
fn a_server_that_cannot_start_is_found_once() {
    let project = "servers: { files: { process: [no-such-server] } }\nbindings: { read: { mcp: files/read, effect: none } }\n";
    let sandbox = Sandbox::new(&[("trellis.yaml", project), ("start.md", "---\ndo: read\nto: end\n---\n"), ("end.md", "Bye.\n")]);
    let ran = sandbox.trellis(&["check", "--host", "--reach", "."]);
    assert_eq!((ran.code, ran.out.matches("`no-such-server` is not on the PATH").count()), (Some(1), 1), "{ran:?}");
    assert!(ran.out.ends_with("1 error in 2 nodes\n"), "{ran:?}");
}

// An image without CA certificates: the message says so, before anything is sent.
#[test]
fn a_system_without_ca_certificates_says_so() {
    let project = "bindings: { look: { http: { get: \"https://localhost:9/\" } } }\n";
    let sandbox = Sandbox::new(&[
        ("trellis.yaml", project),
        ("start.md", "---\ndo: look\non_error: told\nto: told\n---\n"),
        ("told.md", "---\noutput: \"{{ sys.error.code | default(0) }}: {{ sys.error.message | default(0) }}\"\n---\n"),
    ]);
    let nowhere = [("SSL_CERT_FILE", "/nowhere/certs.pem"), ("SSL_CERT_DIR", "/nowhere")];
    let ran = run(&sandbox, &["run", ".", "--json"], &nowhere);
    assert!(ran.out.contains("tls: this system has no CA certificates: install them"), "{ran:?}");
}
