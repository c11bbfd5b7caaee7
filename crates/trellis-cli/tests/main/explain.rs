//! `trellis explain`.

use crate::sandbox::Sandbox;

#[test]
fn a_page_is_printed_as_it_is_on_a_pipe() {
    let ran = Sandbox::new(&[]).trellis(&["explain", "unknown-target"]);
    let page = include_str!("../../../../docs/reference/diagnostics/unknown-target.md");
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), page));
}

#[test]
fn without_a_code_all_are_listed_by_family() {
    let ran = Sandbox::new(&[]).trellis(&["explain"]);
    assert_eq!(ran.code, Some(0));
    for line in ["## files", "## tools", "- `unknown-target`: A target names a node that does not exist."] {
        assert!(ran.out.lines().any(|found| found == line), "{line} is missing in {}", ran.out);
    }
}

#[test]
fn an_unknown_code_names_the_nearest() {
    let ran = Sandbox::new(&[]).trellis(&["explain", "unknwn-target"]);
    let expected = "error: there is no code `unknwn-target`\n  did you mean `unknown-target`?\n";
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(2), "", expected));
}
