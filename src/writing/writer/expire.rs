//! Expiry: segments are removed by their label.

use crate::base::error::Result;
use crate::base::id_policy::IdPolicy;
use crate::format::manifest::SegmentEntry;
use crate::store::{SegmentInfo, Store};
use crate::writing::builder::RecordBuffer;
use crate::writing::writer::Writer;
use crate::writing::writer::scheme::scheme_for;

/// The result of [`Writer::expire_before`].
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Expired {
    /// The removed segments, oldest first.
    pub segments: Vec<SegmentInfo>,
}

impl Store {
    /// The segments that [`Writer::expire_before`] would remove.
    pub fn expiring_before(&self, label: &str) -> Expired {
        let info = self.info();
        let segments = info.segments.into_iter().filter(|of| is_before(&of.label, label)).collect();
        Expired { segments }
    }
}

impl Writer {
    /// Removes all segments whose label sorts before `label`, byte by byte: `2026-09` before
    /// `2026-10`. Those without a label stay. Where none would stay, an empty segment is added, so
    /// that the store keeps its recipe and its scheme.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](crate::Error::Io) if the system refuses. Then nothing is removed; only after
    /// [`Error::InEffect`](crate::Error::InEffect) everything is.
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
    /// for segment in writer.expire_before("2026-10")?.segments {
    ///     println!("removed {}", segment.label);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn expire_before(&mut self, label: &str) -> Result<Expired> {
        if self.store.expiring_before(label).segments.is_empty() {
            return Ok(Expired::default());
        }
        let mut transaction = self.directory.begin()?;
        // A merge may have been published meanwhile; it kept the labels.
        self.store.refresh()?;
        let expired = self.store.expiring_before(label);
        let stays = |entry: &&SegmentEntry| !is_before(&entry.label, label);
        let mut segments: Vec<_> = transaction.segments().iter().filter(stays).cloned().collect();
        if segments.is_empty() {
            let observer = self.options.resources.observer.clone();
            let sketch_len = self.store.sketch_len().into();
            let records = RecordBuffer::new(IdPolicy::Auto, sketch_len, &self.resources, observer);
            let mut build = records.sort(|count| scheme_for(count, &self.options, &self.store))?;
            let mut file = self.directory.new_segment()?;
            build.write(&mut file, &self.recipe)?;
            let segment = self.finish_segment(file, "")?;
            segments.push(transaction.add_segment(segment, None)?);
        }
        self.commit_segments(transaction, segments)?;
        Ok(expired)
    }
}

fn is_before(own: &str, label: &str) -> bool {
    !own.is_empty() && own < label
}
