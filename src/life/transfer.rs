//! Segments from elsewhere, and segments to go elsewhere.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::build::{Folder, FreshSegment, Publishing, SegmentFile, publish_new};
use crate::error::{Error, Result};
use crate::format::deletions::Deletions;
use crate::format::manifest::{self, SegmentEntry};
use crate::life::Writer;
use crate::segment::{Mapped, map};
use crate::store::{OpenSegment, Store};
use crate::verify::faults_of;

/// What [`Writer::import`] took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Imported {
    /// Segments.
    pub segments: u64,
    /// Their fingerprints, without deleted ones.
    pub fingerprints: u64,
    /// Bytes of their files.
    pub file_len: u64,
}

/// What [`export`] wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exported {
    /// The directory, a store by itself.
    pub path: PathBuf,
    /// The segment files in it, oldest first.
    pub files: Vec<PathBuf>,
    /// Bytes of them.
    pub file_len: u64,
    /// How many of them have deletions, which stand in files of their own and in the manifest.
    pub with_deletions: u64,
}

/// A segment on its way, with what is deleted of it.
struct Arrival {
    path: PathBuf,
    label: String,
    deletions: Option<Arc<Deletions>>,
    /// Keeps the file of a store where it is, whatever its writer does meanwhile.
    _held: Option<Arc<Mapped>>,
}

impl Writer {
    /// Takes segments that were built elsewhere, as files, or all of a store that is given as its directory, with labels
    /// and deletions. They are copied, and verified front to back, before all of them are published in
    /// one step.
    ///
    /// Where the options of the writer have a label, they all get that.
    ///
    /// # Errors
    ///
    /// * [`Error::RecipeMismatch`] if fingerprints are made in another way than those of the store.
    /// * [`Error::Corrupt`], [`Error::UnsupportedVersion`] for a damaged file, [`Error::InvalidOptions`] for
    ///   one that the store has already.
    /// * [`Error::Io`] if the system refuses.
    ///
    /// Then nothing is taken.
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
        for source in sources {
            arrivals.extend(arrivals_of(source)?);
        }
        let mut fresh: Vec<(FreshSegment, Option<Arc<Deletions>>)> = Vec::new();
        let mut taken: Vec<(Vec<u8>, PathBuf)> = Vec::new();
        let mut done = Imported::default();
        self.store.refresh()?;
        let mut recipe = self.store.recipe();
        for arrival in &arrivals {
            let segment = map(&arrival.path)?;
            if let Some(recipe) = &recipe {
                segment.check_recipe(recipe)?;
            }
            recipe = Some(segment.recipe().clone());
            self.check_new(&arrival.path, &segment, &taken)?;
            taken.push((segment.page_checksums().to_vec(), arrival.path.clone()));
            let label = match self.options.label.is_empty() {
                true => arrival.label.clone(),
                false => self.options.label.clone(),
            };
            let copied = self.write_segment(&label, |file| copy_verified(&arrival.path, file))?;
            let gone = arrival.deletions.as_ref().map_or(0, |of| of.fingerprint_count());
            done.segments += 1;
            done.fingerprints += copied.entry.fingerprint_count - gone;
            done.file_len += copied.entry.file_len;
            fresh.push((copied, arrival.deletions.clone()));
        }
        if done.segments > 0 {
            let mut publishing = self.folder.publish(|| Ok(()))?;
            let mut segments = publishing.segments().to_vec();
            for (copied, deletions) in fresh {
                segments.push(name(&self.folder, &mut publishing, copied, deletions.as_deref())?);
            }
            self.commit_to(publishing, segments)?;
            self.note_recipe(recipe);
        }
        Ok(done)
    }

    /// The same segment twice would give each id twice.
    fn check_new(&self, path: &Path, segment: &Mapped, taken: &[(Vec<u8>, PathBuf)]) -> Result<()> {
        let snapshot = self.store.snapshot();
        let same = |open: &&OpenSegment| {
            open.entry.header_crc == segment.header().crc
                && open.segment.page_checksums() == segment.page_checksums()
        };
        let in_store = snapshot.segments().iter().find(same).map(|open| open.segment.path());
        let sums = segment.page_checksums();
        let among = taken.iter().find(|(of, _)| of == sums).map(|(_, path)| path.as_path());
        match in_store.or(among) {
            Some(other) => Err(Error::InvalidOptions {
                reason: format!("{} holds the same as {}", path.display(), other.display()),
            }),
            None => Ok(()),
        }
    }
}

