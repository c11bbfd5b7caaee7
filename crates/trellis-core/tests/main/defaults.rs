//! The defaults that editors show.

use serde_json::json;
use trellis_core::{
    program::Limits,
    syntax::vocabulary::{FileKind, schema},
};

#[test]
fn defaults_are_those_of_the_program() {
    let default = |kind: FileKind, form: &str, key: &str| schema(kind)["definitions"][form]["properties"][key]["default"].clone();
    let limits = Limits::default();
    let known = [
        ("input", limits.input),
        ("template_output", limits.template_output),
        ("template_fuel", limits.template_fuel),
        ("pass_through", limits.pass_through),
        ("tool_output", limits.tool_output),
        ("tool_stderr", limits.tool_stderr),
        ("effects", limits.effects),
        ("abreast", limits.abreast.into()),
        ("parts", limits.parts),
        ("parts_output", limits.parts_output),
        ("children", limits.children),
        ("nested_children", limits.nested_children),
    ];
    for (key, bound) in known {
        assert_eq!(default(FileKind::Project, "limits", key), json!(bound), "{key}");
    }
    assert_eq!(default(FileKind::Node, "retry", "base"), json!("200ms"));
    assert_eq!(default(FileKind::Node, "retry", "factor"), json!(2));
    assert_eq!(default(FileKind::Node, "retry", "cap"), json!("10s"));
    assert_eq!(default(FileKind::Library, "tool", "effect"), json!("undoable"));
}
