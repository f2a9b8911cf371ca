//! Counts of documents and of faults.

use super::files::{DocumentFiles, DocumentPlace};
use super::folders::PassedOver;
use super::options::DocumentOptions;
use super::repeated_ids::RepeatedIds;
use super::task::Failure;
use crate::error::{Error, Result, shown};
use fpstore_base::{Id, IdRef};

/// The maximum number of bad records and of documents without features that a summary names.
const SHOWN_MAX: usize = 10;

/// Counts of documents and bad records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DocumentSummary {
    /// Documents with a fingerprint.
    pub document_count: u64,
    /// Documents without features, which have no fingerprint.
    pub empty_count: u64,
    /// The ids of the first ten documents without features.
    pub empty: Vec<Id>,
    /// Documents that share an id with an earlier one, with or without features. This is not a
    /// fault.
    pub repeated_ids: RepeatedIds,
    /// Records of web archives with responses that are not documents: errors, images.
    pub other_count: u64,
    /// Bad records that were skipped.
    pub skipped_count: u64,
    /// The faults of the first ten bad records, with the names of their inputs and their places.
    pub skipped: Vec<String>,
    /// Skipped records that are damaged records of web archives, which copies omit.
    pub damaged_count: u64,
    /// Files in folders that could not be read to their ends, and were skipped.
    pub bad_file_count: u64,
    /// The faults of the first ten bad files, with their names.
    pub bad_files: Vec<String>,
    /// The numbers ([`DocumentPlace::file`]) of the files of `bad_file_count`: only their documents
    /// before the fault were read.
    pub unread: Vec<usize>,
    /// Files in folders that were skipped.
    pub passed_over: PassedOver,
    /// The fields chosen for the ids and the texts, in words, if the caller named none and they are
    /// not `id` and `text`.
    pub guess: Option<String>,
}

impl DocumentSummary {
    pub(super) fn count(&mut self, id: IdRef<'_>, has_features: bool) {
        if has_features {
            self.document_count += 1;
            return;
        }
        self.empty_count += 1;
        if self.empty.len() < SHOWN_MAX {
            self.empty.push(id.to_id());
        }
    }

    /// Counts a bad record, or returns it as an error if bad records are not skipped.
    pub(super) fn skip(
        &mut self,
        files: &DocumentFiles,
        options: &DocumentOptions,
        place: DocumentPlace,
        failure: Failure,
    ) -> Result<()> {
        let input = files.list.get(place.file);
        let name = input.map_or("input", |input| input.name.as_str());
        let is_damaged = matches!(failure, Failure::Damaged(_));
        let reason = match failure {
            // The wait for the file was interrupted: the file is not bad.
            Failure::File(Error::Interrupted, _) | Failure::Unreadable(Error::Interrupted) => {
                return Err(Error::Interrupted);
            }
            Failure::NoDocument => {
                self.other_count += 1;
                return Ok(());
            }
            Failure::File(error, count) => {
                self.skip_file(options, place, &error, count);
                return Ok(());
            }
            // An unreadable page is a bad file if it was found in a folder, and an error if the
            // user named it.
            Failure::Unreadable(error)
                if options.skip_bad && input.is_some_and(|input| input.is_found) =>
            {
                self.skip_file(options, place, &error, 0);
                return Ok(());
            }
            Failure::Unreadable(error) => return Err(error),
            Failure::Bad(reason) | Failure::Damaged(reason) => reason,
        };
        if !options.skip_bad {
            return Err(match place.at {
                Some(place) => Error::BadInput { name: name.into(), place, reason },
                None => Error::BadFile { name: name.into(), reason },
            });
        }
        if let (Some(told), Some(at)) = (&options.bad_records, place.at) {
            told.0(at, &reason);
        }
        self.skipped_count += 1;
        self.damaged_count += u64::from(is_damaged);
        if self.skipped.len() < SHOWN_MAX {
            self.skipped.push(match place.at {
                Some(at) => format!("{name}: {at}: {}", shown(&reason)),
                None => format!("{name}: {}", shown(&reason)),
            });
        }
        Ok(())
    }

    /// Counts a file that cannot be read to its end; `count` of its documents were read.
    fn skip_file(
        &mut self,
        options: &DocumentOptions,
        place: DocumentPlace,
        error: &Error,
        count: u64,
    ) {
        self.bad_file_count += 1;
        self.unread.push(place.file);
        let fate = if options.whole_files { "left out" } else { "used" };
        if self.bad_files.len() < SHOWN_MAX {
            let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
            let read = match count {
                0 => String::new(),
                1 => format!("; the document before that was {fate}"),
                count => format!("; the {count} documents before that were {fate}"),
            };
            self.bad_files.push(format!("{error}{}{read}", cause.unwrap_or_default()));
        }
    }
}
