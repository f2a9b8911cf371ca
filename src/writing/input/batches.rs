//! Reading an input on all threads: chunks are parsed into record batches in parallel, and the
//! batches arrive in input order.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::chunk_reader::ChunkReader;
use super::layout::{Chunk, ChunkPlace, RecordConsumer};
use super::read::{SHOWN_MAX, SummaryBuilder, bad_id};
use super::{InputOptions, InputSummary};
use crate::base::error::{Error, Result};
use crate::base::id_policy::IdPolicy;
use crate::writing::sort::RecordBatch;
use fpstore_base::lines::LineForm;
use fpstore_base::parallel::{Feed, NotReady, Parallel};
use fpstore_base::{Fingerprint, IdRef};

/// The longest wait for input before the caller is called to decide whether to continue.
const PATIENCE: Duration = Duration::from_millis(100);
/// The maximum number of chunks in memory per thread, unparsed and parsed ones together.
const CHUNKS_PER_THREAD: usize = 3;

/// Reads all records of an input and calls `take` with batches of them, in order. After each
/// [`PATIENCE`] without input, calls `take` with `None`: `take` can return an error to stop
/// reading.
///
/// The reading threads are detached, because one of them may wait for an input that never arrives.
/// After this function returns, they end with the next bytes of the input, or with the process.
pub(crate) fn read_batches(
    path: &Path,
    options: &InputOptions,
    ids: IdPolicy,
    threads: usize,
    mut take: impl FnMut(Option<&RecordBatch>) -> Result<()>,
) -> Result<InputSummary> {
    let source = options.open(path)?;
    let mut summary = SummaryBuilder::new(source.name, source.doing, options.skip_bad);
    let chunks = ChunkReader::new(source.reader, options);
    let options = *options;
    let threads = threads.max(1);
    let mut parsed = Parallel::new(threads).items(CHUNKS_PER_THREAD * threads).run(
        |feed| push_chunks(chunks, feed),
        move || {
            move |chunk: io::Result<Chunk>| {
                chunk.map(|chunk| ParsedChunk::parse(&chunk, &options, ids))
            }
        },
    );
    loop {
        let chunk = match parsed.next_within(PATIENCE) {
            Err(NotReady) => {
                take(None)?;
                continue;
            }
            Ok(None) => return Ok(summary.finish()),
            Ok(Some(chunk)) => chunk.map_err(|fault| summary.unreadable(fault))?,
        };
        summary.begin(&chunk.form)?;
        take(Some(&chunk.records))?;
        summary.add_records(chunk.records.count());
        let not_shown = chunk.bad_count - chunk.bad.len() as u64;
        for (place, reason) in chunk.bad {
            summary.add_bad(place, reason)?;
        }
        summary.add_skipped(not_shown);
        summary.add_chunk(chunk.lines, chunk.end);
    }
}

/// Pushes all chunks of an input to `feed`. After a read error, pushes the error and ends.
fn push_chunks(mut chunks: ChunkReader, feed: &mut Feed<io::Result<Chunk>, ParseResult>) {
    while let Some(chunk) = chunks.next().transpose() {
        let is_last = chunk.is_err();
        let len = chunk.as_ref().map_or(0, |chunk| chunk.bytes.len());
        if !feed.push(chunk, len) || is_last {
            return;
        }
    }
}

type ParseResult = io::Result<ParsedChunk>;

/// The parsed records of a chunk.
#[derive(Debug, Default)]
struct ParsedChunk {
    records: RecordBatch,
    lines: u64,
    /// The offset of the end of the chunk in the input.
    end: u64,
    form: Arc<LineForm>,
    bad_count: u64,
    /// The first bad records, at most [`SHOWN_MAX`] of them.
    bad: Vec<(ChunkPlace, String)>,
}

impl ParsedChunk {
    fn parse(chunk: &Chunk, options: &InputOptions, ids: IdPolicy) -> Self {
        let mut consumer =
            BatchBuilder { chunk: ParsedChunk::default(), ids, skip_bad: options.skip_bad };
        let lines = options.parse(chunk, &mut consumer);
        let form = Arc::clone(&chunk.form);
        ParsedChunk { lines, end: chunk.end, form, ..consumer.chunk }
    }
}

/// A consumer that collects the records of a chunk in a batch.
struct BatchBuilder {
    chunk: ParsedChunk,
    ids: IdPolicy,
    skip_bad: bool,
}

impl RecordConsumer for BatchBuilder {
    fn record(
        &mut self,
        place: ChunkPlace,
        fingerprint: Fingerprint,
        id: Option<IdRef<'_>>,
    ) -> bool {
        let records = &mut self.chunk.records;
        match id.map_or(Ok(None), |id| self.ids.admit(id)) {
            Ok(Some(id)) => records.push(fingerprint.value(), id),
            Ok(None) => records.push_bare(fingerprint.value()),
            Err(Error::InvalidId { reason }) => return self.bad_record(place, bad_id(&reason)),
            Err(error) => return self.bad_record(place, error.to_string()),
        }
        true
    }

    fn bad_record(&mut self, place: ChunkPlace, reason: String) -> bool {
        self.chunk.bad_count += 1;
        if self.chunk.bad.len() < SHOWN_MAX {
            self.chunk.bad.push((place, reason));
        }
        self.skip_bad
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::writing::input::read_records;

    #[test]
    fn batches_hold_the_records_and_faults_of_reading_one_by_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("input.tsv");
        let mut text = String::new();
        for line in 0..200_000_u64 {
            match line % 1000 {
                17 => text.push_str("xyz line\n"),
                18 => text.push_str("# comment\r\n"),
                _ => text.push_str(&format!("{line:016x}\t{line}\n")),
            }
        }
        std::fs::write(&path, &text).unwrap();
        let options = InputOptions::default().skip_bad(true);
        let mut expected = Vec::new();
        let one_by_one = read_records(&path, &options, |record| {
            expected.push(record.fingerprint.value());
            Ok::<(), Error>(())
        });
        let one_by_one = one_by_one.unwrap();
        for threads in [1, 2, 5] {
            let mut count = 0;
            let summary = read_batches(&path, &options, IdPolicy::Auto, threads, |batch| {
                count += batch.map_or(0, RecordBatch::count);
                Ok(())
            });
            assert_eq!(summary.unwrap(), one_by_one);
            assert_eq!(count, expected.len() as u64);
        }
        let strict = InputOptions::default();
        let failed = read_batches(&path, &strict, IdPolicy::Auto, 2, |_| Ok(())).unwrap_err();
        let expected = read_records(&path, &strict, |_| Ok::<(), Error>(())).unwrap_err();
        assert_eq!(failed.to_string(), expected.to_string());
    }
}
