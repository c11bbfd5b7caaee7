//! Sealing against the examples of its patterns, and against a corpus: lines with secrets, whose values stand between ⟦ and ⟧, and lines that merely look
//! so.

use std::{collections::BTreeMap, fs, sync::Arc};

use super::*;

const CORPUS: &str = concat!(include_str!("corpus.tsv"), include_str!("kinds.tsv"));
/// Lines of the corpus with a secret.
const WITH: usize = 444;
/// Lines without one.
const WITHOUT: usize = 495;

/// The lines of the corpus: kind (`-` for none), text and value.
fn corpus() -> Vec<(&'static str, String, String)> {
    let line = |line: &'static str| {
        let (kind, text) = line.split_once('\t').expect("a kind and a text");
        let text = text.replace("\\n", "\n").replace('¦', "");
        let value = text.split_once('⟦').and_then(|(_, rest)| rest.split_once('⟧')).map(|(value, _)| value.to_owned());
        (kind, text.replace(['⟦', '⟧'], ""), value.unwrap_or_default())
    };
    CORPUS.lines().map(line).collect()
}

fn sealer() -> (tempfile::TempDir, Arc<Vault>, Sealer) {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, key) = (folder.path().join("secrets.json"), folder.path().join("master.key"));
    let vault = Arc::new(Vault::open_with_key_file(&file, &key).expect("a vault"));
    (folder, Arc::clone(&vault), Sealer::new(vault))
}

/// A line of an example, without its marks, and the place of its value.
fn example(line: &str) -> (String, Option<std::ops::Range<usize>>) {
    let line = line.replace('¦', "");
    let range = line.find('⟦').zip(line.find('⟧')).map(|(start, end)| start..end - '⟦'.len_utf8());
    (line.replace(['⟦', '⟧'], ""), range)
}

