//! Where the documents that are kept go.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use fpstore_base::source::Compression;
use fpstore_documents::{DocumentFile, DocumentFormat, Error as TextError};

use super::error::{Error, Result};
use super::originals::Originals;
use super::output_name::{check_file_name, check_folder_name, check_is_file, check_list_name};
use super::passage_fate::PassageFate;
use super::spool::Spools;
use crate::base::steps::step;
use crate::disk::{self, parent_of};

/// The name of the list of the files that are kept, where files are documents.
const KEPT_FILES: &str = "kept-files.txt";

/// The output of each file.
#[derive(Debug)]
pub(super) struct Targets {
    /// The folder of the output, or the file.
    output: PathBuf,
    is_folder: bool,
    /// For each file the copy that is made of it; `None` if it is one document.
    copies: Vec<Option<PathBuf>>,
    /// The list of the files that are kept, if there are files that are one document.
    pub(super) kept_files: Option<PathBuf>,
}

impl Targets {
    pub(super) fn new(originals: &Originals<'_>, output: &Path) -> Result<Self> {
        let files: Vec<DocumentFile<'_>> = originals.each_file().collect();
        let Originals { paths, options, .. } = *originals;
        check_is_file(output)?;
        let is_marked = !originals.new_fields.is_empty();
        let annotates = originals.passages == Some(PassageFate::Annotate);
        let is_whole = |file: &DocumentFile<'_>| file.format().is_one_document() && !annotates;
        for file in &files {
            let is_cut = originals.passages == Some(PassageFate::Cut);
            if is_marked || is_cut || !is_whole(file) {
                let checked = match originals.passages {
                    Some(PassageFate::Annotate) => Ok(()),
                    Some(PassageFate::Cut) => {
                        file.check_cut_format(options)?;
                        file.check_cut(options)
                    }
                    _ => {
                        file.check_copy_format(is_marked)?;
                        file.check_copy(options, is_marked)
                    }
                };
                match checked {
                    // It is reported when it is read or copied.
                    Err(error) if file.is_left_out(options, &error) => {}
                    checked => checked?,
                }
            }
        }
        let copied = files.iter().filter(|file| !is_whole(file)).count();
        let has_whole = copied < files.len();
        let ends_in_slash = output.as_os_str().as_encoded_bytes().ends_with(b"/");
        let one_file = paths.len() == 1 && !paths[0].is_dir() || copied == 0 && !files.is_empty();
        let is_folder = ends_in_slash || output.is_dir() || !one_file;
        let root = match is_folder {
            true => {
                if !ends_in_slash && !output.is_dir() {
                    check_folder_name(output)?;
                }
                common_folder(paths)?
            }
            false => PathBuf::new(),
        };
        let mut copies = Vec::new();
        for file in &files {
            copies.push(match is_whole(file) {
                true => None,
                false if !is_folder => {
                    check_file_name(output, file, annotates)?;
                    Some(output.to_path_buf())
                }
                false => {
                    let path = absolute(file.path())?;
                    let below = path.strip_prefix(&root).unwrap_or(&path);
                    let mut copy = output.join(below).into_os_string();
                    if annotates && file.format() != DocumentFormat::JsonLines {
                        copy.push(".jsonl");
                    }
                    Some(copy.into())
                }
            });
        }
        let kept_files = has_whole.then(|| match is_folder {
            true => output.join(KEPT_FILES),
            false => output.to_path_buf(),
        });
        if has_whole && !is_folder {
            check_list_name(output)?;
        }
        let targets = Targets { output: output.into(), is_folder, copies, kept_files };
        targets.check_places(paths, &files)?;
        Ok(targets)
    }

    /// The copy that is made of a file.
    pub(super) fn copy_of(&self, number: usize) -> Option<&Path> {
        self.copies.get(number)?.as_deref()
    }

    /// How the copy of a file is compressed: as its own name says, where the user named it; in a
    /// folder it has the name of the file, and is compressed as that is.
    pub(super) fn compression_of(&self, file: &DocumentFile<'_>) -> Result<Option<Compression>> {
        match (file.format().is_compressed_inside(), self.is_folder) {
            (true, _) => Ok(None),
            (false, true) => Ok(Compression::of_file(file.path()).map_err(TextError::from)?),
            (false, false) => Ok(Compression::of(&self.output)),
        }
    }

    /// The folder of the job: in the folder of the output, or beside the file.
    pub(super) fn job_folder(&self) -> PathBuf {
        const NAME: &str = ".fpstore-dedup";
        match (self.is_folder, self.output.file_name()) {
            (false, Some(name)) => {
                let name = format!("{NAME}-{}", name.to_string_lossy());
                self.output.with_file_name(name)
            }
            _ => self.output.join(NAME),
        }
    }

