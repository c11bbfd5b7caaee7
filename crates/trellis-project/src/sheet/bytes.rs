//! The bytes of a file block: its text, transformed by the words of its info string.

use trellis_core::syntax::document::Bytes;

/// The bytes of a file block, after the words of its info string.
pub(super) fn file_bytes(content: &str, words: &[String]) -> Result<Bytes, String> {
    let mut bytes = content.as_bytes().to_vec();
    for word in words {
        match &**word {
            "crlf" => bytes = content.replace("\r\n", "\n").replace('\n', "\r\n").into_bytes(),
            "bom" => bytes.splice(0..0, *b"\xEF\xBB\xBF").for_each(drop),
            "bare" => {
                while bytes.pop_if(|byte| *byte == b'\n').is_some() {
                    bytes.pop_if(|byte| *byte == b'\r');
                }
            }
            "base64" => bytes = base64(content)?,
            "too-large" => return Ok(Bytes::TooLarge { size: 1_048_577, limit: 1_048_576 }),
            other => return Err(format!("`{other}` is no word of a file block: crlf, bom, bare, base64, too-large")),
        }
    }
    Ok(Bytes::Read(bytes.into()))
}

/// Decodes base64, line breaks left out.
fn base64(text: &str) -> Result<Vec<u8>, String> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0_u32, 0);
    for byte in text.bytes().filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=') {
        let six = ALPHABET.iter().position(|known| *known == byte).ok_or_else(|| format!("`{}` is not base64", byte as char))?;
        bits = bits << 6 | u32::try_from(six).unwrap_or_default();
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.extend(((bits >> held) as u8).to_le_bytes());
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_bytes_come_from_base64() {
        assert_eq!(base64("/wBh\n").unwrap(), [0xFF, 0x00, 0x61]);
        assert_eq!(base64("YQ==").unwrap(), b"a");
        assert!(base64("*").is_err());
    }
}
