//! Vaults that round-trip, that two write at once, and that somebody damaged (language 11.2).

use std::fs;

use tempfile::TempDir;

use super::*;

fn vault() -> (TempDir, Vault) {
    let folder = tempfile::tempdir().unwrap();
    let vault = Vault::checked(&folder.path().join(".trellis/vault.json"), MasterKey::beside(&folder.path().join(".trellis/vault.json")));
    (folder, vault.unwrap())
}

fn again(vault: &Vault) -> Result<Vault, VaultError> {
    Vault::checked(&vault.file, vault.key.clone())
}

fn key_file(vault: &Vault) -> PathBuf {
    vault.file.with_extension("key")
}

fn write(path: &Path, bytes: impl AsRef<[u8]>) {
    fs::write(path, bytes).unwrap();
    mode(path, 0o600);
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
}

#[test]
fn values_come_back_as_they_were_set() {
    let (_folder, vault) = vault();
    let long = "é\n\"".repeat(16 << 10);
    for value in ["x", "with \"quotes\" and 'these'", "line\nbreak\r\n\0", "日本語", &long[..MAX_VALUE]] {
        vault.set("a.b-c_1", value).unwrap();
        assert_eq!(**vault.get("a.b-c_1").unwrap().unwrap(), *value);
        let text = fs::read_to_string(&vault.file).unwrap();
        assert!(value.len() < 4 || !text.contains(value), "{text}");
    }
    assert_eq!(vault.get("other").unwrap(), None);
    assert_eq!(fs::read_to_string(vault.file.with_file_name(".gitignore")).unwrap(), "*\n");
    assert!(vault.list().unwrap().iter().map(|entry| &*entry.name).eq(["a.b-c_1"]));
    assert!(vault.remove("a.b-c_1").unwrap() && !vault.remove("a.b-c_1").unwrap());
    assert!(matches!(vault.set("a", ""), Err(VaultError::Empty)));
    assert!(matches!(vault.set("a", &format!("{long}x")), Err(VaultError::TooLong)));
    assert!(matches!(vault.set("A", "x"), Err(VaultError::Name(_))));
}

#[test]
fn one_value_is_never_sealed_the_same_twice() {
    let (_folder, vault) = vault();
    let text = |vault: &Vault| {
        vault.set("a", "hunter2").unwrap();
        let contents = vault.contents().unwrap().unwrap();
        (contents.secrets["a"].nonce.clone(), contents.secrets["a"].data.clone())
    };
    let (one, other) = (text(&vault), text(&vault));
    assert!(one.0 != other.0 && one.1 != other.1);
    assert_eq!((one.0.len(), one.1.len()), (12, "hunter2".len() + 16));
}

#[test]
fn a_key_that_is_none_is_named_and_never_replaced() {
    let (_folder, vault) = vault();
    vault.set("a", "hunter2").unwrap();
    let key = key_file(&vault);
    let right = fs::read(&key).unwrap();
    assert_eq!(right.len(), 32);
    let told = |vault: &Vault| {
        let (opened, set) = (again(vault).unwrap_err().to_string(), vault.set("b", "x").unwrap_err().to_string());
        assert_eq!(opened, set);
        opened
    };
    mode(&key, 0o644);
    assert_eq!(told(&vault), format!("others may read or write {0}: run `chmod 600 {0}`", key.display()));
    for (bytes, what) in [(&right[..31], "has 31 bytes"), (&[&right[..], b"\n"].concat(), "has more than 32 bytes"), (&[], "has 0 bytes")] {
        write(&key, bytes);
        assert_eq!(told(&vault), format!("the key {} {what}; a key has 32 bytes", key.display()));
        assert_eq!(fs::read(&key).unwrap(), bytes);
    }
    fs::remove_file(&key).unwrap();
    assert!(told(&vault).starts_with(&format!("the key {} is not there", key.display())));
    assert!(!key.exists(), "no key is made for a vault that has one");
    fs::create_dir(&key).unwrap();
    assert_eq!(told(&vault), format!("{} is no file", key.display()));
    fs::remove_dir(&key).unwrap();
    write(&key, [7; 32]);
    let closed = vault.set("b", "x").unwrap_err().to_string();
    assert!(closed.starts_with(&format!("`a` of {} does not open with the key {}", vault.file.display(), key.display())), "{closed}");
    assert!(vault.clone().secrets().find("a").unwrap_err().to_string().contains("`a` of "));
    write(&key, &right);
    assert_eq!(**vault.get("a").unwrap().unwrap(), *"hunter2");
}

