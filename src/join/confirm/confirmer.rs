//! A complete confirmation: [`Confirmer`] reads the documents, keeps their features or sketches in a
//! temporary file, and compares them.
//!
//! Input: documents, each with its fingerprint and its features or sketch. Output, depending on the
//! goal: the pairs of documents whose similarity is at least the threshold, or clusters of
//! documents. The documents are grouped into [`nodes`](super::nodes). Features are compared by
//! prefix filtering ([`prefixes`](super::prefixes)), sketches only of documents with near
//! fingerprints.

use super::clusters::ConfirmedClusters;
use super::compared::Compared;
use super::confirmed::Confirmed;
use super::features::{FeatureFile, FeatureKind, digest};
use super::ids::DocumentIds;
use super::nodes::{DOCUMENT_LEN, Nodes};
use super::similarity::check_threshold;
use crate::base::error::{Error, Result};
use crate::join::grouping::cluster_method::ClusterMethod;
use crate::join::options::JoinOptions;
use crate::store::Store;
use fpstore_base::watch::Phase;
use fpstore_base::{Fingerprint, IdRef};

/// Bytes of memory for the position of a document in the file of features, and for its node.
const PLACE_LEN: u64 = 8 + 4 + 4;

/// Callback for a document: its fingerprint, its id if it has one, and the features or the sketch
/// to compare.
pub(super) type TakeDocument<'a, T> =
    dyn FnMut(Fingerprint, Option<IdRef<'_>>, &T) -> Result<()> + 'a;

/// The kind of result of a [`Confirmer`]: [`InPairs`] or [`InClusters`].
pub trait Goal: stages::Find {}

impl<F: stages::Find> Goal for F {}

mod stages {
    use super::{Compared, Result};

    /// The last stage of a confirmation: finding the result of a goal.
    pub trait Find {
        /// The type of the result.
        type Found;

        /// Compares the documents and returns the result.
        fn find(&self, compared: Compared) -> Result<Self::Found>;
    }
}

/// The goal to find pairs: the result is [`Confirmed`].
#[derive(Clone, Copy, Debug)]
pub struct InPairs;

impl stages::Find for InPairs {
    type Found = Confirmed;

    fn find(&self, compared: Compared) -> Result<Confirmed> {
        compared.pairs()
    }
}

/// The goal to find clusters with this method: the result is [`ConfirmedClusters`].
#[derive(Clone, Copy, Debug)]
pub struct InClusters(pub ClusterMethod);

impl stages::Find for InClusters {
    type Found = ConfirmedClusters;

    fn find(&self, compared: Compared) -> Result<ConfirmedClusters> {
        compared.clusters(self.0)
    }
}

/// Finds the pairs of similar documents, or clusters of similar documents.
///
/// Documents are numbered 0, 1, 2 and so on, in the order in which they are read. Each document
/// takes 76 bytes of memory in addition to the memory of the options, and 24 more for clusters;
/// each feature takes 8 bytes in a temporary file.
///
/// # Examples
///
/// ```
/// use fpstore::Fingerprint;
/// use fpstore::join::JoinOptions;
/// use fpstore::join::confirm::Confirmer;
///
/// let documents: [(u64, &[u64]); 3] = [(0b1, &[1, 2, 3]), (0b11, &[1, 2, 4]), (0b111, &[8, 9])];
/// let confirmer = Confirmer::new(0.5, JoinOptions::new(3))?;
/// let confirmed = confirmer.features(|take| {
///     documents.iter().try_for_each(|(value, features)| take((*value).into(), None, features))
/// })?;
/// assert_eq!(confirmed.pair_count(false), 1);
/// # Ok::<(), fpstore::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Confirmer<G = InPairs> {
    threshold: f64,
    options: JoinOptions,
    goal: G,
}

impl Confirmer {
    /// A confirmer of pairs with a Jaccard similarity of at least `threshold`. With sketches, it
    /// compares only pairs of documents within the distance of `options`.
    ///
    /// # Errors
    ///
    /// * [`Error::InvalidOptions`] if the threshold is not above 0 and at most 1.
    /// * [`Error::InvalidDistance`] if the distance is above 64.
    pub fn new(threshold: f64, options: JoinOptions) -> Result<Self> {
        check_threshold(threshold)?;
        options.check()?;
        Ok(Confirmer { threshold, options, goal: InPairs })
    }
}

