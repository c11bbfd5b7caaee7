//! Scripts that a graph's bindings run: an edit of one changes nothing that is compiled, but the effect of the next call.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    hash::{DefaultHasher, Hasher},
    path::{Component, Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use trellis_core::{
    Document, Mapping, Value,
    syntax::{
        document::Content,
        project::{BindingSyntax, HostConfig},
    },
};

use super::file_stamp::Stamp;

/// Bytes of a script above which only its stamp is compared.
const READ: u64 = 1 << 20;

/// The scripts of one graph, as of the last look.
#[derive(Default)]
pub(super) struct Scripts {
    /// `None` for a file that does not exist.
    files: BTreeMap<PathBuf, Option<Seen>>,
}

struct Seen {
    stamp: Stamp,
    settled: bool,
    digest: u64,
}

impl Scripts {
    /// Those that the documents name, whether they exist or not.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.keys().map(PathBuf::as_path)
    }

    /// Looks at the files that `documents` name now; returns the changed ones among those that were named before, sorted.
    pub(super) fn look(&mut self, documents: &[Arc<Document>], root: &Path) -> Vec<PathBuf> {
        let mut changed = Vec::new();
        let mut files = BTreeMap::new();
        for path in named(documents, root) {
            let known = self.files.remove(&path);
            let now = Seen::now(&path, known.as_ref().and_then(Option::as_ref));
            if known.is_some_and(|known| !is_same(known.as_ref(), now.as_ref())) {
                changed.push(path.clone());
            }
            files.insert(path, now);
        }
        self.files = files;
        changed
    }
}

impl Seen {
    fn now(path: &Path, known: Option<&Self>) -> Option<Self> {
        let stamp = Stamp::of(path).ok()?;
        if let Some(known) = known.filter(|known| known.settled && known.stamp == stamp) {
            return Some(Self { stamp, settled: true, digest: known.digest });
        }
        let settled = stamp.is_settled(SystemTime::now());
        let mut hasher = DefaultHasher::new();
        let bytes = match path.is_dir() {
            true => Some(entries(path)),
            false if stamp.size() <= READ => fs::read(path).ok(),
            false => None,
        };
        hasher.write(bytes.as_deref().unwrap_or_default());
        Some(Self { stamp, settled, digest: hasher.finish() })
    }
}

/// Returns the names of the entries of a folder, sorted.
fn entries(folder: &Path) -> Vec<u8> {
    let read = fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.file_name().into_encoded_bytes()));
    let mut names: Vec<Vec<u8>> = read.collect();
    names.sort_unstable();
    names.join(&b'/')
}

/// Returns whether a call would find the same file: times may differ where the bytes were read.
fn is_same(known: Option<&Seen>, now: Option<&Seen>) -> bool {
    match (known, now) {
        (Some(known), Some(now)) if now.stamp.size() <= READ => {
            (known.digest, known.stamp.size(), known.stamp.mode()) == (now.digest, now.stamp.size(), now.stamp.mode())
        }
        (Some(known), Some(now)) => known.stamp == now.stamp,
        (None, None) => true,
        _ => false,
    }
}

/// Returns the files that `process:` names (its command, if that is a path, and arguments that can be files of the project), prompts, files that compute
/// or make a database, replies of models, and skills.
fn named(documents: &[Arc<Document>], root: &Path) -> BTreeSet<PathBuf> {
    let mut files = BTreeSet::new();
    for document in documents {
        let (Content::Project(project) | Content::Nodes(_, project)) = &document.content else { continue };
        let folder = root.join(Path::new(&*document.path).parent().unwrap_or(Path::new("")));
        project.bindings.iter().for_each(|binding| of_binding(binding, &folder, root, &mut files));
        of_models(&project.host, &folder, root, &mut files);
    }
    files
}

fn of_binding(binding: &BindingSyntax, folder: &Path, root: &Path, files: &mut BTreeSet<PathBuf>) {
    let read = [&["model", "system"][..], &["compute"], &["init"]].into_iter().filter_map(|path| binding.config.at(path)?.as_str());
    files.extend(read.map(|file| plain(&folder.join(file))));
    of_command(&binding.config.values, folder, root, files);
    if binding.config.get("builtin").and_then(Value::as_str).is_some_and(|builtin| builtin.starts_with("skills.")) {
        of_skills(&plain(&folder.join(binding.config.get("folder").and_then(Value::as_str).unwrap_or("_skills"))), files);
    }
}

