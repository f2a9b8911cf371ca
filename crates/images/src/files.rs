//! All pictures of a folder: found in the order of their names, hashed on all threads.

use std::fs;
use std::panic::{UnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::thread;

use fpstore_base::parallel::{Feed, Parallel};
use fpstore_base::watch::{Observer, Phase, Watch};
use fpstore_base::{Fingerprint, Interrupted, IoError};

use crate::error::Error;
use crate::hash::PictureRecipe;
use crate::read::{memory_of, read_gray};
use crate::summary::PictureSummary;

/// How names of files end that hold pictures, in small letters.
const ENDINGS: [&str; 10] =
    ["bmp", "gif", "jfif", "jpe", "jpeg", "jpg", "png", "tif", "tiff", "webp"];
/// How names of pictures end that cannot be read. They are named, because a search that never saw
/// them would be taken for one that found nothing.
const UNREAD_ENDINGS: [&str; 14] = [
    "arw", "avif", "cr2", "cr3", "dng", "heic", "heif", "j2k", "jp2", "jxl", "nef", "orf", "psd",
    "raw",
];
/// The memory of pictures that are decoded at the same time, unless the caller sets another.
const MEMORY: usize = 1 << 30;

/// How the pictures of a folder are read.
#[derive(Clone, Debug)]
pub struct PictureOptions {
    recipe: PictureRecipe,
    skip_bad: bool,
    threads: usize,
    memory: usize,
    observer: Option<Observer>,
}

impl PictureOptions {
    /// Reads pictures as `recipe` says, on all cores, within 1 GiB of memory; a picture that cannot
    /// be read is an error in the end.
    pub fn new(recipe: PictureRecipe) -> Self {
        PictureOptions { recipe, skip_bad: false, threads: 0, memory: MEMORY, observer: None }
    }

    /// Whether pictures that cannot be read are left out and counted.
    #[must_use]
    pub fn skip_bad(self, skip_bad: bool) -> Self {
        PictureOptions { skip_bad, ..self }
    }

    /// The number of threads; 0 is one for each core.
    #[must_use]
    pub fn threads(self, threads: usize) -> Self {
        PictureOptions { threads, ..self }
    }

    /// Bytes of memory for the pictures that are decoded at the same time. One picture is always
    /// decoded, however large it is within the limits for each.
    #[must_use]
    pub fn memory(self, memory: usize) -> Self {
        PictureOptions { memory, ..self }
    }

    /// An observer, which gets the number of pictures read, and may end the work.
    #[must_use]
    pub fn observer(self, observer: impl Into<Option<Observer>>) -> Self {
        PictureOptions { observer: observer.into(), ..self }
    }
}

/// Whether the taker of a picture could use its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It was taken.
    Taken,
    /// Its id cannot be used; it counts as a bad picture.
    Refused {
        /// What is wrong.
        reason: String,
    },
}

/// Calls `take` with the fingerprint and the id of each picture in a folder and the folders below
/// it, in the order of the ids. An id is the path below `folder`, with `/` between names.
///
/// A file is a picture by the ending of its name, and its bytes tell the format. Hidden files and
/// links to folders are passed over.
///
/// # Errors
///
/// * [`Error::BadPictures`] when all are read, if some cannot be and
///   [`PictureOptions::skip_bad`] is not set.
/// * [`Error::Io`] if the folder, or one below it, cannot be read.
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
                // A header is read twice, because no decoder can go to another thread. A decoder that
                // fails here fails where the picture is read, too, and is reported there.
                let memory = |path: &PathBuf| guarded(|| memory_of(path)).unwrap_or(0);
                let memory = it.1.as_ref().map_or(0, memory);
                if !feed.push(it, memory) {
                    break;
                }
            }
        };
        let recipe = options.recipe;
        let work = move |it: &'_ (String, Found)| {
            let read =
                it.1.as_ref()
                    .map_err(Clone::clone)
                    .and_then(|path| guarded(|| read_gray(path, recipe.orientation)).flatten());
            read.map(|picture| recipe.hash.fingerprint(&picture))
        };
        let parallel = Parallel::new(options.threads).bytes(options.memory);
        let results = parallel.run_in(scope, produce, move || work);
        for ((id, _), read) in found.iter().zip(results) {
            match read {
                Ok(fingerprint) => match take(fingerprint, id)? {
                    Admission::Taken => summary.picture_count += 1,
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

/// A fault of a decoder must not take the other pictures with it.
fn guarded<T>(decode: impl FnOnce() -> T + UnwindSafe) -> Result<T, String> {
    catch_unwind(decode).map_err(|_| "its decoder failed".into())
}

/// A file that was found: its path, or why it cannot be read.
type Found = Result<PathBuf, String>;

/// Adds the pictures of a folder, which is called `below`.
fn walk(
    folder: &Path,
    below: &str,
    found: &mut Vec<(String, Found)>,
    summary: &mut PictureSummary,
) -> Result<(), Error> {
    let cannot = |source| Error::Io(IoError::of("read", folder)(source));
    for entry in fs::read_dir(folder).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        let kind = entry.file_type().map_err(cannot)?;
        let (path, name) = (entry.path(), entry.file_name());
        let shown = name.to_string_lossy();
        let id = if below.is_empty() { shown.to_string() } else { format!("{below}/{shown}") };
        // A link to a folder may lead back to where it stands; a link to nothing is a file that
        // cannot be opened.
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
                    let reason = format!("pictures in .{it} are not read; make JPEG or PNG of it");
                    found.push((id, Err(reason)));
                }
                it if ENDINGS.contains(&it) => {
                    let is_text = path.to_str().is_some();
                    let path = is_text.then_some(path).ok_or("its path is no UTF-8".to_owned());
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
