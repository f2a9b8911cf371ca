//! Reading an input on all threads: one cuts it into chunks, the others parse them into batches,
//! which come out in the order of the input.

use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use super::chunk::{Chunk, Chunker};
use super::{InputOptions, InputSummary, Intake, Place, SHOWN_MAX, Sink, parse};
use crate::build::IdPolicy;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::id::IdRef;
use crate::sort::RecordBatch;
use crate::source::Source;

/// How long to wait for input before asking whether to go on.
const PATIENCE: Duration = Duration::from_millis(100);

/// Reads all records of an input and hands them to `take` in batches, in their order; `None`
/// says that nothing came for a while.
///
/// The threads end by themselves when no one listens, or with the process: one may be waiting for an
/// input that never comes.
pub(crate) fn read_batches(
    path: &Path,
    options: &InputOptions,
    ids: IdPolicy,
    threads: usize,
    mut take: impl FnMut(Option<&RecordBatch>) -> Result<()>,
) -> Result<InputSummary> {
    let source = Source::open(path)?;
    let mut intake = Intake::new(source.name, source.doing, options.skip_bad);
    let parsers = start(Chunker::new(source.reader, options.format), options, ids, threads);
    for parser in parsers.iter().cycle() {
        let batch = loop {
            match parser.recv_timeout(PATIENCE) {
                Ok(batch) => break batch,
                Err(RecvTimeoutError::Timeout) => take(None)?,
                Err(RecvTimeoutError::Disconnected) => {
                    let lost = io::Error::other("a thread that parsed it is gone");
                    return Err(intake.unreadable(lost));
                }
            }
        };
        let Some(batch) = batch.map_err(|fault| intake.unreadable(fault))? else {
            break;
        };
        take(Some(&batch.records))?;
        intake.summary.record_count += batch.records.count();
        let unnamed = batch.bad_count - batch.bad.len() as u64;
        for (place, reason) in batch.bad {
            intake.bad(place, reason)?;
        }
        intake.summary.skipped_count += unnamed;
        intake.lines += batch.lines;
        intake.summary.byte_len = batch.end;
    }
    Ok(intake.summary)
}

type FromReader = io::Result<Option<Chunk>>;
type FromParser = io::Result<Option<Batch>>;

/// Starts the threads: what the parsers give is to be taken from each in turn.
fn start(
    mut chunker: Chunker,
    options: &InputOptions,
    ids: IdPolicy,
    threads: usize,
) -> Vec<Receiver<FromParser>> {
    let mut inputs: Vec<SyncSender<FromReader>> = Vec::new();
    let mut outputs = Vec::new();
    for _ in 0..threads.max(1) {
        let (input, chunks) = sync_channel(1);
        let (batches, output) = sync_channel(1);
        inputs.push(input);
        outputs.push(output);
        let options = *options;
        thread::spawn(move || {
            for chunk in chunks {
                let parsed =
                    chunk.map(|chunk| chunk.map(|chunk| Batch::parse(&chunk, &options, ids)));
                if batches.send(parsed).is_err() {
                    break;
                }
            }
        });
    }
    thread::spawn(move || {
        for input in inputs.iter().cycle() {
            let chunk = chunker.next();
            let is_last = !matches!(chunk, Ok(Some(_)));
            if input.send(chunk).is_err() || is_last {
                break;
            }
        }
    });
    outputs
}

/// What a chunk holds.
#[derive(Debug, Default)]
struct Batch {
    records: RecordBatch,
    lines: u64,
    /// Where in the input the chunk ended.
    end: u64,
    bad_count: u64,
    /// The first of them.
    bad: Vec<(Place, String)>,
}

impl Batch {
    fn parse(chunk: &Chunk, options: &InputOptions, ids: IdPolicy) -> Self {
        let mut sink = BatchSink { batch: Batch::default(), ids, skip_bad: options.skip_bad };
        sink.batch.lines = parse(chunk, options, &mut sink);
        sink.batch.end = chunk.end;
        sink.batch
    }
}

struct BatchSink {
    batch: Batch,
    ids: IdPolicy,
    skip_bad: bool,
}

impl Sink for BatchSink {
    fn record(&mut self, place: Place, fingerprint: Fingerprint, id: Option<IdRef<'_>>) -> bool {
        let records = &mut self.batch.records;
        match id.map_or(Ok(None), |id| self.ids.admit(id)) {
            Ok(Some(id)) => records.push(fingerprint.value(), id),
            Ok(None) => records.push_bare(fingerprint.value()),
            Err(Error::InvalidId { reason }) => {
                return self.bad(place, format!("bad id: {reason}"));
            }
            Err(error) => return self.bad(place, error.to_string()),
        }
        true
    }

    fn bad(&mut self, place: Place, reason: String) -> bool {
        self.batch.bad_count += 1;
        if self.batch.bad.len() < SHOWN_MAX {
            self.batch.bad.push((place, reason));
        }
        self.skip_bad
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::read_records;

    /// Batches hold what reading one by one gives, with the same faults at the same places.
    #[test]
    fn batches_are_the_records_in_their_order() {
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
            Ok(())
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
        let expected = read_records(&path, &strict, |_| Ok(())).unwrap_err();
        assert_eq!(failed.to_string(), expected.to_string());
    }
}