/// Adds a folder of skills, and the cards in it.
fn of_skills(folder: &Path, files: &mut BTreeSet<PathBuf>) {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    files.extend(entries.filter(|path| path.extension().is_some_and(|end| end == "md")));
    files.insert(folder.to_owned());
}

/// Adds the files of `models`: replies, and those of commands.
fn of_models(config: &HostConfig, folder: &Path, root: &Path, files: &mut BTreeSet<PathBuf>) {
    let providers = config.at(&["models", "providers"]).and_then(Value::as_map);
    for provider in providers.into_iter().flat_map(Mapping::values).filter_map(Value::as_map) {
        files.extend(provider.get("scripted").and_then(Value::as_str).map(|replies| plain(&folder.join(replies))));
        of_command(provider, folder, root, files);
    }
}

fn of_command(config: &Mapping, folder: &Path, root: &Path, files: &mut BTreeSet<PathBuf>) {
    let words = config.get("process").and_then(Value::as_list).cloned().unwrap_or_default();
    let mut words = words.iter().filter_map(Value::as_str);
    files.extend(words.next().filter(|command| command.contains('/')).map(|command| plain(&folder.join(command))));
    let cwd = config.get("cwd").and_then(Value::as_str).map_or_else(|| folder.to_owned(), |cwd| folder.join(cwd));
    // Most arguments are no files; one with the form of a file counts before it exists, so that its creation is noticed.
    for argument in words.filter(|word| !word.starts_with('-') && word.rsplit('/').next().is_some_and(|name| name.contains('.'))) {
        let path = plain(&cwd.join(argument));
        if path.starts_with(root) && path != root && !path.is_dir() {
            files.insert(path);
        }
    }
}

/// Without `.` and, where that is possible, without `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(plain.components().next_back(), Some(Component::Normal(_))) => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Project;

    fn graph(yaml: &str) -> (tempfile::TempDir, Vec<Arc<Document>>) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("trellis.yaml"), yaml).unwrap();
        fs::write(folder.path().join("start.md"), "---\n---\n").unwrap();
        let documents = Project::open(folder.path()).unwrap().documents().to_vec();
        (folder, documents)
    }

    #[test]
    fn commands_and_arguments_below_the_project_are_named() {
        let (_folder, documents) = graph(concat!(
            "bindings:\n",
            "  a: { process: [./bin/a.sh, --fast, data.json] }\n",
            "  b: { process: [python3, tool.py, 1.5, ../up.py, /etc/hosts.conf], cwd: py }\n",
            "  c: { process: [/opt/tool] }\n",
            "  d: { process: nonsense }\n",
            "  e: { http: x }\n",
            "  f: { model: { role: r, system: ./_prompts/r.md } }\n",
            "  g: { compute: ./lib/total.jinja }\n",
            "  h: { builtin: skills.search, folder: cards }\n",
            "models: { providers: { h: { scripted: ./_model.yaml }, l: { process: [./bin/model, _data.json] } } }\n",
        ));
        let found = named(&documents, Path::new("/g"));
        let expected = [
            "/g/_data.json",
            "/g/_model.yaml",
            "/g/_prompts/r.md",
            "/g/bin/a.sh",
            "/g/bin/model",
            "/g/cards",
            "/g/data.json",
            "/g/lib/total.jinja",
            "/g/py/tool.py",
            "/g/up.py",
            "/opt/tool",
        ];
        assert_eq!(found.iter().map(|path| path.to_str().unwrap()).collect::<Vec<_>>(), expected);
    }

    #[cfg(unix)]
    #[test]
    fn an_edit_a_run_bit_and_a_removal_are_changes_and_a_touch_is_none() {
        use std::os::unix::fs::PermissionsExt;
        let (folder, documents) = graph("bindings: { a: { process: [./a.sh] } }");
        let path = folder.path().join("a.sh");
        let mut scripts = Scripts::default();
        assert!(scripts.look(&documents, folder.path()).is_empty(), "what is named for the first time did not change");
        let mut look = || !scripts.look(&documents, folder.path()).is_empty();
        fs::write(&path, "one").unwrap();
        assert!(look());
        assert!(!look());
        fs::write(&path, "two").unwrap();
        assert!(look());
        fs::write(&path, "two").unwrap();
        assert!(!look());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(look());
        fs::remove_file(&path).unwrap();
        assert!(look());
        assert!(!look());
    }
}
