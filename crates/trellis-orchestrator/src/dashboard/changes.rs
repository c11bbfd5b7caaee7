//! Events of a dashboard: the changes since a moment ago.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Value as Json, json};

use trellis_server::Server;

use super::View;

/// The time between two looks.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// The parts of a state whose items have events of their own: the event, and the key that names an item.
const STATE_PARTS: [(&str, &str, &str); 6] = [
    ("services", "service", "name"),
    ("channels", "channel", "name"),
    ("runs", "task", "id"),
    ("tasks", "task", "id"),
    ("cron", "cron", "id"),
    ("dead", "dead", "id"),
];

/// Reports changes to those who follow the server, forever.
pub(super) async fn tell(view: &View, server: &Server) {
    let mut before = None;
    loop {
        tokio::time::sleep(LOOK_INTERVAL).await;
        if !view.news.has_listeners() {
            before = None;
            continue;
        }
        // A failed read is repeated in a moment.
        let Ok(calls) = server.calls().await else { continue };
        let Ok(now) = view.look(calls).await else { continue };
        if let Some(before) = &before {
            events(before, &now).into_iter().for_each(|(event, data)| view.news.tell(event, data));
        }
        before = Some(now);
    }
}

/// The events that lead from one state to the next: each item that changed, and each that is gone as `{…, gone: true}`.
fn events(before: &Json, now: &Json) -> Vec<(&'static str, Json)> {
    let mut events = Vec::new();
    for (part, event, key) in STATE_PARTS {
        let (earlier, later) = (named(&before[part], key), named(&now[part], key));
        // The age of a waiting message is no news.
        let is_same = |one: &Json, other: &Json| without_lag(one) == without_lag(other);
        let changed = later.iter().filter(|(name, item)| earlier.get(*name).is_none_or(|before| !is_same(before, item)));
        events.extend(changed.map(|(_, item)| (event, (*item).clone())));
        let gone = earlier.keys().filter(|name| !later.contains_key(*name));
        events.extend(gone.map(|name| (event, json!({ key: name, "gone": true }))));
    }
    if before["outbox"] != now["outbox"] {
        events.push(("outbox", now["outbox"].clone()));
    }
    events
}

/// The items of a list by their names; the server itself reports calls that were given up.
fn named<'j>(list: &'j Json, key: &str) -> BTreeMap<String, &'j Json> {
    let items = list.as_array().into_iter().flatten().filter(|item| item["kind"] != "call");
    items.map(|item| (item[key].as_str().map_or_else(|| item[key].to_string(), str::to_owned), item)).collect()
}

fn without_lag(item: &Json) -> Json {
    let mut item = item.clone();
    if let Some(entries) = item.as_object_mut()
        && let Some(lag) = entries.get_mut("lag")
    {
        *lag = (*lag != json!(0)).into();
    }
    item
}

#[cfg(test)]
mod tests {
    use super::*;

    // orchestrator 8.5: items that change, come or go are reported; others are not
    #[test]
    fn each_change_is_one_event() {
        let before = json!({
            "services": [{ "name": "cron", "state": "running" }],
            "channels": [{ "name": "web", "lag": 10 }],
            "dead": [{ "kind": "message", "id": 3 }, { "kind": "call", "letter": {} }],
            "outbox": { "queued": 0 },
        });
        assert_eq!(events(&before, &before), []);
        let now = json!({
            "services": [{ "name": "cron", "state": "down" }],
            "channels": [{ "name": "web", "lag": 20 }],
            "cron": [{ "id": "a" }],
            "dead": [],
            "outbox": { "queued": 1 },
        });
        let expected = [
            ("service", json!({ "name": "cron", "state": "down" })),
            ("cron", json!({ "id": "a" })),
            ("dead", json!({ "id": "3", "gone": true })),
            ("outbox", json!({ "queued": 1 })),
        ];
        assert_eq!(events(&before, &now), expected);
    }
}
