//! The jinja dialect: minijinja's parser, without the syntax that is not supported here.
//!
//! Template text enters, a tree of minijinja's leaves, or mistakes with their bytes in the text.

use std::ops::Range;

use minijinja::machinery::{
    ast::{Expr, Stmt},
    parse as parse_tree,
};

use super::{Mistake, builtins::Vocabulary, check, delimiters::syntax, explain, nesting, nesting::MAX_NESTING};

/// Mistakes of one template that are reported at once.
const MAX_MISTAKES_REPORTED: usize = 16;

/// Parses and checks a template.
///
/// # Errors
/// Every mistake that does not only follow from an earlier one.
pub(super) fn checked(source: &str, vocabulary: Vocabulary) -> Result<Stmt<'_>, Vec<Mistake>> {
    let tree = parse(source).map_err(|first| and_the_rest(source, first, vocabulary))?;
    let mistakes = check::check(&tree, vocabulary);
    if mistakes.is_empty() { Ok(tree) } else { Err(mistakes) }
}

/// The first mistake with those after it: the `{{ … }}` that holds one is left out and the rest is read again.
fn and_the_rest(source: &str, first: Mistake, vocabulary: Vocabulary) -> Vec<Mistake> {
    let mut text = source.to_owned();
    let mut mistakes = vec![first];
    while let Some(hole) = hole_around(&text, &mistakes[mistakes.len() - 1].place)
        && mistakes.len() < MAX_MISTAKES_REPORTED
    {
        text.replace_range(hole.clone(), &" ".repeat(hole.len()));
        match parse(&text) {
            Ok(tree) => {
                mistakes.extend(check::check(&tree, vocabulary));
                break;
            }
            Err(mistake) => mistakes.push(mistake),
        }
    }
    mistakes.sort_by_key(|mistake| (mistake.place.start, mistake.place.end));
    mistakes
}

/// Returns the `{{ … }}` around a place, which can be left out without changing the meaning of the blocks around it.
fn hole_around(text: &str, place: &Range<usize>) -> Option<Range<usize>> {
    let open = text[..place.start.max(2).min(text.len())].rfind("{{")?;
    let between = text.get(open + 2..place.start).unwrap_or_default();
    if between.contains("}}") || between.contains("{%") {
        return None;
    }
    let close = place.start.max(open + 2) + text.get(place.start.max(open + 2)..)?.find("}}")?;
    Some(open..close + 2)
}

/// Parses a template.
///
/// # Errors
/// The first mistake.
pub(super) fn parse(source: &str) -> Result<Stmt<'_>, Mistake> {
    if let Some(place) = nesting::too_deep(source) {
        return Err(Mistake::syntax(place, format!("this nests deeper than {MAX_NESTING} levels")).help("split it with `{% set … %}`"));
    }
    parse_tree(source, "template", syntax()).map_err(|error| explain::explain(source, &error))
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