impl<G> Confirmer<G> {
    /// The same confirmation with another goal: pairs, or clusters by a method.
    ///
    /// Clusters are computed without a list of pairs, so a limit of pairs has no effect on them.
    #[must_use]
    pub fn to<H: Goal>(self, goal: H) -> Confirmer<H> {
        let Confirmer { threshold, options, .. } = self;
        Confirmer { threshold, options, goal }
    }
}

impl<G: Goal> Confirmer<G> {
    /// Compares the documents passed by `read` by their features, which must be ascending and
    /// distinct. All similar pairs are found, whatever the distance of their fingerprints.
    ///
    /// # Errors
    ///
    /// * The errors of [`near_pairs`](crate::join::near_pairs); for clusters never
    ///   [`Error::TooManyPairs`].
    /// * [`Error::TooLarge`] for more than 2^32 - 2 documents.
    /// * Any error that `read` returns.
    pub fn features<E: From<Error>>(
        &self,
        read: impl FnOnce(&mut TakeDocument<'_, [u64]>) -> Result<(), E>,
    ) -> Result<G::Found, E> {
        self.confirm(FeatureKind::Sets, |features| bytemuck::cast_slice(features), read)
    }

    /// Compares the documents of a store by their sketches. Similarities are estimates.
    ///
    /// # Errors
    ///
    /// The errors of [`Confirmer::features`], and [`Error::InvalidOptions`] for a store without
    /// sketches.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("news.fps");
    /// use fpstore::join::confirm::{Confirmer, InClusters};
    /// use fpstore::join::{ClusterMethod, JoinOptions};
    /// use fpstore::{BuildOptions, Builder};
    ///
    /// let mut builder = Builder::with_options(&path, BuildOptions::default().sketch_len(32))?;
    /// builder.push_sketched(7.into(), "a.html", &[1; 32])?;
    /// builder.push_sketched(15.into(), "b.html", &[1; 32])?;
    /// let store = builder.finish()?;
    ///
    /// let confirmer = Confirmer::new(0.8, JoinOptions::new(12))?;
    /// let clusters = confirmer.to(InClusters(ClusterMethod::Components)).sketches(&store)?;
    /// clusters.for_each(|cluster| {
    ///     assert_eq!(cluster.size, 2);
    ///     Ok::<(), fpstore::Error>(())
    /// })?;
    /// # Ok(()) }
    /// ```
    pub fn sketches(&self, store: &Store) -> Result<G::Found> {
        check_sketches(store)?;
        let store = &store.pinned();
        self.confirm(
            FeatureKind::Sketches,
            |sketch| sketch,
            |take| {
                store.for_each(|hit| {
                    let mut ids = hit.ids();
                    while let Some(id) = ids.next() {
                        take(hit.fingerprint(), Some(id?), ids.sketch())?;
                    }
                    Ok(())
                })
            },
        )
    }

    fn confirm<T: ?Sized, E: From<Error>>(
        &self,
        kind: FeatureKind,
        bytes_of: impl Fn(&T) -> &[u8],
        read: impl FnOnce(&mut TakeDocument<'_, T>) -> Result<(), E>,
    ) -> Result<G::Found, E> {
        let folder = self.options.sort_resources()?.folder;
        let mut sets = FeatureFile::create(kind, &folder)?;
        let mut ids = DocumentIds::default();
        // For each document: its fingerprint and the digest of its content.
        let mut list: Vec<(u64, u64)> = Vec::new();
        read(&mut |fingerprint, id, content| {
            if list.is_empty() && id.is_some() {
                ids = DocumentIds::create(&folder)?;
            }
            let content = bytes_of(content);
            list.push((fingerprint.value(), digest(content)));
            sets.push(content)?;
            id.map_or(Ok(()), |id| ids.push(id))
        })?;
        let nodes = Nodes::new(&list, &self.options.watch(Phase::Join, None))?;
        sets.group(&nodes)?;
        let options = self.options.reserve(list.len() as u64 * (DOCUMENT_LEN + PLACE_LEN));
        drop(list);
        let compared = Compared { nodes, sets, ids, options, threshold: self.threshold };
        Ok(self.goal.find(compared)?)
    }
}

/// Rejects a store without sketches.
pub(super) fn check_sketches(store: &Store) -> Result<()> {
    if store.sketch_len() > 0 {
        return Ok(());
    }
    let path = store.info().path;
    let reason = format!("{} keeps no sketches of its documents", path.display());
    Err(Error::InvalidOptions { reason })
}