// orchestrator 3.3: each pattern finds the whole value of its line and nothing beside it, and nothing is found in the line beside it
#[test]
fn each_pattern_finds_its_line() {
    let mut wrong = Vec::new();
    for pattern in patterns::PATTERNS.iter() {
        let (text, value) = example(&pattern.finds);
        let value = value.expect("a value");
        let found: Vec<_> = pattern.find(&text).map(|(_, range)| range).collect();
        if found != [value.clone()] {
            wrong.push(format!("not found: {text} {value:?} {found:?}"));
        }
        let whole = find(&text, None);
        if whole.len() != 1 || whole[0].range != value {
            wrong.push(format!("not whole: {text} {value:?} {whole:?}"));
        }
        let found = find(&pattern.spares, None);
        if !found.is_empty() {
            wrong.push(format!("not spared: {} {found:?}", pattern.spares));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

// orchestrator 3.3, source 003.4.5.1: recall of 0.98 and more, false alarms of 0.02 and less, cards and private keys all
#[test]
fn the_corpus_is_sealed() {
    let (mut missed, mut alarms) = (BTreeMap::<&str, Vec<String>>::new(), Vec::new());
    let corpus = corpus();
    let with = corpus.iter().filter(|(kind, ..)| *kind != "-").count();
    assert_eq!((with, corpus.len() - with), (WITH, WITHOUT));
    for (kind, text, value) in corpus {
        let found = find(&text, None);
        if kind == "-" {
            alarms.extend((!found.is_empty()).then(|| format!("{text}  {found:?}")));
            continue;
        }
        let start = text.find(&value).expect("the value stands in the text");
        let is_covered = found.iter().any(|found| found.range.start <= start && start + value.len() <= found.range.end);
        if !is_covered {
            missed.entry(kind).or_default().push(format!("{text}  {found:?}"));
        }
    }
    let count: usize = missed.values().map(Vec::len).sum();
    assert!(count * 50 <= with && alarms.len() * 50 <= WITHOUT, "missed {count}: {missed:#?}\nalarms {}: {alarms:#?}", alarms.len());
    assert!(!missed.contains_key("card") && !missed.contains_key("private_key"), "{missed:#?}");
}

// orchestrator 3.3: a value with a name in the vault becomes that name in every chat, whatever the value looks like; a short one is a word, and a
// reference remains one
#[test]
fn a_value_with_a_name_is_replaced_by_its_name() {
    let (_folder, vault, sealer) = sealer();
    assert_eq!(sealer.seal("slack", "C1", "open sesame, please", None), "open sesame, please");
    for (name, value) in [("door", "open sesame"), ("gate", "open sesame, please"), ("short", "open"), ("self", "secret:door")] {
        vault.set(name, value).expect("it is set");
    }
    let sealed = sealer.seal("slack", "C1", "say open sesame (open sesame, please) to {{secret:door}}", None);
    assert_eq!(sealed, "say {{secret:door}} ({{secret:gate}}) to {{secret:door}}");
    assert_eq!(sealer.seal("slack", "C1", "my password is open sesame", None), "my password is {{secret:door}}");
    // A secret that was found in a chat is found there again, also where nothing announces it.
    let announced = sealer.seal("slack", "C1", "my password is Tulip-Harbour", None);
    let again = sealer.seal("slack", "C1", "so Tulip-Harbour it is", None);
    assert_eq!(again, format!("so {} it is", &announced["my password is ".len()..]));
    assert_eq!(sealer.seal("slack", "C2", "so Tulip-Harbour it is", None), "so Tulip-Harbour it is");
}

// orchestrator 3.3, source 003.4.5.2: `inbound.<provider>.c<sha256(chat)[:10]>.<kind>.v<…[:16]>`, the same value under the same key
#[test]
fn keys_are_named_by_chat_kind_and_value() {
    let (_folder, vault, sealer) = sealer();
    let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let sealed = sealer.seal("slack", "C1", &format!("use {token}, I said {token}!"), None);
    let key = format!("inbound.slack.c{}.token.v{}", &sha256("C1")[..10], &sha256(token)[..16]);
    assert_eq!(sealed, format!("use {{{{secret:{key}}}}}, I said {{{{secret:{key}}}}}!"));
    assert_eq!(references(&sealed), std::slice::from_ref(&key));
    assert_eq!(vault.get(&key).expect("it opens").expect("it is there").as_str(), token);
    assert!(key.starts_with(&chat_prefix("slack", "C1")) && !key.starts_with(&chat_prefix("slack", "C2")));
    assert!(trellis_host::secrets::is_name(&key), "{key}");
    // The longest provider and kind are a name too.
    let longest = sealer.reference("telegram", "1", SecretKind::PrivateKey, "k");
    assert!(longest.starts_with("{{secret:"), "{longest}");
}

// orchestrator 3.3: a value that can be guessed has no bare hash in its name
#[test]
fn the_name_of_what_can_be_guessed_tells_nothing_without_the_master_key() {
    let ((_folder, _, sealer), (_other_folder, _, other)) = (sealer(), super::tests::sealer());
    for (kind, before, value) in [
        ("card", "", "4111 1111 1111 1111"),
        ("account", "bank account ", "644220969029"),
        ("password", "password: ", "hunter2"),
        ("password", "Authorization: Basic ", "YW5hOmh1bnRlcjI="),
        ("password", "인증번호: ", "482913"),
        ("secret", "token: ", "482913"),
    ] {
        let text = format!("{before}{value}");
        let one = sealer.seal("terminal", "terminal", &text, None);
        assert_eq!(one, sealer.seal("terminal", "terminal", &text, None));
        assert!(!one.contains(&sha256(value)[..16]) && one.contains(&format!(".{kind}.v")), "{one}");
        assert_ne!(one, other.seal("terminal", "terminal", &text, None));
    }
}

// orchestrator 3.3: the message before is seen as context
#[test]
fn a_password_that_was_announced_is_sealed() {
    let (_folder, _, sealer) = sealer();
    for before in ["my password is", "the wifi password is:", "비밀번호는", "비번은요? 제 비밀번호는"] {
        let sealed = sealer.seal("terminal", "terminal", "hunter2", Some(before));
        assert!(sealed.starts_with("{{secret:inbound.terminal.") && sealed.contains(".password."), "{before}: {sealed}");
    }
    for (before, text) in [
        ("мой пароль:", "серая сова 77"),
        ("das Passwort lautet", "graue Eule 77"),
        ("salasana on", "harmaa pöllö 77"),
        ("lösenordet är", "grå uggla 77"),
        ("비밀번호는", "회색 올빼미 77"),
        ("my password is", "hunter2 tree 77"),
    ] {
        let sealed = sealer.seal("terminal", "terminal", text, Some(before));
        assert!(sealed.starts_with("{{secret:inbound.terminal.") && sealed.ends_with("}}"), "{before}: {sealed}");
    }
    for (before, text) in [("Passwort:", "siehe Seite 12"), ("мой пароль", "от комнаты 12")] {
        assert_eq!(sealer.seal("terminal", "terminal", text, Some(before)), text, "{before}");
    }
    for (before, text) in [("hello", "hunter2"), ("my password is", "wrong"), ("I lost it", "hunter2"), ("what is a password?", "hunter2")]
    {
        assert_eq!(sealer.seal("terminal", "terminal", text, Some(before)), text, "{before}");
    }
}

// orchestrator 3.3, source 003.4.5.3: if the vault fails, nothing of the value is left
#[test]
fn without_a_vault_the_value_is_redacted() {
    let (folder, _, sealer) = sealer();
    fs::write(folder.path().join("secrets.json"), "no vault").expect("written");
    assert_eq!(sealer.seal("terminal", "terminal", "password: hunter2", None), "password: [redacted:password]");
}

#[test]
fn what_was_sealed_is_not_sealed_again() {
    let (_folder, _, sealer) = sealer();
    let sealed = sealer.seal("terminal", "terminal", "password: hunter2 and card 4111111111111111", None);
    assert_eq!(sealer.seal("terminal", "terminal", &sealed, None), sealed);
    assert_eq!(references(&sealed).len(), 2);
}

// orchestrator 3.3: a reference that a model did not write to its end names a secret and is none, wherever it was cut and whatever announces it
#[test]
fn what_was_cut_within_a_reference_is_not_sealed() {
    let (_folder, vault, sealer) = sealer();
    vault.set("mail.key-2024", "sword99fish").expect("it is set");
    let reference = sealer.reference("terminal", "terminal", SecretKind::Password, "hunter2");
    let before: Vec<_> = vault.list().expect("listed").into_iter().map(|entry| entry.name).collect();
    for whole in [reference.as_str(), "{{secret:mail.key-2024}}"] {
        for said in ["", "my password is ", "password: ", "\"api_key\": \"", "비밀번호는 ", "secret token=", "the account number of it is "]
        {
            for (at, behind) in (0..=whole.len()).flat_map(|at| ["", "…", "\"", " and so on"].map(|behind| (at, behind))) {
                let text = format!("{said}{}{behind}", &whole[..at]);
                assert_eq!(sealer.seal("terminal", "terminal", &text, None), text);
            }
        }
    }
    let after: Vec<_> = vault.list().expect("listed").into_iter().map(|entry| entry.name).collect();
    assert_eq!(after, before);
    // What the vault has under no such name is a value, and so is what stands behind it.
    for text in ["{{secret:inbound.nowhere.c0", "password: {{secret:mail.key-2024,hunter3!"] {
        assert_ne!(sealer.seal("terminal", "terminal", text, None), text);
    }
}

// orchestrator 3.3: what only begins like a reference hides nothing
#[test]
fn what_only_looks_like_a_reference_is_sealed() {
    let (_folder, _, sealer) = sealer();
    let card = "4111111111111111";
    for text in [
        format!("why does {{{{secret: not work? my card is {card}, password: hunter2"),
        format!("{{{{secret:a {card} password: hunter2 }}}}"),
        format!("{{{{secret:Key with {card}, password: hunter2}}}} and {{{{secret:key}}}}"),
        format!("{{{{secret:{{{{secret:key}}}} card {card}, password: hunter2"),
    ] {
        let sealed = sealer.seal("terminal", "terminal", &text, None);
        assert!(!sealed.contains(card) && !sealed.contains("hunter2"), "{sealed}");
    }
    assert_eq!(references("{{secret:a b}} {{secret:{{secret:key}} {{secret:key}} {{secret:"), ["key"]);
}

// orchestrator 3.3: passwords have letters of every language; words about passwords do not become secrets by it
#[test]
fn passwords_of_other_letters_are_sealed() {
    let (_folder, _, sealer) = sealer();
    for (text, value) in [
        ("내 비밀번호는 호랑이93!나무 입니다", "호랑이93!나무"),
        ("비밀번호: 호랑이93", "호랑이93"),
        ("비밀번호: 호랑이93입니다", "호랑이93"),
        ("password: Grüße-1984!", "Grüße-1984!"),
        ("my password is Grüße-1984!", "Grüße-1984!"),
        ("mon password: été2024", "été2024"),
    ] {
        let sealed = sealer.seal("terminal", "terminal", text, None);
        assert!(sealed.contains("{{secret:") && !sealed.contains(value), "{text}: {sealed}");
        assert_eq!(sealed.matches("입니다").count(), text.matches("입니다").count(), "{sealed}");
    }
    for text in [
        "비밀번호: 8자이상",
        "비밀번호: 10자리",
        "비밀번호는 8자 이상이어야 합니다",
        "비밀번호는 영문2개와 숫자",
        "비밀번호: 변경완료",
        "password: größer als 8",
    ] {
        assert_eq!(sealer.seal("terminal", "terminal", text, None), text);
    }
}

// What grows with the square of a text would not end here.
#[test]
fn a_text_of_megabytes_is_read_once() {
    let text = "password is password: token = 4111 ".repeat(50_000);
    assert!(find(&text, None).iter().all(|found| found.range.end <= text.len()));
}
