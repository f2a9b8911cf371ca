//! `--confirm`: finds pairs of documents whose features have a minimum similarity.

use anyhow::bail;
use clap::Args;
use fpstore::Store;
use fpstore::join::confirm::{Confirmer, Goal};

use super::join_input::{JoinInputArgs, ToConfirm};
use crate::args::documents::report;
use crate::args::resources::ResourceArgs;
use crate::output::text::counted;
use crate::session::choice::distance;
use crate::session::monitor::Monitor;

/// The options that define near-duplicates: a maximum distance of fingerprints, or a minimum
/// similarity of documents.
#[derive(Args, Debug)]
pub(crate) struct NearArgs {
    /// Distance in bits, inclusive [default: from the store or recipe, else 3]
    #[arg(short, long = "distance", value_name = "K", value_parser = distance())]
    pub(crate) k: Option<u32>,
    /// Minimum Jaccard similarity of near-duplicates
    ///
    /// With --docs the similarity is exact, all such pairs are found, and -k is not allowed. With a
    /// store it is estimated from sketches, for documents within -k bits; the default of -k finds
    /// at least 99 % of the pairs.
    #[arg(long, value_name = "S", value_parser = similarity)]
    pub(crate) confirm: Option<f64>,
}

fn similarity(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(similarity) if similarity > 0.0 && similarity <= 1.0 => Ok(similarity),
        _ => Err("expected a similarity above 0 and at most 1, such as 0.8".into()),
    }
}

/// The settings of a confirmation.
pub(crate) struct Confirmation<'a, G> {
    /// The kind of result, such as pairs or clusters.
    pub(crate) goal: G,
    pub(crate) threshold: f64,
    /// The maximum distance of the pairs to confirm, if the user gives one.
    pub(crate) k: Option<u32>,
    pub(crate) max_pairs: Option<u64>,
    pub(crate) resources: &'a ResourceArgs,
    pub(crate) monitor: &'a Monitor,
}

impl<G: Goal + Copy> Confirmation<'_, G> {
    /// Finds the similar pairs in an input. Returns them and, if the input is a store, the maximum
    /// distance of the pairs that were compared. For `reads_texts` see [`JoinInputArgs::open`].
    pub(crate) fn of(
        &self,
        input: &JoinInputArgs,
        reads_texts: bool,
    ) -> anyhow::Result<(G::Found, Option<u32>)> {
        match input.to_confirm(self.resources, reads_texts)? {
            ToConfirm::Documents(documents, files) => {
                documents.check_texts()?;
                if self.k.is_some() {
                    bail!(
                        "with --docs, --confirm compares all features, so a distance has no effect; \
                         leave out -k, or leave out --confirm to compare fingerprints"
                    );
                }
                let reading = documents.source.options().clone().observer(self.monitor.observer());
                let confirmed = fpstore_corpus::confirm_documents::<_, anyhow::Error>(
                    &self.confirmer(0)?,
                    files,
                    documents.hasher()?,
                    &reading,
                    |summary| self.monitor.suspend(|| report(summary)),
                )?;
                Ok((confirmed, None))
            }
            ToConfirm::Store(store) => {
                let k = candidate_k(&store, self.threshold, self.k)?;
                Ok((self.confirmer(k)?.sketches(&store)?, Some(k)))
            }
        }
    }

    fn confirmer(&self, k: u32) -> anyhow::Result<Confirmer<G>> {
        let options = self.resources.join_options(k, self.monitor)?.max_pairs(self.max_pairs);
        Ok(Confirmer::new(self.threshold, options)?.to(self.goal))
    }

    /// Prints how many pairs were compared.
    pub(crate) fn report(&self, count: u64, k: Option<u32>) {
        let pairs = counted(count, "pair", "pairs");
        let within = k.map(|k| format!(" within {}", counted(k.into(), "bit", "bits")));
        message!(
            "compared {pairs}{} with different features; confirmed similarities of {} or more",
            within.unwrap_or_default(),
            self.threshold,
        );
    }
}

/// Like [`fpstore_corpus::candidate_k`], but the error for a store without sketches contains a
/// hint.
pub(crate) fn candidate_k(store: &Store, threshold: f64, k: Option<u32>) -> anyhow::Result<u32> {
    if store.sketch_len() == 0 {
        bail!(
            "{} keeps no sketches of its documents; build it with --sketch, or give the documents \
             with --docs",
            store.info().path.display()
        );
    }
    Ok(fpstore_corpus::candidate_k(store, threshold, k)?)
}
