//! The options for a folder of pictures as input, in place of files of fingerprints.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use fpstore::{Error, Fingerprint, IdRef, Recipe, Store};
use fpstore_images::{
    Admission, Orientation, PictureHash, PictureOptions, PictureRecipe, PictureSummary,
    hash_pictures, read_gray,
};

use crate::args::resources::ResourceArgs;
use crate::output::text::counted;
use crate::session::monitor::Monitor;

/// Options of 'build' and 'add' for pictures as input.
#[derive(Args, Debug)]
pub(crate) struct PictureArgs {
    /// Hash the pictures in a folder; ids are paths below DIR
    ///
    /// Folders below DIR are searched, too. Formats: JPEG, PNG, GIF (the first frame), WebP, BMP
    /// and TIFF. If a picture is unreadable, its name is printed and no record is written;
    /// --skip-bad skips such pictures. Hidden files are skipped.
    #[arg(long, value_name = "DIR", help_heading = "Documents", conflicts_with_all = [
        "docs", "recipe", "fingerprint_field", "radix", "input_format",
        "bits",
    ])]
    images: Option<PathBuf>,
    /// Hash of pictures: phash or dhash, 64 bits each, the same as in Python's imagehash [default:
    /// phash, or as in the store]
    #[arg(
        long,
        value_name = "HASH",
        help_heading = "Documents",
        requires = "images",
        hide_short_help = true
    )]
    image_hash: Option<PictureHash>,
    /// Hash the pixels as stored, like imagehash; the default is to turn pictures by their EXIF
    /// data
    #[arg(long, help_heading = "Documents", requires = "images", hide_short_help = true)]
    ignore_exif: bool,
}

/// A folder of pictures, and the options for hashing the pictures.
pub(crate) struct Pictures {
    folder: PathBuf,
    recipe: PictureRecipe,
    options: PictureOptions,
}

impl PictureArgs {
    /// Whether the input is a folder of pictures.
    pub(crate) fn are_given(&self) -> bool {
        self.images.is_some()
    }

    /// Rejects input files in addition to the folder, and a path that is not a folder. `files` does
    /// not include a store, which was already moved from the arguments to `-s`.
    pub(crate) fn check(&self, files: &[PathBuf]) -> anyhow::Result<()> {
        let Some(folder) = &self.images else { return Ok(()) };
        if let Some(file) = files.first() {
            bail!(
                "--images reads the pictures of one folder, so {} is one input too many; give the \
                 store with -s",
                file.display()
            );
        }
        if !folder.is_dir() {
            bail!("{} is not a folder; --images reads the pictures of a folder", folder.display());
        }
        Ok(())
    }

    /// The recipe and the usual distance of a new store of the pictures, if a folder is given.
    pub(crate) fn of_new(&self) -> Option<(Recipe, u32)> {
        let recipe = self.recipe_beside(None);
        self.images.as_ref().map(|_| (recipe.to_recipe(), recipe.hash.usual_k()))
    }

    /// The recipe that the options define. Parts without an option come from `stored`, the recipe
    /// of an existing store, or for a new store from the defaults.
    fn recipe_beside(&self, stored: Option<PictureRecipe>) -> PictureRecipe {
        let orientation = match (self.ignore_exif, stored) {
            (true, _) => Orientation::Stored,
            (false, Some(stored)) => stored.orientation,
            (false, None) => Orientation::Exif,
        };
        let usual = stored.map_or(PictureHash::PHash, |stored| stored.hash);
        let newest = PictureRecipe::new(self.image_hash.unwrap_or(usual), orientation);
        PictureRecipe { version: stored.map_or(newest.version, |stored| stored.version), ..newest }
    }

