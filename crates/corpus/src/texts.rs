//! Confirmation of similar texts: the candidate distance of a recipe, and the confirmation of
//! documents in files.
//!
//! This is the part of the confirmation that depends on the crate `fpstore-text`.

use std::path::PathBuf;

use fpstore_documents::{Admission, DocumentOptions, DocumentSummary, read_features};
use fpstore_text::{TextHasher, TextRecipe};

use fpstore::join::confirm::{Confirmer, Goal};
use fpstore::{Error, Result, Store};

/// The candidate distance for the documents of a store with sketches: `k` if it is given, else the
/// distance that the recipe of the store needs for the similarity `threshold`.
///
/// # Errors
///
/// [`Error::InvalidOptions`] if the store has no sketches, or if `k` is not given and the
/// fingerprints were not computed from texts.
pub fn candidate_k(store: &Store, threshold: f64, k: Option<u32>) -> Result<u32> {
    if store.sketch_len() == 0 {
        let path = store.info().path;
        let reason = format!("{} keeps no sketches of its documents", path.display());
        return Err(Error::InvalidOptions { reason });
    }
    let recipe = store.recipe().and_then(|recipe| TextRecipe::from_recipe(&recipe).ok());
    let chosen = k.or_else(|| recipe.map(|recipe| recipe.candidate_k(threshold)));
    chosen.ok_or_else(|| {
        let reason = "the recipe of the store is not for texts; set the distance of candidates \
                      with -k";
        Error::InvalidOptions { reason: reason.into() }
    })
}

/// Confirms similar documents in files by their features. Calls `told` with the summary of the
/// reading when all files are read.
///
/// # Errors
///
/// The same as [`Confirmer::features`] and [`read_features`].
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("docs.txt");
/// use fpstore_corpus::confirm_documents;
/// use fpstore::join::{JoinOptions, confirm::Confirmer};
/// use fpstore_documents::{DocumentFormat, DocumentOptions};
/// use fpstore_text::{TextHasher, TextRecipe};
///
/// std::fs::write(&path, "one two three four five\nsix\none two three four five six\n")?;
/// let recipe = TextRecipe::default();
/// let options = JoinOptions::new(0);
/// let reading = DocumentOptions::default().format(DocumentFormat::Lines);
/// let confirmed = confirm_documents::<_, Box<dyn std::error::Error>>(
///     &Confirmer::new(0.5, options)?,
///     &[path],
///     &TextHasher::new(&recipe)?,
///     &reading,
///     |summary| assert_eq!(summary.document_count, 3),
/// )?;
/// confirmed.for_each_pair(false, |pair| {
///     let ids = [confirmed.id(pair.first)?, confirmed.id(pair.second)?];
///     println!("{ids:?} {}", pair.similarity);
///     Ok::<(), fpstore::Error>(())
/// })?;
/// # Ok(()) }
/// ```
pub fn confirm_documents<G: Goal, E: From<Error> + From<fpstore_documents::Error>>(
    confirmer: &Confirmer<G>,
    files: &[PathBuf],
    hasher: &TextHasher,
    reading: &DocumentOptions,
    told: impl FnOnce(&DocumentSummary),
) -> Result<G::Found, E> {
    confirmer.features(|take| {
        let summary = read_features::<E>(files, hasher, reading, |document| {
            if let Some(fingerprint) = document.fingerprint {
                take(fingerprint, Some(document.id), document.features)?;
            }
            Ok(Admission::Taken)
        })?;
        told(&summary);
        Ok(())
    })
}
