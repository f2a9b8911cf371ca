//! `--confirm`: near pairs of documents, confirmed by their features.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use fpstore::join::confirm::{Confirmed, Documents as DocumentList, OUTLINE_LEN, feature_digest};
use fpstore::{Fingerprint, IdRef, Store};
use fpstore_text::{TextRecipe, sketch};

use super::byte_table::ByteTable;
use super::document_reader::Documents;
use super::documents::report;
use super::join_input::{JoinInputArgs, ToConfirm};
use super::monitor::Monitor;
use super::output::counted;
use super::resources::ResourceArgs;

/// Whether near documents are confirmed.
#[derive(Args, Debug)]
pub(super) struct ConfirmArgs {
    /// Keep only near documents whose features have a Jaccard similarity of S or more
    ///
    /// It is exact with --docs, and estimated from the sketches of a store. Without -k the distance
    /// is chosen so that of pairs of similarity S one in a hundred is missed, and fewer of others.
    #[arg(long, value_name = "S", value_parser = similarity)]
    pub(super) confirm: Option<f64>,
}

fn similarity(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(similarity) if similarity > 0.0 && similarity <= 1.0 => Ok(similarity),
        _ => Err("expected a similarity above 0 and at most 1, such as 0.8".into()),
    }
}

/// Documents whose near pairs are confirmed.
pub(super) struct ConfirmedDocuments {
    pub(super) confirmed: Confirmed,
    /// The ids of the documents, by number.
    pub(super) ids: ByteTable,
    /// The distance of the candidates.
    pub(super) k: u32,
    candidate_count: u64,
    threshold: f64,
}

impl ConfirmedDocuments {
    /// Confirms the near pairs of the input of a join.
    pub(super) fn of(
        input: &JoinInputArgs,
        limits: (f64, Option<u32>),
        max_pairs: Option<u64>,
        resources: &ResourceArgs,
        monitor: &Monitor,
        reads_texts: bool,
    ) -> anyhow::Result<Self> {
        match input.to_confirm(resources, reads_texts)? {
            ToConfirm::Documents(documents, files) => {
                ConfirmedDocuments::read(files, &documents, limits, max_pairs, resources, monitor)
            }
            ToConfirm::Store(store) => {
                ConfirmedDocuments::of_store(&store, limits, max_pairs, resources, monitor)
            }
        }
    }

    /// Confirms the near pairs of a store by their sketches.
    fn of_store(
        store: &Store,
        (threshold, k): (f64, Option<u32>),
        max_pairs: Option<u64>,
        resources: &ResourceArgs,
        monitor: &Monitor,
    ) -> anyhow::Result<Self> {
        let k = candidate_k(store, threshold, k)?;
        let mut list = DocumentList::of_sketches();
        let mut ids = ByteTable::create(&resources.temp_dir())?;
        each_sketch(store, |fingerprint, id, sketch| {
            monitor.check()?;
            list.push_sketch(fingerprint, sketch);
            ids.push(id.to_string().as_bytes())
        })?;
        let options = resources.join_options(k, monitor)?.max_pairs(max_pairs);
        let mut candidates = list.candidates(&options)?;
        let candidate_count = candidates.pair_count();
        let mut number = 0;
        each_sketch(store, |_, _, sketch| {
            if candidates.needs(number) {
                candidates.take_sketch(number, sketch)?;
            }
            number += 1;
            Ok(())
        })?;
        let confirmed = candidates.confirm(threshold)?;
        Ok(ConfirmedDocuments { confirmed, ids, k, candidate_count, threshold })
    }

