//! Expiry: whole segments go by their label.

use crate::build::{Clock, Gathering, IdPolicy};
use crate::error::Result;
use crate::format::manifest::SegmentEntry;
use crate::life::Writer;
use crate::life::shape::scheme_for;
use crate::store::{SegmentInfo, Store};

/// What [`Writer::expire_before`] dropped.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Expired {
    /// The segments, oldest first, as they were.
    pub segments: Vec<SegmentInfo>,
}

impl Store {
    /// What [`Writer::expire_before`] would drop.
    pub fn expiring_before(&self, label: &str) -> Expired {
        let info = self.info();
        let segments = info.segments.into_iter().filter(|of| is_before(&of.label, label)).collect();
        Expired { segments }
    }
}

impl Writer {
    /// Drops all segments whose label sorts before `label`, byte by byte: `2026-09` before `2026-10`. Those without
    /// a label stay. Where none would, an empty one is left, so that the store keeps its recipe and its scheme.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](crate::Error::Io) if the system refuses. Then nothing is dropped.
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
    ///     println!("dropped {}", segment.label);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn expire_before(&mut self, label: &str) -> Result<Expired> {
        if self.store.expiring_before(label).segments.is_empty() {
            return Ok(Expired::default());
        }
        let mut publishing = self.folder.publish(|| Ok(()))?;
        // A merge may have ended meanwhile; the labels are the same.
        self.store.refresh()?;
        let expired = self.store.expiring_before(label);
        let is_live = |entry: &&SegmentEntry| !is_before(&entry.label, label);
        let mut stay: Vec<_> = publishing.segments().iter().filter(is_live).cloned().collect();
        if stay.is_empty() {
            // One segment stays, or no one would know the recipe and what the store is tuned for.
            let observer = self.options.observer.clone();
            let nothing = Gathering::new(IdPolicy::Auto, &self.resources, observer);
            let scheme = |count| scheme_for(count, &self.options, &self.store);
            let assembly = nothing.assemble(scheme, &mut Clock::start())?;
            let recipe = self.recipe().clone();
            let fresh =
                self.write_segment("", |file| assembly.write(file, &recipe, &mut Clock::start()))?;
            stay.push(publishing.name_segment(fresh)?);
        }
        self.commit_to(publishing, stay)?;
        Ok(expired)
    }
}

fn is_before(own: &str, label: &str) -> bool {
    !own.is_empty() && own < label
}
