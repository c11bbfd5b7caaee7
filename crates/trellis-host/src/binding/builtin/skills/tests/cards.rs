//! Cards and their mistakes, and questions about them (language 11.9, 11.10, 11.13).

use super::*;

fn mistakes(card: &str) -> Vec<(String, String)> {
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().join("work");
    fs::create_dir(&work).unwrap();
    std::os::unix::fs::symlink(folder.path(), work.join("out")).unwrap();
    std::os::unix::fs::symlink("nowhere", work.join("dangling")).unwrap();
    let found = card::SkillCard::parse("x", card, &work, &folder.path().join(".trellis")).err().unwrap_or_default();
    found.into_iter().map(|found| (found.message, found.help.unwrap_or_default())).collect()
}

fn messages(card: &str) -> String {
    mistakes(card).into_iter().map(|(message, _)| message).collect::<Vec<_>>().join("; ")
}

// language 11.9
#[test]
fn every_mistake_of_a_card_is_named_with_its_remedy() {
    assert!(mistakes("---\ntitle: Tidy\nrun: [sh]\n---\nText.\n").is_empty());
    assert_eq!(messages("---\nrun: [sh]\n---\n"), "it has no `title`");
    assert_eq!(messages("No frontmatter.\n"), "it has no `title`; it has no `run`");
    assert_eq!(messages("---\ntitle: ' '\nrun: [sh]\n---\n"), "it has no `title`");
    let found = mistakes("---\ntitel: T\ntitle: T\nrun: [sh]\ntimeout: soon\n---\n");
    assert_eq!(found[1], ("`frontmatter` has no key `titel`".into(), "did you mean `title`?".into()));
    assert_eq!(found[0].0, "`soon` is no duration");
    assert_eq!(messages("---\ntitle: 3\nrun: ls\n---\n"), "`run` takes a list of texts, not a text; `title` takes a text, not an integer");
    assert_eq!(messages("---\ntitle: T\nrun: []\ncheck: ['']\n---\n"), "`check` names no command; `run` names no command");
    assert_eq!(
        messages("---\ntitle: T\nrun: [sh]\ntags: a\ndry_run_supported: yes please\ntimeout: 0s\n---\n"),
        "`dry_run_supported` takes a boolean, not a text; `tags` takes a list of texts, not a text; `timeout` is no time at all"
    );
    assert!(
        messages("---\ntitle: T\nrun: [sh]\nrequired_inputs: {type: objekt}\n---\n").starts_with("`required_inputs` is no JSON Schema")
    );
    assert!(messages("---\ntitle: [\n---\n").starts_with("its frontmatter is no YAML"));
    assert_eq!(messages("---\n- a\n---\n"), "its frontmatter is list, no mapping");
}

// language 11.13
#[test]
fn a_path_that_leaves_the_workspace_is_refused_when_the_card_is_read() {
    let with = |path: &str| messages(&format!("---\ntitle: T\nrun: [sh]\nbackup: [{path}]\n---\n"));
    assert_eq!(with("logs, a/b.txt, ./c, ."), "");
    assert_eq!(with("../x"), "`backup` names `../x`, which leaves the workspace by `..`");
    assert_eq!(with("a/../../x"), "`backup` names `a/../../x`, which leaves the workspace by `..`");
    assert_eq!(with("/etc/passwd"), "`backup` names `/etc/passwd`, which is absolute");
    assert_eq!(with("out/x"), "`backup` names `out/x`, which leaves the workspace through a link");
    assert!(with("dangling/x").contains("leads through the link"), "{}", with("dangling/x"));
    assert_eq!(with("''"), "`backup` names ``, which is no path");
}

#[test]
fn backups_do_not_copy_themselves() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".trellis")).unwrap();
    let parse = |path: &str| {
        let card = format!("---\ntitle: T\nrun: [sh]\nbackup: [{path}]\n---\n");
        card::SkillCard::parse("x", &card, folder.path(), &folder.path().join(".trellis")).map_err(|found| found[0].message.clone())
    };
    for path in [".", ".trellis", ".trellis/skills"] {
        assert!(parse(path).unwrap_err().contains("where backups are stored"), "{path}");
    }
    assert!(parse("logs").is_ok());
}

