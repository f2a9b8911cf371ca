//! Import: copying segments from other stores.
//!
//! An import has three steps: the sources are examined; the segments are copied and verified, which
//! may take long and needs no writer; the copies are published. Between the steps a server can
//! continue writing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::error::{Error, Result};
use crate::base::steps::Counted;
use crate::bytes::checksum::Digest;
use crate::format::deletions::Deletions;
use crate::search::snapshot::{OpenSegment, Snapshot};
use crate::segment::{Segment, map};
use crate::store::Store;
use crate::writing::directory::{SegmentFile, UncommittedSegment};
use crate::writing::labels::fault_beside;
use crate::writing::writer::Writer;
use crate::writing::writer::transfer::copy_verified;
use fpstore_base::Recipe;

/// The result of [`Writer::import`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Imported {
    /// The number of imported segments.
    pub segments: u64,
    /// The number of live fingerprints of these segments.
    pub fingerprints: u64,
    /// The length of their files in bytes.
    pub file_len: u64,
    /// The number of skipped segments without fingerprints.
    pub empty: u64,
}

/// An examined segment of a source, with its deletions.
#[derive(Debug)]
struct Arrival {
    /// The position of the source among the sources of the import.
    source: usize,
    path: PathBuf,
    label: String,
    deletions: Option<Arc<Deletions>>,
    recipe: Recipe,
    sketch_len: u32,
    fingerprint_count: u64,
    digest: Digest,
    /// Holds a lock on a file in a store, so that no writer removes it before it is copied.
    _held: Option<Arc<Segment>>,
}

/// The examined segments of the sources of an import.
#[derive(Debug)]
pub struct Arrivals(Vec<Arrival>);

impl Arrivals {
    /// Examines sources without opening the target store.
    ///
    /// # Errors
    ///
    /// The errors of opening the sources.
    pub fn of(sources: &[PathBuf]) -> Result<Self> {
        let mut arrivals = Vec::new();
        for (number, source) in sources.iter().enumerate() {
            arrivals.extend(arrivals_of(source, number)?);
        }
        Ok(Arrivals(arrivals))
    }
}

/// An import before its copies are made.
#[derive(Debug)]
#[must_use = "nothing is imported before it is copied and finished"]
pub struct Import {
    /// The segments, each with the file for its copy.
    wanted: Vec<(Arrival, SegmentFile)>,
    /// The label of all imported segments; if empty, each segment keeps its own label.
    label: String,
    empty: u64,
}

/// An import with verified copies. Dropping it removes the copies.
#[derive(Debug)]
#[must_use = "nothing is imported before it is finished"]
pub struct CopiedImport {
    copies: Vec<(Arrival, UncommittedSegment)>,
    label: String,
    empty: u64,
}

impl Writer {
    /// Imports segment files, or all segments of the stores in the given directories, with labels
    /// and deletions. They are copied, and the copies fully verified, before all of them are
    /// published in one step.
    ///
    /// If the options of the writer have a label, all imported segments get it. Segments without
    /// fingerprints are skipped, except the first one in a store without segments.
    ///
    /// # Errors
    ///
    /// * [`Error::RecipeMismatch`] if a segment has another recipe than the store.
    /// * [`Error::Corrupt`], [`Error::UnsupportedVersion`] for a damaged file,
    ///   [`Error::InvalidOptions`] for a segment that the store already has, or that occurs in two
    ///   sources. A source that contains a segment twice is imported as it is.
    /// * [`Error::InvalidOptions`] if the labels of the store are dates of one form and a label of
    ///   an imported segment is not.
    /// * [`Error::Io`] if a file operation fails.
    ///
    /// After these errors nothing is imported.
    ///
    /// * [`Error::InEffect`] if a file operation failed after the import took effect.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// let mut writer = fpstore::Writer::open("pages.fps")?;
    /// writer.import(&["part-1.fps".into(), "part-2.fps".into()])?;
    /// # Ok::<(), fpstore::Error>(())
    /// ```
    pub fn import(&mut self, sources: &[PathBuf]) -> Result<Imported> {
        let copied = self.begin_import(Arrivals::of(sources)?)?.copy()?;
        self.finish_import(copied)
    }

    /// Checks that all segments suit the store, and creates the files for their copies.
    pub fn begin_import(&mut self, arrivals: Arrivals) -> Result<Import> {
        let Arrivals(arrivals) = arrivals;
        self.store.refresh()?;
        let has_segments = self.store.recipe().is_some();
        let label = self.options.label.clone();
        self.check_arrivals(&label, arrivals.iter())?;
        let mut import = Import { wanted: Vec::new(), label, empty: 0 };
        for (number, arrival) in arrivals.into_iter().enumerate() {
            if arrival.fingerprint_count == 0 && (has_segments || number > 0) {
                // Only the recipe of an empty segment matters, and only in a store without a
                // recipe.
                import.empty += 1;
                continue;
            }
            import.wanted.push((arrival, self.directory.new_segment()?));
        }
        Ok(import)
    }

