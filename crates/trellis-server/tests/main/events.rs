//! Streams of events: in order, taken up again without gap or repetition, closed with a word.

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    net::TcpStream,
};

use crate::stand::{SHOP, Stand, TOKEN, Terms};

/// An open stream.
pub(crate) struct Stream {
    lines: Lines<BufReader<TcpStream>>,
}

/// One event.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) id: Option<String>,
    pub(crate) data: Value,
}

impl Stream {
    pub(crate) async fn open(stand: &Stand, path: &str, headers: &[(&str, &str)]) -> Self {
        let mut stream = stand.connect().await;
        let mut text = format!("GET {path} HTTP/1.1\r\nhost: localhost:{}\r\nauthorization: Bearer {TOKEN}\r\n", stand.port);
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        stream.write_all(format!("{text}\r\n").as_bytes()).await.unwrap();
        let mut lines = BufReader::new(stream).lines();
        let status = lines.next_line().await.unwrap().unwrap();
        assert!(status.contains(" 200 "), "{status}");
        let mut is_stream = false;
        while let Some(line) = lines.next_line().await.unwrap() {
            is_stream |= line == "content-type: text/event-stream";
            if line.is_empty() {
                break;
            }
        }
        assert!(is_stream);
        Self { lines }
    }

    /// The next event; nothing where the stream ended.
    pub(crate) async fn maybe(&mut self) -> Option<Event> {
        let (mut name, mut id) = (None, None);
        loop {
            let line = self.lines.next_line().await.unwrap_or_default()?;
            if let Some(text) = line.strip_prefix("event: ") {
                name = Some(text.to_owned());
            } else if let Some(text) = line.strip_prefix("id: ") {
                id = Some(text.to_owned());
            } else if let Some(text) = line.strip_prefix("data: ") {
                let data = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
                return Some(Event { name: name.unwrap(), id, data });
            }
        }
    }

    pub(crate) async fn next(&mut self) -> Event {
        self.maybe().await.unwrap_or_else(|| panic!("the stream ended"))
    }

    /// The events until one of this name, with it.
    pub(crate) async fn until(&mut self, name: &str) -> Vec<Event> {
        let mut events = Vec::new();
        loop {
            events.push(self.next().await);
            if events.last().is_some_and(|event| event.name == name) {
                return events;
            }
        }
    }
}

/// Names of events, with the ids of those that have one and the types of lines.
fn told(events: &[Event]) -> Vec<String> {
    let told = |event: &Event| match (&*event.name, &event.id) {
        ("record", Some(id)) => format!("record {id}"),
        ("line", _) => event.data["type"].as_str().unwrap().to_owned(),
        ("turn", _) => format!("turn {}", event.data["stop"]["type"].as_str().unwrap()),
        (name, _) => name.to_owned(),
    };
    events.iter().map(told).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_followed_and_taken_up_again_without_a_gap() {
    let stand = Stand::new(SHOP).await;
    stand.post("/api/sessions", json!({ "id": "ana" })).await;
    let mut stream = Stream::open(&stand, "/api/sessions/ana/events", &[]).await;
    assert_eq!(told(&stream.until("turn").await), ["turn REQUEST_INPUT"], "what is asked now comes first");
    stand.post("/api/sessions/ana/turns", json!({ "input": "Ada" })).await;
    assert_eq!(told(&stream.until("turn").await), ["record 1", "RENDER_CONTENT", "turn REQUEST_INPUT"]);
    drop(stream);
    stand.post("/api/sessions/ana/turns", json!({ "input": 2 })).await;
    let mut stream = Stream::open(&stand, "/api/sessions/ana/events", &[("last-event-id", "0")]).await;
    assert_eq!(told(&stream.until("turn").await), ["record 1", "record 2", "turn APPROVAL"], "nothing twice, nothing left out");
    // A number that was never given.
    let mut lost = Stream::open(&stand, "/api/sessions/ana/events?since=99", &[]).await;
    let events = lost.until("turn").await;
    assert_eq!((told(&events)[..2].to_vec(), &events[0].data), (vec!["reset".to_owned(), "record 0".to_owned()], &json!({ "first": 0 })));
    let seq = stand.get("/api/sessions/ana").await.seq();
    stand.with("DELETE", "/api/sessions/ana?open=true", &[("if-match", &format!("\"{seq}\""))], None).await;
    let end = stream.until("removed").await;
    assert_eq!(end.last().unwrap().data, json!({ "since": 2 }));
    assert!(stream.maybe().await.is_none(), "the stream ends");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_tells_what_moves_and_says_goodbye() {
    let mut stand = Stand::new(SHOP).await;
    let mut stream = Stream::open(&stand, "/api/events?graph=shop", &[]).await;
    let call = stand.held("ana").await;
    let asked = stream.until("approval").await;
    assert_eq!(asked.last().unwrap().data, json!({ "graph": "shop", "session": "ana", "call": call, "state": "asked" }));
    let moved = match asked.iter().find(|event| event.name == "session") {
        Some(event) => event.clone(),
        None => stream.until("session").await.pop().unwrap(),
    };
    assert_eq!((&moved.data["session"], moved.id.is_some()), (&json!("ana"), true));
    stand.post(&format!("/api/sessions/ana/approvals/{call}"), json!({ "decision": "approve" })).await;
    let approved = stream.until("approval").await.pop().unwrap();
    assert_eq!(approved.data["state"], "approved");
    // Events since an id come again; of another run of the server, nothing is known.
    let id = approved.id.unwrap();
    let mut again = Stream::open(&stand, "/api/events", &[("last-event-id", &id)]).await;
    let mut lost = Stream::open(&stand, "/api/events", &[("last-event-id", "another-7")]).await;
    assert_eq!(lost.next().await.name, "reset");
    stand.counting("bea").await;
    assert_ne!(again.next().await.name, "reset");
    let mut both = Stream::open(&stand, "/api/events?session=ana", &[]).await;
    let turn = both.until("turn").await.pop().unwrap();
    assert_eq!((&turn.data["session"], turn.id), (&json!("ana"), None));
    stand.begin_to_stop();
    let bye = stream.until("bye").await.pop().unwrap();
    assert!(bye.data["since"].as_str().is_some_and(|since| since.contains('-')), "{:?}", bye.data);
    assert!(stream.maybe().await.is_none());
}

/// The steps of another server on a session of the same store are reported, too.
#[tokio::test(flavor = "multi_thread")]
async fn what_happens_in_another_server_of_the_store_is_told() {
    let stand = Stand::new(SHOP).await;
    stand.post("/api/sessions", json!({ "id": "ana" })).await;
    let other = Stand::again(std::sync::Arc::clone(&stand.folder), Terms::default()).await;
    let mut stream = Stream::open(&stand, "/api/sessions/ana/events", &[]).await;
    stream.until("turn").await;
    other.post("/api/sessions/ana/turns", json!({ "input": "Ada" })).await;
    assert_eq!(told(&stream.until("turn").await), ["record 1", "turn REQUEST_INPUT"]);
    let seen = stand.with("POST", "/api/sessions/ana/turns", &[("if-match", "\"2\"")], Some(&json!({ "input": 2 }))).await;
    assert_eq!((seen.status, seen.stop()), (200, "APPROVAL".to_owned()));
}
