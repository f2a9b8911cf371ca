//! Expiry: whole segments go by their label.

use crate::error::Result;
use crate::life::Writer;
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
    /// a label stay.
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
        let expired = self.store.expiring_before(label);
        if expired.segments.is_empty() {
            return Ok(expired);
        }
        let segments = self.folder.manifest().segments.clone();
        let stay = segments.into_iter().filter(|entry| !is_before(&entry.label, label)).collect();
        self.publish(stay, Vec::new())?;
        Ok(expired)
    }
}

fn is_before(own: &str, label: &str) -> bool {
    !own.is_empty() && own < label
}
