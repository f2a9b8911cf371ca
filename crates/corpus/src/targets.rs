//! The paths of the outputs.

use fpstore_base::IoError;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use fpstore_base::read_inputs::{self, Identity, NamedOutput, place_of};
use fpstore_base::source::Compression;
use fpstore_documents::{
    DocumentFile, DocumentFiles, DocumentFormat, DocumentOptions, Error as TextError, NewField,
};

use super::copied::OutputPath;
use super::error::{Error, Result};
use super::output_name::{check_file_name, check_folder_name, check_is_file, check_list_name};
use super::passage_fate::PassageFate;
use super::spool::Spools;
use crate::steps::step;
use fpstore::writer::check_output;
use fpstore_disk::{self as disk, parent_of};

/// The name of the list of kept files, which is written for files that are a single document.
const KEPT_FILES: &str = "kept-files.txt";

/// The paths of the outputs: a copy of each input file, and a list of kept files.
#[derive(Debug)]
pub(super) struct Targets {
    /// The output named by the user: a folder or a file.
    output: PathBuf,
    is_folder: bool,
    /// The path of the copy of each input file; `None` for a file that is a single document.
    copies: Vec<Option<PathBuf>>,
    /// The list of kept files, if some files are single documents.
    kept_files: Option<PathBuf>,
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
                    // Skipped: the error is reported when the file is read or copied.
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

