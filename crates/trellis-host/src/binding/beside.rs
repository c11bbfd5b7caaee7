//! Files that bindings read and that lie in the folder of their graph: what a plain `check` can know of them (language 9.8).
//!
//! In: the documents of a graph and its folder. Out: findings with lines and columns in those files, and their texts. A file outside of the folder, a
//! program, a server and a secret are known to a host only: [`super::Bindings::obstacles`] has them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use trellis_core::{
    Code, Diagnostic, Document, Value,
    diagnostic::FilePath,
    schema::Schema,
    span::Span,
    syntax::{
        document::Content,
        project::{BindingSyntax, HostConfig},
    },
    template::Compute,
};
#[cfg(all(feature = "processes", feature = "sqlite"))]
use trellis_core::{
    diagnostic::{Place, near},
    syntax::node::CalleeSyntax,
    template::Shape,
};

#[cfg(all(feature = "processes", feature = "sqlite"))]
use super::globs::{is_glob, meant_glob};
use super::{absolute, policy_names::tools_of};
#[cfg(all(feature = "processes", feature = "sqlite"))]
use crate::secrets::calls_in;

/// Bytes of a file above which it is left to the host.
const MAX_FILE: u64 = 1 << 20;

/// Findings in files beside a graph.
#[derive(Debug, Default)]
pub struct FileFindings {
    /// The findings.
    pub diagnostics: Vec<Diagnostic>,
    /// The files that they point into.
    pub sources: Vec<Arc<Document>>,
    /// The files and folders that were looked at, below the root; some may not exist.
    pub looked: BTreeSet<FilePath>,
    /// The root, absolute.
    root: PathBuf,
}

impl FileFindings {
    /// Returns whether a file was looked at.
    pub(super) fn has_read(&self, file: &Path) -> bool {
        let path = file.strip_prefix(&self.root).ok().and_then(|rest| below("", rest.to_str()?));
        path.is_some_and(|path| self.looked.contains(&path))
    }
}

/// Returns the findings in the files that bindings of a graph in `root` read: templates of `compute`, replies of scripted models, the SQL that makes
/// a database, and cards of skills; and about prompts and skills that are not there.
pub fn check_files(documents: &[Arc<Document>], root: &Path) -> FileFindings {
    check_unsaved_files(documents, root, &BTreeMap::new())
}

/// Returns the findings of [`check_files`], where some files have these texts and not those on disk.
pub fn check_unsaved_files(documents: &[Arc<Document>], root: &Path, unsaved: &BTreeMap<FilePath, Arc<str>>) -> FileFindings {
    let mut files = BesideFiles { root, documents, found: Vec::new(), read: unsaved.clone(), looked: BTreeSet::new() };
    for document in documents {
        let (Content::Project(project) | Content::Nodes(_, project)) = &document.content else { continue };
        let folder = document.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for binding in &project.bindings {
            files.binding(document, folder, binding);
        }
        #[cfg(feature = "model")]
        files.models(document, folder, &project.host);
    }
    let pointed = |path: &FilePath| files.has_finding(path);
    let sources = files.read.iter().filter(|(path, _)| pointed(path));
    let sources = sources.map(|(path, text)| Arc::new(Document::broken(FilePath::clone(path), Arc::clone(text)))).collect();
    FileFindings { sources, diagnostics: files.found, looked: files.looked, root: absolute(root) }
}

/// The files beside a graph, as far as they were read.
struct BesideFiles<'r> {
    root: &'r Path,
    documents: &'r [Arc<Document>],
    found: Vec<Diagnostic>,
    read: BTreeMap<FilePath, Arc<str>>,
    looked: BTreeSet<FilePath>,
}

