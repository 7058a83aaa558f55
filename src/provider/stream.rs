//! An answer on its way from bytes to a response: framing here, meaning in the protocol's [`Decode`].
//!
//! A body that starts like JSON is one document, whatever was asked for and whatever its content type says: servers
//! answer a stream request with a plain object, and the other way round.

use std::time::Duration;

use crate::model::response::{CallError, Delta, Response};
use crate::provider::http::Answer;
use crate::provider::http::said::{Said, excerpt};
use crate::provider::lines::Lines;
use crate::provider::sse::{Event, MOST_BYTES, Parser, TooLarge};

/// The largest answer, in bytes.
const MOST_ANSWER: usize = 512 << 20;
/// How long the rest of an answer is waited for after it said why it ended (token counts, the end mark).
const AFTERMATH: Duration = Duration::from_secs(10);

/// The most white space before the first byte that tells what a body is.
const MOST_PADDING: usize = 4096;

/// How much of an answer is kept for a message.
const MOST_START: usize = 256;

/// Where deltas go.
pub type Sink<'a> = dyn FnMut(Delta) + Send + 'a;

/// What one protocol makes of events.
pub trait Decode: Send {
    /// Takes one event: its name (may be empty) and its data.
    fn event(&mut self, name: &str, data: &str, sink: &mut Sink<'_>) -> Result<Step, Fault>;
    /// Hands out deltas that were gathered; called after each network piece.
    fn flush(&mut self, sink: &mut Sink<'_>);
    /// Whether the answer has said why it ended.
    fn is_complete(&self) -> bool;
    /// The body was one document, which has been taken as an event.
    fn document(&mut self);
    /// The response, after the last event.
    fn end(&mut self) -> Result<Response, Fault>;
    /// What was decoded before a failure; none when that is nothing.
    fn partial(&mut self) -> Option<Box<Response>>;
}

/// What an event brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing that shows the model at work.
    Nothing,
    /// Something.
    News,
    /// The end: nothing more is read.
    Done,
}

/// What is wrong with an answer whose status was good.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// It holds an error of the provider.
    Said(Box<Said>),
    /// It ended before its end mark.
    Cut,
    /// It is no answer of this protocol; a short excerpt.
    Foreign(String),
    /// It began as one and then broke the protocol; what did.
    Broken(String),
}

impl From<Said> for Fault {
    fn from(said: Said) -> Self {
        Self::Said(Box::new(said))
    }
}

impl From<TooLarge> for Fault {
    fn from(large: TooLarge) -> Self {
        Self::Broken(large.to_string())
    }
}

/// How a protocol frames its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Server-sent events.
    Events,
    /// One JSON text a line.
    Lines,
}

/// Reads an answer to its end.
pub async fn read(
    mut answer: Answer,
    framing: Framing,
    decoder: &mut dyn Decode,
    sink: &mut Sink<'_>,
) -> Result<Response, CallError> {
    let mut reader = Reader::new(framing);
    let fault = loop {
        let most_idle = decoder.is_complete().then_some(AFTERMATH);
        let piece = match answer.piece(most_idle).await {
            Ok(Some(piece)) => piece,
            Ok(None) => match reader.end(decoder, sink) {
                Ok(response) => return Ok(response),
                Err(fault) => break fault,
            },
            // Everything that matters had come.
            Err(_) if decoder.is_complete() => match decoder.end() {
                Ok(response) => return Ok(response),
                Err(fault) => break fault,
            },
            Err(error) => return Err(CallError { partial: decoder.partial(), ..error }),
        };
        match reader.feed(&piece, decoder, sink) {
            Ok(Step::Nothing) => {}
            Ok(Step::News) => answer.news(),
            Ok(Step::Done) => match decoder.end() {
                Ok(response) => {
                    answer.finish();
                    return Ok(response);
                }
                Err(fault) => break fault,
            },
            Err(fault) => break fault,
        }
    };
    let (called, partial) = (answer.called(), decoder.partial());
    Err(match fault {
        Fault::Said(said) if reader.is_document() => called.said_whole(&said, partial),
        Fault::Said(said) => called.said(&said, partial),
        Fault::Cut => called.cut("the connection was closed", partial),
        Fault::Foreign(excerpt) => called.foreign(answer.status(), answer.content_type(), &excerpt),
        Fault::Broken(what) => called.garbage(&what, partial),
    })
}

/// The framing of one answer, without its network: pieces in, events to a decoder.
#[derive(Debug)]
pub struct Reader {
    framing: Framing,
    state: State,
    total: usize,
    /// The first bytes, to be shown when the whole turns out to be no answer.
    start: Vec<u8>,
}

#[derive(Debug)]
enum State {
    /// Only white space has come.
    Unknown(Vec<u8>),
    Document(Vec<u8>),
    Events(Parser),
    Lines(Lines),
}

/// Why a parser stops in the middle of a piece.
enum Stop {
    Done,
    Fault(Fault),
}

