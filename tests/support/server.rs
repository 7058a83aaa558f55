//! A model server that does what a test scripts, on a loopback port, in threads of its own.
//!
//! ```ignore
//! let server = Server::start([
//!     Reply::sse(chat::says("Hello")),                       // first request
//!     Reply::json(429, &json!({"error": {"message": "slow down"}})).header("retry-after", "1"),
//!     Reply::sse([chat::text("Hel")]).reset(),               // third: connection reset in mid-answer
//! ]);
//! // … point a provider's base URI at server.base_uri() …
//! assert_eq!(server.requests()[0].json()["messages"][0]["role"], "system");
//! ```
//!
//! Each request takes the next reply; when the script is used up, requests get status 500. A server that must look at
//! the request (a pairing check, say) is started with [`Server::answering`]. Dropping the server ends everything.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The longest any wait of a test lasts before it panics.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often a waiting connection looks whether the server was dropped.
const TICK: Duration = Duration::from_millis(10);

/// A running server.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// `POST`, …
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Header names in lower case, in order.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// Which connection it came on, counted from 0.
    pub connection: usize,
    /// When it was complete.
    pub at: Instant,
}

/// What one request gets: a head, then actions in order.
#[derive(Clone, Default)]
pub struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    actions: Vec<Action>,
    /// Neither a head nor chunks: the pieces are all that is sent.
    bare: bool,
}

/// Something a test opens to let a reply go on.
#[derive(Clone, Default)]
pub struct Gate(Arc<(Mutex<bool>, Condvar)>);

#[derive(Clone)]
enum Action {
    Send(Vec<u8>),
    Wait(Gate),
    Beat(Vec<u8>),
    Hold,
    Cut,
    Reset,
}

type Answer = dyn Fn(&Recorded, usize) -> Reply + Send + Sync;

struct Shared {
    answer: Box<Answer>,
    seen: Mutex<Seen>,
    news: Condvar,
    stopped: AtomicBool,
}

#[derive(Default)]
struct Seen {
    requests: Vec<Recorded>,
    hang_ups: usize,
}

impl Server {
    /// Starts a server that gives these replies, one a request.
    pub fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let replies: Vec<Reply> = replies.into_iter().collect();
        Self::answering(move |_, index| {
            replies.get(index).cloned().unwrap_or_else(|| {
                Reply::json(500, &json!({"error": {"message": format!("no reply for request {index}")}}))
            })
        })
    }

    /// Starts a server that decides by the request and its number (from 0).
    pub fn answering(answer: impl Fn(&Recorded, usize) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a loopback port");
        let address = listener.local_addr().expect("its address");
        let shared = Arc::new(Shared {
            answer: Box::new(answer),
            seen: Mutex::default(),
            news: Condvar::new(),
            stopped: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for (connection, stream) in listener.incoming().enumerate() {
                if accepting.stopped.load(Ordering::SeqCst) {
                    return;
                }
                let (Ok(stream), shared) = (stream, Arc::clone(&accepting)) else { continue };
                thread::spawn(move || serve(stream, connection, &shared));
            }
        });
        Self { address, shared }
    }

    /// `http://127.0.0.1:PORT`.
    pub fn uri(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The base URI of a provider that speaks Chat Completions.
    pub fn base_uri(&self) -> String {
        format!("{}/v1", self.uri())
    }

    /// Every request so far.
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.seen.lock().unwrap().requests.clone()
    }

    /// Blocks until `count` requests have arrived, and returns them.
    pub fn wait_for(&self, count: usize) -> Vec<Recorded> {
        self.wait(|seen| seen.requests.len() >= count).requests.clone()
    }

    /// Blocks until `count` clients have gone away from a reply that was holding or waiting.
    pub fn wait_for_hang_up(&self, count: usize) {
        drop(self.wait(|seen| seen.hang_ups >= count));
    }

    fn wait(&self, until: impl Fn(&Seen) -> bool) -> std::sync::MutexGuard<'_, Seen> {
        let seen = self.shared.seen.lock().unwrap();
        let (seen, late) = self.shared.news.wait_timeout_while(seen, PATIENCE, |seen| !until(seen)).unwrap();
        assert!(!late.timed_out(), "the server waited too long; it has {} requests", seen.requests.len());
        seen
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        // Wakes the accepting thread.
        drop(TcpStream::connect(self.address));
    }
}

impl Recorded {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a JSON body")
    }
    /// A header's value; the name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(have, _)| have == name).map(|(_, value)| value.as_str())
    }
}

