//! What a file's bytes say as text: encoding, byte order mark, line endings.

use std::borrow::Cow;

use encoding_rs::{UTF_16BE, UTF_16LE, WINDOWS_1252};

/// The UTF-8 byte order mark as text.
pub const BOM: char = '\u{feff}';

/// Bytes as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded<'a> {
    /// The text, without a byte order mark.
    pub text: Cow<'a, str>,
    /// How it is encoded.
    pub encoding: Encoding,
}

/// How a text file is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8 without a byte order mark.
    Utf8,
    /// UTF-8 behind a byte order mark.
    Utf8Bom,
    /// UTF-16, little endian, behind a byte order mark.
    Utf16Le,
    /// UTF-16, big endian, behind a byte order mark.
    Utf16Be,
    /// No UTF-8, but no binary either: shown as Windows-1252, which has a character for every byte.
    Latin,
}

impl Encoding {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Utf8Bom => "UTF-8 with a byte order mark",
            Self::Utf16Le => "UTF-16LE",
            Self::Utf16Be => "UTF-16BE",
            Self::Latin => "Windows-1252 or another 8-bit encoding",
        }
    }
    /// Whether text in it can be edited in place without touching other bytes.
    pub fn is_utf8(self) -> bool {
        matches!(self, Self::Utf8 | Self::Utf8Bom)
    }
}

/// Decodes a file's bytes; none when they are binary.
pub fn decode(bytes: &[u8]) -> Option<Decoded<'_>> {
    let utf16 = |codec: &'static encoding_rs::Encoding, rest, encoding| {
        let text = codec.decode_without_bom_handling_and_without_replacement(rest)?;
        (!text.contains('\0')).then_some(Decoded { text, encoding })
    };
    match bytes {
        [0xff, 0xfe, 0, 0, ..] => return None,
        [0xff, 0xfe, rest @ ..] => return utf16(UTF_16LE, rest, Encoding::Utf16Le),
        [0xfe, 0xff, rest @ ..] => return utf16(UTF_16BE, rest, Encoding::Utf16Be),
        _ => {}
    }
    if memchr::memchr(0, bytes).is_some() {
        return None;
    }
    let (body, encoding) = match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => (rest, Encoding::Utf8Bom),
        _ => (bytes, Encoding::Utf8),
    };
    if let Ok(text) = std::str::from_utf8(body) {
        return Some(Decoded { text: Cow::Borrowed(text), encoding });
    }
    looks_like_text(bytes).then(|| {
        let (text, _) = WINDOWS_1252.decode_without_bom_handling(bytes);
        Decoded { text, encoding: Encoding::Latin }
    })
}

/// Text in an 8-bit encoding is mostly ASCII and holds no control characters but white space.
fn looks_like_text(bytes: &[u8]) -> bool {
    let control = bytes.iter().any(|byte| matches!(byte, 0..=8 | 14..=26 | 28..=31 | 127));
    let high = bytes.iter().filter(|byte| **byte >= 0x80).count();
    !control && high <= bytes.len() / 3
}

/// A line's ending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Ending {
    #[default]
    Lf,
    Crlf,
}

impl Ending {
    /// Its characters.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::Crlf => "\r\n",
        }
    }
    /// The endings of a text's lines, in order.
    pub fn all(text: &str) -> impl Iterator<Item = Self> {
        memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| {
            let before = at.checked_sub(1).and_then(|before| text.as_bytes().get(before));
            if before == Some(&b'\r') { Self::Crlf } else { Self::Lf }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_text_in_their_encoding_or_binary() {
        for (bytes, text) in [
            (&b""[..], Some(("", Encoding::Utf8))),
            (b"\xef\xbb\xbfhi", Some(("hi", Encoding::Utf8Bom))),
            (b"\xff\xfeh\0i\0", Some(("hi", Encoding::Utf16Le))),
            (b"\xfe\xff\0h\0i", Some(("hi", Encoding::Utf16Be))),
            (b"caf\xe9 au lait", Some(("café au lait", Encoding::Latin))),
            (b"\xff\xfeh\0i", None),
            (b"\xff\xfe\0\0h\0\0\0", None),
            (b"a\0b", None),
            (b"\x80\x81\x82\x83", None),
            (b"\x89PNG\r\n\x1a\n", None),
        ] {
            let decoded = decode(bytes);
            let found = decoded.as_ref().map(|found| (&*found.text, found.encoding));
            assert_eq!(found, text, "{bytes:?}");
        }
    }

    #[test]
    fn every_line_has_its_own_ending() {
        let endings: Vec<_> = Ending::all("a\r\nb\n\nc").collect();
        assert_eq!(endings, [Ending::Crlf, Ending::Lf, Ending::Lf]);
    }
}
