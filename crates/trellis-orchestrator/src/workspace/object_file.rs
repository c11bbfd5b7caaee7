//! Files of the workspace with one JSON object and the version of its format (orchestrator 9.1).
//!
//! **Invariant:** no data is lost: an unreadable file is moved aside, and a file of a newer program is not touched.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use serde::{Serialize, de::DeserializeOwned};

use super::write_whole;

/// A file with an object cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ObjectFileError {
    /// The system refuses.
    #[error("`{}` cannot be used: {why}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// The reason.
        why: io::Error,
    },
    /// A newer program wrote it.
    #[error("`{}` was written by a newer program (form {found}, this one knows {known}): it is left as it is", file.display())]
    Newer {
        /// The file.
        file: PathBuf,
        /// Its form.
        found: u64,
        /// The newest form that this program knows.
        known: u32,
    },
}

/// Reads an object; a file that does not exist holds the default. A file that cannot be understood is moved aside, as the warning says.
///
/// # Errors
/// The file cannot be read or moved, or a newer program wrote it.
pub(crate) fn read_object<T: DeserializeOwned + Default>(file: &Path, known: u32) -> Result<(T, Option<String>), ObjectFileError> {
    let fails = |why| ObjectFileError::Io { file: file.to_owned(), why };
    let bytes = match fs::read(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((T::default(), None)),
        read => read.map_err(fails)?,
    };
    let json = serde_json::from_slice::<serde_json::Value>(&bytes);
    let version = json.as_ref().ok().and_then(|json| json["version"].as_u64());
    if let Some(found) = version.filter(|found| *found > u64::from(known)) {
        return Err(ObjectFileError::Newer { file: file.to_owned(), found, known });
    }
    match json.and_then(serde_json::from_value) {
        Ok(object) => Ok((object, None)),
        Err(error) => {
            let moved_to = free_name(file, Timestamp::now().as_second());
            fs::rename(file, &moved_to).map_err(fails)?;
            let warning = format!("`{}` could not be understood ({error}); it is `{}` now", file.display(), moved_to.display());
            Ok((T::default(), Some(warning)))
        }
    }
}

/// Copies a file of which a part could not be understood, as the warning says.
///
/// # Errors
/// The copy cannot be made.
pub(crate) fn copy_corrupt(file: &Path, lost: usize) -> Result<String, ObjectFileError> {
    let copy = free_name(file, Timestamp::now().as_second());
    fs::copy(file, &copy).map_err(|why| ObjectFileError::Io { file: file.to_owned(), why })?;
    Ok(format!(
        "{lost} entries of `{}` could not be understood and are left out; the whole file is `{}` too",
        file.display(),
        copy.display()
    ))
}

/// An item that was read, or a placeholder for an unreadable one.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(untagged)]
pub(crate) enum MaybeRead<T> {
    Read(T),
    Other(serde::de::IgnoredAny),
}

impl<T> MaybeRead<T> {
    /// Returns the items that were read, and the number of the others.
    pub(crate) fn part(items: Vec<Self>) -> (Vec<T>, usize) {
        let (mut read, mut lost) = (Vec::new(), 0);
        for item in items {
            match item {
                Self::Read(item) => read.push(item),
                Self::Other(serde::de::IgnoredAny) => lost += 1,
            }
        }
        (read, lost)
    }
}

/// Reads an object that can be rebuilt; `None` if there is none, or it cannot be understood.
///
/// # Errors
/// The file cannot be read, or a newer program wrote it.
pub(crate) fn read_projection<T: DeserializeOwned>(file: &Path, known: u32) -> Result<Option<T>, ObjectFileError> {
    let bytes = match fs::read(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(|why| ObjectFileError::Io { file: file.to_owned(), why })?,
    };
    let json = serde_json::from_slice::<serde_json::Value>(&bytes).ok();
    let version = json.as_ref().and_then(|json| json["version"].as_u64());
    match version.filter(|found| *found > u64::from(known)) {
        Some(found) => Err(ObjectFileError::Newer { file: file.to_owned(), found, known }),
        None => Ok(json.and_then(|json| serde_json::from_value(json).ok())),
    }
}

/// Writes an object, whole or not at all.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn write_object<T: Serialize>(file: &Path, object: &T) -> Result<(), ObjectFileError> {
    let written = serde_json::to_vec_pretty(object).map_err(io::Error::other).and_then(|bytes| write_whole(file, &bytes));
    written.map_err(|why| ObjectFileError::Io { file: file.to_owned(), why })
}

/// Returns a name beside a file that no other file has: one that was moved aside before stays.
fn free_name(file: &Path, second: i64) -> PathBuf {
    let mut names = (second..).map(|second| file.with_extension(format!("json.corrupt-{second}")));
    names.find(|name| !name.exists()).unwrap_or_else(|| file.with_extension("json.corrupt"))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    struct Object {
        version: u32,
        items: Vec<String>,
    }

    // orchestrator 9.1: a corrupt source of truth is moved aside and reported, whatever its bytes are, and no other one is lost by that
    #[test]
    fn what_cannot_be_understood_is_moved_aside() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("object.json");
        let junk: [&[u8]; 5] = [b"", b"{\"version\": 1, \"items\": [", b"\xff\xfe\x00", b"[]", b"{\"version\": 1, \"items\": 7}"];
        for bytes in junk {
            fs::write(&file, bytes).expect("written");
            let (object, warning) = read_object::<Object>(&file, 1).expect("it opens");
            assert!(object == Object::default() && warning.is_some_and(|warning| warning.contains("corrupt-")) && !file.exists());
        }
        let mut files: Vec<_> =
            fs::read_dir(folder.path()).expect("listed").flatten().map(|entry| fs::read(entry.path()).expect("read")).collect();
        let mut expected = junk.map(<[u8]>::to_vec).to_vec();
        files.sort();
        expected.sort();
        assert_eq!(files, expected);
    }

    // orchestrator 9.1: an object is read as it was written; a newer version is refused, untouched
    #[test]
    fn objects_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("object.json");
        assert_eq!(read_object::<Object>(&file, 1).expect("none is there"), (Object::default(), None));
        let object = Object { version: 1, items: vec!["{\"\\u0000".to_owned()] };
        write_object(&file, &object).expect("written");
        assert_eq!(read_object::<Object>(&file, 1).expect("it opens"), (object, None));
        let newer = br#"{"version": 2, "other": true}"#;
        fs::write(&file, newer).expect("written");
        assert!(matches!(read_object::<Object>(&file, 1), Err(ObjectFileError::Newer { found: 2, known: 1, .. })));
        assert_eq!(fs::read(&file).expect("read"), newer);
    }
}