    /// The number of outputs, without the copies of files that are left out.
    pub(super) fn count_without(&self, spools: &Spools) -> u64 {
        let copies = (0..)
            .zip(&self.copies)
            .filter(|(file, copy)| copy.is_some() && !spools.leaves_out(*file));
        copies.count() as u64 + u64::from(self.kept_files.is_some())
    }

    /// Syncs the folders that hold outputs, with those between them and the folder of the output.
    pub(super) fn sync_folders(&self) -> Result<()> {
        let mut folders = BTreeSet::from([parent_of(&self.output).to_path_buf()]);
        // An output of a file that is left out is not there, nor need its folder be.
        for output in self.all().filter(|output| fs::symlink_metadata(output).is_ok()) {
            let above = output.ancestors().skip(1);
            let inside = above.take_while(|folder| folder.starts_with(&self.output));
            folders.extend(inside.map(Path::to_path_buf));
        }
        Ok(folders.iter().try_for_each(|folder| disk::sync_directory(folder))?)
    }

    /// The folder of the output, or the file.
    pub(super) fn output(&self) -> &Path {
        &self.output
    }

    /// All outputs.
    pub(super) fn all(&self) -> impl Iterator<Item = &PathBuf> {
        self.copies.iter().flatten().chain(&self.kept_files)
    }

    /// Refuses an output that would overwrite an input, or be read as one the next time, and two
    /// copies of one name.
    fn check_places(&self, paths: &[PathBuf], files: &[DocumentFile<'_>]) -> Result<()> {
        let mut seen = HashMap::new();
        for (copy, file) in self.copies.iter().zip(files) {
            let Some(copy) = copy else { continue };
            if let Some(other) = seen.insert(copy, file.name()) {
                let reason = format!("{} and {other} are the same file; name it once", file.name());
                return Err(Error::refused(reason));
            }
        }
        // An output that is not there overwrites nothing.
        let places = files.iter().filter_map(|file| Some((place_of(file.path())?, file)));
        let inputs: HashMap<PathBuf, &DocumentFile<'_>> = places.collect();
        for target in self.all() {
            let overwritten = place_of(target).and_then(|place| inputs.get(&place));
            if let Some(file) = overwritten {
                return Err(Error::refused(format!(
                    "{} would be overwritten by the documents that are kept of it; name another \
                     output",
                    file.name()
                )));
            }
        }
        let output = absolute(&self.output)?;
        for folder in paths.iter().filter(|path| path.is_dir()) {
            let whole = folder.canonicalize().map_err(crate::Error::io("inspect", folder))?;
            if output.starts_with(whole) {
                return Err(Error::refused(format!(
                    "{} lies in {}, whose files are read; name an output outside of it",
                    self.output.display(),
                    folder.display()
                )));
            }
        }
        Ok(())
    }

    /// Refuses to replace files; `adds` is as in [`Error::Exists`].
    pub(super) fn check_free(&self, adds: bool) -> Result<()> {
        match self.all().find(|path| fs::symlink_metadata(path).is_ok()) {
            Some(path) => Err(Error::Exists { path: path.clone(), adds }),
            None => Ok(()),
        }
    }
}

/// The file without links in its path, if it is there.
fn place_of(path: &Path) -> Option<PathBuf> {
    step();
    path.canonicalize().ok()
}

/// The deepest folder that holds all files and folders that were given.
fn common_folder(paths: &[PathBuf]) -> Result<PathBuf> {
    let mut common: Option<PathBuf> = None;
    for path in paths {
        let path = absolute(path)?;
        let folder = match path.is_dir() {
            true => path,
            false => path.parent().unwrap_or(Path::new("/")).to_path_buf(),
        };
        common = Some(match common {
            None => folder,
            Some(common) => {
                let parts = common.components().zip(folder.components());
                let same = parts.take_while(|(one, other)| one == other);
                same.map(|(part, _)| part).collect()
            }
        });
    }
    Ok(common.unwrap_or_default())
}

/// The path from the root, without links in its folders; the last name may be that of a link, or of
/// nothing.
fn absolute(path: &Path) -> Result<PathBuf> {
    let whole = || -> io::Result<PathBuf> {
        let path = std::path::absolute(path)?;
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return path.canonicalize();
        };
        if path.components().next_back() == Some(Component::ParentDir) || path.is_dir() {
            return path.canonicalize();
        }
        match parent.canonicalize() {
            Ok(parent) => Ok(parent.join(name)),
            Err(_) => Ok(path),
        }
    };
    Ok(whole().map_err(crate::Error::io("inspect", path))?)
}
