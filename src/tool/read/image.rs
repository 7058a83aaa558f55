//! An image file for the model. What a provider would refuse is refused here, before it enters the history, where
//! it would make every later request fail.

use crate::model::item::{Image, MediaType};
use crate::tool::{Output, ToolContext};

/// The longest side, in pixels.
const MAX_SIDE: usize = 8000;
/// The most bytes: 5 MiB once encoded as base64, which is how providers count.
const MAX_BYTES: usize = 5 * 1024 * 1024 / 4 * 3;

/// Checks an image and keeps it in the session, or describes it to a model that takes none.
pub(super) async fn show(
    cx: &ToolContext,
    path: &str,
    bytes: Vec<u8>,
    media_type: MediaType,
) -> Result<Output, String> {
    let size = check(path, &bytes, media_type)?;
    let kind = media_type.as_str();
    let facts = format!("{path}: {kind}, {}x{} pixels, {} bytes", size.width, size.height, bytes.len());
    if !cx.accepts_images {
        return Ok(Output::said(format!("<image {facts}; this model takes no images>\n")));
    }
    let images = cx.images.clone();
    let stored = tokio::task::spawn_blocking(move || images.store(&bytes));
    let image: Image = stored.await.map_err(|error| format!("reading was interrupted: {error}"))??;
    Ok(Output { images: vec![image], ..Output::said(format!("<image {facts}>\n")) })
}

fn check(path: &str, bytes: &[u8], media_type: MediaType) -> Result<imagesize::ImageSize, String> {
    let kind = media_type.as_str();
    let size = match imagesize::blob_size(bytes) {
        Ok(size) if size.width > 0 && size.height > 0 && complete(bytes, media_type) => size,
        _ => return Err(format!("{path} begins like {kind} but is broken or cut off, so it is not shown")),
    };
    if size.width > MAX_SIDE || size.height > MAX_SIDE {
        return Err(format!(
            "{path} is {}x{} pixels, more than {MAX_SIDE} a side, which providers refuse; scale it down to another file first",
            size.width, size.height
        ));
    }
    if bytes.len() > MAX_BYTES {
        return Err(format!(
            "{path} has {} bytes, more than the {MAX_BYTES} that providers take; scale it down to another file first",
            bytes.len()
        ));
    }
    Ok(size)
}

/// Whether the image's end is there.
fn complete(bytes: &[u8], media_type: MediaType) -> bool {
    match media_type {
        MediaType::Png => png_ends(bytes.get(8..).unwrap_or_default()),
        MediaType::Jpeg => memchr::memmem::rfind(bytes, b"\xff\xd9").is_some(),
        MediaType::Gif => bytes.iter().rev().find(|byte| **byte != 0) == Some(&0x3b),
        MediaType::Webp => match bytes.get(4..8).and_then(|size| size.try_into().ok()) {
            Some(size) => bytes.len() as u64 >= u64::from(u32::from_le_bytes(size)) + 8,
            None => false,
        },
    }
}

/// Whether the chunks lead to the last one and it is whole.
fn png_ends(mut chunks: &[u8]) -> bool {
    while let Some((length, rest)) = chunks.split_first_chunk::<4>() {
        let Some((kind, rest)) = rest.split_first_chunk::<4>() else { return false };
        // Data, then four bytes of checksum.
        let Some(next) =
            usize::try_from(u32::from_be_bytes(*length)).ok().and_then(|length| rest.get(length + 4..))
        else {
            return false;
        };
        if kind == b"IEND" {
            return true;
        }
        chunks = next;
    }
    false
}
