//! Cases of the dialects, their mistakes and their bounds, and what the cases share.

mod bounds;
mod dialects;
mod mistakes;
mod values;

use super::*;
use crate::{context::Context, span::Spanned, value::Value};

const LIMITS: RenderLimits = RenderLimits { output: 1 << 20, fuel: 1_000_000 };

fn scope() -> Scope {
    let context = Value::from_json(
        r#"{"name": "Ann", "n": 3, "big": 9007199254740993, "half": 0.5, "yes": true, "no": false, "nothing": null, "empty": [],
            "user": {"name": "Bo", "tags": ["a", "b"]}, "items": [{"id": 1, "t": "x"}, {"id": 2, "t": "y"}], "huge": 18446744073709551615}"#,
    )
    .unwrap();
    let sys = Value::from_json(r#"{"error": {"message": "late"}}"#).unwrap();
    Scope {
        context: Context::new(context.as_map().unwrap().clone()),
        sys: sys.into(),
        input: Some(Value::text("{{ name }}")),
        tool_result: None,
    }
}

fn parse(text: &str, dialect: Dialect) -> (Template, Vec<crate::diagnostic::Diagnostic>) {
    let mut report = Report::new(&"a.md".into());
    let template = Template::parse(text, &SourceMap::Slice(0), dialect, &mut report);
    (template, report.diagnostics)
}

fn render_in(text: &str, dialect: Dialect) -> Result<String, String> {
    let (template, found) = parse(text, dialect);
    assert!(found.is_empty(), "{text}: {found:?}");
    template.render(&scope(), LIMITS).map(|text| text.to_string()).map_err(|error| error.message)
}

fn render(text: &str) -> Result<String, String> {
    render_in(text, Dialect::Jinja)
}

fn evaluate(text: &str) -> Result<Option<String>, String> {
    let mut report = Report::new(&"a.md".into());
    let shape = Shape::parse(text, &SourceMap::Slice(0), Dialect::Jinja, true, &mut report);
    assert!(report.diagnostics.is_empty(), "{text}: {:?}", report.diagnostics);
    shape.evaluate(&scope(), LIMITS, &mut Vec::new()).map(|value| value.map(|value| value.to_json())).map_err(|error| error.message)
}
