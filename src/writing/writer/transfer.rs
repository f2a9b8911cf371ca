//! Import and export: copies of segments from other stores, and to a new one.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::error::{Error, Result};
use crate::base::steps::Counted;
use crate::bytes::checksum::Digest;
use crate::format::deletions::Deletions;
use crate::format::manifest;
use crate::search::snapshot::{OpenSegment, Snapshot};
use crate::segment::{Segment, map, open_file};
use crate::store::Store;
use crate::store::verify::faults_of;
use crate::writing::directory::{
    Patience, SegmentFile, StoreDirectory, UncommittedSegment, random_store_id, reserve,
};
use crate::writing::writer::Writer;

/// What [`Writer::import`] took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Imported {
    /// Imported segments.
    pub segments: u64,
    /// Their live fingerprints.
    pub fingerprints: u64,
    /// Bytes of their files.
    pub file_len: u64,
    /// Segments without any fingerprint, which were left out.
    pub empty: u64,
}

/// What [`export`] wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exported {
    /// The directory of the new store.
    pub path: PathBuf,
    /// Its segment files, oldest first.
    pub files: Vec<PathBuf>,
    /// Bytes of these files.
    pub file_len: u64,
    /// Segments with a deletion file.
    pub with_deletions: u64,
}

/// A segment to import, with its deletions.
struct Arrival {
    /// The position of the source that it is from.
    source: usize,
    path: PathBuf,
    label: String,
    deletions: Option<Arc<Deletions>>,
    /// A lock on the file of a store, so that no writer removes it meanwhile.
    _held: Option<Arc<Segment>>,
}

impl Writer {
    /// Imports segment files, or all segments of the stores whose directories are given, with
    /// labels and deletions. They are copied, and the copies verified front to back, before all of
    /// them are published in one step.
    ///
    /// If the options of the writer have a label, all of them get it. Segments without any
    /// fingerprint are left out, except the first one in a store that has no segment.
    ///
    /// # Errors
    ///
    /// * [`Error::RecipeMismatch`] if a segment has another recipe than the store.
    /// * [`Error::Corrupt`], [`Error::UnsupportedVersion`] for a damaged file,
    ///   [`Error::InvalidOptions`] for one that the store has already, or that two sources have. A
    ///   store that has one twice is taken as it is.
    /// * [`Error::Io`] if the system refuses.
    ///
    /// Then nothing is imported.
    ///
    /// * [`Error::InEffect`] if the system failed after the last step: everything is imported.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// let mut writer = fpstore::Writer::open("pages.fps")?;
    /// writer.import(&["part-1.fps".into(), "part-2.fps".into()])?;
    /// # Ok::<(), fpstore::Error>(())
    /// ```
    pub fn import(&mut self, sources: &[PathBuf]) -> Result<Imported> {
        let mut arrivals = Vec::new();
        for (number, source) in sources.iter().enumerate() {
            arrivals.extend(arrivals_of(source, number)?);
        }
        let mut done = Imported::default();
        self.store.refresh()?;
        let mut recipe = self.store.recipe();
        let has_segments = recipe.is_some();
        let mut sketch_len = recipe.as_ref().map(|_| u32::from(self.store.sketch_len()));
        // All are looked at before the first is copied, which may take long.
        let mut wanted: Vec<(&Arrival, Digest)> = Vec::new();
        let snapshot = self.store.snapshot();
        let mut known = Known::of(&snapshot);
        for (number, arrival) in arrivals.iter().enumerate() {
            let segment = map(&arrival.path)?;
            if let Some(recipe) = &recipe {
                segment.check_recipe(recipe)?;
            }
            recipe = Some(segment.recipe().clone());
            let found = segment.header().sketch_len;
            check_sketches(&arrival.path, found, *sketch_len.get_or_insert(found))?;
            if segment.header().fingerprint_count == 0 && (has_segments || number > 0) {
                // Only its recipe says anything, and only in a store that has none.
                done.empty += 1;
                continue;
            }
            known.take(arrival, segment.header().digest)?;
            wanted.push((arrival, segment.header().digest));
        }
        let mut copies: Vec<(&Arrival, UncommittedSegment)> = Vec::new();
        for (arrival, digest) in wanted {
            let own = &self.options.label;
            let label = if own.is_empty() { arrival.label.clone() } else { own.clone() };
            let copy = self.copy_of(&arrival.path, digest, &label)?;
            let deleted = arrival.deletions.as_ref().map_or(0, |of| of.fingerprint_count());
            done.segments += 1;
            done.fingerprints += copy.entry.fingerprint_count - deleted;
            done.file_len += copy.entry.file_len;
            copies.push((arrival, copy));
        }
        if done.segments > 0 {
            let mut transaction = self.directory.begin()?;
            let mut segments = transaction.segments().to_vec();
            for (arrival, copy) in copies {
                let deletions = arrival.deletions.as_deref();
                segments.push(transaction.add_segment(copy, deletions)?);
            }
            self.commit_segments(transaction, segments)?;
            // A store without segments gets the recipe of the first one.
            self.recipe = recipe.unwrap_or(self.recipe.clone());
        }
        Ok(done)
    }