#[test]
fn a_vault_that_is_none_is_named_and_never_replaced() {
    let (_folder, vault) = vault();
    vault.set("a", "hunter2").unwrap();
    vault.set("b", "hunter3").unwrap();
    let right = fs::read_to_string(&vault.file).unwrap();
    for damaged in
        ["", "{", &right[..right.len() / 2], "[]", "null", "{\"version\":0,\"secrets\":{}}", &right.replace("\"a\"", "\"A\""), "\u{0}"]
    {
        write(&vault.file, damaged);
        for error in
            [again(&vault).unwrap_err(), vault.set("c", "x").unwrap_err(), vault.get("a").unwrap_err(), vault.remove("a").unwrap_err()]
        {
            assert!(error.to_string().starts_with(&format!("{} is no vault: ", vault.file.display())), "{damaged:?}: {error}");
        }
        assert_eq!(fs::read_to_string(&vault.file).unwrap(), damaged);
    }
    write(&vault.file, "{\"version\":2,\"secrets\":[]}");
    assert!(again(&vault).unwrap_err().to_string().contains("is of version 2"));
    write(&vault.file, &right);
    mode(&vault.file, 0o640);
    assert!(matches!(vault.get("a"), Err(VaultError::Rights(_))));
    mode(&vault.file, 0o600);
    assert_eq!(**vault.get("b").unwrap().unwrap(), *"hunter3");
}

#[test]
fn swapped_and_changed_values_do_not_open() {
    let (_folder, vault) = vault();
    vault.set("a", "hunter2").unwrap();
    let older = fs::read_to_string(&vault.file).unwrap();
    vault.set("b", "hunter3").unwrap();
    let text = fs::read_to_string(&vault.file).unwrap();
    write(&vault.file, text.replace("\"a\"", "\"x\"").replace("\"b\"", "\"a\"").replace("\"x\"", "\"b\""));
    for name in ["a", "b"] {
        assert!(matches!(vault.get(name), Err(VaultError::Closed { name: closed, .. }) if *closed == *name));
    }
    let contents: serde_json::Value = serde_json::from_str(&text).unwrap();
    let data = contents["secrets"]["a"]["data"].as_str().unwrap();
    write(&vault.file, text.replace(data, &format!("AAAA{}", &data[4..])));
    assert!(vault.get("a").is_err() && vault.get("b").is_ok());
    write(&vault.file, text.replace(data, "AAAA"));
    assert!(vault.get("a").is_err());
    // An older copy is what it was then.
    write(&vault.file, older);
    assert_eq!((vault.get("a").unwrap().is_some(), vault.get("b").unwrap()), (true, None));
}

#[test]
fn writers_at_once_lose_nothing() {
    let (_folder, vault) = vault();
    std::thread::scope(|threads| {
        for writer in 0..4 {
            let vault = &vault;
            threads.spawn(move || (0..8).for_each(|number| vault.set(&format!("w{writer}-{number}"), "hunter2").unwrap()));
        }
        threads.spawn(|| (0..200).for_each(|_| drop(again(&vault).unwrap().list().unwrap())));
    });
    assert_eq!(vault.list().unwrap().len(), 32);
    // A file that a killed writer left behind is in nobody's way.
    write(&vault.file.with_extension("json.new"), "junk");
    vault.set("a", "b").unwrap();
    assert_eq!(vault.list().unwrap().len(), 33);
}

#[test]
fn the_key_may_stand_in_a_variable() {
    let (folder, _) = vault();
    let file = folder.path().join("v.json");
    let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    let vault = Vault::open_with_key(&file, key).unwrap();
    vault.set("a", "hunter2").unwrap();
    assert!(!file.with_extension("key").exists());
    assert_eq!(**Vault::open_with_key(&file, &format!(" {key}\n")).unwrap().get("a").unwrap().unwrap(), *"hunter2");
    for (key, what) in [("AAAA", "has 3 bytes"), ("no base64!", "is no Base64"), ("", "has 0 bytes")] {
        let error = Vault::open_with_key(&file, key).unwrap_err().to_string();
        assert_eq!(error, format!("the key in `TRELLIS_VAULT_KEY` {what}; a key has 32 bytes"));
    }
    assert!(matches!(Vault::checked(&file, MasterKey::beside(&file)), Err(VaultError::NoKey(_))));
    assert!(!format!("{vault:?}").contains("AAEC"));
}

#[test]
fn the_key_may_stand_in_another_file() {
    let folder = tempfile::tempdir().unwrap();
    let (file, key) = (folder.path().join("secrets.json"), folder.path().join("master.key"));
    let vault = Vault::open_with_key_file(&file, &key).unwrap();
    vault.set("a", "hunter2").unwrap();
    assert!(key.exists() && !file.with_extension("key").exists());
    assert_eq!(**Vault::open_with_key_file(&file, &key).unwrap().get("a").unwrap().unwrap(), *"hunter2");
    std::fs::remove_file(&key).unwrap();
    assert!(matches!(Vault::open_with_key_file(&file, &key), Err(VaultError::NoKey(_))));
}

#[test]
fn a_fingerprint_follows_from_key_and_value() {
    let folder = tempfile::tempdir().unwrap();
    let open = |name: &str| {
        Vault::open_with_key_file(&folder.path().join(format!("{name}.json")), &folder.path().join(format!("{name}.key"))).unwrap()
    };
    let (one, other) = (open("one"), open("other"));
    let print = one.fingerprint("4111").unwrap();
    assert_eq!((print.len(), &print), (64, &open("one").fingerprint("4111").unwrap()));
    assert!(print != one.fingerprint("4112").unwrap() && print != other.fingerprint("4111").unwrap());
    // The key that it made is the vault's.
    one.set("a", "hunter2").unwrap();
    assert_eq!(one.fingerprint("4111").unwrap(), print);
}
