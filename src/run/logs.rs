//! Log files: one a day in `logs/`, opened when the first line is written, so that a run that says nothing leaves nothing.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::home::paths::create_private_dir;

/// Sends log lines of Crystal and its plugins, of that level and above (`off`, `error`, … `trace`), to files below `dir`.
/// Libraries are left out: what they log is not known to be free of secrets.
pub fn start(dir: PathBuf, level: &str) {
    let level: LevelFilter = level.parse().unwrap_or(LevelFilter::INFO);
    let targets = Targets::new().with_target("crystal", level).with_target("plugin", level);
    let layer = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .log_internal_errors(false)
        .with_writer(Lazy { dir, file: Mutex::new(None) });
    // A second start in one process keeps the first.
    let _ = tracing_subscriber::registry().with(targets).with(layer).try_init();
}

struct Lazy {
    dir: PathBuf,
    file: Mutex<Option<File>>,
}

impl<'a> MakeWriter<'a> for Lazy {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line(self)
    }
}

struct Line<'a>(&'a Lazy);

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut file = self.0.file.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *file {
            Some(file) => file.write(bytes),
            closed => closed.insert(self.0.open()?).write(bytes),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Lazy {
    fn open(&self) -> io::Result<File> {
        create_private_dir(&self.dir)?;
        let day = jiff::Timestamp::now().strftime("%Y-%m-%d");
        OpenOptions::new().append(true).create(true).mode(0o600).open(self.dir.join(format!("{day}.log")))
    }
}
