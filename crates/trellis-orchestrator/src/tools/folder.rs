//! A folder that nothing leads out of: each path is opened by the kernel from the folder down, which follows no link and no `..` out of it, at any moment.

use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    path::{Component, Path},
};

use rustix::{
    fd::OwnedFd,
    fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, fstat, mkdirat, openat, openat2, renameat, unlinkat},
    io::Errno,
};
use trellis_core::{ToolError, Value};

use super::{Returned, store_error};

/// Bytes of a file that is read or written.
const MAX_FILE: u64 = 1 << 20;
/// Files that a search looks at.
const MAX_SEARCHED_FILES: usize = 10_000;
/// Folders in folders that a search goes into.
const MAX_SEARCH_DEPTH: usize = 32;

/// A folder that nothing leads out of.
pub(super) struct Folder(OwnedFd);

impl Folder {
    pub(super) fn open(path: &Path) -> Result<Self, ToolError> {
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        openat(CWD, path, flags, Mode::empty()).map(Self).map_err(|error| store_error(format!("`{}`: {error}", path.display())))
    }

    /// Opens a path below it.
    fn at(&self, path: &str, flags: OFlags) -> Result<OwnedFd, ToolError> {
        let path = below(path)?;
        let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        openat2(&self.0, path, flags | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty(), within).map_err(|error| refused(path, error))
    }

    fn regular(&self, path: &str) -> Result<File, ToolError> {
        let file = self.at(path, OFlags::RDONLY)?;
        let status = fstat(&file).map_err(|error| refused(Path::new(path), error))?;
        match FileType::from_raw_mode(status.st_mode) {
            FileType::RegularFile => Ok(File::from(file)),
            _ => Err(ToolError::coded("not_a_file", format!("`{path}` is no regular file")).finally()),
        }
    }

    /// The names in a folder, those of folders with `/` at their ends.
    pub(super) fn names(&self, path: &str) -> Result<Vec<String>, ToolError> {
        let folder = self.at(if path.is_empty() { "." } else { path }, OFlags::DIRECTORY | OFlags::RDONLY)?;
        let failed = |error| refused(Path::new(path), error);
        let mut names = Vec::new();
        for entry in Dir::read_from(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let mark = if entry.file_type() == FileType::Directory { "/" } else { "" };
            if name != "." && name != ".." {
                names.push(format!("{name}{mark}"));
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// The paths of the files below a folder, or the path itself if it is a file.
    pub(super) fn files_below(&self, path: &str) -> Result<Vec<String>, ToolError> {
        if !path.is_empty() && self.regular(path).is_ok() {
            return Ok(vec![path.to_owned()]);
        }
        let (mut files, mut folders) = (Vec::new(), vec![(path.trim_end_matches('/').to_owned(), 0)]);
        while let Some((folder, depth)) = folders.pop() {
            // A folder that is gone meanwhile has no files; the requested one must exist.
            let names = match self.names(&folder) {
                Err(error) if depth == 0 => return Err(error),
                names => names.unwrap_or_default(),
            };
            for name in names {
                let whole = if folder.is_empty() { name } else { format!("{folder}/{name}") };
                match whole.strip_suffix('/') {
                    Some(inner) if depth < MAX_SEARCH_DEPTH => folders.push((inner.to_owned(), depth + 1)),
                    Some(_) => {}
                    None => files.push(whole),
                }
                if files.len() >= MAX_SEARCHED_FILES {
                    return Ok(files);
                }
            }
        }
        files.sort_unstable();
        Ok(files)
    }

    pub(super) fn read(&self, path: &str) -> Result<String, ToolError> {
        let mut bytes = Vec::new();
        let read = self.regular(path)?.take(MAX_FILE + 1).read_to_end(&mut bytes);
        read.map_err(|error| store_error(format!("`{path}`: {error}")))?;
        if bytes.len() as u64 > MAX_FILE {
            return Err(ToolError::coded("too-large", format!("`{path}` has more than {MAX_FILE} bytes")).finally());
        }
        String::from_utf8(bytes).map_err(|_| ToolError::coded("not-text", format!("`{path}` is no text")).finally())
    }

    pub(super) fn write(&self, path: &str, text: &str) -> Returned {
        if text.len() as u64 > MAX_FILE {
            return Err(ToolError::coded("too-large", format!("the text has more than {MAX_FILE} bytes")).finally());
        }
        let (folder, name) = self.parent(path, true)?;
        let draft = format!(".{name}.new");
        let failed = |error: io::Error| store_error(format!("`{path}`: {error}"));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(&folder, &draft, flags, Mode::RUSR | Mode::WUSR).map_err(|error| failed(error.into()))?);
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
        // A rename replaces a link, and does not follow it.
        written.and_then(|()| renameat(&folder, &draft, &folder, name).map_err(io::Error::from)).map_err(failed)?;
        Ok(Value::map([("bytes", Value::Int(i64::try_from(text.len()).unwrap_or(i64::MAX)))]))
    }

    pub(super) fn delete(&self, path: &str) -> Returned {
        let (folder, name) = self.parent(path, false)?;
        unlinkat(&folder, name, AtFlags::empty()).map_err(|error| refused(Path::new(path), error))?;
        Ok(Value::map([("deleted", Value::Bool(true))]))
    }

    /// The folder of a path, made if it is missing and `make` is true, and the last name of the path.
    fn parent<'p>(&self, path: &'p str, make: bool) -> Result<(OwnedFd, &'p str), ToolError> {
        let whole = below(path)?;
        let name = whole.file_name().and_then(|name| name.to_str()).ok_or_else(|| outside(path))?;
        let mut folder = self.at(".", OFlags::DIRECTORY | OFlags::RDONLY)?;
        for part in whole.parent().into_iter().flat_map(Path::components) {
            if make {
                match mkdirat(&folder, part.as_os_str(), Mode::RWXU) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(refused(whole, error)),
                }
            }
            folder = Folder(folder).at(&part.as_os_str().to_string_lossy(), OFlags::DIRECTORY | OFlags::RDONLY)?;
        }
        Ok((folder, name))
    }
}

/// A path that leads down: neither absolute nor with `..`.
fn below(path: &str) -> Result<&Path, ToolError> {
    let leads_down = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    let whole = Path::new(path);
    (!path.is_empty() && !path.contains('\0') && whole.components().all(leads_down)).then_some(whole).ok_or_else(|| outside(path))
}

fn outside(path: &str) -> ToolError {
    ToolError::coded("outside", format!("`{path}` does not lie in the folder of files: paths are relative, without `..`")).finally()
}

fn refused(path: &Path, error: Errno) -> ToolError {
    let code = match error {
        Errno::NOENT => "not_found",
        Errno::LOOP | Errno::XDEV => "outside",
        _ => "store",
    };
    ToolError::coded(code, format!("`{}`: {error}", path.display())).finally()
}