impl BesideFiles<'_> {
    fn binding(&mut self, document: &Document, folder: &str, binding: &BindingSyntax) {
        if let Some((path, text)) = self.named(document, folder, &binding.config, &["compute"]) {
            let found = compute(&path, &text, binding);
            // Several bindings may name one file.
            let new: Vec<_> = found.into_iter().filter(|found| !self.found.contains(found)).collect();
            self.found.extend(new);
        }
        #[cfg(feature = "model")]
        self.named(document, folder, &binding.config, &["model", "system"]);
        #[cfg(feature = "sqlite")]
        self.sql(document, folder, binding);
        #[cfg(all(feature = "processes", feature = "sqlite"))]
        self.skills(document, folder, binding);
    }

    /// Returns whether there is a finding in a file.
    fn has_finding(&self, path: &str) -> bool {
        self.found.iter().any(|found| found.place.as_ref().is_some_and(|place| *place.path == *path))
    }

    /// Reads the file that a key names. One that is not there is a finding at the key.
    fn named(&mut self, document: &Document, folder: &str, config: &HostConfig, keys: &[&str]) -> Option<(FilePath, Arc<str>)> {
        let written = config.at(keys)?.as_str()?;
        let path = below(folder, written)?;
        self.looked.insert(FilePath::clone(&path));
        match self.text(&path) {
            Ok(text) => Some((path, text?)),
            Err(error) => {
                let span = config.span(&keys.join(".")).unwrap_or(Span::at(0));
                let message = match error.kind() {
                    std::io::ErrorKind::NotFound => format!("there is no file `{path}`"),
                    _ => format!("`{path}` cannot be read: {error}"),
                };
                let near = self.beside(&path);
                let help =
                    near.map_or_else(|| format!("write it, or correct `{}`", keys.join(".")), |near| format!("did you mean `{near}`?"));
                self.found.push(Diagnostic::new(Code::MissingFile, &document.path, span, message).help(help));
                None
            }
        }
    }

    /// Returns the text of a file below the root; `None` if it is too large.
    fn text(&mut self, path: &FilePath) -> std::io::Result<Option<Arc<str>>> {
        if let Some(known) = self.read.get(path) {
            return Ok(Some(Arc::clone(known)));
        }
        let file = self.root.join(&**path);
        if fs::metadata(&file)?.len() > MAX_FILE {
            return Ok(None);
        }
        let text: Arc<str> = fs::read_to_string(file)?.into();
        self.read.insert(FilePath::clone(path), Arc::clone(&text));
        Ok(Some(text))
    }

    /// Returns the name of a file in the folder of a path that is like it.
    fn beside(&self, path: &str) -> Option<String> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let entries = fs::read_dir(self.root.join(folder)).ok()?;
        let names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        let near = trellis_core::diagnostic::nearest(name, names.iter().map(String::as_str))?;
        Some(if folder.is_empty() { near.to_owned() } else { format!("{folder}/{near}") })
    }

    #[cfg(feature = "model")]
    fn models(&mut self, document: &Document, folder: &str, config: &HostConfig) {
        let providers = config.at(&["models", "providers"]).and_then(Value::as_map);
        let names: Vec<String> = providers.into_iter().flat_map(|providers| providers.keys()).map(ToString::to_string).collect();
        for name in names {
            let Some((path, text)) = self.named(document, folder, config, &["models", "providers", &name, "scripted"]) else { continue };
            let tools = self.tools();
            let found = super::model::script_mistakes(&path, &text, tools.as_ref());
            self.found.extend(found);
        }
    }

    /// Returns the names of all tools, if every file was read.
    #[cfg(feature = "model")]
    fn tools(&self) -> Option<BTreeSet<Arc<str>>> {
        let is_whole = !self.documents.iter().any(|document| matches!(document.content, Content::Broken));
        let named = self.documents.iter().flat_map(|document| tools_of(document)).filter_map(|tool| tool.name.as_ref());
        is_whole.then(|| named.map(|name| Arc::clone(&name.value)).collect())
    }

    #[cfg(feature = "sqlite")]
    fn sql(&mut self, document: &Document, folder: &str, binding: &BindingSyntax) {
        let config = &binding.config;
        let (Some("sql.query"), Some(sql)) = (config.get("builtin").and_then(Value::as_str), config.get("sql").and_then(Value::as_str))
        else {
            return;
        };
        let has_init = config.get("init").is_some();
        let init = self.named(document, folder, config, &["init"]);
        // A database that is there already may have other tables than `init` makes.
        let database = config.get("database").and_then(Value::as_str).and_then(|database| below(folder, database));
        let is_new = database.is_some_and(|database| !self.root.join(&*database).exists());
        let statements = init.as_ref().map(|(_, text)| &**text);
        let known = if is_new && (statements.is_some() || !has_init) { statements } else { None };
        let broken = init.as_ref().and_then(|(path, text)| Some((path, text, super::builtin::sql_mistake(None, text, true)?)));
        if let Some((path, text, (at, message))) = &broken
            && !self.has_finding(path)
        {
            let span = at.map_or(Span::at(0), |at| token(text, at));
            self.found.push(Diagnostic::new(Code::SqlSyntax, path, span, message).help("it makes the database at the first call"));
        }
        // Tables are unknown where the file that makes them is broken.
        let known = known.filter(|_| broken.is_none());
        let may_write = config.get("write").and_then(Value::as_bool) == Some(true);
        let unknown = |message: &str| known.is_none() && message.starts_with("no such");
        let mistake = super::builtin::sql_mistake(Some(sql), known.unwrap_or_default(), may_write);
        let mistake = mistake.filter(|(_, message)| !unknown(message)).or_else(|| {
            let writes = !may_write && super::builtin::begins_to_write(sql);
            writes.then(|| (None, super::builtin::WRITES.to_owned()))
        });
        if let Some((at, message)) = mistake {
            let whole = config.span("sql").unwrap_or(binding.tool.span);
            let is_exact = document.text.get(whole.range()) == Some(sql);
            let span = at.filter(|_| is_exact).map_or(whole, |at| {
                let token = token(sql, at);
                Span::new((whole.start + token.start) as usize, (whole.start + token.end) as usize)
            });
            let help = match message == super::builtin::WRITES {
                true => "write `write: true` beside `sql`",
                false => "SQLite would refuse the statement at each call",
            };
            self.found.push(Diagnostic::new(Code::SqlSyntax, &document.path, span, message).help(help));
        }
    }

    #[cfg(all(feature = "processes", feature = "sqlite"))]
    fn skills(&mut self, document: &Document, folder: &str, binding: &BindingSyntax) {
        let builtin = binding.config.get("builtin").and_then(Value::as_str).unwrap_or_default();
        if !builtin.starts_with("skills.") {
            return;
        }
        let cards = binding.config.get("folder").and_then(Value::as_str).unwrap_or(super::builtin::SKILLS_FOLDER);
        let Some(cards) = below(folder, cards) else { return };
        self.looked.insert(FilePath::clone(&cards));
        let Ok(entries) = fs::read_dir(self.root.join(&*cards)) else { return };
        let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.retain(|name| name.ends_with(".md") && !name.starts_with('.'));
        names.sort_unstable();
        let workspace = binding.config.get("workspace").and_then(Value::as_str).unwrap_or_default();
        let home = self.root.join(folder);
        for name in &names {
            let path: FilePath = if cards.is_empty() { name.as_str().into() } else { format!("{cards}/{name}").into() };
            self.looked.insert(FilePath::clone(&path));
            if self.has_finding(&path) {
                continue;
            }
            let Ok(Some(text)) = self.text(&path) else { continue };
            let mistakes = super::builtin::card_mistakes(name, &text, &home.join(workspace), &home).into_iter();
            self.found
                .extend(mistakes.map(|(span, message, help)| Diagnostic::new(Code::WrongType, &path, span, message).help_maybe(help)));
        }
        let skills: BTreeSet<&str> = names.iter().filter_map(|name| name.strip_suffix(".md")).collect();
        self.skill_names(document, binding, &cards, &skills);
    }

    /// Reports skills that a binding, or a call of it, names and that have no card.
    #[cfg(all(feature = "processes", feature = "sqlite"))]
    fn skill_names(&mut self, document: &Document, binding: &BindingSyntax, cards: &str, skills: &BTreeSet<&str>) {
        let config = &binding.config;
        let mut unknown = Vec::new();
        for key in ["allow", "block"] {
            let globs = config.get(key).and_then(Value::as_list).into_iter().flat_map(|list| list.iter().enumerate());
            for (at, glob) in globs.filter_map(|(at, glob)| Some((at, glob.as_str()?))) {
                let span = config.span(&format!("{key}.{at}")).unwrap_or(binding.tool.span);
                let place = Place::new(&document.path, span);
                match is_glob(glob) {
                    true => unknown.extend(meant_glob(glob, skills).map(|meant| (place, glob.to_owned(), Some(meant)))),
                    false => unknown.push((place, glob.to_owned(), None)),
                }
            }
        }
        let literal = |path: &FilePath, args: &Shape| {
            let skill = args.get("skill_id")?;
            let Shape::Literal(Value::Text(name)) = &skill.value else { return None };
            Some((Place::new(path, skill.span), name.to_string(), None))
        };
        match config.shape("args") {
            Some(args) => unknown.extend(literal(&document.path, &args.value)),
            None => {
                let is_only = |name: &str| {
                    let named = self.documents.iter().flat_map(|document| tools_of(document)).filter_map(|tool| tool.name.as_ref());
                    named.filter(|other| *other.value == *name).count() == 1
                };
                // Of two tools of one name, a call may mean the other.
                let own = binding.tool.name.as_ref().map(|name| &*name.value).filter(|name| is_only(name));
                for document in self.documents {
                    let calls = calls_in(document).into_iter();
                    let calls = calls.filter(|call| matches!(&call.callee, CalleeSyntax::Tool(tool) if Some(&*tool.value) == own));
                    unknown.extend(calls.filter_map(|call| literal(&document.path, &call.args.as_ref()?.value)));
                }
            }
        }
        let unknown = unknown.into_iter().filter(|(_, name, meant)| meant.is_some() || !skills.contains(&**name));
        for (place, name, meant) in unknown {
            let folder = if cards.is_empty() { "the folder" } else { cards };
            let found = Diagnostic::new(Code::MissingFile, &place.path, place.span, format!("`{name}` is no skill of `{folder}`"));
            let listed = || format!("write its card, `{cards}/{name}.md`, or name one of the cards there");
            self.found.push(match meant {
                Some(meant) => found.help(format!("did you mean `{meant}`?")),
                None => found.meant(place.span, near(&name, skills.iter().copied()), listed),
            });
        }
    }
}

