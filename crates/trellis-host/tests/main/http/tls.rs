//! TLS against a server that others wrote, with a CA of its own (language 9.4, 9.8, 9.10).

use std::{path::Path, process::Command};

use trellis_core::diagnostic::Severity;
use trellis_host::{Bindings, binding::Host};

use super::{call_in, code, error, servers::PythonServer, value};
use crate::stage::program;

const CONFIG: &str = "[ca]\ndefault_ca = d\n[d]\ndatabase = index.txt\nserial = serial\nnew_certs_dir = .\ndefault_md = sha256\npolicy = p\ncopy_extensions = copy\n[p]\ncommonName = supplied\n";

/// A CA, a certificate of it for localhost, an expired one, and one for another name.
fn certificates(folder: &Path) {
    std::fs::write(folder.join("ca.cnf"), CONFIG).unwrap();
    std::fs::write(folder.join("index.txt"), "").unwrap();
    std::fs::write(folder.join("serial"), "01").unwrap();
    let script = "set -e
new='-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'
openssl req -x509 $new -keyout ca.key -out ca.pem -subj /CN=Test-CA -days 2
sign() { openssl ca -batch -notext -config ca.cnf -cert ca.pem -keyfile ca.key -in $1.csr -out $2.pem -startdate $3 -enddate $4; }
openssl req -new $new -keyout server.key -out server.csr -subj /CN=here -addext subjectAltName=DNS:localhost,IP:127.0.0.1
sign server server 20240101000000Z 20700101000000Z
openssl req -new $new -keyout expired.key -out expired.csr -subj /CN=expired -addext subjectAltName=DNS:localhost
sign expired expired 20200101000000Z 20210101000000Z
openssl req -new $new -keyout other.key -out other.csr -subj /CN=other -addext subjectAltName=DNS:other.example
sign other other 20240101000000Z 20700101000000Z";
    let made = Command::new("sh").args(["-c", script]).current_dir(folder).output().expect("openssl starts; install the package openssl");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

fn project(port: u16, more: &str) -> String {
    format!("bindings:\n  t:\n    http: {{ get: \"https://localhost:{port}/a.json\"{more} }}\n")
}

#[tokio::test]
async fn trust_is_that_of_the_system_and_of_the_ca_file() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    certificates(folder);
    std::fs::write(folder.join("a.json"), r#"{"n":1}"#).unwrap();
    let server = PythonServer::tls(folder, "server.pem", "server.key");
    let with_ca = project(server.port, ", ca: ca.pem");
    assert_eq!(value(call_in(folder, &with_ca, "{}").await).to_json(), r#"{"n":1}"#);

    let strange = error(call_in(folder, &project(server.port, ""), "{}").await);
    assert_eq!(code(&strange), ("tls", true));
    assert!(strange.message.contains("signed by nobody known") && strange.message.contains("`ca`"), "{strange:?}");

    for (name, why) in [("expired", "has expired"), ("other", "is for another name")] {
        let server = PythonServer::tls(folder, &format!("{name}.pem"), &format!("{name}.key"));
        let error = error(call_in(folder, &project(server.port, ", ca: ca.pem"), "{}").await);
        assert_eq!(code(&error), ("tls", true));
        assert!(error.message.contains(why), "{error:?}");
    }
    let plain = PythonServer::start(folder);
    let error = super::error(call_in(folder, &project(plain.port, ", ca: ca.pem"), "{}").await);
    assert_eq!(code(&error), ("tls", true));
    assert!(error.message.contains("does not speak TLS"), "{error:?}");
}

#[tokio::test]
async fn reach_connects_and_sends_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    certificates(folder);
    let server = PythonServer::tls(folder, "server.pem", "server.key");
    let dead = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for (project, expected) in [
        (project(server.port, ", ca: ca.pem"), None),
        (project(server.port, ""), Some("signed by nobody known")),
        (project(dead, ", ca: ca.pem"), Some("no connection")),
        (format!("bindings:\n  t:\n    http: {{ base: \"http://localhost:{dead}/v1\", get: /a }}\n"), Some("no connection")),
    ] {
        let program = program(&[("trellis.yaml", &project), ("start.md", "---\ndo: t\n---\n")]);
        let (bindings, _) = Bindings::new(&program, folder, &Host::new());
        let found = bindings.reach(&program).await;
        let message = found.first().map(|found| found.message.clone());
        match (expected, &message) {
            (None, None) => {}
            (Some(why), Some(message)) => assert!(message.contains(why), "{message}"),
            _ => panic!("{project}: {message:?}"),
        }
        assert!(found.iter().all(|found| found.severity == Severity::Error));
    }
}
