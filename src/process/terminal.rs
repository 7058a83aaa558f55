//! Output as a terminal would leave it: without escape sequences, and each line in its last state.
//!
//! Progress bars write a line hundreds of times with carriage returns in between; only what the last one left is
//! worth reading. What was overwritten is counted, never silently lost. A full screen (cursor movement) is not
//! emulated: its sequences are dropped and its text stays.

use crate::process::capture::Ends;

const ESC: u8 = 0x1b;
/// Longest escape sequence that is believed to be one; a stray introducer must not swallow the output.
const LONGEST: usize = 4096;

/// A filter that is fed pieces of any size.
#[derive(Debug, Default)]
pub struct Screen {
    state: State,
    /// Where the current line began.
    line: u64,
    overwritten: u64,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Text,
    /// A carriage return came; what follows decides what it means.
    Return,
    Escape {
        after_return: bool,
    },
    /// `ESC [`: parameters, then a final byte.
    Control {
        after_return: bool,
        length: usize,
    },
    /// `ESC ]` and its kin: text up to BEL or `ESC \`.
    String {
        after_return: bool,
        length: usize,
    },
}

impl Screen {
    /// Lines that were overwritten.
    pub(super) fn overwritten(&self) -> u64 {
        self.overwritten
    }

    pub(super) fn push(&mut self, mut piece: &[u8], out: &mut Ends) {
        while let Some(&byte) = piece.first() {
            if let State::Text = self.state {
                let plain = memchr::memchr3(b'\r', ESC, 0x08, piece).unwrap_or(piece.len());
                let (text, rest) = piece.split_at(plain);
                self.write(text, out);
                piece = rest;
                let Some(&byte) = piece.first() else { return };
                self.special(byte, out);
            } else if self.sequence(byte, out) {
                // The byte is still to be read as text.
                continue;
            }
            piece = piece.get(1..).unwrap_or_default();
        }
    }

    fn write(&mut self, text: &[u8], out: &mut Ends) {
        let before = out.position();
        out.push(text);
        if let Some(newline) = memchr::memrchr(b'\n', text) {
            self.line = before + newline as u64 + 1;
        }
    }

    /// A byte that is no plain text.
    fn special(&mut self, byte: u8, out: &mut Ends) {
        match byte {
            b'\r' => self.state = State::Return,
            ESC => self.state = State::Escape { after_return: false },
            0x08 => out.pop_char(self.line),
            _ => {}
        }
    }

    /// A byte within a sequence; true when it does not belong to it.
    fn sequence(&mut self, byte: u8, out: &mut Ends) -> bool {
        match self.state {
            State::Text => return true,
            State::Return => match byte {
                b'\r' => {}
                ESC => self.state = State::Escape { after_return: true },
                b'\n' => {
                    self.state = State::Text;
                    return true;
                }
                _ => {
                    self.overwrite(out);
                    return true;
                }
            },
            State::Escape { after_return } => match byte {
                b'[' => self.state = State::Control { after_return, length: 0 },
                b']' | b'P' | b'X' | b'^' | b'_' => self.state = State::String { after_return, length: 0 },
                // An intermediate byte: the final one is still to come.
                0x20..=0x2f => {}
                0x30..=0x7e => self.leave(after_return),
                ESC => {}
                _ => {
                    self.leave(after_return);
                    return true;
                }
            },
            State::Control { after_return, length } => match byte {
                0x20..=0x3f if length < LONGEST => {
                    self.state = State::Control { after_return, length: length + 1 };
                }
                0x40..=0x7e => self.leave(after_return),
                ESC => self.state = State::Escape { after_return },
                _ => {
                    self.leave(after_return);
                    return true;
                }
            },
            State::String { after_return, length } => match byte {
                0x07 | 0x18 | 0x1a => self.leave(after_return),
                // `ESC \` ends the string; read as a sequence of two it does so too.
                ESC => self.state = State::Escape { after_return },
                b'\n' => {
                    self.leave(after_return);
                    return true;
                }
                _ if length >= LONGEST => {
                    self.leave(after_return);
                    return true;
                }
                _ => self.state = State::String { after_return, length: length + 1 },
            },
        }
        false
    }

    fn leave(&mut self, after_return: bool) {
        self.state = if after_return { State::Return } else { State::Text };
    }

    fn overwrite(&mut self, out: &mut Ends) {
        if out.position() > self.line {
            out.truncate(self.line);
            self.overwritten += 1;
        }
        self.state = State::Text;
    }
}

/// Whether a character shows nothing. These are rare, so they are taken out of what was kept, not of what streams by.
pub(super) fn is_silent(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t' | '\r')
}

#[cfg(test)]
mod tests {
    use crate::process::capture::{Capture, Form, Keep};

    fn screen(input: &[u8]) -> String {
        let mut whole = Capture::new(Keep { head: 1000, tail: 1000, form: Form::Screen });
        whole.push(input);
        let mut split = Capture::new(Keep { head: 1000, tail: 1000, form: Form::Screen });
        for byte in input {
            split.push(&[*byte]);
        }
        let (whole, split) = (whole.text(2000).head, split.text(2000).head);
        assert_eq!(whole, split, "pieces must not matter");
        whole
    }

    #[test]
    fn lines_are_left_in_their_last_state() {
        let cases: &[(&str, &str)] = &[
            ("a\rb\nDone\n", "b\nDone\n"),
            ("one\r\ntwo\r\n", "one\ntwo\n"),
            ("100%\r", "100%"),
            ("10%\r\x1b[K20%\r\x1b[K\n", "20%\n"),
            ("kept\n\rx", "kept\nx"),
            ("a\r\r\nb", "a\nb"),
            ("abc\x08\x08xy\n", "axy\n"),
            ("é\x08e \x08\x08\x08\x08ok\n", "ok\n"),
        ];
        for (input, expected) in cases {
            assert_eq!(screen(input.as_bytes()), *expected, "{input:?}");
        }
    }

    #[test]
    fn escape_sequences_are_removed_and_text_stays() {
        let cases: &[(&str, &str)] = &[
            ("\x1b[31;1mred\x1b[0m", "red"),
            ("\x1b]0;title\x07text", "text"),
            ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
            ("\x1b(Bplain\x1b7\x1b8", "plain"),
            ("stray \x1b]never closed\nnext line", "stray \nnext line"),
            ("tab\tbell\x07nul\0end", "tab\tbellnulend"),
            ("\x1b[12é", "é"),
        ];
        for (input, expected) in cases {
            assert_eq!(screen(input.as_bytes()), *expected, "{input:?}");
        }
    }

    #[test]
    fn what_was_overwritten_is_counted() {
        let mut capture = Capture::new(Keep { head: 100, tail: 100, form: Form::Screen });
        for step in 0..500 {
            capture.push(format!("\rProgress {step}%").as_bytes());
        }
        assert_eq!(capture.text(100).head, "Progress 499%");
        assert_eq!(capture.overwritten(), 499);
    }
}
