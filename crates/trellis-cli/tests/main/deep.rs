//! The deepest value that is accepted over JSON Lines can be shown, exported, forked, replayed and gone on with (language A.1).

use crate::{sandbox::Sandbox, session::fine};

/// Lists in lists.
fn deep(levels: usize) -> String {
    format!("{}{}", "[".repeat(levels), "]".repeat(levels))
}

#[test]
fn the_deepest_value_over_json_lines_comes_back_from_everywhere() {
    let sandbox = Sandbox::new(&[
        ("start.md", "---\ninput_type: json\nsave_to: v\nto: sure\n---\nA value?\n"),
        ("sure.md", "---\ninput_type: confirm\nto: end\n---\nSure?\n"),
        ("end.md", "---\noutput: \"{{ v }}\"\n---\nDone.\n"),
    ]);
    // A level more is refused and named; an answer to the question before is taken by nobody.
    let lines = format!("{{\"input\":{}}}\n{{\"input\":{},\"seq\":1}}\n{{\"input\":\"yes\",\"seq\":1}}\n", deep(65), deep(64));
    let ran = sandbox.trellis_with(&["run", "--json", ".", "--session", "ana"], &lines);
    let errors: Vec<_> = ran.out.lines().filter(|line| line.contains("\"ERROR\"")).collect();
    assert!(errors[0].contains("65 levels deep, the limit is 64") && errors[1].contains("\"conflict\""), "{errors:?}");
    assert_eq!(errors.len(), 2);

    for args in [&["show", "ana"][..], &["show", "ana", "--json"], &["show", "ana", "--at", "1"], &["export", "ana"]] {
        assert!(fine(&sandbox, args).contains(&deep(64)), "{args:?}");
    }
    fine(&sandbox, &["fork", "ana", "--as", "bob"]);
    assert!(fine(&sandbox, &["replay", "ana"]).contains("the same"));
    for session in ["ana", "bob"] {
        let ran = sandbox.trellis_with(&["run", "--json", ".", "--session", session], "{\"input\":\"yes\"}\n");
        let end = ran.out.lines().last().unwrap_or_default().to_owned();
        assert!(ran.code == Some(0) && end.contains(&format!("\"output\":{}", deep(64))), "{ran:?}");
    }
}
