//! One line of an author at a terminal.

use std::num::NonZeroU16;

use super::{look::Detail, terminal::Size};

/// The request of an author line.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Line {
    /// Blank, or `# …`.
    Remark,
    /// `$ trellis …`: starts the program.
    Start(String),
    /// `> text` with Enter behind it, `type text` without.
    Type(Vec<u8>),
    /// `key down down enter`.
    Keys(Vec<Key>),
    /// `paste text`.
    Paste(Vec<u8>),
    /// `resize 40x20`.
    Resize(Size),
    /// `signal hup`: what the system sends to the program.
    Signal(String),
    /// `hang up`: the terminal disappears.
    HangUp,
    /// `! command`: somebody else does something in the folder.
    Shell(String),
    /// `wait text`: until the screen holds it.
    Wait(String),
    /// `screen`, `screen plain`: how it looks now stands below.
    Screen(Detail),
    /// `picture name`: how it looks now is `docs/pictures/name.svg`.
    Picture(String),
}

/// A key, as the terminal sends it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Key {
    /// These bytes.
    Bytes(Vec<u8>),
    /// An arrow; programs choose between two forms.
    Arrow(u8),
}

/// Returns whether a line is the program's: it is thrown away and written anew.
pub(super) fn is_program_line(line: &str) -> bool {
    line.starts_with(['|', ':', '*', '%'])
}

/// Reads an author line.
pub(super) fn read(line: &str) -> Result<Line, String> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    Ok(match word {
        "" | "#" => Line::Remark,
        "$" => Line::Start(rest.to_owned()),
        ">" => Line::Type([typed(rest)?, b"\r".to_vec()].concat()),
        "type" => Line::Type(typed(rest)?),
        "key" => Line::Keys(rest.split(' ').map(keys).collect::<Result<Vec<_>, _>>()?.concat()),
        "paste" => Line::Paste(typed(rest)?),
        "resize" => Line::Resize(size(rest)?),
        "signal" => Line::Signal(rest.to_owned()),
        "hang" => Line::HangUp,
        "!" => Line::Shell(rest.to_owned()),
        "wait" => Line::Wait(rest.to_owned()),
        "screen" => Line::Screen(Detail { plain: rest == "plain" }),
        "picture" => Line::Picture(rest.to_owned()),
        _ => return Err(format!("`{line}` is no line of a terminal session")),
    })
}

/// `40x20`: columns and rows.
pub(super) fn size(text: &str) -> Result<Size, String> {
    let parsed = text.split_once('x').and_then(|(columns, rows)| Some((columns.parse::<NonZeroU16>().ok()?, rows.parse().ok()?)));
    let (columns, rows) = parsed.ok_or_else(|| format!("`{text}` is no size such as `40x20`"))?;
    Ok(Size { columns, rows })
}

/// Text with `\n`, `\r`, `\t`, `\e`, `\\`, `\xff`; or so much of it: `100KiB of text`.
fn typed(text: &str) -> Result<Vec<u8>, String> {
    let amount = |text: &str| {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let unit = match &text[digits..] {
            "KiB" => 1 << 10,
            "MiB" => 1 << 20,
            _ => return None,
        };
        Some(text[..digits].parse::<usize>().ok()? * unit)
    };
    if let Some((amount, text)) = text.split_once(" of ").and_then(|(head, text)| Some((amount(head)?, text))) {
        return Ok(typed(text)?.into_iter().cycle().take(amount).collect());
    }
    let mut bytes = Vec::new();
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        if char != '\\' {
            bytes.extend(char.encode_utf8(&mut [0; 4]).bytes());
            continue;
        }
        bytes.push(match chars.next() {
            Some('n') => b'\n',
            Some('r') => b'\r',
            Some('t') => b'\t',
            Some('e') => 0x1b,
            Some('\\') => b'\\',
            Some('x') => {
                let hex: String = chars.by_ref().take(2).collect();
                u8::from_str_radix(&hex, 16).map_err(|_| format!("`\\x{hex}` is no byte"))?
            }
            _ => return Err(format!("`{text}` ends in half an escape, or has one that is none: \\n \\r \\t \\e \\\\ \\xff")),
        });
    }
    Ok(bytes)
}

/// A key by its name, perhaps so many times: `down*3`.
fn keys(name: &str) -> Result<Vec<Key>, String> {
    let (name, times) = name.rsplit_once('*').and_then(|(name, times)| Some((name, times.parse().ok()?))).unwrap_or((name, 1));
    let bytes = |bytes: &[u8]| Key::Bytes(bytes.to_vec());
    let key = match name {
        "up" => Key::Arrow(b'A'),
        "down" => Key::Arrow(b'B'),
        "right" => Key::Arrow(b'C'),
        "left" => Key::Arrow(b'D'),
        "home" => Key::Arrow(b'H'),
        "end" => Key::Arrow(b'F'),
        "enter" => bytes(b"\r"),
        "tab" => bytes(b"\t"),
        "esc" => bytes(b"\x1b"),
        "space" => bytes(b" "),
        "backspace" => bytes(b"\x7f"),
        "delete" => bytes(b"\x1b[3~"),
        "page-up" => bytes(b"\x1b[5~"),
        "page-down" => bytes(b"\x1b[6~"),
        _ => match (name.strip_prefix("ctrl-"), name.strip_prefix("alt-")) {
            (Some(letter), _) if letter.len() == 1 => bytes(&[letter.as_bytes()[0] & 0x1f]),
            (_, Some(letter)) if letter.len() == 1 => bytes(&[0x1b, letter.as_bytes()[0]]),
            _ if name.chars().count() == 1 => bytes(name.as_bytes()),
            _ => return Err(format!("`{name}` is no key")),
        },
    };
    Ok(vec![key; times])
}

impl Key {
    /// The bytes that arrive; `application` as the program asked for.
    pub(super) fn bytes(&self, application: bool) -> Vec<u8> {
        match self {
            Self::Bytes(bytes) => bytes.clone(),
            Self::Arrow(letter) => vec![0x1b, if application { b'O' } else { b'[' }, *letter],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_what_is_typed() {
        assert_eq!(read("> Ada").unwrap(), Line::Type(b"Ada\r".to_vec()));
        assert_eq!(read("> ").unwrap(), Line::Type(b"\r".to_vec()));
        assert_eq!(read(r"type a\e[31m\xff").unwrap(), Line::Type(b"a\x1b[31m\xff".to_vec()));
        assert_eq!(read("paste 1KiB of ab").unwrap(), Line::Paste(b"ab".repeat(512)));
        assert_eq!(read("key down*2 ctrl-c").unwrap(), Line::Keys(vec![Key::Arrow(b'B'), Key::Arrow(b'B'), Key::Bytes(vec![3])]));
        assert_eq!(Key::Arrow(b'A').bytes(true), b"\x1bOA");
        assert!(read("key sideways").is_err() && read("frobnicate").is_err() && read("resize 4").is_err() && read(r"type \q").is_err());
    }
}
