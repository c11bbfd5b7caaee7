//! Templates that are rendered in pieces: a host encodes the values of holes, and leaves the author's own text as it is (language 9.11).

use std::sync::Arc;

use minijinja::machinery::ast::Stmt;

use super::{
    Body, Purpose, RenderLimits, SegmentPiece, Template, TemplateError, Text,
    dialects::path_text,
    jinja,
    lower::{extent, is_secret},
    secret,
};
use crate::{
    diagnostic::Report,
    scope::Scope,
    span::{SourceMap, Span},
    template::Dialect,
    value::Value,
};

/// A piece of a template as its author wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplatePiece<'t> {
    /// Literal text.
    Text(&'t str),
    /// A hole, or a block: its text is known when it is rendered.
    Hole(Span),
    /// The name of a secret.
    Secret(&'t str),
}

/// A piece of a rendered template.
#[derive(Clone, Debug, PartialEq)]
pub enum RenderedPiece {
    /// Literal text of the author's.
    Text(Arc<str>),
    /// The value of a hole; null for `{{ x | optional }}` without `x`.
    Value(Value),
    /// The name of a secret that belongs here.
    Secret(Arc<str>),
}

impl Template {
    /// Parses a jinja text that is rendered in pieces and may name secrets. It cannot capture text with `set` or `filter`.
    pub fn parse_in_pieces(text: &str, map: &SourceMap, report: &mut Report) -> Self {
        Self::parse_with(Text::Own(text.into()), map, Dialect::Jinja, Purpose::Pieces, report).0
    }

    /// Returns the pieces as written, so that a host can check the places of holes before anything runs. A block (`{% if %}`) is one hole.
    pub fn pieces(&self) -> Vec<TemplatePiece<'_>> {
        let (inner, text) = (&*self.inner, self.text());
        match &inner.body {
            Body::Literal => vec![TemplatePiece::Text(text)],
            Body::Broken => Vec::new(),
            Body::Pieces(pieces) => {
                let piece = |piece: &SegmentPiece| match piece {
                    SegmentPiece::Text(range) => TemplatePiece::Text(&text[range.clone()]),
                    SegmentPiece::Path(_, range) => TemplatePiece::Hole(inner.map.span(range.clone())),
                    SegmentPiece::Secret(range) => TemplatePiece::Secret(&text[range.clone()]),
                };
                pieces.iter().map(piece).collect()
            }
            Body::Engine(engine) => {
                let whole = || vec![TemplatePiece::Hole(inner.map.span(0..text.len()))];
                let source = engine.source(text);
                let Ok(tree) = jinja::parse(&source) else { return whole() };
                let Stmt::Template(tree) = &tree else { return whole() };
                let mut pieces = Vec::new();
                for child in &tree.children {
                    let span = match child {
                        Stmt::EmitRaw(node) => {
                            // The bytes are those of the author's text: the mask of a secret has the same length.
                            let start = node.raw.as_ptr() as usize - source.as_ptr() as usize;
                            pieces.push(TemplatePiece::Text(&text[start..start + node.raw.len()]));
                            continue;
                        }
                        Stmt::EmitExpr(node) if is_secret(&node.expr) => {
                            let at = node.expr.span().start_offset as usize;
                            let used = engine.secrets().iter().find(|used| used.place.contains(&at));
                            pieces.extend(used.map(|used| TemplatePiece::Secret(&text[used.name.clone()])));
                            continue;
                        }
                        Stmt::Set(_) => continue,
                        Stmt::EmitExpr(node) => extent(&node.expr),
                        Stmt::ForLoop(node) => node.span(),
                        Stmt::IfCond(node) => node.span(),
                        Stmt::WithBlock(node) => node.span(),
                        _ => return whole(),
                    };
                    pieces.push(TemplatePiece::Hole(inner.map.span(span.start_offset as usize..span.end_offset as usize)));
                }
                pieces
            }
        }
    }

    /// Renders in pieces, so that a host can encode the value of each hole. A text that was not parsed for it is one hole.
    ///
    /// # Errors
    /// As [`Template::render`].
    pub fn render_pieces(&self, scope: &Scope, limits: RenderLimits) -> Result<Vec<RenderedPiece>, TemplateError> {
        let inner = &*self.inner;
        match &inner.body {
            Body::Literal => Ok(vec![RenderedPiece::Text(inner.text.shared())]),
            Body::Broken => Ok(Vec::new()),
            Body::Engine(engine) => engine.render_pieces(inner, scope, limits),
            Body::Pieces(pieces) => {
                let mut left = limits.output;
                let mut rendered = Vec::with_capacity(pieces.len());
                for piece in pieces {
                    let piece = match piece {
                        SegmentPiece::Text(range) => RenderedPiece::Text(inner.text[range.clone()].into()),
                        SegmentPiece::Secret(name) => RenderedPiece::Secret(inner.text[name.clone()].into()),
                        SegmentPiece::Path(path, place) => match scope.lookup(path) {
                            Some(value) => RenderedPiece::Value(value.clone()),
                            None => {
                                let message = format!("`{}` is not set", path_text(&inner.text[place.clone()]));
                                return Err(TemplateError { message, span: Some(inner.map.span(place.clone())) });
                            }
                        },
                    };
                    left = left.checked_sub(piece.bytes()).ok_or_else(|| inner.too_long(limits))?;
                    rendered.push(piece);
                }
                Ok(rendered)
            }
        }
    }
}