    /// A verified copy of the segment at `path`, which had this digest when it was looked at.
    fn copy_of(&mut self, path: &Path, digest: Digest, label: &str) -> Result<UncommittedSegment> {
        let mut file = self.directory.new_segment()?;
        copy_verified(path, &mut file)?;
        let copy = self.finish_segment(file, label)?;
        if copy.entry.digest != digest {
            let reason = format!("{} was replaced while it was imported", path.display());
            return Err(Error::InvalidOptions { reason });
        }
        Ok(copy)
    }
}

/// The segments that are known by the digest of their contents: each with the position of the source
/// that it is from, or `None` in the store, and its path.
struct Known<'a>(BTreeMap<Counted<[u8; 16]>, (Option<usize>, &'a Path)>);

impl<'a> Known<'a> {
    fn of(store: &'a Snapshot) -> Self {
        let known = |open: &'a OpenSegment| {
            (Counted(open.entry.digest.bytes()), (None, open.segment.path()))
        };
        Known(store.segments().iter().map(known).collect())
    }

    /// Takes a segment. Refuses one that the store has already, or another source: each id would be
    /// there twice. Equal headers have equal contents, because they hold the digest of the contents.
    fn take(&mut self, arrival: &'a Arrival, digest: Digest) -> Result<()> {
        let own = (Some(arrival.source), arrival.path.as_path());
        let (source, other) = *self.0.entry(Counted(digest.bytes())).or_insert(own);
        // A store may hold the same twice, under two labels for example. It is one state.
        if source == own.0 {
            return Ok(());
        }
        let (path, other) = (arrival.path.display(), other.display());
        Err(Error::InvalidOptions { reason: format!("{path} holds the same as {other}") })
    }
}

/// Refuses a segment with other sketches than those of the store.
fn check_sketches(path: &Path, found: u32, expected: u32) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    let reason = format!(
        "{} has sketches of {found} bytes and the store has {expected}, where 0 is none",
        path.display()
    );
    Err(Error::InvalidOptions { reason })
}

/// The segment of a file, or those of a store.
fn arrivals_of(source: &Path, number: usize) -> Result<Vec<Arrival>> {
    if !source.is_dir() {
        let path = source.to_path_buf();
        let (label, deletions) = (String::new(), None);
        return Ok(vec![Arrival { source: number, path, label, deletions, _held: None }]);
    }
    let store = Store::map(source)?;
    let arrival = |open: &OpenSegment| Arrival {
        source: number,
        path: open.segment.path().into(),
        label: open.entry.label.clone(),
        deletions: open.deleted.clone(),
        _held: Some(Arc::clone(&open.segment)),
    };
    Ok(store.snapshot().segments().iter().map(arrival).collect())
}

fn copy(from: &Path, to: &mut SegmentFile) -> Result<()> {
    let mut file = open_file(from)?;
    io::copy(&mut file, to).and_then(|_| to.flush()).map_err(Error::io("copy", from))
}

/// Copies a segment and checks the copy front to back.
pub(super) fn copy_verified(from: &Path, to: &mut SegmentFile) -> Result<()> {
    copy(from, to)?;
    check_copy(from, to)
}

/// Checks a copy of the segment at `from` front to back.
pub(super) fn check_copy(from: &Path, to: &SegmentFile) -> Result<()> {
    let faults = faults_of(&map(to.temporary_path())?);
    match faults.into_iter().next() {
        // The copy is removed; the user has the original.
        Some(Error::Corrupt { section, offset, fault, .. }) => {
            Err(Error::Corrupt { path: from.into(), section, offset, fault })
        }
        Some(fault) => Err(fault),
        None => Ok(()),
    }
}