impl Reply {
    /// A status and nothing else yet.
    pub fn status(status: u16) -> Self {
        Self { status, ..Self::default() }
    }
    /// An event stream of these events, each sent as one piece.
    pub fn sse(events: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Self {
        let reply = Self::status(200).header("content-type", "text/event-stream");
        events.into_iter().fold(reply, |reply, event| reply.send(event))
    }
    /// Exactly these bytes, which need not be HTTP.
    pub fn bare(bytes: impl AsRef<[u8]>) -> Self {
        Self { bare: true, ..Self::default() }.send(bytes)
    }
    /// A JSON body.
    pub fn json(status: u16, body: &Value) -> Self {
        Self::status(status).header("content-type", "application/json").send(body.to_string())
    }
    /// Any other body.
    pub fn body(status: u16, content_type: &str, body: impl AsRef<[u8]>) -> Self {
        Self::status(status).header("content-type", content_type).send(body)
    }
    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
    /// Sends one more piece of the body.
    #[must_use]
    pub fn send(self, piece: impl AsRef<[u8]>) -> Self {
        let piece = piece.as_ref();
        if piece.is_empty() { self } else { self.then(Action::Send(piece.to_vec())) }
    }
    /// Waits until the test opens the gate.
    #[must_use]
    pub fn wait(self, gate: &Gate) -> Self {
        self.then(Action::Wait(gate.clone()))
    }
    /// Sends this piece again and again, every few milliseconds, until the client goes away or the server is dropped.
    #[must_use]
    pub fn beat(self, piece: impl AsRef<[u8]>) -> Self {
        self.then(Action::Beat(piece.as_ref().to_vec()))
    }
    /// Sends nothing more and keeps the connection open until the client goes away or the server is dropped.
    #[must_use]
    pub fn hold(self) -> Self {
        self.then(Action::Hold)
    }
    /// Closes the connection without the end of the body.
    #[must_use]
    pub fn cut(self) -> Self {
        self.then(Action::Cut)
    }
    /// Resets the connection.
    #[must_use]
    pub fn reset(self) -> Self {
        self.then(Action::Reset)
    }
    fn then(mut self, action: Action) -> Self {
        self.actions.push(action);
        self
    }
}

impl Gate {
    /// Lets every reply that waits here go on.
    pub fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }
    /// Blocks until the gate is open, for an answering function that must not answer yet.
    pub fn block(&self) {
        let open = self.0.0.lock().unwrap();
        drop(self.0.1.wait_timeout_while(open, PATIENCE, |open| !*open).unwrap());
    }
    fn is_open(&self) -> bool {
        *self.0.0.lock().unwrap()
    }
}

/// Serves one connection until it closes. Errors of a client that went away end it quietly.
fn serve(mut stream: TcpStream, connection: usize, shared: &Shared) {
    let _ = stream.set_nodelay(true);
    let mut buffer = Vec::new();
    while let Some(request) = read_request(&mut stream, &mut buffer, connection) {
        let index = {
            let mut seen = shared.seen.lock().unwrap();
            seen.requests.push(request.clone());
            seen.requests.len() - 1
        };
        shared.news.notify_all();
        let reply = (shared.answer)(&request, index);
        if perform(&mut stream, reply, shared).is_none() {
            return;
        }
    }
}

/// None when the connection is over.
fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>, connection: usize) -> Option<Recorded> {
    let end = loop {
        if let Some(at) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            break at;
        }
        read_more(stream, buffer)?;
    };
    let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
    buffer.drain(..end + 4);
    let mut lines = head.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (method, path) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let header = |name: &str| headers.iter().find(|(have, _)| have == name).map(|(_, value)| value.as_str());
    assert!(header("transfer-encoding").is_none(), "a request body has a known length");
    let length: usize = header("content-length").map_or(0, |length| length.parse().expect("a length"));
    while buffer.len() < length {
        read_more(stream, buffer)?;
    }
    let body = buffer.drain(..length).collect();
    Some(Recorded { method, path, headers, body, connection, at: Instant::now() })
}

fn read_more(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<()> {
    let mut piece = [0; 65536];
    let count = stream.read(&mut piece).ok().filter(|count| *count > 0)?;
    buffer.extend_from_slice(&piece[..count]);
    Some(())
}

/// None when the connection must not be used again.
fn perform(stream: &mut TcpStream, reply: Reply, shared: &Shared) -> Option<()> {
    let mut head = format!("HTTP/1.1 {} Scripted\r\ntransfer-encoding: chunked\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    let bare = reply.bare;
    let frame = |out: &mut Vec<u8>, piece: &[u8]| match bare {
        true => out.extend_from_slice(piece),
        false => frame(out, piece),
    };
    let mut waiting = if bare { Vec::new() } else { head.into_bytes() };
    for action in reply.actions {
        if !matches!(action, Action::Send(_)) {
            stream.write_all(&std::mem::take(&mut waiting)).ok()?;
        }
        match action {
            Action::Send(piece) => frame(&mut waiting, &piece),
            Action::Wait(gate) => pause(stream, shared, || gate.is_open())?,
            Action::Hold => pause(stream, shared, || false)?,
            Action::Beat(piece) => {
                let mut framed = Vec::new();
                frame(&mut framed, &piece);
                let mut beating = stream.try_clone().ok()?;
                pause(stream, shared, || beating.write_all(&framed).is_err())?;
                return None;
            }
            Action::Cut => return None,
            Action::Reset => {
                let _ = rustix::net::sockopt::set_socket_linger(&*stream, Some(Duration::ZERO));
                return None;
            }
        }
    }
    // What nothing interrupts is sent at once, so that the end of a body is there with its last piece.
    frame(&mut waiting, b"");
    stream.write_all(&waiting).ok().filter(|()| !bare)
}

/// Appends one chunk of a body; an empty one is its end.
fn frame(out: &mut Vec<u8>, piece: &[u8]) {
    out.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
    out.extend_from_slice(piece);
    out.extend_from_slice(b"\r\n");
}

/// Waits until `done`, and counts a client that goes away meanwhile; none when it did or the server was dropped.
fn pause(stream: &mut TcpStream, shared: &Shared, mut done: impl FnMut() -> bool) -> Option<()> {
    let _ = stream.set_read_timeout(Some(TICK));
    let result = loop {
        if done() {
            break Some(());
        }
        if shared.stopped.load(Ordering::SeqCst) {
            break None;
        }
        let gone = match stream.peek(&mut [0]) {
            Ok(count) => count == 0,
            Err(error) => {
                !matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)
            }
        };
        if gone {
            shared.seen.lock().unwrap().hang_ups += 1;
            shared.news.notify_all();
            break None;
        }
    };
    let _ = stream.set_read_timeout(None);
    result
}