/// Returns the findings of a `compute` file, held to the arguments and the results of its tool.
fn compute(path: &FilePath, text: &str, binding: &BindingSyntax) -> Vec<Diagnostic> {
    let file = match Compute::parse(FilePath::clone(path), text) {
        Ok(file) => file,
        Err(found) => return found,
    };
    let parameters = binding.tool.parameters.as_ref().map(|schema| file.check(&schema.value));
    let returns = binding.tool.returns.as_ref().and_then(|schema| Schema::new(&schema.value).ok()).map(|schema| file.check_result(&schema));
    parameters.into_iter().chain(returns).flatten().collect()
}

/// Returns a path below the root of a graph that is written in one of its folders; `None` if it leads out, or is absolute.
fn below(folder: &str, written: &str) -> Option<FilePath> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in Path::new(written).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(parts.pop()?),
            Component::Normal(name) => parts.push(name.to_str()?),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts.join("/").into())
}

/// Returns the word of a statement at a byte.
#[cfg(feature = "sqlite")]
fn token(text: &str, at: usize) -> Span {
    let Some(rest) = text.get(at..) else { return Span::at(0) };
    let length = rest.find(|char: char| !char.is_alphanumeric() && char != '_').unwrap_or(rest.len());
    Span::new(at, at + length.max(rest.chars().next().map_or(0, char::len_utf8)))
}

