//! Hashes all pictures of a folder, in the order of their names, on all threads.

use std::panic::{UnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::{fs, thread};

use fpstore_base::parallel::{Feed, Parallel};
use fpstore_base::watch::{Observer, Phase, Watch};
use fpstore_base::{Fingerprint, Interrupted, IoError};

use crate::hash::PictureRecipe;
use crate::read::{memory_of, read_gray};

/// The extensions of supported pictures, in lower case.
const ENDINGS: [&str; 10] =
    ["bmp", "gif", "jfif", "jpe", "jpeg", "jpg", "png", "tif", "tiff", "webp"];
/// The extensions of picture formats without a decoder here. Such files are reported as bad
/// pictures: if they were skipped silently, a search would seem to find nothing.
const UNREAD_ENDINGS: [&str; 14] = [
    "arw", "avif", "cr2", "cr3", "dng", "heic", "heif", "j2k", "jp2", "jxl", "nef", "orf", "psd",
    "raw",
];
/// The default of [`PictureOptions::memory`].
const MEMORY: usize = 1 << 30;
/// The largest number of faults in a summary.
const SHOWN_MAX: usize = 10;

/// The options for reading the pictures of a folder.
#[derive(Clone, Debug)]
pub struct PictureOptions {
    /// The recipe of the fingerprints.
    pub recipe: PictureRecipe,
    /// Whether unreadable pictures are skipped and counted.
    pub skip_bad: bool,
    /// The number of threads; 0 is one for each core.
    pub threads: usize,
    /// Bytes of memory for the pictures that are decoded at the same time. A single picture may
    /// need more, up to the limits for each picture.
    pub memory: usize,
    /// An observer, which receives the number of pictures read, and may end the work.
    pub observer: Option<Observer>,
}

impl PictureOptions {
    /// Reads pictures by `recipe`, on all cores, within 1 GiB of memory; an unreadable picture is
    /// an error, returned after all pictures are read.
    pub fn new(recipe: PictureRecipe) -> Self {
        PictureOptions { recipe, skip_bad: false, threads: 0, memory: MEMORY, observer: None }
    }
}

/// Whether the caller accepted a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The picture was accepted.
    Taken,
    /// The id is invalid; count the picture as bad.
    Refused {
        /// The reason of the caller.
        reason: String,
    },
}

/// Counts of the files of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PictureSummary {
    /// Pictures with a fingerprint.
    pub picture_count: u64,
    /// Pictures whose pixels have one grey value. Their fingerprints are similar, even if the
    /// pictures differ in their transparency.
    pub one_colour_count: u64,
    /// Unreadable pictures.
    pub bad_count: u64,
    /// The names and faults of the first ten unreadable pictures.
    pub bad: Vec<String>,
    /// Files whose extension is not the extension of a picture format.
    pub other_count: u64,
    /// Hidden files and folders, links to folders, pipes, sockets and devices.
    pub passed_over_count: u64,
}

impl PictureSummary {
    fn bad(&mut self, name: &str, reason: &str) {
        self.bad_count += 1;
        if self.bad.len() < SHOWN_MAX {
            self.bad.push(format!("{name}: {reason}"));
        }
    }
}

/// An error from reading the pictures of a folder.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused an operation on a folder.
    #[error(transparent)]
    Io(IoError),
    /// Some pictures cannot be read; the summary contains the first ten.
    #[error(
        "{} of {} pictures cannot be read; the first is {}",
        .0.bad_count,
        .0.picture_count + .0.bad_count,
        .0.bad.first().map_or("", String::as_str)
    )]
    BadPictures(Box<PictureSummary>),
    /// The observer ended the work.
    #[error("interrupted")]
    Interrupted,
}

