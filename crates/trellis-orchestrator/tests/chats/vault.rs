//! The vault of a workspace (orchestrator 9, source 003.14.2).

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
};

use crate::world::World;

const KEY: &str = "runtime/security/master.key";
const SECRETS: &str = "runtime/security/secrets.json";

/// A world whose vault has two secrets.
async fn world() -> World {
    let world = World::new("");
    let orchestrator = world.opened().await;
    for (name, value) in [("one", "mellon77fish"), ("two", "sword99fish")] {
        orchestrator.hands().vault.set(name, value).expect("it is set");
    }
    world
}

// orchestrator 9, source 003.14.2: 32 bytes, 0600; a key that is corrupt, or that others may read, is an error and never made anew
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_is_not_as_it_should_be_is_an_error() {
    let world = world().await;
    let (key, secrets) = (fs::read(world.at(KEY)).expect("read"), fs::read(world.at(SECRETS)).expect("read"));
    assert_eq!(key.len(), 32);
    for name in [KEY, SECRETS] {
        assert_eq!(world.at(name).metadata().expect("there").permissions().mode() & 0o777, 0o600, "{name}");
    }
    let other = [key[1..].to_vec(), key[..1].to_vec()].concat();
    for (bytes, mode) in [(b"short".to_vec(), 0o600), (Vec::new(), 0o600), (key.clone(), 0o640), (key.clone(), 0o604)] {
        fs::write(world.at(KEY), &bytes).expect("written");
        fs::set_permissions(world.at(KEY), Permissions::from_mode(mode)).expect("set");
        let refused = world.open().await.expect_err("refused").to_string();
        assert!(refused.contains("master.key"), "{refused}");
        assert_eq!(fs::read(world.at(KEY)).expect("read"), bytes, "it is left as it is");
        assert_eq!(fs::read(world.at(SECRETS)).expect("read"), secrets);
        fs::set_permissions(world.at(KEY), Permissions::from_mode(0o600)).expect("set");
    }
    // The key of another vault opens nothing, and makes nothing unreadable.
    fs::write(world.at(KEY), other).expect("written");
    if let Ok(orchestrator) = world.open().await {
        assert!(!matches!(orchestrator.hands().vault.get("one"), Ok(Some(_))));
    }
    fs::write(world.at(KEY), &key).expect("written");
    let orchestrator = world.opened().await;
    assert_eq!(orchestrator.hands().vault.get("one").expect("it opens").expect("there").as_str(), "mellon77fish");
}

// orchestrator 3.8, source 003.14.2: the name is authenticated with the value: what was moved under another name does not open, and neither does what was changed
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_value_opens_under_its_own_name_only() {
    let world = world().await;
    let text = fs::read_to_string(world.at(SECRETS)).expect("read");
    assert!(!text.contains("mellon77fish") && !text.contains("sword99fish"), "{text}");
    let swapped = text.replace("\"one\"", "\"three\"").replace("\"two\"", "\"one\"").replace("\"three\"", "\"two\"");
    assert_ne!(swapped, text);
    fs::write(world.at(SECRETS), swapped).expect("written");
    for name in ["one", "two"] {
        let value = world.opened().await.hands().vault.get(name).map(|value| value.map(|value| value.as_str().to_owned()));
        assert!(!matches!(value, Ok(Some(_))), "{name}: {value:?}");
    }
    // Nothing runs with it.
    let mut chat = world.chat().await;
    let said = chat.ask("use {{secret:one}}, please").await;
    assert!(said.starts_with("I cannot open this, so nothing was run: `one`."), "{said}");
    chat.leave().await;
    fs::write(world.at(SECRETS), text).expect("written");
    let orchestrator = world.opened().await;
    assert_eq!(orchestrator.hands().vault.get("two").expect("it opens").expect("there").as_str(), "sword99fish");
}
