//! The graph of the modules of a crate: which file names which other, by its `use` lines and by the paths inside its code.
//!
//! **Invariant:** a name is followed through re-exports to the module where it stands, and code for tests alone is left out.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// Re-exports that are followed one behind the other.
const DEPTH: usize = 8;

/// A module as the names from the crate's root to it.
pub(super) type Module = Vec<String>;

/// The modules of a crate, each with the paths that it names.
#[derive(Default)]
pub(super) struct Crate {
    files: BTreeMap<Module, File>,
}

/// The names that a module imports, and the paths and names in its code.
#[derive(Default)]
struct File {
    imports: Vec<Import>,
    paths: Vec<Vec<String>>,
    names: BTreeSet<String>,
}

struct Import {
    name: String,
    path: Vec<String>,
}

impl Crate {
    /// Reads a crate from its root file and the modules that it declares.
    pub(super) fn read(root: &Path) -> Self {
        let mut read = Self::default();
        let folder = root.parent().expect("a root file has a folder");
        let mut open = vec![(Vec::new(), root.to_path_buf(), folder.to_path_buf())];
        while let Some((module, file, folder)) = open.pop() {
            let text = fs::read_to_string(&file).expect("a module's file is text");
            for name in read.add(&module, &text) {
                let (flat, nested) = (folder.join(format!("{name}.rs")), folder.join(&name).join("mod.rs"));
                let child = if flat.exists() { flat } else { nested };
                open.push((joined(&module, &name), child, folder.join(&name)));
            }
        }
        read
    }

    /// Adds one module's text and returns the modules that it declares in files of their own.
    pub(super) fn add(&mut self, module: &[String], text: &str) -> Vec<String> {
        let tokens = without_tests(&tokens(text));
        let mut declared = Vec::new();
        self.add_tokens(module, &tokens, &mut declared);
        declared
    }

    fn add_tokens(&mut self, module: &[String], tokens: &[String], declared: &mut Vec<String>) {
        let mut file = File::default();
        let mut at = 0;
        while at < tokens.len() {
            let next = |ahead: usize| tokens.get(at + ahead).map_or("", String::as_str);
            match (&*tokens[at], next(1), next(2)) {
                ("mod", name, ";") => {
                    declared.push(name.to_owned());
                    at += 3;
                }
                ("mod", name, "{") => {
                    let end = closing(tokens, at + 2);
                    self.add_tokens(&joined(module, name), &tokens[at + 3..end], &mut Vec::new());
                    at = end + 1;
                }
                ("use", ..) => {
                    let end = (at..tokens.len()).find(|at| tokens[*at] == ";").unwrap_or(tokens.len());
                    import(&tokens[at + 1..end], &[], &mut file.imports);
                    at = end + 1;
                }
                (first, "::", _) if is_name(first) => {
                    let mut path = vec![first.to_owned()];
                    at += 1;
                    while at + 1 < tokens.len() && tokens[at] == "::" && is_name(&tokens[at + 1]) {
                        path.push(tokens[at + 1].clone());
                        at += 2;
                    }
                    file.paths.push(path);
                }
                (name, ..) => {
                    if is_name(name) {
                        file.names.insert(name.to_owned());
                    }
                    at += 1;
                }
            }
        }
        self.files.insert(module.to_vec(), file);
    }

    /// Every pair of modules of which the first names something of the second.
    pub(super) fn edges(&self) -> BTreeSet<(Module, Module)> {
        let mut edges = BTreeSet::new();
        for (module, file) in &self.files {
            let mut named = Vec::new();
            for path in file.imports.iter().map(|import| &import.path).chain(&file.paths) {
                self.follow(module, path, 0, &mut named);
            }
            for name in &file.names {
                self.follow_glob(module, name, &[], 0, &mut named);
            }
            edges.extend(named.into_iter().filter(|named| named != module).map(|named| (module.clone(), named)));
        }
        edges
    }

    /// The module that a path names, and those that its re-exports lead to.
    fn follow(&self, module: &[String], path: &[String], depth: usize, named: &mut Vec<Module>) {
        let Some((mut here, mut rest)) = self.start(module, path, depth, named) else { return };
        while let Some((first, tail)) = rest.split_first() {
            match &**first {
                "self" => {}
                "super" => drop(here.pop()),
                name if self.files.contains_key(&joined(&here, name)) => here.push(name.to_owned()),
                _ => break,
            }
            rest = tail;
        }
        if let Some(name) = rest.first().filter(|_| depth < DEPTH) {
            self.follow_import(&here, name, &rest[1..], depth, named);
        }
        named.push(here);
    }

    /// Follows a name that a module imports, or that comes by a glob.
    fn follow_import(&self, module: &[String], name: &str, rest: &[String], depth: usize, named: &mut Vec<Module>) {
        let imports = || self.files.get(module).into_iter().flat_map(|file| &file.imports).filter(|import| import.name == name);
        for import in imports() {
            let whole: Vec<String> = import.path.iter().chain(rest).cloned().collect();
            self.follow(module, &whole, depth + 1, named);
        }
        if imports().next().is_none() {
            self.follow_glob(module, name, rest, depth, named);
        }
    }