/// Calls `take` with the fingerprint and the id of each picture in a folder and its subfolders, in
/// the order of the ids. An id is the path below `folder`, with `/` between names.
///
/// Pictures are selected by the extension of their names; their bytes determine the format. Hidden
/// files and links to folders are skipped.
///
/// # Errors
///
/// * [`Error::BadPictures`] after all pictures are read, if some are unreadable and
///   [`PictureOptions::skip_bad`] is not set.
/// * [`Error::Io`] if the folder or a subfolder cannot be read.
/// * [`Error::Interrupted`] if the observer ends the work.
/// * Any error from `take`.
pub fn hash_pictures<E: From<Error>>(
    folder: &Path,
    options: &PictureOptions,
    mut take: impl FnMut(Fingerprint, &str) -> Result<Admission, E>,
) -> Result<PictureSummary, E> {
    let mut summary = PictureSummary::default();
    let mut found = Vec::new();
    walk(folder, "", &mut found, &mut summary)?;
    found.sort();
    let watch = Watch::new(options.observer.clone(), Phase::Documents, Some(found.len() as u64));
    thread::scope(|scope| {
        let found = &found;
        let produce = move |feed: &mut Feed<_, _>| {
            for it in found {
                // The header is read twice, because decoders cannot be sent to another thread. A
                // decoder that fails here fails again when the picture is read, and is reported
                // then.
                let memory = |path: &PathBuf| guarded(|| memory_of(path)).unwrap_or(0);
                let memory = it.1.as_ref().map_or(0, memory);
                if !feed.push(it, memory) {
                    break;
                }
            }
        };
        let recipe = options.recipe;
        let work = move |it: &'_ (String, FoundFile)| {
            let read =
                it.1.as_ref()
                    .map_err(Clone::clone)
                    .and_then(|path| guarded(|| read_gray(path, recipe.orientation)).flatten());
            read.map(|picture| (recipe.fingerprint(&picture), picture.has_one_colour()))
        };
        let parallel = Parallel::new(options.threads).bytes(options.memory);
        let results = parallel.run_in(scope, produce, move || work);
        for ((id, _), read) in found.iter().zip(results) {
            match read {
                Ok((fingerprint, has_one_colour)) => match take(fingerprint, id)? {
                    Admission::Taken => {
                        summary.picture_count += 1;
                        summary.one_colour_count += u64::from(has_one_colour);
                    }
                    Admission::Refused { reason } => summary.bad(id, &reason),
                },
                Err(reason) => summary.bad(id, &reason),
            }
            watch.tick(1).and_then(|()| watch.look()).map_err(|Interrupted| Error::Interrupted)?;
        }
        Ok::<_, E>(())
    })?;
    if summary.bad_count > 0 && !options.skip_bad {
        return Err(Error::BadPictures(Box::new(summary)).into());
    }
    Ok(summary)
}

/// Catches panics of a decoder, so that they do not stop the other pictures.
fn guarded<T>(decode: impl FnOnce() -> T + UnwindSafe) -> Result<T, String> {
    catch_unwind(decode).map_err(|_| "its decoder failed".into())
}

/// The path of a file, or the reason why it cannot be read.
type FoundFile = Result<PathBuf, String>;

/// Finds the pictures of a folder and its subfolders; `below` is the path of the folder in ids.
fn walk(
    folder: &Path,
    below: &str,
    found: &mut Vec<(String, FoundFile)>,
    summary: &mut PictureSummary,
) -> Result<(), Error> {
    let cannot = |source| Error::Io(IoError::of("read", folder)(source));
    for entry in fs::read_dir(folder).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        let kind = entry.file_type().map_err(cannot)?;
        let (path, name) = (entry.path(), entry.file_name());
        let shown = name.to_string_lossy();
        let id = if below.is_empty() { shown.to_string() } else { format!("{below}/{shown}") };
        // A link to a folder is skipped, because it may lead back to its own folder; a broken link
        // counts as an unreadable file.
        let is_file = path.metadata().map_or(kind.is_symlink(), |it| it.is_file());
        if shown.starts_with('.') {
            summary.passed_over_count += 1;
        } else if kind.is_dir() {
            walk(&path, &id, found, summary)?;
        } else if !is_file {
            summary.passed_over_count += 1;
        } else {
            let ending = path.extension().map(|it| it.to_string_lossy().to_lowercase());
            match ending.unwrap_or_default().as_str() {
                it if UNREAD_ENDINGS.contains(&it) => {
                    let reason = format!(
                        "pictures in .{it} are not supported; convert it to JPEG \
                                          or PNG"
                    );
                    found.push((id, Err(reason)));
                }
                it if ENDINGS.contains(&it) => {
                    let is_text = path.to_str().is_some();
                    let path = is_text.then_some(path).ok_or("its path is not UTF-8".to_owned());
                    found.push((id, path));
                }
                _ => summary.other_count += 1,
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decoder_that_panics_is_a_fault_of_its_picture() {
        assert_eq!(guarded(|| 7), Ok(7));
        assert_eq!(
            guarded(|| -> u8 { panic!("no such colour") }),
            Err("its decoder failed".into())
        );
    }
}
