//! Characters that turn the text around them are shown as escapes, wherever a session is.

use crate::{sandbox::Sandbox, session::fine};

#[test]
fn what_turns_the_text_around_it_is_shown_and_exported_as_an_escape() {
    let sandbox = Sandbox::new(&[
        ("start.md", "---\ninput_type: text\nsave_to: name\nto: end\n---\nWho?\n"),
        ("end.md", "---\noutput: \"{{ name }}\"\n---\nHi, {{ name }}.\n"),
    ]);
    let ran = sandbox.trellis_with(&["run", ".", "--session", "ana", "--output", "out.txt"], "A\u{202e}n\u{2066}a\n");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let steering = trellis_host::controls::is_steering;
    let written = std::fs::read_to_string(sandbox.path().join("out.txt")).unwrap();
    assert_eq!(written, "\"A\\u202en\\u2066a\"\n");
    for args in [&["show", "ana"][..], &["show", "ana", "--json"], &["show", "ana", "--at", "1"], &["export", "ana"], &["ls", "--json"]] {
        let shown = fine(&sandbox, args);
        assert!(!shown.contains(steering), "{args:?}: {shown:?}");
    }
    assert!(!ran.out.contains(steering) && ran.out.contains("Hi, A\u{fffd}n\u{fffd}a."), "{}", ran.out);
    assert!(fine(&sandbox, &["show", "ana", "--json"]).contains("A\\u202en\\u2066a"));
}
