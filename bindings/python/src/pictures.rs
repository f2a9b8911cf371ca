//! The function `images`: fingerprints of the pictures in a folder.

use std::path::PathBuf;

use fpstore::{Error, IdKind, IdRef};
use fpstore_images::{
    Admission, Orientation, PictureHash, PictureOptions, PictureRecipe, hash_pictures,
};
use pyo3::prelude::*;

use crate::answer_columns::IdColumn;
use crate::columns::{RowsBuilder, U64};
use crate::errors::{Failure, chained, input_error};
use crate::input::arguments::{path, text};
use crate::input::whole::{Bytes, Whole};
use crate::options::Limits;
use crate::rows::Rows;
use crate::work::{Reporter, run};

impl From<fpstore_images::Error> for Failure {
    fn from(error: fpstore_images::Error) -> Self {
        match error {
            fpstore_images::Error::Interrupted => Error::Interrupted.into(),
            fpstore_images::Error::Io(error) => Error::Io(error).into(),
            error => Failure::Input(format!("{}; skip_bad=True skips them", chained(&error))),
        }
    }
}

/// The fingerprints of the pictures in a folder and its subfolders, equal to those of the program
/// `fpstore`. Formats: JPEG, PNG, GIF (the first frame), WebP, BMP and TIFF.
///
/// Parameters
/// ----------
/// path : path
/// hash : str, default "phash"
///     `"phash"` or `"dhash"`, 64 bits each, as in the package imagehash.
/// ignore_exif : bool, default False
///     Whether the pixels are hashed in the stored orientation, like imagehash does; by default
///     pictures are rotated according to their EXIF data.
/// skip_bad : bool, default False
///     Whether unreadable pictures are skipped; otherwise they are errors.
#[doc = parameters!(threads memory progress)]
///
/// Returns
/// -------
/// Rows
///     Rows of `fingerprint` and `id` (the path relative to the folder), which `build`,
///     `Builder.add` and `Writer.add` accept.
///
/// Examples
/// --------
/// >>> from PIL import Image
/// >>> (folder / "pictures").mkdir()
/// >>> Image.radial_gradient("L").save(folder / "pictures" / "a.png")
/// >>> Image.radial_gradient("L").save(folder / "pictures" / "b.bmp")
/// >>> found = fpstore.images(folder / "pictures")
/// >>> fpstore.build(folder / "pictures.fps", found).pairs(ids=True).read_all()["first_id"]
/// array(['a.png'], dtype=object)
#[pyfunction]
#[pyo3(signature = (
    path, *, hash="phash", ignore_exif=false, skip_bad=false, threads=None, memory=None,
    progress=None
))]
pub(crate) fn images(
    py: Python<'_>,
    #[pyo3(from_py_with = path)] path: PathBuf,
    #[pyo3(from_py_with = text)] hash: &str,
    ignore_exif: bool,
    skip_bad: bool,
    threads: Option<Whole>,
    memory: Option<Bytes>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Rows> {
    let Some(hash) = PictureHash::ALL.into_iter().find(|it| it.name() == hash) else {
        return Err(input_error(py, format!("hash is '{hash}', expected 'phash' or 'dhash'")));
    };
    let orientation = if ignore_exif { Orientation::Stored } else { Orientation::Exif };
    let recipe = PictureRecipe::new(hash, orientation);
    let limits = Limits::new(py, threads, memory, None)?;
    let reporter = Reporter::new(progress)?;
    run(py, &reporter, |shared| {
        let resources = limits.given(shared);
        let mut options = PictureOptions::new(recipe);
        options.skip_bad = skip_bad;
        options.threads = limits.threads();
        options.observer = resources.observer;
        if let Some(memory) = resources.memory {
            options.memory = usize::try_from(memory).unwrap_or(usize::MAX);
        }
        let columns = (U64::default(), IdColumn::new(IdKind::Text));
        let mut rows = RowsBuilder::new(["fingerprint", "id"], columns);
        hash_pictures(&path, &options, |fingerprint, id| -> Result<_, Failure> {
            if let Some(fault) = IdRef::fault_of_text(id) {
                return Ok(Admission::Refused { reason: format!("bad id: {fault}") });
            }
            rows.keep((fingerprint.value(), Some(IdRef::Text(id))))?;
            Ok(Admission::Taken)
        })?;
        rows.made_by(Some(recipe.to_recipe())).finish()
    })
}
