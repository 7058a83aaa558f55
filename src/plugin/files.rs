//! A plugin's own files, and nothing else: what `entry`, `require` and `import` can reach.
//!
//! A directory is opened once and walked name by name, each name opened relative to its parent and never through a
//! link, so that neither `..`, nor an absolute path, nor a link, nor a directory swapped in between leads outside.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use crate::plugin::stdlib;

/// Where a plugin's files are.
#[derive(Debug)]
pub enum Files {
    /// In the binary: path and text of each.
    Embedded(&'static [(&'static str, &'static str)]),
    /// In a directory.
    Directory(OwnedFd),
}

/// A module, found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Its path for messages and as its identity: `lib/rules.luau`, `crystal/text.lua`.
    pub path: String,
    /// Its source.
    pub source: String,
}

/// How a language names and limits its files.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    /// File name extension, without the dot.
    pub extension: &'static str,
    /// Most bytes of one file: parsers can be neither interrupted nor limited.
    pub max_source: usize,
    /// The standard library's modules.
    pub stdlib: &'static [(&'static str, &'static str)],
}

/// Luau.
pub const LUAU: Dialect = Dialect { extension: "lua", max_source: 1024 * 1024, stdlib: stdlib::LUA };
/// Rhai.
pub const RHAI: Dialect = Dialect { extension: "rhai", max_source: 256 * 1024, stdlib: stdlib::RHAI };

/// Deepest directory a file may be in.
const MAX_PARTS: usize = 16;

impl Files {
    /// The files of a directory. The directory itself may be reached through links; nothing in it may.
    pub fn open(directory: &Path) -> std::io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self::Directory(rustix::fs::open(directory, flags, Mode::empty())?))
    }
    /// The text of a file, by its `/`-separated path.
    pub fn read(&self, path: &str, max_bytes: usize) -> Result<String, String> {
        let parts: Vec<&str> = path.split('/').collect();
        if parts.len() > MAX_PARTS || !parts.iter().all(|part| is_name(part)) {
            return Err(format!("'{path}' is no path inside the plugin directory"));
        }
        match self {
            Self::Embedded(files) => match files.iter().find(|(name, _)| *name == path) {
                Some((_, text)) => Ok((*text).to_owned()),
                None => Err(missing(path)),
            },
            Self::Directory(root) => read_below(root, &parts, path, max_bytes),
        }
    }
    /// The module that a script asks for: `lib.rules`, `lib/rules`, `./rules`; `crystal.x` is the standard library's.
    pub fn module(&self, name: &str, dialect: &Dialect) -> Result<Module, String> {
        let parts = module_parts(name, dialect)?;
        let extension = dialect.extension;
        if let ["crystal", rest @ ..] = parts.as_slice() {
            let wanted = rest.join("/");
            let found = dialect.stdlib.iter().find(|(name, _)| *name == wanted);
            let (_, source) = found.ok_or_else(|| format!("the standard library has no module '{name}'"))?;
            return Ok(Module {
                path: format!("crystal/{wanted}.{extension}"),
                source: (*source).to_owned(),
            });
        }
        let base = parts.join("/");
        let path = format!("{base}.{extension}");
        match self.read(&path, dialect.max_source) {
            Ok(source) => Ok(Module { path, source }),
            Err(first) => {
                let path = format!("{base}/init.{extension}");
                let nested = self.read(&path, dialect.max_source);
                nested.map(|source| Module { path, source }).map_err(|_| first)
            }
        }
    }
    /// The entry script.
    pub fn entry(&self, path: &str, dialect: &Dialect) -> Result<Module, String> {
        self.read(path, dialect.max_source).map(|source| Module { path: path.to_owned(), source })
    }
}

fn module_parts<'a>(name: &'a str, dialect: &Dialect) -> Result<Vec<&'a str>, String> {
    let inside = || format!("'{name}' is no module: names stay inside the plugin directory (a.b, a/b, ./a)");
    let trimmed = name.strip_prefix("./").unwrap_or(name);
    let trimmed = trimmed.strip_suffix(&format!(".{}", dialect.extension)).unwrap_or(trimmed);
    let parts: Vec<&str> = trimmed.split(['/', '.']).collect();
    let fits = |part: &&str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    };
    if parts.len() > MAX_PARTS || !parts.iter().all(fits) {
        return Err(inside());
    }
    Ok(parts)
}

fn is_name(part: &str) -> bool {
    !part.is_empty() && part != "." && part != ".." && !part.contains(['\0', '\\'])
}

fn read_below(root: &OwnedFd, parts: &[&str], path: &str, max_bytes: usize) -> Result<String, String> {
    let Some((name, folders)) = parts.split_last() else { return Err(missing(path)) };
    let folder = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut below: Option<OwnedFd> = None;
    for part in folders {
        let parent = below.as_ref().unwrap_or(root);
        let next = rustix::fs::openat(parent, *part, folder, Mode::empty());
        below = Some(next.map_err(|error| refused(path, error))?);
    }
    // Without NONBLOCK a named pipe would hold the thread for ever.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let parent = below.as_ref().unwrap_or(root);
    let file =
        rustix::fs::openat(parent, *name, flags, Mode::empty()).map_err(|error| refused(path, error))?;
    let file = File::from(file);
    let meta = file.metadata().map_err(|error| format!("'{path}' cannot be read: {error}"))?;
    if !meta.is_file() {
        return Err(format!("'{path}' is no regular file"));
    }
    let mut bytes = Vec::new();
    let limit = max_bytes as u64 + 1;
    file.take(limit).read_to_end(&mut bytes).map_err(|error| format!("'{path}' cannot be read: {error}"))?;
    if bytes.len() > max_bytes {
        return Err(format!("'{path}' is larger than {} KiB", max_bytes >> 10));
    }
    String::from_utf8(bytes).map_err(|_| format!("'{path}' is not UTF-8 text"))
}

fn refused(path: &str, error: rustix::io::Errno) -> String {
    match error {
        rustix::io::Errno::NOENT => missing(path),
        // What opening a link without following it gives: ELOOP for a file, ENOTDIR for a directory.
        rustix::io::Errno::LOOP => format!("'{path}' leads through a link, which plugins may not follow"),
        rustix::io::Errno::NOTDIR => {
            format!("'{path}' leads through a link or a file, where a directory is needed")
        }
        other => format!("'{path}' cannot be opened: {other}"),
    }
}

fn missing(path: &str) -> String {
    format!("'{path}' is not in the plugin directory")
}
