//! Contents kept once, by their SHA-256: images of the conversation and previous contents of files.
//!
//! `sessions/blobs/ab/abcdef…`, 0600, shared by all sessions, so that a fork costs nothing. A blob is written
//! beside its place and renamed, so it is there whole or not at all; storing it again makes it new for retention.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bytes::Bytes;

use crate::model::item::{Image, MediaType};
use crate::model::port::{ImageSource, ImageStore};
use crate::session::store::error::StoreError;
use crate::session::store::make_dir;
use crate::text::hash;

/// The largest blob that is stored or read, in bytes.
pub const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The blobs of a sessions directory.
#[derive(Clone, Debug)]
pub struct Blobs {
    dir: PathBuf,
}

impl Blobs {
    /// The blobs beside the session files of a directory; made when the first one is stored.
    pub fn new(sessions: &Path) -> Self {
        Self { dir: sessions.join("blobs") }
    }

    /// Keeps bytes and returns their hash. Bytes that are there already cost one look.
    pub fn put(&self, bytes: &[u8]) -> Result<String, StoreError> {
        let hash = hash::sha256(bytes);
        self.put_as(&hash, bytes)?;
        Ok(hash)
    }

    /// Keeps bytes whose hash is known.
    pub(crate) fn put_as(&self, hash: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let path = self.path(hash);
        if bytes.len() as u64 > MAX_BYTES {
            let text = format!(
                "cannot keep {} bytes: {MAX_BYTES} is the most that is kept of one file",
                bytes.len()
            );
            return Err(StoreError::Missing(text));
        }
        if renew(&path, bytes.len() as u64) {
            return Ok(());
        }
        let dir = path.parent().unwrap_or(&self.dir);
        make_dir(dir)?;
        let failed = |error| StoreError::io("keep contents in", dir, error);
        let mut temp = tempfile::NamedTempFile::new_in(dir).map_err(failed)?;
        temp.write_all(bytes).map_err(failed)?;
        temp.persist(&path).map_err(|error| failed(error.error))?;
        Ok(())
    }

    /// The bytes of a hash; none when they are not (or no longer) there, or are not what the hash says.
    pub fn get(&self, hash: &str) -> Option<Bytes> {
        if hash.len() != 64 || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let mut bytes = Vec::new();
        File::open(self.path(hash)).ok()?.take(MAX_BYTES + 1).read_to_end(&mut bytes).ok()?;
        (hash::sha256(&bytes) == hash).then(|| bytes.into())
    }

    fn path(&self, hash: &str) -> PathBuf {
        self.dir.join(hash.get(..2).unwrap_or("__")).join(hash)
    }
}

/// Makes a blob of that length new; false when there is none.
fn renew(path: &Path, len: u64) -> bool {
    let Ok(file) = File::options().append(true).open(path) else { return false };
    let whole = file.metadata().is_ok_and(|meta| meta.is_file() && meta.len() == len);
    // A time that cannot be set only makes retention come earlier.
    let _ = file.set_modified(SystemTime::now());
    whole
}

impl ImageSource for Blobs {
    fn load(&self, id: &str) -> Option<Bytes> {
        self.get(id)
    }
}

impl ImageStore for Blobs {
    fn store(&self, bytes: &[u8]) -> Result<Image, String> {
        let media_type = MediaType::sniff(bytes)
            .ok_or("these bytes are no PNG, JPEG, GIF or WebP image, which are the types a model takes")?;
        let id = self.put(bytes).map_err(|error| error.to_string())?.into();
        Ok(Image { id, media_type })
    }
}
