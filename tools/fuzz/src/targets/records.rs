//! Targets that read fingerprint files.

use std::path::Path;

use fpstore::input::{InputFormat, InputOptions, InputSummary, read_records};
use fpstore::{Error, IdRef, Radix};

use crate::site::file;

/// The records of a file, as fingerprint and id, and the summary or the error.
fn read(
    path: &Path,
    options: &InputOptions,
) -> (Vec<(u64, Option<String>)>, Result<InputSummary, Error>) {
    let mut records = Vec::new();
    let done = read_records(path, options, |record| {
        records.push((record.fingerprint.value(), record.id.map(|id| id.to_string())));
        Ok::<(), Error>(())
    });
    (records, done)
}

/// Reads a file with and without skipping bad records, and checks that both reads agree.
fn check(path: &Path, options: InputOptions) -> Vec<(u64, Option<String>)> {
    let (all, skipping) = read(path, &options.skip_bad(true));
    let (first, strict) = read(path, &options);
    let Ok(skipping) = skipping else {
        assert!(strict.is_err());
        return Vec::new();
    };
    assert_eq!(skipping.record_count, all.len() as u64);
    match strict {
        Ok(strict) => {
            assert_eq!((strict.skipped_count, skipping.skipped_count), (0, 0));
            assert_eq!(first, all);
        }
        Err(error) => {
            assert!(skipping.skipped_count > 0, "{error}");
            assert!(all.starts_with(&first));
        }
    }
    all
}

/// Reads lines of text: the records must be the same after they are written and read again.
pub fn lines(bytes: &[u8]) {
    let Some((&first, bytes)) = bytes.split_first() else { return };
    let radix = if first & 1 == 0 { Radix::Hex } else { Radix::Decimal };
    let options = InputOptions::default().radix(radix);
    let mut records = check(&file("records.txt", bytes), options);
    // A store rejects these ids when the record is pushed.
    records.retain(|(_, id)| id.as_ref().is_none_or(|id| IdRef::fault_of_text(id).is_none()));
    let written: String = records
        .iter()
        .map(|(value, id)| {
            let value = match radix {
                Radix::Hex => format!("{value:016x}"),
                _ => value.to_string(),
            };
            id.as_ref().map_or(format!("{value}\n"), |id| format!("{value}\t{id}\n"))
        })
        .collect();
    // Columns are not guessed: of two decimal columns, either could be the fingerprint.
    let (again, done) = read(&file("written.txt", written.as_bytes()), &options.exact(true));
    assert_eq!(done.unwrap().record_count, records.len() as u64);
    assert_eq!(again, records);
}

/// Reads binary records: they must match the bytes.
pub fn binary(bytes: &[u8]) {
    let Some((&first, bytes)) = bytes.split_first() else { return };
    let (format, len) =
        if first & 1 == 0 { (InputFormat::U64Le, 8) } else { (InputFormat::U64LeId, 16) };
    let records = check(&file("records.bin", bytes), InputOptions::default().format(format));
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
    let expected: Vec<(u64, Option<String>)> = bytes
        .chunks_exact(len)
        .map(|record| (word(&record[..8]), record.get(8..16).map(|id| word(id).to_string())))
        .collect();
    assert_eq!(records, expected);
}