    /// Follows a name through the globs of a module, where the module does not import it itself.
    fn follow_glob(&self, module: &[String], name: &str, rest: &[String], depth: usize, named: &mut Vec<Module>) {
        let Some(file) = self.files.get(module).filter(|_| depth < DEPTH) else { return };
        if file.imports.iter().any(|import| import.name == name) {
            return;
        }
        for glob in file.imports.iter().filter(|import| import.name == "*") {
            let mut targets = Vec::new();
            self.follow(module, &glob.path, depth + 1, &mut targets);
            for target in targets {
                self.follow_import(&target, name, rest, depth + 1, named);
            }
        }
    }

    /// Returns the start of a path: the root, a module above or below, or a name that was imported.
    fn start<'p>(&self, module: &[String], path: &'p [String], depth: usize, named: &mut Vec<Module>) -> Option<(Module, &'p [String])> {
        let first = path.first()?;
        if first == "crate" {
            return Some((Module::new(), &path[1..]));
        }
        if first == "self" || first == "super" || self.files.contains_key(&joined(module, first)) {
            return Some((module.to_vec(), path));
        }
        if depth < DEPTH && path.len() > 1 && !self.files.get(module)?.imports.iter().any(|import| import.path == [first.clone()]) {
            self.follow_import(module, first, &path[1..], depth, named);
        }
        None
    }
}

/// Flattens the tree of a `use` line into imports.
fn import(tokens: &[String], before: &[String], into: &mut Vec<Import>) {
    let mut path = before.to_vec();
    let mut at = 0;
    while at < tokens.len() {
        match &*tokens[at] {
            "::" => at += 1,
            "{" => {
                let end = closing(tokens, at);
                parts(&tokens[at + 1..end]).for_each(|part| import(part, &path, into));
                return;
            }
            "as" => {
                into.push(Import { name: tokens[at + 1].clone(), path });
                return;
            }
            name => {
                path.push(name.to_owned());
                at += 1;
            }
        }
    }
    if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
    if let Some(name) = path.last().cloned() {
        into.push(Import { name, path });
    }
}

/// Parts of a list between its commas, nested lists whole.
fn parts(tokens: &[String]) -> impl Iterator<Item = &[String]> {
    let mut depth = 0_usize;
    let split = move |token: &String| {
        match &**token {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        depth == 0 && token == ","
    };
    tokens.split(split).filter(|part| !part.is_empty())
}

/// The index of the bracket that closes the one at an index.
fn closing(tokens: &[String], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match &**token {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    tokens.len()
}

/// Leaves out the items under `#[cfg(test)]`.
fn without_tests(tokens: &[String]) -> Vec<String> {
    let mark = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at..].len() < mark.len() || tokens[at..at + mark.len()] != mark {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        }
        at += mark.len();
        while at < tokens.len() && tokens[at] != ";" {
            let is_body = tokens[at] == "{";
            let opens = is_body || tokens[at] == "(" || tokens[at] == "[";
            at = if opens { closing(tokens, at) } else { at } + 1;
            if is_body && tokens.get(at).is_none_or(|token| token != ";") {
                at -= 1;
                break;
            }
        }
        at += 1;
    }
    kept
}

/// Names, `::` and single characters of a Rust text, without comments, strings, characters and lifetimes.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(char) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(length) = raw_string(rest) {
            length
        } else if char == '"' {
            quoted(rest, '"').unwrap_or(rest.len())
        } else if char == '\'' {
            character(rest).unwrap_or(1)
        } else if is_name(rest) {
            let length = rest.find(|char: char| !char.is_alphanumeric() && char != '_').unwrap_or(rest.len());
            tokens.push(rest[..length].to_owned());
            length
        } else if rest.starts_with("::") {
            tokens.push("::".to_owned());
            2
        } else {
            if !char.is_whitespace() {
                tokens.push(char.to_string());
            }
            char.len_utf8()
        };
        rest = &rest[length..];
    }
    tokens
}

/// The length of a raw string at the beginning of a text.
fn raw_string(text: &str) -> Option<usize> {
    let inner = text.strip_prefix("br").or_else(|| text.strip_prefix('r'))?;
    let hashes = inner.len() - inner.trim_start_matches('#').len();
    let body = inner[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    Some(text.len() - body.len() + body.find(&end)? + end.len())
}

/// The length of what stands in quotes at the beginning of a text.
fn quoted(text: &str, quote: char) -> Option<usize> {
    let mut chars = text.char_indices().skip(1);
    while let Some((at, char)) = chars.next() {
        match char {
            '\\' => drop(chars.next()),
            char if char == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// The length of a character in quotes; `None` for a lifetime.
fn character(text: &str) -> Option<usize> {
    let mut chars = text.chars().skip(1);
    match (chars.next()?, chars.next()?) {
        ('\\', _) | (_, '\'') => quoted(text, '\''),
        _ => None,
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|char: char| char.is_alphabetic() || char == '_')
}

fn joined(module: &[String], name: &str) -> Module {
    module.iter().map(String::as_str).chain([name]).map(str::to_owned).collect()
}