    /// Rejects segments that are incompatible with each other or with the store, and imported
    /// labels of another form if the labels of the store are dates of one form. All imported
    /// segments get the label `given`; if it is empty, each keeps its own label.
    fn check_arrivals<'a>(
        &self,
        given: &str,
        arrivals: impl Iterator<Item = &'a Arrival> + Clone,
    ) -> Result<()> {
        let mut recipe = self.store.recipe();
        let mut sketch_len = recipe.as_ref().map(|_| u32::from(self.store.sketch_len()));
        let snapshot = self.store.snapshot();
        let mut known = KnownSegments::of(&snapshot);
        for arrival in arrivals.clone() {
            let store = recipe.get_or_insert_with(|| arrival.recipe.clone());
            if *store != arrival.recipe {
                let (store, given) = (store.clone(), arrival.recipe.clone());
                return Err(Error::RecipeMismatch { store, given });
            }
            let (found, path) = (arrival.sketch_len, arrival.path.display());
            let expected = *sketch_len.get_or_insert(found);
            if found != expected {
                let reason = format!(
                    "{path} has sketches of {found} bytes and the store has {expected} (0: no \
                     sketches)"
                );
                return Err(Error::InvalidOptions { reason });
            }
            // Empty segments may be repeated: they contain no ids.
            if arrival.fingerprint_count > 0 {
                known.take(arrival)?;
            }
        }
        let segments = snapshot.segments().iter();
        let stored: BTreeSet<&str> = segments.filter_map(OpenSegment::label_of_records).collect();
        let arriving = arrivals.filter(|arrival| arrival.live_count() > 0);
        let labels: BTreeSet<&str> = arriving.map(|arrival| label_of(given, arrival)).collect();
        for label in labels {
            if let Some(fault) = fault_beside(label, stored.iter().copied()) {
                let reason = format!(
                    "{fault}; give a date in that form as the label of all imported segments"
                );
                return Err(Error::InvalidOptions { reason });
            }
        }
        Ok(())
    }

    /// Publishes the copies in one step, unless changes since [`Writer::begin_import`] conflict
    /// with them.
    pub fn finish_import(&mut self, copied: CopiedImport) -> Result<Imported> {
        let CopiedImport { copies, label, empty } = copied;
        let mut done = Imported { empty, ..Imported::default() };
        let Some((first, _)) = copies.first() else { return Ok(done) };
        self.store.refresh()?;
        self.check_arrivals(&label, copies.iter().map(|(arrival, _)| arrival))?;
        // A store without segments gets the recipe of the first imported segment.
        let recipe = self.store.recipe().unwrap_or_else(|| first.recipe.clone());
        let mut transaction = self.directory.begin()?;
        let mut segments = transaction.segments().to_vec();
        for (arrival, copy) in copies {
            done.segments += 1;
            done.fingerprints += arrival.live_count();
            done.file_len += copy.entry.file_len;
            segments.push(transaction.add_segment(copy, arrival.deletions.as_deref())?);
        }
        self.commit_segments(transaction, segments)?;
        self.written_len += done.file_len;
        self.recipe = recipe;
        Ok(done)
    }
}

impl Import {
    /// Copies all segments and fully verifies the copies.
    pub fn copy(self) -> Result<CopiedImport> {
        let Import { wanted, label, empty } = self;
        let mut copies = Vec::with_capacity(wanted.len());
        for (arrival, mut file) in wanted {
            copy_verified(&arrival.path, &mut file)?;
            let copy = file.finish(label_of(&label, &arrival))?;
            if copy.entry.digest != arrival.digest {
                let path = arrival.path.display();
                let reason = format!("{path} was replaced while it was imported");
                return Err(Error::InvalidOptions { reason });
            }
            copies.push((arrival, copy));
        }
        Ok(CopiedImport { copies, label, empty })
    }
}

/// The label of a segment after the import: `given`, or the segment's own label if `given` is
/// empty.
fn label_of<'a>(given: &'a str, arrival: &'a Arrival) -> &'a str {
    if given.is_empty() { &arrival.label } else { given }
}

/// The known segments by digest. Each value is the position of the source, or `None` for the target
/// store, and the path of the segment.
struct KnownSegments<'a>(BTreeMap<Counted<[u8; 16]>, (Option<usize>, &'a Path)>);