/// Copies segments of a store, with labels and deletions, to a new store in the directory `to`,
/// which must not exist or be empty. The new store can be imported as a whole. Its segment files
/// can also be imported one by one, without their deletions. `segment` is the number of one
/// segment; without it, all are copied.
///
/// # Errors
///
/// * [`Error::StoreExists`] if there is something at `to`.
/// * [`Error::InvalidOptions`] if there is no such segment.
/// * [`Error::Io`] if the system refuses. There is no new store then.
/// * [`Error::InEffect`] if the system failed after the last step: the new store is in its place.
///
/// # Examples
///
/// ```no_run
/// let store = fpstore::Store::open("pages.fps")?;
/// fpstore::writer::export(&store, "shipped.fps", None)?;
/// # Ok::<(), fpstore::Error>(())
/// ```
pub fn export(store: &Store, to: impl AsRef<Path>, segment: Option<u64>) -> Result<Exported> {
    export_to(store, to.as_ref(), segment, false)
}

/// As [`export`], by hard links instead of copies: a snapshot of a store that takes no space and
/// milliseconds, for work of hours that must see one state while the store goes on changing.
///
/// The two stores share the bytes of their segments, which no writer ever changes. A segment takes
/// space until it is removed from both.
///
/// # Errors
///
/// As [`export`], and [`Error::Io`] where the system has no hard links between the two places, as
/// between two file systems.
pub fn export_linked(
    store: &Store,
    to: impl AsRef<Path>,
    segment: Option<u64>,
) -> Result<Exported> {
    export_to(store, to.as_ref(), segment, true)
}

fn export_to(store: &Store, to: &Path, segment: Option<u64>, link: bool) -> Result<Exported> {
    let snapshot = store.snapshot();
    let wanted = |open: &&OpenSegment| segment.is_none_or(|number| open.entry.number == number);
    let chosen: Vec<&OpenSegment> = snapshot.segments().iter().filter(wanted).collect();
    if let (Some(number), []) = (segment, chosen.as_slice()) {
        let numbers = snapshot.segments().iter().map(|open| open.entry.number.to_string());
        let numbers: Vec<String> = numbers.collect();
        let reason = format!("there is no segment {number}, there are {}", numbers.join(", "));
        return Err(Error::InvalidOptions { reason });
    }
    let is_empty = std::fs::read_dir(to).is_ok_and(|mut entries| entries.next().is_none());
    if to.join(manifest::FILE_NAME).exists() || (to.exists() && !is_empty) {
        return Err(Error::StoreExists { path: to.into() });
    }
    let mut done = Exported { path: to.into(), ..Exported::default() };
    let reservation = reserve(to, &Patience::default())?;
    let directory = StoreDirectory::stage(to, random_store_id()?, reservation)?;
    let mut transaction = directory.begin()?;
    let mut segments = Vec::new();
    for open in &chosen {
        let (from, label) = (open.segment.path(), &open.entry.label);
        let copied = if link {
            directory.link_segment(from, label)?
        } else {
            let mut file = directory.new_segment()?;
            copy(from, &mut file)?;
            file.finish(label)?
        };
        let entry = transaction.add_segment(copied, open.deleted.as_deref())?;
        done.files.push(to.join(entry.file_name()));
        done.file_len += entry.file_len;
        done.with_deletions += u64::from(entry.deletions.is_some());
        segments.push(entry);
    }
    let generation = transaction.commit(segments)?;
    directory.finish(generation)?;
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Builder;

    #[test]
    fn a_file_that_is_replaced_after_it_was_looked_at_is_not_imported() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.fps");
        let build = |name: &str, value: u64| {
            let mut builder = Builder::new(folder.path().join(name)).unwrap();
            builder.push(value.into(), value).unwrap();
            let info = builder.finish().unwrap().info();
            (info.segments[0].path.clone(), map(&info.segments[0].path).unwrap().header().digest)
        };
        drop(build("store.fps", 7));
        let (one, other) = (build("one.fps", 1), build("other.fps", 2));
        let mut writer = Writer::open(path).unwrap();
        assert!(writer.copy_of(&one.0, one.1, "").is_ok());
        let refused = writer.copy_of(&one.0, other.1, "").unwrap_err().to_string();
        assert!(refused.ends_with("was replaced while it was imported"), "{refused}");
    }
}