    /// The path of the copy of a file; `None` if the file is a single document.
    pub(super) fn copy_of(&self, number: usize) -> Option<OutputPath<'_>> {
        self.copies.get(number)?.as_deref().map(|path| self.below(path))
    }

    /// The path of the list of kept files, if some files are single documents.
    pub(super) fn kept_files(&self) -> Option<OutputPath<'_>> {
        self.kept_files.as_deref().map(|path| self.below(path))
    }

    fn below<'a>(&'a self, path: &'a Path) -> OutputPath<'a> {
        let root = if self.is_folder { &self.output } else { parent_of(path) };
        OutputPath { root, path }
    }

    /// The compression of the copy of a file. If the user named the copy, its extension decides; a
    /// copy in a folder has the name and the compression of its input file.
    pub(super) fn compression_of(&self, file: &DocumentFile<'_>) -> Result<Option<Compression>> {
        match (file.format().is_compressed_inside(), self.is_folder) {
            (true, _) => Ok(None),
            (false, true) => Ok(Compression::of_file(file.path()).map_err(TextError::from)?),
            (false, false) => Ok(Compression::of(&self.output)),
        }
    }

    /// The folder of the job: in the folder of the output, or next to the output file.
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

    /// The number of outputs, copies of skipped files not counted.
    pub(super) fn count_without(&self, spools: &Spools) -> u64 {
        let copies = (0..)
            .zip(&self.copies)
            .filter(|(file, copy)| copy.is_some() && !spools.leaves_out(*file));
        copies.count() as u64 + u64::from(self.kept_files.is_some())
    }

    /// Syncs the folders that contain outputs, the folders above them up to the output folder, and
    /// the folder that contains the output folder.
    pub(super) fn sync_folders(&self) -> Result<()> {
        // The output of a skipped file does not exist, and its folder may be missing.
        let written = self.all().filter(|output| fs::symlink_metadata(output).is_ok());
        let mut folders = self.folders_of(written);
        folders.insert(parent_of(&self.output).to_path_buf());
        Ok(folders.iter().try_for_each(|folder| disk::sync_directory(folder))?)
    }

    /// The folders that contain the given outputs, and the folders above up to the output folder.
    fn folders_of<'a>(&self, outputs: impl Iterator<Item = &'a PathBuf>) -> BTreeSet<PathBuf> {
        let above = outputs.flat_map(|output| {
            let above = output.ancestors().skip(1);
            above.take_while(|folder| folder.starts_with(&self.output))
        });
        above.map(Path::to_path_buf).collect()
    }

    /// The output named by the user: a folder or a file.
    pub(super) fn output(&self) -> &Path {
        &self.output
    }

    /// The paths of all outputs.
    pub(super) fn all(&self) -> impl Iterator<Item = &PathBuf> {
        self.copies.iter().flatten().chain(&self.kept_files)
    }

    /// The first output that does not exist, if there is one.
    pub(super) fn missing(&self) -> Option<&PathBuf> {
        self.all().find(|path| fs::symlink_metadata(path).is_err())
    }

    /// Refuses outputs that would overwrite an input, or that the next run would read as an input,
    /// and two copies with the same name.
    fn check_places(&self, paths: &[PathBuf], files: &[DocumentFile<'_>]) -> Result<()> {
        let mut seen = HashMap::new();
        for (copy, file) in self.copies.iter().zip(files) {
            let Some(copy) = copy else { continue };
            if let Some(other) = seen.insert(copy, file.name()) {
                let reason = format!("{} and {other} are the same file; name it once", file.name());
                return Err(Error::refused(reason));
            }
        }
        // Only existing files have an identity: an output that does not exist overwrites nothing.
        let places = files.iter().filter_map(|file| Some((identity_of(file.path())?, file)));
        let inputs: HashMap<Identity, &DocumentFile<'_>> = places.collect();
        for target in self.all() {
            let overwritten = identity_of(target).and_then(|identity| inputs.get(&identity));
            if let Some(file) = overwritten {
                return Err(Error::refused(format!(
                    "{} would be overwritten by its kept documents; name another output",
                    file.name()
                )));
            }
        }
        let output = absolute(&self.output)?;
        for folder in paths.iter().filter(|path| path.is_dir()) {
            let whole = folder.canonicalize().map_err(IoError::of("inspect", folder))?;
            if output.starts_with(whole) {
                return Err(Error::refused(format!(
                    "{} lies in {}, whose files are read; name an output outside of it",
                    self.output.display(),
                    folder.display()
                )));
            }
        }
        self.check_named(files)
    }

    /// Refuses outputs at paths that other options name or the program itself uses, and symbolic
    /// links between the output folder and the outputs.
    fn check_named(&self, files: &[DocumentFile<'_>]) -> Result<()> {
        let output = place_of(&self.output);
        let named = read_inputs::named_outputs();
        let named: Vec<&NamedOutput> =
            named.iter().filter(|it| !it.places.contains(&output)).collect();
        let job = place_of(&self.job_folder());
        if let Some(it) = named.iter().find(|it| it.places.iter().any(|at| at.starts_with(&job))) {
            return Err(Error::refused(format!(
                "{} names {}, which lies in {}, the folder for the progress of this work; name \
                 another file",
                it.option,
                it.path.display(),
                self.job_folder().display()
            )));
        }
        let mut places = HashMap::new();
        for named in &named {
            places.extend(named.places.iter().map(|place| (place.as_path(), *named)));
        }
        let identities: HashMap<Identity, &NamedOutput> =
            named.iter().filter_map(|it| Some((it.identity?, *it))).collect();
        let mut folders: HashMap<&Path, PathBuf> = HashMap::new();
        for (number, target) in
            self.copies.iter().enumerate().chain([(usize::MAX, &self.kept_files)])
        {
            let Some(target) = target else { continue };
            let folder = match folders.entry(parent_of(target)) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => {
                    check_output(target)?;
                    new.insert(parent_of(&place_of(target)).to_path_buf())
                }
            };
            let place = folder.join(target.file_name().unwrap_or_default());
            let mut same = place.ancestors().filter_map(|place| places.get(place));
            let same = same.next().or_else(|| identities.get(&identity_of(target)?));
            if let Some(same) = same {
                let of = files.get(number).map(|file| format!("the copy of {}", file.name()));
                return Err(Error::refused(format!(
                    "{} and {} would both be written to {}; name another file",
                    same.option,
                    of.as_deref().unwrap_or("the list of the kept files"),
                    target.display()
                )));
            }
            if let Some(fault) = read_inputs::fault_of_output(target).filter(|_| target.exists()) {
                return Err(Error::refused(format!("{} {fault}", target.display())));
            }
        }
        let mut between = self.folders_of(self.all());
        between.remove(&self.output);
        match between.iter().find(|folder| folder.is_symlink()) {
            Some(link) => Err(Error::refused(format!(
                "{} is a symbolic link, and nothing is written through it; remove it, or name another \
                 output",
                link.display()
            ))),
            None => Ok(()),
        }
    }

    /// Refuses existing outputs; `adds` is the field of this name in [`Error::Exists`].
    pub(super) fn check_free(&self, adds: bool) -> Result<()> {
        match self.all().find(|path| fs::symlink_metadata(path).is_ok()) {
            Some(path) => Err(Error::Exists { path: path.clone(), adds }),
            None => Ok(()),
        }
    }
}

/// The identity of a file, if it exists.
fn identity_of(path: &Path) -> Option<Identity> {
    step();
    read_inputs::plain_identity(path)
}

/// The deepest folder that contains all given files and folders.
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

/// The absolute path, with links in its folders resolved; the last name may be a link, or may not
/// exist.
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
    Ok(whole().map_err(IoError::of("inspect", path))?)
}

/// The files to copy, and the options for reading them.
#[derive(Clone, Copy)]
pub(super) struct Originals<'a> {
    pub(super) files: &'a DocumentFiles,
    pub(super) options: &'a DocumentOptions,
    /// The files and folders named by the user.
    pub(super) paths: &'a [PathBuf],
    /// The fields added to documents in their copies.
    pub(super) new_fields: &'a [NewField],
    /// The fate of removed passages.
    pub(super) passages: Option<PassageFate>,
}

impl<'a> Originals<'a> {
    /// The input files, in order.
    pub(super) fn each_file(&self) -> impl Iterator<Item = DocumentFile<'a>> + use<'a> {
        let Originals { files, options, .. } = *self;
        (0..files.len()).filter_map(move |number| files.get(number, options))
    }
}