impl<'a> KnownSegments<'a> {
    fn of(store: &'a Snapshot) -> Self {
        let known = |open: &'a OpenSegment| {
            (Counted(open.entry.digest.bytes()), (None, open.segment.path()))
        };
        KnownSegments(store.segments().iter().map(known).collect())
    }

    /// Adds a segment. Rejects a segment that the store or another source already has: each id
    /// would occur twice. Equal headers mean equal contents, because they include the digest of the
    /// contents.
    fn take(&mut self, arrival: &'a Arrival) -> Result<()> {
        let own = (Some(arrival.source), arrival.path.as_path());
        let (source, other) = *self.0.entry(Counted(arrival.digest.bytes())).or_insert(own);
        // A single store may contain a segment twice, for example under two labels.
        if source == own.0 {
            return Ok(());
        }
        let (path, other) = (arrival.path.display(), other.display());
        Err(Error::InvalidOptions { reason: format!("{path} has the same contents as {other}") })
    }
}

/// The segment of a file, or all segments of a store.
fn arrivals_of(source: &Path, number: usize) -> Result<Vec<Arrival>> {
    if !source.is_dir() {
        return Ok(vec![Arrival::of(&map(source)?, number)]);
    }
    let store = Store::map(source)?;
    let arrival = |open: &OpenSegment| Arrival {
        label: open.entry.label.clone(),
        deletions: open.deleted.clone(),
        _held: Some(Arc::clone(&open.segment)),
        ..Arrival::of(&open.segment, number)
    };
    Ok(store.snapshot().segments().iter().map(arrival).collect())
}

impl Arrival {
    /// The number of fingerprints that are not deleted.
    fn live_count(&self) -> u64 {
        let deleted = self.deletions.as_deref().map_or(0, Deletions::fingerprint_count);
        self.fingerprint_count - deleted
    }

    /// The segment of a file that belongs to no store.
    fn of(segment: &Segment, source: usize) -> Self {
        let header = segment.header();
        Arrival {
            source,
            path: segment.path().into(),
            label: String::new(),
            deletions: None,
            recipe: segment.recipe().clone(),
            sketch_len: header.sketch_len,
            fingerprint_count: header.fingerprint_count,
            digest: header.digest,
            _held: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Builder;

    /// A store with one record, and the file of its segment.
    fn store_of(folder: &Path, name: &str, value: u64) -> PathBuf {
        let mut builder = Builder::new(folder.join(name)).unwrap();
        builder.push(value.into(), value).unwrap();
        builder.finish().unwrap().info().segments[0].path.clone()
    }

    #[test]
    fn a_file_that_is_replaced_after_it_was_looked_at_is_not_imported() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let [_, one, other] = [("store.fps", 7), ("one.fps", 1), ("other.fps", 2)]
            .map(|(n, v)| store_of(folder, n, v));
        let mut writer = Writer::open(folder.join("store.fps")).unwrap();
        let looked_at = folder.join("segment");
        std::fs::copy(&one, &looked_at).unwrap();
        let import =
            writer.begin_import(Arrivals::of(std::slice::from_ref(&looked_at)).unwrap()).unwrap();
        std::fs::remove_file(&looked_at).unwrap();
        std::fs::copy(&other, &looked_at).unwrap();
        let refused = import.copy().unwrap_err().to_string();
        assert!(refused.ends_with("was replaced while it was imported"), "{refused}");
        writer.import(&[looked_at]).unwrap();
        assert_eq!(writer.store().info().fingerprint_count(), 2);
    }

    #[test]
    fn what_is_written_while_an_import_is_copied_stays() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let [_, one] = [("store.fps", 7), ("one.fps", 1)].map(|(n, v)| store_of(folder, n, v));
        let mut writer = Writer::open(folder.join("store.fps")).unwrap();
        let mut copied = Vec::new();
        for _ in 0..2 {
            let import =
                writer.begin_import(Arrivals::of(std::slice::from_ref(&one)).unwrap()).unwrap();
            writer.push(9.into(), 9_u64).unwrap();
            writer.commit().unwrap();
            copied.push(import.copy().unwrap());
        }
        let second = copied.pop().unwrap();
        let done = writer.finish_import(copied.pop().unwrap()).unwrap();
        assert_eq!((done.segments, done.fingerprints), (1, 1));
        let mut stored = Vec::new();
        let step = |entry: crate::Hit<'_>| {
            stored.push((entry.fingerprint().value(), entry.stored_ids().count()));
            Ok::<(), Error>(())
        };
        writer.store().for_each(step).unwrap();
        stored.sort_unstable();
        // Each round added fingerprint 9 with one id.
        assert_eq!(stored, [(1, 1), (7, 1), (9, 2)]);
        // The second import began before the first was published, and would add the same segments
        // again.
        let refused = writer.finish_import(second).unwrap_err().to_string();
        assert!(refused.contains("has the same contents as"), "{refused}");
    }
}