impl From<TooLarge> for Stop {
    fn from(large: TooLarge) -> Self {
        Self::Fault(large.into())
    }
}

impl Reader {
    /// A reader for a new answer.
    pub fn new(framing: Framing) -> Self {
        Self { framing, state: State::Unknown(Vec::new()), total: 0, start: Vec::new() }
    }

    /// Whether the body is one document.
    pub fn is_document(&self) -> bool {
        matches!(self.state, State::Document(_))
    }

    /// Takes the next bytes.
    pub fn feed(
        &mut self,
        bytes: &[u8],
        decoder: &mut dyn Decode,
        sink: &mut Sink<'_>,
    ) -> Result<Step, Fault> {
        self.total = self.total.saturating_add(bytes.len());
        if self.total > MOST_ANSWER {
            return Err(TooLarge { most: MOST_ANSWER }.into());
        }
        let room = MOST_START.saturating_sub(self.start.len()).min(bytes.len());
        self.start.extend_from_slice(bytes.get(..room).unwrap_or_default());
        let begun;
        let bytes = match &mut self.state {
            State::Unknown(start) => {
                start.extend_from_slice(bytes);
                let Some(state) = recognise(start, self.framing) else { return Ok(Step::Nothing) };
                begun = std::mem::take(start);
                self.state = state;
                &begun
            }
            _ => bytes,
        };
        let mut step = Step::Nothing;
        let mut take = |name: &str, data: &str| match decoder.event(name, data, sink) {
            Ok(Step::Done) => Err(Stop::Done),
            Ok(new) => {
                if new == Step::News {
                    step = new;
                }
                Ok(())
            }
            Err(fault) => Err(Stop::Fault(fault)),
        };
        let result = match &mut self.state {
            State::Events(parser) => parser.feed(bytes, &mut |event: &Event| take(&event.name, &event.data)),
            State::Lines(lines) => lines.feed(bytes, &mut |line| take("", line)),
            State::Document(document) | State::Unknown(document) => {
                document.extend_from_slice(bytes);
                if document.len() > MOST_BYTES { Err(TooLarge { most: MOST_BYTES }.into()) } else { Ok(()) }
            }
        };
        decoder.flush(sink);
        match result {
            Ok(()) => Ok(step),
            Err(Stop::Done) => Ok(Step::Done),
            Err(Stop::Fault(fault)) => Err(fault),
        }
    }

    /// The bytes have ended.
    pub fn end(&mut self, decoder: &mut dyn Decode, sink: &mut Sink<'_>) -> Result<Response, Fault> {
        let mut take = |name: &str, data: &str| match decoder.event(name, data, sink) {
            Ok(Step::Done) => Err(Stop::Done),
            Ok(_) => Ok(()),
            Err(fault) => Err(Stop::Fault(fault)),
        };
        let result = match &mut self.state {
            // What follows the last line end may be half an event: that is a cut, not a broken answer.
            State::Events(parser) => {
                parser.end(&mut |event: &Event| last(&event.data, &mut take, &event.name))
            }
            State::Lines(lines) => lines.end(&mut |line| last(line, &mut take, "")),
            State::Document(document) | State::Unknown(document) => {
                let text = String::from_utf8_lossy(document);
                let text = text.trim_start_matches('\u{feff}').trim();
                let result = match serde_json::from_str::<serde::de::IgnoredAny>(text) {
                    Ok(_) => take("", text),
                    Err(_) if text.starts_with(['{', '[']) => Err(Stop::Fault(Fault::Cut)),
                    Err(_) => Err(Stop::Fault(Fault::Foreign(excerpt(text)))),
                };
                decoder.document();
                result
            }
        };
        decoder.flush(sink);
        match result {
            Err(Stop::Fault(fault)) => Err(fault),
            Ok(()) | Err(Stop::Done) => decoder.end().map_err(|fault| match fault {
                Fault::Foreign(shown) if shown.is_empty() => {
                    Fault::Foreign(excerpt(&String::from_utf8_lossy(&self.start)))
                }
                fault => fault,
            }),
        }
    }
}

fn last(data: &str, take: &mut impl FnMut(&str, &str) -> Result<(), Stop>, name: &str) -> Result<(), Stop> {
    let whole = data.trim() == "[DONE]" || serde_json::from_str::<serde::de::IgnoredAny>(data).is_ok();
    if whole { take(name, data) } else { Ok(()) }
}

/// What a body is by its first byte that is no white space; none when there is none yet.
fn recognise(start: &[u8], framing: Framing) -> Option<State> {
    let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    let first = match text.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(first) => first,
        // Nobody pads a document like that; blank lines of a stream mean nothing.
        None if start.len() > MOST_PADDING => &b'\n',
        None => return None,
    };
    Some(match (first, framing) {
        (0xef, _) if start.len() < 3 => return None,
        (b'<', _) | (b'{' | b'[', Framing::Events) => State::Document(Vec::new()),
        (_, Framing::Events) => State::Events(Parser::default()),
        (_, Framing::Lines) => State::Lines(Lines::default()),
    })
}
