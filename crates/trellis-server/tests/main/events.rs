//! Streams of events: in order, taken up again without gap or repetition, closed with a word.

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    net::TcpStream,
};

use crate::stand::{SHOP, Stand, TOKEN, Terms};

/// The time after which a wait fails.
const LONG: std::time::Duration = std::time::Duration::from_secs(120);

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
        // The end of the stream is that of the connection.
        let mut head = format!("host: localhost:{}\r\nconnection: close\r\n", stand.port);
        if !headers.iter().any(|(name, _)| *name == "authorization") {
            head += &format!("authorization: Bearer {TOKEN}\r\n");
        }
        let mut text = format!("GET {path} HTTP/1.1\r\n{head}");
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

// `docs/serve.md#events`: who follows the server hears of it, too, within seconds: of what moved, what was asked and what was decided
#[tokio::test(flavor = "multi_thread")]
async fn who_follows_the_server_hears_of_another_one() {
    let stand = Stand::new(SHOP).await;
    stand.post("/api/sessions", json!({ "id": "ana" })).await;
    let other = Stand::again(std::sync::Arc::clone(&stand.folder), Terms::default()).await;
    let mut stream = Stream::open(&stand, "/api/events", &[]).await;
    let call = other.held("bea").await;
    let asked = tokio::time::timeout(LONG, stream.until("approval")).await.expect("it is told").pop().unwrap();
    assert_eq!(asked.data, json!({ "graph": "shop", "session": "bea", "call": call, "state": "asked" }));
    other.post("/api/sessions/ana/turns", json!({ "input": "Ada" })).await;
    other.post(&format!("/api/sessions/bea/approvals/{call}"), json!({ "decision": "approve" })).await;
    let (mut moved, mut decided) = (None, None);
    while moved.is_none() || decided.is_none() {
        let event = tokio::time::timeout(LONG, stream.next()).await.expect("it is told");
        match &*event.name {
            "session" if event.data["session"] == "ana" => moved = Some(event.data["node"].clone()),
            "approval" => decided = Some(event.data["state"].clone()),
            _ => {}
        }
    }
    assert_eq!((moved, decided), (Some(json!("count")), Some(json!("approved"))));
}

// `docs/serve.md#events`: a ring has the last 4,096 events; whoever missed more asks for its lists again
#[tokio::test(flavor = "multi_thread")]
async fn who_missed_more_than_the_ring_holds_begins_anew() {
    let stand = Stand::new(SHOP).await;
    let mut stream = Stream::open(&stand, "/api/events", &[]).await;
    stand.news.tell("seen", json!({}));
    let seen = stream.until("seen").await.pop().unwrap().id.unwrap();
    drop(stream);
    let (boot, number) = seen.rsplit_once('-').map(|(boot, number)| (boot, number.parse::<u64>().unwrap())).unwrap();
    for _ in 0..4096 {
        stand.news.tell("missed", json!({}));
    }
    let mut again = Stream::open(&stand, "/api/events", &[("last-event-id", &seen)]).await;
    let first = again.next().await;
    assert_eq!((&*first.name, first.id), ("missed", Some(format!("{boot}-{}", number + 1))), "the ring has all of them");
    stand.news.tell("missed", json!({}));
    let mut late = Stream::open(&stand, "/api/events", &[("last-event-id", &seen)]).await;
    assert_eq!(late.next().await.name, "reset");
    stand.news.tell("now", json!({}));
    assert_eq!(late.next().await.name, "now", "nothing of the past besides");
}

/// More than the system keeps for a reader that does not read.
const PIECE: usize = 64 << 10;

// `docs/serve.md#events`: whoever does not read is told so and let go; nobody waits for it, and nothing is lost to it
#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_read_lags_and_keeps_nobody_waiting() {
    let stand = Stand::new(SHOP).await;
    let mut stream = Stream::open(&stand, "/api/events", &[]).await;
    // Whoever reads may have as many as there are.
    for _ in 0..400 {
        stand.news.tell("read", json!({}));
        assert_eq!(stream.next().await.name, "read");
    }
    let piece = "x".repeat(PIECE);
    for _ in 0..800 {
        stand.news.tell("unread", json!({ "piece": piece }));
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    assert_eq!(tokio::time::timeout(LONG, stand.counting("ana")).await.expect("others go on").status, 200);
    let events = tokio::time::timeout(LONG, stream.until("lagged")).await.expect("it is told");
    let [.., last, lagged] = &events[..] else { panic!("{} events", events.len()) };
    assert!((2..800).contains(&events.len()), "{} events", events.len());
    assert_eq!((&lagged.data["since"], &lagged.id), (&json!(last.id), &None), "it says how far it came");
    assert!(stream.maybe().await.is_none(), "the stream ends");
    let since = lagged.data["since"].as_str().unwrap();
    let mut again = Stream::open(&stand, "/api/events", &[("last-event-id", since)]).await;
    let next = again.next().await.id.unwrap();
    let number = |id: &str| id.rsplit_once('-').unwrap().1.parse::<u64>().unwrap();
    assert_eq!(number(&next), number(since) + 1, "from there it goes on");
}

// `docs/serve.md#events`: the same of one session, whose records come again from where the reader was
#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_read_a_session_lags_and_can_take_it_up() {
    let text = format!("---\ninput_type: text\nmax_visits: 100000\non_max_visits: end\nto: start\n---\n{}\n", "x".repeat(PIECE));
    let stand = Stand::new(&[("round/start.md", &text), ("round/end.md", "Over.\n")]).await;
    stand.post("/api/sessions", json!({ "id": "ana" })).await;
    let mut stream = Stream::open(&stand, "/api/sessions/ana/events", &[]).await;
    // What is asked now comes first: records follow from there.
    stream.until("turn").await;
    let mut seq = 1;
    for _ in 0..300 {
        let turn = stand.post("/api/sessions/ana/turns", json!({ "input": "on" }));
        seq = tokio::time::timeout(LONG, turn).await.expect("the session waits for no reader").seq();
    }
    let events = tokio::time::timeout(LONG, stream.until("lagged")).await.expect("it is told");
    let records: Vec<u64> = events.iter().filter_map(|event| event.id.as_ref()?.parse().ok()).collect();
    let since = events.last().unwrap().data["since"].as_u64().unwrap();
    assert_eq!(records, (1..=since).collect::<Vec<_>>());
    // Records are read from the store, so all of them may have come by then.
    assert!(since < seq && stream.maybe().await.is_none());
    let mut again = Stream::open(&stand, "/api/sessions/ana/events", &[("last-event-id", &since.to_string())]).await;
    let events = tokio::time::timeout(LONG, again.until("turn")).await.expect("it goes on");
    let rest: Vec<u64> = events.iter().filter_map(|event| event.id.as_ref()?.parse().ok()).collect();
    assert_eq!(rest, (since + 1..seq).collect::<Vec<_>>());
}
