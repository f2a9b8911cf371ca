//! Bad records in a stream from standard input: each is reported, and the stream continues.

use std::io::Write;

use anyhow::bail;
use fpstore::InputPlace;
use serde::Serialize;

use super::remedy::of_fingerprints;
use super::text::counted;

/// The maximum number of bad records that are printed; later ones are only counted.
const SHOWN_MAX: u64 = 10;

/// Counts the bad records of standard input.
pub(crate) struct BadLines {
    are_allowed: bool,
    count: u64,
    /// The hint for the first bad record, if it shows that the whole input has a wrong format.
    remedy: Option<String>,
}

/// The JSON answer for a bad record.
#[derive(Serialize)]
struct BadAnswer<'a> {
    place: String,
    error: &'a str,
}

/// Writes the JSON answer for a bad record on one line.
pub(crate) fn write_bad(
    out: &mut impl Write,
    place: InputPlace,
    error: &str,
) -> anyhow::Result<()> {
    serde_json::to_writer(&mut *out, &BadAnswer { place: place.to_string(), error })?;
    Ok(writeln!(out)?)
}

impl BadLines {
    pub(crate) fn new(are_allowed: bool) -> Self {
        BadLines { are_allowed, count: 0, remedy: None }
    }

    /// Counts a bad record, and prints the first few.
    pub(crate) fn note(&mut self, place: InputPlace, reason: &str) {
        self.count += 1;
        if self.count == 1 {
            self.remedy = of_fingerprints("standard input", reason, &|_| None);
        }
        if self.count <= SHOWN_MAX {
            message!("standard input: {place}: {reason}");
        }
    }

    /// Prints the number of bad records, or returns it as an error unless they are allowed.
    pub(crate) fn finish(&self) -> anyhow::Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        let count = counted(self.count, "bad record", "bad records");
        if !self.are_allowed {
            match &self.remedy {
                Some(remedy) => bail!("standard input: {count} skipped; {remedy}"),
                None => bail!("standard input: {count} skipped; with --skip-bad this is no error"),
            }
        }
        message!("standard input: {count} skipped");
        Ok(())
    }
}