    /// Reads documents twice, and confirms their near pairs.
    pub(super) fn read(
        files: &[PathBuf],
        documents: &Documents,
        (threshold, k): (f64, Option<u32>),
        max_pairs: Option<u64>,
        resources: &ResourceArgs,
        monitor: &Monitor,
    ) -> anyhow::Result<Self> {
        refuse_pipes(files, "--confirm")?;
        documents.check_texts()?;
        let k = k.map_or_else(|| documents.candidate_k(threshold), Ok)?;
        let mut list = DocumentList::outlined(threshold);
        let mut ids = ByteTable::create(&resources.temp_dir())?;
        let summary = documents.read_features(files, monitor, |document| {
            if let Some(fingerprint) = document.fingerprint {
                let (digest, outline) =
                    (feature_digest(document.features), outline(document.features));
                list.push_outlined(fingerprint, digest, outline.as_slice().try_into().ok());
                ids.push(document.id.to_string().as_bytes())?;
            }
            Ok(())
        })?;
        monitor.suspend(|| report(&summary));
        let options = resources.join_options(k, monitor)?.max_pairs(max_pairs);
        let count = list.len();
        let mut candidates = list.candidates(&options)?;
        let candidate_count = candidates.pair_count();
        let mut number = 0;
        if candidate_count > 0 {
            documents.read_features(files, monitor, |document| {
                if document.fingerprint.is_some() {
                    if candidates.needs(number) {
                        let taken = candidates.take(number, document.features);
                        taken.with_context(|| changed(&document.id.to_string()))?;
                    }
                    number += 1;
                }
                Ok(())
            })?;
            if u64::from(number) != count {
                bail!("the files were changed while they were read; nothing was written");
            }
        }
        let confirmed = candidates.confirm(threshold)?;
        Ok(ConfirmedDocuments { confirmed, ids, k, candidate_count, threshold })
    }

    /// Says how many pairs were candidates.
    pub(super) fn report(&self) {
        message!(
            "{} within {} have different features, and were compared; {} or more is confirmed",
            counted(self.candidate_count, "pair", "pairs"),
            counted(self.k.into(), "bit", "bits"),
            self.threshold,
        );
    }
}

/// Features of which the outline is kept; those of fewer are too uneven, and need little space.
const OUTLINED_MIN: usize = 128;

/// The outline of a document by its features, or nothing.
pub(super) fn outline(features: &[u64]) -> Vec<u8> {
    if features.len() < OUTLINED_MIN { Vec::new() } else { sketch(features, OUTLINE_LEN as u8) }
}

/// The distance of candidates in a store with sketches: `k` if it is given, else the one that its
/// recipe needs for the similarity.
pub(super) fn candidate_k(store: &Store, threshold: f64, k: Option<u32>) -> anyhow::Result<u32> {
    if store.sketch_len() == 0 {
        bail!(
            "{} keeps no sketches of its documents; build it with --sketch, or name the documents \
             with --docs",
            store.info().path.display()
        );
    }
    let recipe = store.recipe().and_then(|recipe| TextRecipe::from_recipe(&recipe).ok());
    k.or_else(|| recipe.map(|recipe| recipe.candidate_k(threshold))).context(
        "the recipe of the store is not one for texts; say with -k how near candidates are",
    )
}

/// Calls `each` with each document of a store and its sketch.
fn each_sketch(
    store: &Store,
    mut each: impl FnMut(Fingerprint, IdRef<'_>, &[u8]) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    store.for_each(|hit| {
        let mut ids = hit.ids();
        while let Some(id) = ids.next() {
            each(hit.fingerprint(), id?, ids.sketch())?;
        }
        Ok(())
    })
}

/// Refuses files that can be read only once, for an option that reads documents twice.
pub(super) fn refuse_pipes(files: &[PathBuf], option: &str) -> anyhow::Result<()> {
    let is_pipe = |file: &&PathBuf| {
        *file == Path::new("-") || file.metadata().is_ok_and(|it| !it.is_file() && !it.is_dir())
    };
    match files.iter().find(is_pipe) {
        Some(pipe) => bail!(
            "{option} reads the documents twice, and {} can be read only once; write it to a file \
             first",
            pipe.display()
        ),
        None => Ok(()),
    }
}

fn changed(id: &str) -> String {
    format!("{id} was changed while the documents were read; nothing was written")
}