impl RenderedPiece {
    fn bytes(&self) -> u64 {
        match self {
            Self::Text(text) | Self::Value(Value::Text(text)) => text.len() as u64,
            Self::Value(_) | Self::Secret(_) => 1,
        }
    }
}

/// Returns whether a text has a hole that is no secret.
pub fn has_hole(text: &str) -> bool {
    let found = secret::find(text, Dialect::Legacy);
    let mut from = 0;
    while let Some(at) = text[from..].find("{{").map(|at| from + at) {
        match found.iter().find(|used| used.place.start == at) {
            Some(used) => from = used.place.end,
            None => return true,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Mapping;

    const LIMITS: RenderLimits = RenderLimits { output: 1_000, fuel: 100_000 };

    fn parse(text: &str) -> (Template, Report) {
        let mut report = Report::new(&"trellis.yaml".into());
        let template = Template::parse_in_pieces(text, &SourceMap::Slice(0), &mut report);
        (template, report)
    }

    fn rendered(text: &str) -> Result<String, TemplateError> {
        let args: Mapping = [("id", Value::text("a/b")), ("list", Value::from(vec![Value::Int(1), Value::Int(2)]))].into_iter().collect();
        let scope = Scope { context: crate::context::Context::new(args), ..Scope::default() };
        let (template, report) = parse(text);
        assert!(report.diagnostics.is_empty(), "{:?}", report.diagnostics);
        let pieces = template.render_pieces(&scope, LIMITS)?;
        let shown = |piece: &RenderedPiece| match piece {
            RenderedPiece::Text(text) => text.to_string(),
            RenderedPiece::Value(value) => format!("<{}>", value.to_json()),
            RenderedPiece::Secret(name) => format!("!{name}"),
        };
        Ok(pieces.iter().map(shown).collect())
    }

    #[test]
    fn values_of_holes_come_apart_from_the_text_around_them() {
        // language 9.11
        assert_eq!(rendered("/people/{{ id }}/x?k={{secret:crm}}").unwrap(), r#"/people/<"a/b">/x?k=!crm"#);
        assert_eq!(rendered("/{{ id | upper }}-{{secret:crm}}").unwrap(), r#"/<"A/B">-!crm"#);
        assert_eq!(rendered("{% for x in list %}/{{ x }}{% endfor %}").unwrap(), "/<1>/<2>");
        assert_eq!(rendered("/a{{ gone | optional }}").unwrap(), "/a<null>");
        assert_eq!(rendered("/a{{ '/' }}").unwrap(), r#"/a<"/">"#);
        assert_eq!(rendered("/{{ list }}").unwrap(), "/<[1,2]>");
        assert!(rendered("/{{ gone }}").unwrap_err().message.contains("`gone` is not set"));
        assert!(rendered("/{{ gone | upper }}").is_err());
        assert!(rendered(&format!("/{}{{{{ id }}}}", "x".repeat(1_000))).unwrap_err().message.contains("longer"));
    }

    #[test]
    fn pieces_are_known_before_anything_runs() {
        let shown = |text: &str| {
            let (template, _) = parse(text);
            let shown = |piece: &TemplatePiece<'_>| match piece {
                TemplatePiece::Text(text) => (*text).to_owned(),
                TemplatePiece::Hole(span) => format!("<{}>", &text[span.range()]),
                TemplatePiece::Secret(name) => format!("!{name}"),
            };
            template.pieces().iter().map(shown).collect::<String>()
        };
        assert_eq!(shown("https://h/{{ id }}"), "https://h/<id>");
        assert_eq!(shown("https://h/{{secret:a}}/{{ id | upper }}/b"), "https://h/!a/<id | upper>/b");
        assert_eq!(shown("/plain"), "/plain");
        assert!(shown("/{% if id %}x{% endif %}/y").contains("if id"));
    }

    #[test]
    fn a_url_captures_no_text() {
        let (_, report) = parse("/{% set x %}a{{ id }}{% endset %}{{ x }}");
        assert!(report.diagnostics[0].message.contains("cannot capture"), "{:?}", report.diagnostics);
    }

    #[test]
    fn holes_that_are_no_secrets_are_told() {
        assert!(!has_hole("Bearer {{secret:a}}") && !has_hole("{ a }") && has_hole("{{secret:a}}{{ b }}") && has_hole("{{ b"));
    }
}