    /// The folder of pictures, if the user gives one. `store` is the store to which they are added.
    pub(crate) fn prepare(
        &self,
        store: Option<&Store>,
        skip_bad: bool,
        resources: &ResourceArgs,
        monitor: &Monitor,
    ) -> anyhow::Result<Option<Pictures>> {
        let Some(folder) = &self.images else { return Ok(None) };
        let stored = store.and_then(Store::recipe);
        let stored = stored.as_ref().and_then(PictureRecipe::of_recipe);
        let recipe = self.recipe_beside(stored);
        let mut options = PictureOptions {
            skip_bad,
            threads: resources.threads()?.unwrap_or(0),
            observer: Some(monitor.observer()),
            ..PictureOptions::new(recipe)
        };
        if let Some(memory) = resources.memory {
            options.memory = usize::try_from(memory.as_u64() / 2).unwrap_or(usize::MAX);
        }
        Ok(Some(Pictures { folder: folder.clone(), recipe, options }))
    }
}

impl Pictures {
    /// The recipe by which the pictures are hashed.
    pub(crate) fn recipe(&self) -> Recipe {
        self.recipe.to_recipe()
    }

    /// The usual query distance for this picture hash, in bits.
    pub(crate) fn usual_k(&self) -> u32 {
        self.recipe.hash.usual_k()
    }

    /// Hashes the pictures, passes each fingerprint and id to `push`, and prints the skipped files.
    /// A picture whose id `push` rejects is bad. Returns the number of bad pictures.
    pub(crate) fn push_all(
        &self,
        monitor: &Monitor,
        quiet: bool,
        mut push: impl FnMut(Fingerprint, IdRef<'_>) -> Result<(), Error>,
    ) -> anyhow::Result<u64> {
        let read = hash_pictures(&self.folder, &self.options, |fingerprint, id| {
            match push(fingerprint, id.into()) {
                Ok(()) => Ok(Admission::Taken),
                Err(Error::InvalidId { reason }) => {
                    Ok(Admission::Refused { reason: format!("bad id: {reason}") })
                }
                Err(error) => Err(anyhow::Error::from(error)),
            }
        });
        match read {
            Ok(summary) => {
                monitor.suspend(|| report(&summary, quiet));
                Ok(summary.bad_count)
            }
            Err(error) => match error.downcast::<fpstore_images::Error>() {
                Ok(fpstore_images::Error::Interrupted) => Err(Error::Interrupted.into()),
                Ok(fpstore_images::Error::BadPictures(summary)) => {
                    monitor.suspend(|| name_bad(&summary));
                    let all =
                        counted(summary.picture_count + summary.bad_count, "picture", "pictures");
                    bail!(
                        "{} of {all} cannot be read, so nothing was written; to skip and count \
                         such pictures, use --skip-bad",
                        summary.bad_count
                    )
                }
                Ok(error) => Err(error.into()),
                Err(error) => Err(error),
            },
        }
    }
}

/// Prints the bad pictures and the skipped files.
fn report(summary: &PictureSummary, quiet: bool) {
    name_bad(summary);
    if summary.bad_count > 0 {
        message!("{} left out", counted(summary.bad_count, "bad picture", "bad pictures"));
    }
    if quiet {
        return;
    }
    if summary.one_colour_count > 0 {
        message!(
            "{} one colour, transparency ignored: they match each other",
            counted(summary.one_colour_count, "picture has", "pictures have")
        );
    }
    if summary.other_count > 0 {
        let files = counted(summary.other_count, "file", "files");
        message!("skipped {files} with other extensions");
    }
    if summary.passed_over_count > 0 {
        let files = counted(summary.passed_over_count, "file", "files");
        message!("skipped {files}: hidden, or links to folders or devices");
    }
}

fn name_bad(summary: &PictureSummary) {
    for bad in &summary.bad {
        message!("{bad}");
    }
    if summary.bad_count > summary.bad.len() as u64 {
        message!("...");
    }
}

/// The fingerprint of the picture in `file`, computed by the recipe of the store.
pub(crate) fn fingerprint_of(store: &Store, file: &Path) -> anyhow::Result<Fingerprint> {
    let recipe = store.recipe().context("the store is empty and has no recipe")?;
    let Some(recipe) = PictureRecipe::of_recipe(&recipe) else {
        bail!(
            "the store was not made by --images, so the hash of its pictures is unknown; search \
             for a fingerprint"
        );
    };
    let picture = read_gray(file, recipe.orientation)
        .map_err(|reason| anyhow::anyhow!("{}: {reason}", file.display()))?;
    Ok(recipe.fingerprint(&picture))
}
