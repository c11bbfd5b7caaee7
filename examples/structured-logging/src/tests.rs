//! The log and the numbers of one session.

use std::sync::{Arc, Mutex};

use serde_json::Value as Json;

use super::*;

/// The log so far.
#[derive(Clone, Default)]
struct Logged(Arc<Mutex<Vec<u8>>>);

impl io::Write for Logged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_session_is_logged_and_counted() {
    let logged = Logged::default();
    let writer = logged.clone();
    tracing::subscriber::set_global_default(json_lines(move || writer.clone())).unwrap();

    let (reason, numbers) = walk(&b"9\n7\n"[..], tokio::io::sink()).await.unwrap();
    assert_eq!(reason, Reason::Finished);

    let text = String::from_utf8(logged.0.lock().unwrap().clone()).unwrap();
    let lines: Vec<Json> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let said: Vec<String> = lines
        .iter()
        .map(|line| {
            let about = ["node", "tool", "outcome", "reason"].into_iter().find_map(|key| line.get(key).and_then(Json::as_str));
            format!("{} {} {}", line["level"].as_str().unwrap(), line["message"].as_str().unwrap(), about.unwrap_or_default())
        })
        .collect();
    let expected = [
        "INFO session began start",
        "INFO node entered start",
        "INFO node left start",
        "INFO node entered find",
        "INFO tool called find_order",
        "WARN tool returned error",
        "INFO node left find",
        "INFO node entered again",
        "INFO node left again",
        "INFO node entered start",
        "INFO node left start",
        "INFO node entered find",
        "INFO tool called find_order",
        "INFO tool returned success",
        "INFO node left find",
        "INFO node entered told",
        "INFO session ended Finished",
    ];
    assert_eq!(said, expected);
    let session = &lines[0]["session"];
    assert!(lines.iter().all(|line| line["session"] == *session), "every line names its session");
    assert!(!text.contains("no such order") && !text.contains("on its way"), "{text}");

    for line in [
        "trellis_sessions_ended_total{reason=\"finished\"} 1",
        "trellis_node_visits_total{node=\"find\"} 2",
        "trellis_tool_results_total{tool=\"find_order\",outcome=\"error\"} 1",
    ] {
        assert!(numbers.contains(line), "{line} is not in\n{numbers}");
    }
}
