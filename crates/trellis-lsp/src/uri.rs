//! Paths of files and their URIs.
//!
//! **Invariant:** a file has the URI that its client used for it; only files that no client named get one from their path.

use std::path::{Path, PathBuf};

use crate::wire::Uri;

/// Returns the path of a `file:` address; `None` for another scheme, or a path that is no text.
pub(crate) fn to_path(uri: &Uri) -> Option<PathBuf> {
    let rest = uri.0.strip_prefix("file://").or_else(|| uri.0.strip_prefix("FILE://"))?;
    // Of a host, `localhost` alone is this machine.
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    let rest = rest.split(['?', '#']).next().unwrap_or(rest);
    let text = decoded(rest)?;
    if !text.starts_with('/') {
        return None;
    }
    // `/c:/graphs` is a path on a drive.
    let drive = text.as_bytes();
    let has_drive = cfg!(windows) && drive.len() > 2 && drive[1].is_ascii_alphabetic() && drive[2] == b':';
    Some(PathBuf::from(if has_drive { &text[1..] } else { &text }))
}

/// Returns the address of a path.
pub(crate) fn of_path(path: &Path) -> Uri {
    let text = path.to_string_lossy();
    let text = if cfg!(windows) { format!("/{}", text.replace('\\', "/")) } else { text.into_owned() };
    let mut uri = String::with_capacity(text.len() + 8);
    uri.push_str("file://");
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => uri.push(char::from(byte)),
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    Uri(uri)
}

/// Returns a text whose percent signs are decoded; `None` if that is no text.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        match (first, after) {
            (b'%', [high, low, after @ ..]) => {
                bytes.push(hex(*high)? << 4 | hex(*low)?);
                rest = after;
            }
            (b'%', _) => return None,
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_paths_lead_to_each_other() {
        for (path, uri) in [("/a/b.md", "file:///a/b.md"), ("/with space/ü%.md", "file:///with%20space/%C3%BC%25.md")] {
            assert_eq!(of_path(Path::new(path)).0, uri);
            assert_eq!(to_path(&Uri(uri.to_owned())).as_deref(), Some(Path::new(path)));
        }
        assert_eq!(to_path(&Uri("file://localhost/a%2Db".into())).as_deref(), Some(Path::new("/a-b")));
        for other in ["untitled:Untitled-1", "file://server/share/a.md", "file:///a%zz", "file:///a%4", "http://x/a.md", "file:///%FF", ""]
        {
            assert_eq!(to_path(&Uri(other.into())), None, "{other}");
        }
    }
}
