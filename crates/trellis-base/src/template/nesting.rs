//! The nesting depth of a template, measured on its tokens before any parser recurses over them.
//!
//! **Invariant:** a template that passes is parsed, checked, prepared, run and dropped within a 2 MiB stack.

use std::ops::Range;

use minijinja::machinery::{Token, tokenize};

/// The number of operators, dots, calls, brackets and `elif` that may be nested.
pub(super) const MAX_NESTING: usize = 100;

/// The place where `source` nests too deeply, if it does.
pub(super) fn too_deep(source: &str) -> Option<Range<usize>> {
    if source.len() < MAX_NESTING {
        return None;
    }
    let mut expression = Depth::default();
    let mut blocks = Vec::new();
    let mut block = 0;
    let mut opens = false;
    for token in tokenize(source, false, super::delimiters::syntax()) {
        let Ok((token, span)) = token else {
            // The parser meets the same mistake and reports it with more detail.
            return None;
        };
        let keyword = opens;
        opens = false;
        match token {
            Token::VariableStart => expression = Depth::default(),
            Token::BlockStart => {
                expression = Depth::default();
                opens = true;
            }
            Token::Ident("if") if keyword => blocks.push(block),
            Token::Ident("elif") if keyword => block += 1,
            Token::Ident("endif") if keyword => block = blocks.pop().unwrap_or_default(),
            Token::ParenOpen | Token::BracketOpen | Token::BraceOpen => expression.open(),
            Token::ParenClose | Token::BracketClose | Token::BraceClose => expression.close(),
            Token::Comma => expression.next(),
            Token::Ident("not" | "and" | "or" | "is" | "in" | "if" | "else") => expression.deeper(),
            Token::Ident(_) | Token::Str(_) | Token::String(_) | Token::Int(_) | Token::Int128(_) | Token::Float(_) => {}
            Token::TemplateData(_) | Token::VariableEnd | Token::BlockEnd | Token::Colon | Token::Assign => {}
            _ => expression.deeper(),
        }
        if expression.now > MAX_NESTING || block > MAX_NESTING {
            return Some(span.start_offset as usize..span.end_offset as usize);
        }
    }
    None
}

/// An upper bound of the depth of the expression that is being read.
#[derive(Default)]
struct Depth {
    now: usize,
    /// For each open bracket: where its items begin, and the deepest one so far.
    open: Vec<(usize, usize)>,
}

impl Depth {
    fn deeper(&mut self) {
        self.now += 1;
    }

    fn open(&mut self) {
        self.now += 1;
        self.open.push((self.now, self.now));
    }

    fn next(&mut self) {
        if let Some((start, deepest)) = self.open.last_mut() {
            *deepest = self.now.max(*deepest);
            self.now = *start;
        }
    }

    fn close(&mut self) {
        if let Some((_, deepest)) = self.open.pop() {
            self.now = self.now.max(deepest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_is_not_deep_and_a_chain_is() {
        let list = format!("{{{{ [{}] }}}}", "a.b + c, ".repeat(1_000));
        assert_eq!(too_deep(&list), None);
        for deep in ["(", "[", "not ", "-", "a.", "a ~ ", "a|f|", "a is ", "a if b else "] {
            let text = format!("{{{{ {} }}}}", deep.repeat(1_000));
            let place = too_deep(&text).unwrap_or_else(|| panic!("{deep}"));
            assert!(place.end < text.len());
        }
        let chain = format!("{{% if a %}}{}{{% endif %}}", "{% elif a %}".repeat(1_000));
        assert!(too_deep(&chain).is_some());
    }
}
