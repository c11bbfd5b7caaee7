//! The files of a folder that a glob names, and one of them as a document.

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
    time::SystemTime,
};

use globset::{Glob, GlobMatcher};
use trellis_core::ToolError;

use super::{final_error, store_error};
use crate::binding::frontmatter;

/// Files of one folder.
const MAX_FILES: usize = 10_000;

/// Bytes of one file.
const MAX_DOCUMENT: u64 = 1 << 20;

/// Bytes of all files.
const MAX_BYTES: u64 = 64 << 20;

/// Files below a folder whose relative paths match a glob.
#[derive(Clone, Debug)]
pub(in crate::binding::builtin) struct Listing {
    folder: PathBuf,
    matcher: GlobMatcher,
}

/// The metadata of a file at its last look.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::binding::builtin) struct Stamp {
    /// Its path below the folder, with `/`.
    pub(in crate::binding::builtin) path: String,
    size: u64,
    modified: Option<SystemTime>,
}

impl Listing {
    pub(in crate::binding::builtin) fn new(folder: &Path, files: &str) -> Result<Self, globset::Error> {
        let glob = globset::GlobBuilder::new(files).literal_separator(true).build()?;
        Ok(Self { folder: folder.to_owned(), matcher: Glob::compile_matcher(&glob) })
    }

    pub(in crate::binding::builtin) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Its files, sorted by path.
    ///
    /// # Errors
    /// The folder cannot be listed (`store`), or there are too many or too large files (`limit`).
    pub(in crate::binding::builtin) fn stamps(&self) -> Result<Vec<Stamp>, ToolError> {
        let unlisted = |error: io::Error| store_error(format!("the folder `{}` cannot be listed: {error}", self.folder.display()));
        let root = fs::canonicalize(&self.folder).map_err(unlisted)?;
        let (mut found, mut bytes) = (Vec::new(), 0_u64);
        let mut open = vec![(root.clone(), String::new())];
        while let Some((folder, below)) = open.pop() {
            for entry in fs::read_dir(&folder).map_err(unlisted)? {
                let entry = entry.map_err(unlisted)?;
                // A name that is no text cannot be asked for.
                let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
                let path = format!("{below}{name}");
                let kind = entry.file_type().map_err(unlisted)?;
                if kind.is_dir() {
                    open.push((entry.path(), format!("{path}/")));
                    continue;
                }
                if !self.matcher.is_match(&path) || (kind.is_symlink() && !is_within(&root, &entry.path())) {
                    continue;
                }
                let Ok(about) = fs::metadata(entry.path()) else { continue };
                if !about.is_file() {
                    continue;
                }
                bytes += about.len();
                if about.len() > MAX_DOCUMENT {
                    let why = format!("`{path}` has {} bytes, more than the {MAX_DOCUMENT} that a document may have", about.len());
                    return Err(final_error("limit", why));
                }
                if found.len() == MAX_FILES || bytes > MAX_BYTES {
                    let why = format!("`{}` has more than {MAX_FILES} documents or {MAX_BYTES} bytes", self.folder.display());
                    return Err(final_error("limit", why));
                }
                found.push(Stamp { path, size: about.len(), modified: about.modified().ok() });
            }
        }
        found.sort();
        Ok(found)
    }
}

/// A text file with its title.
pub(in crate::binding::builtin) struct Document {
    /// `title` of its frontmatter, else its first heading, else its path.
    pub(in crate::binding::builtin) title: String,
    /// Its text without frontmatter.
    pub(in crate::binding::builtin) text: String,
}

impl Document {
    /// Reads a file below a folder; `None` if there is none, or the path leaves the folder.
    ///
    /// # Errors
    /// It is too large (`limit`), no UTF-8, or cannot be read (`store`).
    pub(super) fn read(folder: &Path, path: &str) -> Result<Option<Self>, ToolError> {
        Ok(Self::source(folder, path)?.map(|text| Self::of(path, &text)))
    }

    /// Reads the whole text of a file below a folder, as [`Document::read`] does.
    ///
    /// # Errors
    /// Those of [`Document::read`].
    pub(in crate::binding::builtin) fn source(folder: &Path, path: &str) -> Result<Option<String>, ToolError> {
        let is_below = !path.is_empty() && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
        let Ok(root) = fs::canonicalize(folder) else { return Ok(None) };
        let file = root.join(path);
        if !is_below || path.contains('\0') || !is_within(&root, &file) || !file.is_file() {
            return Ok(None);
        }
        let unread = |error: &dyn std::fmt::Display| store_error(format!("`{path}` cannot be read: {error}"));
        let size = file.metadata().map_err(|error| unread(&error))?.len();
        if size > MAX_DOCUMENT {
            return Err(final_error("limit", format!("`{path}` has {size} bytes, more than the {MAX_DOCUMENT} that a document may have")));
        }
        let text = String::from_utf8(fs::read(&file).map_err(|error| unread(&error))?).map_err(|_| unread(&"it is not UTF-8").finally())?;
        Ok(Some(text))
    }

    fn of(path: &str, text: &str) -> Self {
        let (front, text) = frontmatter::split(text);
        let keys: Option<serde_yaml::Mapping> = serde_yaml::from_str(&front).ok();
        let title = keys.and_then(|keys| keys.get("title")?.as_str().map(str::to_owned));
        let heading =
            || text.lines().find_map(|line| Some(line.strip_prefix('#')?.trim_start_matches('#').strip_prefix(' ')?.trim().to_owned()));
        Self { title: title.or_else(heading).unwrap_or_else(|| path.to_owned()), text }
    }
}

/// Returns whether a file, links resolved, lies below a folder.
fn is_within(root: &Path, file: &Path) -> bool {
    fs::canonicalize(file).is_ok_and(|real| real.starts_with(root))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_that_of_the_frontmatter_or_the_first_heading_or_the_path() {
        let title = |text| Document::of("a/b.md", text).title;
        assert_eq!(title("---\ntitle: Lamps\n---\n# Other\n"), "Lamps");
        assert_eq!(title("Text.\n\n## Desk lamps \n"), "Desk lamps");
        assert_eq!(title("---\ntitle: [no\n---\n#hash\n"), "a/b.md");
        assert_eq!(Document::of("x", "---\ntitle: T\n---\nBody.\n").text, "Body.");
    }

    #[cfg(unix)]
    #[test]
    fn nothing_outside_of_the_folder_is_read() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret.md"), "s").unwrap();
        let folder = outside.path().join("docs");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("in.md"), "# In\n").unwrap();
        std::os::unix::fs::symlink(outside.path().join("secret.md"), folder.join("link.md")).unwrap();
        for path in ["../secret.md", "/etc/passwd", "link.md", "", ".", "in.md/../../secret.md", "none.md", "a\0b"] {
            assert!(Document::read(&folder, path).unwrap().is_none(), "{path}");
        }
        assert_eq!(Document::read(&folder, "in.md").unwrap().unwrap().title, "In");
        let paths: Vec<_> = Listing::new(&folder, "**/*.md").unwrap().stamps().unwrap().into_iter().map(|stamp| stamp.path).collect();
        assert_eq!(paths, ["in.md"]);
    }
}
