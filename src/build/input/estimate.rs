//! Guessing how much an input holds from its begin.

use std::path::Path;
use std::sync::atomic::Ordering;

use super::chunk::Chunker;
use super::{InputOptions, Place, Sink, parse};
use crate::build::InputEstimate;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::id::IdRef;
use crate::source::Source;

/// Bytes of input that are looked at, after decompression.
const SAMPLE_LEN: u64 = 16 << 20;

/// About how much the file at `path` holds, judged by its first 16 MiB; `None` for standard input and
/// whatever else has no length.
///
/// # Errors
///
/// [`Error::Io`](crate::Error::Io) if it cannot be opened or read.
pub fn estimate_input(path: &Path, options: &InputOptions) -> Result<Option<InputEstimate>> {
    if path == Path::new("-") || !path.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Ok(None);
    }
    let source = Source::open(path)?;
    let Some(file_len) = source.file_len else { return Ok(None) };
    let mut chunker = Chunker::new(source.reader, options.format);
    let mut sample = Sample::default();
    let mut looked_at = 0;
    let scale = loop {
        let chunk = chunker.next().map_err(crate::Error::io(source.doing, path))?;
        let Some(chunk) = chunk else { break 1.0 };
        looked_at += chunk.bytes.len() as u64;
        parse(&chunk, options, &mut sample);
        if looked_at >= SAMPLE_LEN {
            // A little more was taken than was looked at, by the buffer of a decompressor at most.
            break file_len as f64 / source.taken.load(Ordering::Relaxed).max(1) as f64;
        }
    };
    let scaled = |count: u64| (count as f64 * scale).round() as u64;
    Ok(Some(InputEstimate {
        record_count: scaled(sample.0.record_count),
        id_count: scaled(sample.0.id_count),
        id_len: scaled(sample.0.id_len),
    }))
}

#[derive(Default)]
struct Sample(InputEstimate);

impl Sink for Sample {
    fn record(&mut self, _: Place, _: Fingerprint, id: Option<IdRef<'_>>) -> bool {
        self.0.record_count += 1;
        if let Some(id) = id {
            self.0.id_count += 1;
            self.0.id_len += match id {
                IdRef::Text(text) if IdRef::canonical_number(text).is_none() => text.len() as u64,
                _ => 8,
            };
        }
        true
    }

    fn bad(&mut self, _: Place, _: String) -> bool {
        true
    }
}
