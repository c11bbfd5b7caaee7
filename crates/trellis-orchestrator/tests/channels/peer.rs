//! The channel of Telegram against an emulator of somebody else, `telegram-test-api` from npm (orchestrator 10.2). It has getMe, getUpdates and
//! sendMessage, and refuses every other method; so what a channel asks for besides has to harm nothing.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
};

use serde_json::{Value as Json, json};
use trellis_host::{
    Secrets,
    http::{HttpClient, HttpRequest},
};
use trellis_orchestrator::{
    channel::{Rendering, open_remote},
    config,
    message::{ChatPlace, Outgoing},
};
use trellis_tests::peers::peer;

use crate::world::Reader;

/// A token of the emulator, which takes any text.
const TOKEN: &str = "emulated-1";

/// Serves until its input ends, so that it ends with the test.
const SERVE: &str = "
const TelegramServer = require(process.argv[1]);
const server = new TelegramServer({ host: '127.0.0.1', port: Number(process.argv[2]) });
server.start().then(() => console.log('ready'));
process.stdin.resume().on('end', () => process.exit());
";

/// An emulator that runs.
struct Emulator {
    process: Child,
    address: String,
}

impl Emulator {
    fn start() -> Self {
        // Between its choice and its use, somebody else may take a port.
        (0..10).find_map(|_| Self::start_once()).expect("it says that it is ready")
    }

    fn start_once() -> Option<Self> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let package = peer("telegram-test-api-4.2.1/node_modules/telegram-test-api");
        let mut process = Command::new("node")
            .args(["-e", SERVE])
            .arg(package)
            .arg(port.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("Node.js");
        let mut line = String::new();
        BufReader::new(process.stdout.take().expect("an output")).read_line(&mut line).expect("what it says");
        let emulator = Self { process, address: format!("http://127.0.0.1:{port}") };
        (line.trim() == "ready").then_some(emulator)
    }

    /// Asks as the client of a person.
    async fn ask(&self, method: &str, body: Json) -> Json {
        let request = HttpRequest::new("POST", &format!("{}/{method}", self.address)).expect("a request");
        let request = request.header("content-type", "application/json").expect("a header").body(body.to_string());
        let response = HttpClient::new().send(request).await.expect("an answer").body(1 << 20).await.expect("a body");
        serde_json::from_slice(&response).expect("JSON")
    }

    /// A person writes something in a chat.
    async fn post(&self, chat: i64, kind: &str, text: &str) {
        let from = json!({ "id": 7, "first_name": "Ana", "is_bot": false });
        let chat = json!({ "id": chat, "type": kind, "first_name": "Ana" });
        let message = json!({ "botToken": TOKEN, "from": from, "chat": chat, "date": 1_700_000_000, "text": text });
        assert_eq!(self.ask("sendMessage", message).await["ok"], true);
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

// orchestrator 4, 10.2
#[tokio::test]
async fn a_chat_on_an_emulator_of_somebody_else() {
    let emulator = Emulator::start();
    let text = format!(
        "channels: {{ telegram: {{ token: {{ secret: token }}, allow: [\"*\"], base_url: \"{}\", poll: 20ms }} }}\n",
        emulator.address
    );
    let (settings, found) = config::read(config::CONFIG_FILE, &text);
    assert_eq!(found, []);
    let secrets = Secrets::new(|name| (name == "token").then(|| TOKEN.to_owned()));
    let channel = open_remote(&settings, &secrets).expect("a channel").remove(0);
    let mut reader = Reader { channel, cursor: None, heard: Vec::new(), troubles: Vec::new() };
    for text in ["one", "two", "three"] {
        emulator.post(5, "private", text).await;
    }
    emulator.post(-6, "group", "not for the agent").await;
    emulator.post(-6, "group", "@TestNameBot, four").await;
    assert_eq!(reader.until("four").await, ["one", "two", "three", "four"]);
    let first = reader.heard[0].clone();
    assert_eq!((&*first.place.chat, &*first.sender, &*first.sender_name), ("5", "7", "Ana"));
    let place = ChatPlace::new("telegram", "5");
    let outgoing = Outgoing::new(place.clone(), "**hello** <b>", "k");
    let receipt = reader.channel.send(&outgoing, Rendering::Markdown).await.expect("sent");
    assert!(receipt.parse::<u64>().is_ok(), "{receipt}");
    let said = emulator.ask("getUpdates", json!({ "token": TOKEN, "chatId": 5 })).await;
    let message = &said["result"][0]["message"];
    assert_eq!((&message["text"], &message["parse_mode"]), (&json!("<b>hello</b> &lt;b&gt;"), &json!("HTML")));
    // An unknown request is refused, and harms nothing.
    assert!(reader.channel.react(&place, &first.id).await.is_err());
    emulator.post(5, "private", "five").await;
    assert_eq!(reader.until("five").await.len(), 5);
}
