//! Skills: the model is shown their list, and reads a card when it needs one (orchestrator 5.3, 6).

use std::{fs, os::unix::fs::symlink};

use crate::world::World;

/// A model that reads a card, or says what its context has about skills.
const LEARNS: &str = r#"
- when: { matches: '^learn ' }
  reply: { tool_calls: [{ name: skill.read, args: { id: "{{ last.content | replace('learn ', '') }}" } }] }
- when: { matches: '^which' }
  reply: { content: "{{ messages[0].content | split('# Skills') | last }}" }
- reply: { content: 'came: {{ last.content }}' }
"#;

// orchestrator 6: a card is read by its id alone: no path, no link, no more than 64 KiB, and without values of the vault
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_skill_is_read_by_its_id() {
    let world = World::new(LEARNS);
    drop(world.opened().await);
    fs::create_dir(world.at("skills")).expect("made");
    let card = |name: &str, text: &str| fs::write(world.at(&format!("skills/{name}.md")), text).expect("written");
    card("tea", "---\ntitle: Make tea\ntags: [kitchen]\n---\nBoil water, say mellon77fish.\n");
    card("large", &"x".repeat((64 << 10) + 1));
    symlink(world.at("orchestrator.yaml"), world.at("skills/link.md")).expect("linked");
    let mut chat = world.chat().await;
    chat.ask("/secret set door mellon77fish").await;
    let listed = chat.ask("which are there").await;
    assert!(listed.contains("- tea: Make tea (kitchen)") && !listed.contains("Boil water"), "{listed}");
    let came = chat.ask("learn tea").await;
    assert!(came.contains("Boil water, say ***."), "{came}");
    for (id, code) in [("none", "not_found"), ("link", "not_found"), ("../orchestrator", "not_found"), ("large", "65536 bytes")] {
        let came = chat.ask(&format!("learn {id}")).await;
        assert!(came.contains(code), "{id}: {came}");
    }
    assert!(!chat.leave().await.join("\n").contains("mellon77fish"));
}