#[cfg(test)]
mod tests {
    use trellis_core::{Dialect, Source, span::LineIndex};

    use super::*;

    /// The findings of a graph with these files beside its `trellis.yaml`: place, code and message.
    fn found(project: &str, files: &[(&str, &str)]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let documents = [Arc::new(Document::parse(&Source::text("trellis.yaml", project), Dialect::default()))];
        let FileFindings { diagnostics, sources, .. } = check_files(&documents, folder.path());
        let told = |found: &Diagnostic| {
            let place = found.place.as_ref().unwrap();
            let text = sources.iter().chain(&documents).find(|source| source.path == place.path).map_or("", |source| &source.text);
            let at = LineIndex::new(text).locate(place.span.start);
            format!("{}:{}:{} {}: {}", place.path, at.line, at.column, found.code, found.message)
        };
        diagnostics.iter().map(told).collect()
    }

    const SUM: &str = "bindings:\n  sum:\n    compute: ./lib/sum.jinja\n    parameters: { type: object, required: [a], properties: { a: { type: integer } } }\n    returns: { type: object, required: [total], properties: { total: { type: integer } } }\n";

    #[test]
    fn compute_files_are_read_and_held_to_their_tool() {
        let of = |text: &str| found(SUM, &[("lib/sum.jinja", text)]);
        assert!(of("{% set result = {\"total\": a} %}").is_empty());
        assert!(of("{% if a %}{% set result = 1 %}")[0].starts_with("lib/sum.jinja:1:"), "an unclosed if");
        assert!(of("{% set result = {\"total\": a | uper} %}")[0].contains("unknown-filter"));
        assert!(of("{% set result = {\"total\": c} %}")[0].starts_with("lib/sum.jinja:1:27 undefined-variable"));
        assert!(of("{% set result = {\"totl\": a} %}")[0].starts_with("lib/sum.jinja:1:17 type-mismatch"));
        assert!(
            of("{% if a > 3 %}{% set result = {\"total\": 1} %}{% else %}{% set result = \"none\" %}{% endif %}")[0]
                .contains("type-mismatch")
        );
        assert!(of("{% set result = {} %}{% set result = {\"total\": a} %}").is_empty(), "the last one counts");
    }

