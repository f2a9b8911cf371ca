//! Estimates the number of records of an input from its first bytes.

use std::path::Path;
use std::sync::atomic::Ordering;

use super::InputOptions;
use super::chunk_reader::ChunkReader;
use super::layout::{ChunkPlace, RecordConsumer};
use crate::base::error::{Error, Result};
use fpstore_base::{Fingerprint, IdRef};

/// The number of bytes of the input to parse, counted after decompression.
const SAMPLE_LEN: u64 = 16 << 20;

/// The estimated numbers of records and ids of an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InputEstimate {
    /// The number of records.
    pub record_count: u64,
    /// The number of records with ids.
    pub id_count: u64,
    /// The length of all ids in bytes; each number counts as 8 bytes.
    pub id_len: u64,
}

impl InputEstimate {
    /// The sum of two estimates.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        InputEstimate {
            record_count: self.record_count + other.record_count,
            id_count: self.id_count + other.id_count,
            id_len: self.id_len + other.id_len,
        }
    }
}

/// Estimates the records of the file at `path` from its first 16 MiB. Returns `None` for standard
/// input and other inputs without a length.
///
/// # Errors
///
/// [`Error::Io`](crate::Error::Io) if the file cannot be opened or read.
pub fn estimate_input(path: &Path, options: &InputOptions) -> Result<Option<InputEstimate>> {
    if path == Path::new("-") || !path.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Ok(None);
    }
    let source = options.open(path)?;
    let Some(file_len) = source.file_len else { return Ok(None) };
    let mut chunks = ChunkReader::new(source.reader, options);
    let mut parsed = InputEstimate::default();
    let mut parsed_len = 0;
    let scale = loop {
        let chunk = chunks.next().map_err(Error::io(source.doing, path))?;
        let Some(chunk) = chunk else { break 1.0 };
        parsed_len += chunk.bytes.len() as u64;
        options.parse(&chunk, &mut parsed);
        if parsed_len >= SAMPLE_LEN {
            // Slightly too low if the decompressor has read more of the file than was parsed.
            break file_len as f64 / source.taken.load(Ordering::Relaxed).max(1) as f64;
        }
    };
    let scaled = |count: u64| (count as f64 * scale).round() as u64;
    Ok(Some(InputEstimate {
        record_count: scaled(parsed.record_count),
        id_count: scaled(parsed.id_count),
        id_len: scaled(parsed.id_len),
    }))
}

/// Counts the records that it receives.
impl RecordConsumer for InputEstimate {
    fn record(&mut self, _: ChunkPlace, _: Fingerprint, id: Option<IdRef<'_>>) -> bool {
        self.record_count += 1;
        if let Some(id) = id {
            self.id_count += 1;
            self.id_len += match id {
                IdRef::Text(text) if IdRef::canonical_number(text).is_none() => text.len() as u64,
                _ => 8,
            };
        }
        true
    }

    fn bad_record(&mut self, _: ChunkPlace, _: String) -> bool {
        true
    }
}