/// Names a copy of a segment, and gives it the deletions of the one that it is a copy of.
fn name(
    folder: &Folder,
    publishing: &mut Publishing,
    copied: FreshSegment,
    deletions: Option<&Deletions>,
) -> Result<SegmentEntry> {
    let mut entry = publishing.name_segment(copied)?;
    if let Some(deletions) = deletions {
        let fresh = folder.write_deletions(&entry, deletions)?;
        entry.deletions = Some(publishing.name_deletions(fresh)?);
    }
    Ok(entry)
}

/// The segments that a path stands for.
fn arrivals_of(source: &Path) -> Result<Vec<Arrival>> {
    if !source.is_dir() {
        let path = source.to_path_buf();
        let (label, deletions) = (String::new(), None);
        return Ok(vec![Arrival { path, label, deletions, _held: None }]);
    }
    let store = Store::open(source)?;
    let arrival = |open: &OpenSegment| Arrival {
        path: open.segment.path().into(),
        label: open.entry.label.clone(),
        deletions: open.deleted.clone(),
        _held: Some(Arc::clone(&open.segment)),
    };
    Ok(store.snapshot().segments().iter().map(arrival).collect())
}

fn copy(from: &Path, to: &mut SegmentFile) -> Result<()> {
    let mut file = File::open(from).map_err(Error::io("open", from))?;
    io::copy(&mut file, to).and_then(|_| to.flush()).map_err(Error::io("copy", from))
}

/// Copies a segment and checks the copy front to back.
fn copy_verified(from: &Path, to: &mut SegmentFile) -> Result<()> {
    copy(from, to)?;
    let faults = faults_of(&map(to.temporary_path())?);
    match faults.into_iter().next() {
        // The copy is about to go; whoever reads this has the original.
        Some(Error::Corrupt { section, offset, fault, .. }) => {
            Err(Error::Corrupt { path: from.into(), section, offset, fault })
        }
        Some(fault) => Err(fault),
        None => Ok(()),
    }
}

/// Copies segments of a store, with labels and deletions, to a new store in the directory `to`, which must not
/// exist or be empty: it can be shipped and imported as a whole, and its segment files, where nothing is deleted
/// of them, one by one. `segment` is the number of one segment; without it, all are copied.
///
/// # Errors
///
/// * [`Error::StoreExists`] if there is something at `to`.
/// * [`Error::InvalidOptions`] if there is no such segment.
/// * [`Error::Io`] if the system refuses.
///
/// # Examples
///
/// ```no_run
/// let store = fpstore::Store::open("pages.fps")?;
/// fpstore::export(&store, "shipped.fps", None)?;
/// # Ok::<(), fpstore::Error>(())
/// ```
pub fn export(store: &Store, to: impl AsRef<Path>, segment: Option<u64>) -> Result<Exported> {
    let to = to.as_ref();
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
    publish_new(to, |folder| {
        let mut publishing = folder.publish(|| Ok(()))?;
        let mut segments = Vec::new();
        for open in &chosen {
            let label = &open.entry.label;
            let copied = folder.write_segment(label, |file| copy(open.segment.path(), file))?;
            let entry = name(folder, &mut publishing, copied, open.deleted.as_deref())?;
            done.files.push(to.join(entry.file_name()));
            done.file_len += entry.file_len;
            done.with_deletions += u64::from(entry.deletions.is_some());
            segments.push(entry);
        }
        publishing.commit(segments).map(drop)
    })?;
    Ok(done)
}