const TIDY: &str = "---\ntitle: Tidy the logs\ntags: [logs, cleanup]\nrun: [sh, -c, 'true']\ndry_run: [sh, -c, 'echo 3 files']\nbackup: [logs]\n\
    required_inputs: {type: object, required: [days], properties: {days: {type: integer, minimum: 1}}}\nrollback: Files come back.\n---\nMoves old files away.\n";
const COUNT: &str = "---\ntitle: Count words\nrun: [sh, -c, 'wc -w notes.txt']\n---\nCounts the words of the notes.\n";

// language 11.10
#[test]
fn skills_are_found_by_title_tags_and_text() {
    let shop = Shop::new(&[("tidy_logs", TIDY), ("count_words", COUNT), ("broken", "---\ntitle: Logs\n---\n")]);
    let found = |query: &str| {
        let found = shop.ask(SkillQuestion::Search, &Value::map([("query", Value::text(query))]).to_json()).unwrap();
        let candidates = found.as_map().unwrap().get("candidates").unwrap().as_list().unwrap().iter().cloned().collect::<Vec<_>>();
        candidates.iter().map(|found| field(found, "skill_id").trim_matches('"').to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(found("tidy logs"), ["tidy_logs"], "the card without a command is no candidate");
    assert_eq!(found("cleanup"), ["tidy_logs"], "a tag");
    assert_eq!(found("count notes"), ["count_words"], "the title and the text");
    let long = "x".repeat(1 << 20);
    for nothing in ["notes", "tidy", "why words", "do not tidy the logs", "", "\"", "*", "NEAR(", "🦀", &long] {
        assert_eq!(found(nothing), Vec::<String>::new());
    }
    let whole = shop.ask(SkillQuestion::Search, r#"{"query": "logs", "top_k": 1}"#).unwrap().to_json();
    assert!(
        whole.contains(r#""reason":"Moves old files away.""#)
            && whole.contains(r#""score_hint":1.0"#)
            && whole.contains(r#""tags":["logs","cleanup"]"#),
        "{whole}"
    );
    // A card that changes is found anew.
    fs::write(shop.path().join("_skills/count_words.md"), COUNT.replace("notes.\n", "novel, all of them.\n")).unwrap();
    assert_eq!(found("count the novel"), ["count_words"]);
}

// language 11.9, 11.10
#[test]
fn a_card_is_looked_up_among_files_and_its_inputs_are_checked() {
    let shop = Shop::new(&[("tidy_logs", TIDY), ("bad", "---\ntitle: T\n---\n")]);
    fs::write(shop.path().join("secret.md"), TIDY).unwrap();
    fs::create_dir(shop.path().join("_skills/sub")).unwrap();
    fs::write(shop.path().join("_skills/sub/deep.md"), TIDY).unwrap();
    let card = shop.ask(SkillQuestion::Card, r#"{"skill_id": "tidy_logs"}"#).unwrap();
    assert_eq!(
        (field(&card, "title"), field(&card, "dry_run_supported"), field(&card, "timeout")),
        (r#""Tidy the logs""#.into(), "true".into(), r#""30s""#.into())
    );
    assert_eq!(field(&card, "text"), r#""Moves old files away.""#);
    for id in ["../secret", "sub/deep", "/etc/passwd", "", "tidy_logs.md", "*", "a\\u0000b"] {
        let error = shop.ask(SkillQuestion::Card, &format!(r#"{{"skill_id": "{id}"}}"#)).unwrap_err();
        assert!(error.code == Some(Value::text("not_found")) && error.is_final, "{id}: {error:?}");
    }
    let unknown = shop.check(r#"{"skill_id": "tidy_log"}"#);
    assert_eq!(unknown, r#"{"code":"not_found","problems":["there is no skill `tidy_log`; did you mean `tidy_logs`?"],"valid":false}"#);
    let error = shop.ask(SkillQuestion::Card, r#"{"skill_id": "bad"}"#).unwrap_err();
    assert_eq!(error.message, "the card of the skill `bad` has mistakes: it has no `run`");

    let check = |args: &str| shop.check(&format!(r#"{{"skill_id": "tidy_logs", "args": {args}}}"#));
    assert_eq!(check(r#"{"days": 3}"#), r#"{"problems":[],"valid":true}"#);
    assert!(check(r#"{"days": "x"}"#).contains(r#"{"code":"inputs""#) && check(r#"{"days": "x"}"#).contains("`days` must"));
    assert!(check("{}").contains("days"));
}

// language 11.10
#[test]
fn what_is_blocked_or_fits_too_little_is_no_candidate() {
    let shop = Shop::new(&[("tidy_logs", TIDY), ("count_words", COUNT)]);
    let search = |shop: &Shop, query: &str| {
        shop.ask(SkillQuestion::Search, &Value::map([("query", Value::text(query))]).to_json()).unwrap().to_json()
    };
    let nothing = r#"{"candidates":[]}"#;
    assert_eq!(search(&shop, "what is the weather"), nothing);
    assert_eq!(search(&shop, "the weather in the notes of Oslo"), nothing, "one word of three, in the text");
    assert!(search(&shop, "count the notes").contains("count_words"));
    let shop = shop.with(r#"{"workspace": "work", "least": 0.1}"#);
    assert!(search(&shop, "the weather in the notes of Oslo").contains("count_words"));
    let shop = shop.with(r#"{"workspace": "work", "block": ["tidy_*"]}"#);
    assert_eq!(search(&shop, "tidy the logs"), nothing);
    let checked = shop.check(r#"{"skill_id": "tidy_logs", "args": {"days": 3}}"#);
    assert_eq!(checked, r#"{"code":"blocked","problems":["the skill `tidy_logs` is blocked here"],"valid":false}"#);
}

// language 11.9
#[test]
fn a_card_states_its_risk() {
    let shop = Shop::new(&[("fly", "---\ntitle: Fly\nrun: [sh]\nrisk: 40\n---\n")]);
    assert_eq!(field(&shop.ask(SkillQuestion::Card, r#"{"skill_id": "fly"}"#).unwrap(), "risk"), "40.0");
    assert_eq!(messages("---\ntitle: T\nrun: [sh]\nrisk: 101\n---\n"), "`risk` is no number from 0 to 100");
    assert_eq!(messages("---\ntitle: T\nrun: [sh]\nrisk: high\n---\n"), "`risk` takes a number, not a text");
}

// language 9.8
#[test]
fn obstacles_name_cards_commands_and_folders() {
    let shop = Shop::new(&[
        ("a", "---\ntitle: T\nrun: [no-such-command-here]\n---\n"),
        ("b", "---\ntitle: T\nrun: [sh]\nbackup: ['../x']\n---\n"),
    ]);
    let lines = |found: Vec<Obstacle>| found.into_iter().map(|found| format!("{}: {}", found.place, found.message)).collect::<Vec<_>>();
    let found = lines(shop.runner(SkillOperation::Execute).obstacles());
    assert_eq!(found[0], "folder: the card `b.md`: `backup` names `../x`, which leaves the workspace by `..`");
    assert_eq!(found[1], "folder: the card `a.md`: `no-such-command-here` is not on the PATH");
    assert_eq!(found.len(), 2);
    fs::remove_dir(shop.work()).unwrap();
    assert!(lines(shop.runner(SkillOperation::Restore).obstacles())[0].starts_with("workspace: the workspace `"));
    let shop = shop.with(r#"{"folder": "nowhere"}"#);
    assert!(lines(shop.runner(SkillOperation::Execute).obstacles())[0].starts_with("folder: the folder `"));
}
