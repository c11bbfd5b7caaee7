//! The jinja dialect: minijinja's parser, and what we do not take over from it.
//!
//! Template text enters, a tree of minijinja's leaves, or mistakes with their bytes in the text.

use std::{ops::Range, sync::LazyLock};

use minijinja::{
    machinery::{
        ast::{Expr, Stmt},
        parse as parse_tree,
    },
    syntax::SyntaxConfig,
};

use super::{Mistake, nesting, nesting::MAX_NESTING};

/// Statements of other template languages that are known, and why they are not here.
const REFUSED: &[&str] = &["macro", "include", "import", "from", "extends", "block", "call", "do", "autoescape", "continue", "break"];

/// The syntax: a trailing newline stays, and so does every other byte around a tag unless a `-` takes it away.
pub(super) fn syntax() -> SyntaxConfig {
    static SYNTAX: LazyLock<SyntaxConfig> =
        LazyLock::new(|| SyntaxConfig::builder().keep_trailing_newline(true).build().unwrap_or_default());
    SYNTAX.clone()
}

/// Parses a template.
///
/// # Errors
/// The first mistake.
pub(super) fn parse(source: &str) -> Result<Stmt<'_>, Mistake> {
    if let Some(place) = nesting::too_deep(source) {
        return Err(Mistake::syntax(place, format!("this nests deeper than {MAX_NESTING} levels")).help("split it with `{% set … %}`"));
    }
    let tree = parse_tree(source, "template", syntax()).map_err(|error| {
        let place = error.range().map_or(0..source.len(), |range| clamp(source, range));
        explain(source, place, error.detail().unwrap_or("this is no template"))
    })?;
    Ok(tree)
}

/// The only expression of a template that is nothing but `{{ expression }}`.
pub(super) fn sole_expression<'t, 's>(tree: &'t Stmt<'s>, source: &str) -> Option<&'t Expr<'s>> {
    let Stmt::Template(template) = tree else { return None };
    match template.children.as_slice() {
        // A comment or white space that a trim marker took away would be lost otherwise.
        [Stmt::EmitExpr(node)]
            if source.starts_with("{{") && source.ends_with("}}") && !source.contains("{#") && !source.contains("/*") =>
        {
            Some(&node.expr)
        }
        _ => None,
    }
}

/// Says what is wrong in our words where we know better than the parser.
fn explain(source: &str, place: Range<usize>, message: &str) -> Mistake {
    let met = source.get(place.clone()).unwrap_or_default();
    if let Some(name) = message.strip_prefix("unknown statement ") {
        let (tag, _) = name.split_at(name.len());
        let place = find_before(source, place, tag);
        if REFUSED.contains(&tag) {
            return Mistake::syntax(place, format!("`{tag}` is not part of the language"));
        }
        let known =
            ["for", "if", "elif", "else", "endif", "endfor", "with", "endwith", "set", "endset", "filter", "endfilter", "raw", "endraw"];
        return Mistake::syntax(place, format!("there is no statement `{tag}`")).help_maybe(crate::diagnostic::did_you_mean(tag, known));
    }
    let mistake = Mistake::syntax(place.clone(), message.to_owned());
    if met.starts_with('.') && looks_like_go(source, place.start)
        || ["{{if ", "{{ if ", "{{range ", "{{ range ", "{{end}}", "{{ end }}"].iter().any(|tag| source.contains(tag))
    {
        return mistake.help("set `templates: go` in trellis.yaml if this is a Go template");
    }
    mistake
}

/// Whether a dot at `at` begins an expression.
fn looks_like_go(source: &str, at: usize) -> bool {
    let before = source[..at].trim_end_matches('-').trim_end();
    let before = before.strip_suffix('-').unwrap_or(before);
    before.ends_with("{{") || before.ends_with("{%") || before.ends_with(' ') || before.ends_with('(')
}

/// The last place of `word` that ends at or before the end of `place`.
fn find_before(source: &str, place: Range<usize>, word: &str) -> Range<usize> {
    match source[..place.end].rfind(word) {
        Some(start) => start..start + word.len(),
        None => place,
    }
}

/// A range that can be sliced out of `source`.
pub(super) fn clamp(source: &str, range: Range<usize>) -> Range<usize> {
    let inside = |mut at: usize| {
        at = at.min(source.len());
        while !source.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let start = inside(range.start);
    start..inside(range.end).max(start)
}
