//! Expiry: removing segments by their label.

use std::collections::HashSet;

use super::expiry::Expiry;
use crate::base::error::Result;
use crate::format::manifest::SegmentEntry;
use crate::store::{SegmentInfo, Store};
use crate::writing::writer::Writer;
use crate::writing::writer::handle::new_buffer;

/// The result of [`Writer::expire`].
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Expired {
    /// The removed segments, oldest first.
    pub segments: Vec<SegmentInfo>,
}

impl Store {
    /// The segments that [`Writer::expire`] would remove.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOptions`](crate::Error::InvalidOptions) in the same cases as
    /// [`Writer::expire`].
    pub fn expiring(&self, expiry: &Expiry) -> Result<Expired> {
        Ok(Expired { segments: expiry.expiring(&self.info().segments)? })
    }
}

impl Writer {
    /// Removes whole segments by their label. Segments without a label are kept. Removing all
    /// records requires [`Expiry::all`]. If no segment would remain, an empty one is added, so that
    /// the store keeps its recipe and its scheme.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOptions`](crate::Error::InvalidOptions) if a label has another form than the
    /// label of the expiry, if no label is a date, or if no record would remain.
    /// [`Error::Io`](crate::Error::Io) if a file operation fails. Then nothing is removed; after
    /// [`Error::InEffect`](crate::Error::InEffect) everything is removed.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("pages.fps");
    /// # let options = fpstore::BuildOptions::default().label("2026-09");
    /// # fpstore::Builder::with_options(&path, options)?.finish()?;
    /// let mut writer = fpstore::Writer::open(&path)?;
    /// let expiry = fpstore::writer::Expiry::before("2026-10").all(true);
    /// for segment in writer.expire(&expiry)?.segments {
    ///     println!("removed {}", segment.label);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn expire(&mut self, expiry: &Expiry) -> Result<Expired> {
        if self.store.expiring(expiry)?.segments.is_empty() {
            return Ok(Expired::default());
        }
        let mut transaction = self.directory.begin()?;
        // A merge may have been published meanwhile; it preserved the labels.
        self.store.refresh()?;
        let expired = self.store.expiring(expiry)?;
        let numbers: HashSet<u64> = expired.segments.iter().map(|segment| segment.number).collect();
        let stays = |entry: &&SegmentEntry| !numbers.contains(&entry.number);
        let mut segments: Vec<_> = transaction.segments().iter().filter(stays).cloned().collect();
        if segments.is_empty() {
            let empty = new_buffer(&self.options, &self.resources, &self.store, &self.recipe);
            let (segment, _) = self.write_segment(empty, "")?;
            segments.push(transaction.add_segment(segment, None)?);
        }
        self.commit_segments(transaction, segments)?;
        Ok(expired)
    }
}