    #[test]
    fn a_file_that_is_not_there_is_found_with_the_nearest() {
        let gone = found(SUM, &[("lib/sums.jinja", "")]);
        assert_eq!(gone, ["trellis.yaml:3:14 missing-file: there is no file `lib/sum.jinja`"]);
        assert!(found("bindings: { a: { compute: /elsewhere/a.jinja }, b: { compute: ../b.jinja } }", &[]).is_empty(), "the host's matter");
    }

    #[cfg(feature = "model")]
    #[test]
    fn scripted_models_are_read() {
        let project = "models: { roles: { r: [s] }, providers: { s: { scripted: _model.yaml } } }\n";
        let of = |text: &str| found(project, &[("_model.yaml", text)]);
        assert!(of("- reply: { content: hello }\n").is_empty());
        assert!(of("- when: { contians: x }\n  reply: { content: x }\n")[0].starts_with("_model.yaml:1:"));
        assert!(of("- reply: { content: x }\n- when: { matches: \"(\" }\n  reply: { content: y }\n")[0].starts_with("_model.yaml:2:"));
        assert!(of("- reply: { content: \"{{ }\" }\n")[0].starts_with("_model.yaml:1:"));
        assert!(of("- reply: [\n")[0].contains("yaml-syntax"));
        let filter = of("# Replies\n- reply:\n    content: \"{{ last.content | uper }}\"\n");
        assert!(filter.len() == 1 && filter[0].starts_with("_model.yaml:3:33 unknown-filter"), "{filter:?}");
        let flow = of("[{ reply: { content: \"{{ x | uper }}\" } }]\n");
        assert!(flow.len() == 1 && flow[0].starts_with("_model.yaml:1:30 unknown-filter"), "{flow:?}");
        let key = of("- when: { contians: x }\n  reply: { content: x }\n");
        assert_eq!(key, ["_model.yaml:1:11 wrong-type: a reply has no key `contians`"]);
        assert!(of("reply: 3\n").iter().all(|found| !found.contains(" at line ")));
    }

    #[cfg(feature = "model")]
    #[test]
    fn tools_in_conditions_of_replies_are_tools_of_the_graph() {
        let project =
            "models: { roles: { r: [s] }, providers: { s: { scripted: _model.yaml } } }\nbindings: { stock.find: { process: [a] } }\n";
        let of = |replies: &str| found(project, &[("_model.yaml", replies)]);
        assert!(of("- when: { tools: [stock.find] }\n  reply: { content: x }\n").is_empty());
        let wrong = of("- when: { tools: [stock.find, stock.fnd] }\n  reply: { content: x }\n");
        assert!(wrong.len() == 1 && wrong[0].starts_with("_model.yaml:1:31 unknown-tool"), "{wrong:?}");
    }

    #[cfg(feature = "model")]
    #[test]
    fn a_prompt_that_is_not_there_is_found() {
        let project = "bindings: { ask: { model: { role: r, system: _pp.md } } }\n";
        assert_eq!(found(project, &[("_p.md", "Hi.")]), ["trellis.yaml:1:46 missing-file: there is no file `_pp.md`"]);
        assert!(found(project, &[("_pp.md", "Hi.")]).is_empty());
    }

    #[cfg(feature = "sqlite")]
    #[test]
    fn statements_and_what_makes_the_database_are_read() {
        let project =
            |sql: &str| format!("bindings: {{ find: {{ builtin: sql.query, database: _d.db, init: _d.sql, sql: \"{sql}\" }} }}\n");
        let of = |sql: &str, init: &str| found(&project(sql), &[("_d.sql", init)]);
        let table = "create table p (id integer);\n";
        assert!(of("select id from p where id = :id", table).is_empty());
        assert!(of("selct id from p", table)[0].contains("sql-syntax"));
        assert!(of("select name from p", table)[0].contains("no such column"));
        assert!(of("select id from p", "create table p (id integer;\n")[0].starts_with("_d.sql:1:"));
        for (second, code) in
            [("insert into q values (1);", "no such table"), ("attach 'x' as y;", "not allowed"), ("insert into p values (1);", "UNIQUE")]
        {
            let init = format!("create table p (id integer primary key); -- one;\ninsert into p values (1);\n\n/* two */\n  {second}\n");
            let wrong = of("select id from p", &init);
            assert!(wrong[0].starts_with("_d.sql:5:3 ") && wrong[0].contains(code), "{wrong:?}");
        }
        for sql in ["delete from p", "with q as (select 1) insert into p select * from q"] {
            let writes = of(sql, table);
            assert!(writes.len() == 1 && writes[0].contains("only a binding with `write: true` may"), "{sql}: {writes:?}");
        }
        let may = "bindings: { find: { builtin: sql.query, database: _d.db, init: _d.sql, write: true, sql: delete from p } }\n";
        assert!(found(may, &[("_d.sql", table)]).is_empty());
    }

    #[cfg(feature = "sqlite")]
    #[test]
    fn a_broken_file_of_two_bindings_is_told_once_and_hides_no_statement() {
        let binding =
            |name: &str, sql: &str| format!("  {name}: {{ builtin: sql.query, database: _d.db, init: _d.sql, sql: \"{sql}\" }}\n");
        let project = format!("bindings:\n{}{}", binding("a", "select id from p"), binding("b", "selct id from p"));
        let wrong = found(&project, &[("_d.sql", "create table p (id integer;\n")]);
        assert_eq!(wrong.len(), 2, "{wrong:?}");
        assert!(wrong[0].starts_with("_d.sql:1:") && wrong[1].starts_with("trellis.yaml:3:"), "{wrong:?}");
    }

    #[cfg(all(feature = "processes", feature = "sqlite"))]
    #[test]
    fn skills_that_are_named_have_cards() {
        let card = "---\ntitle: A\nrun: [./bin/a]\n---\nText.\n";
        let of = |keys: &str| {
            let project = format!("bindings: {{ run: {{ builtin: skills.execute{keys} }} }}\n");
            found(&project, &[("_skills/tidy_logs.md", card), ("_skills/erase.md", card)])
        };
        for keys in [", block: [tidy_lgos]", ", allow: [\"tidy_lgos*\"]", ", args: { skill_id: tidy_lgos }"] {
            let wrong = of(keys);
            assert!(wrong.len() == 1 && wrong[0].contains("missing-file: `tidy_lgos"), "{keys}: {wrong:?}");
        }
        for keys in ["", ", block: [erase], allow: [\"tidy_*\"]", ", allow: [\"mail_*\"]", ", args: { skill_id: tidy_logs }"] {
            assert!(of(keys).is_empty(), "{keys}: {:?}", of(keys));
        }
    }

    #[cfg(all(feature = "processes", feature = "sqlite"))]
    #[test]
    fn cards_of_skills_are_read() {
        let project = "bindings: { run: { builtin: skills.execute } }\n";
        let of = |card: &str| found(project, &[("_skills/a.md", card)]);
        assert!(of("---\ntitle: A\nrun: [./bin/a]\n---\nText.\n").is_empty());
        let wrong = of("---\ntitle: A\nrunn: [./bin/a]\n---\n");
        assert!(wrong[0].starts_with("_skills/a.md:3:7"), "{wrong:?}");
    }
}
