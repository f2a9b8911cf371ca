//! A complete confirmation of documents that can be read twice.
//!
//! [`Confirmer`] controls the order of the work: list the documents, find candidates, take the
//! features of the candidates at the second reading, compare. The documents come from the caller,
//! from files, or from the sketches of a store. No features are kept in memory.

use super::candidates::{Candidates, Documents, check_threshold};
use super::clusters::ConfirmedClusters;
use super::confirmed::Confirmed;
use super::ids::DocumentIds;
use crate::base::error::{Error, Result};
use crate::join::grouping::cluster_method::ClusterMethod;
use crate::join::options::JoinOptions;
use crate::store::Store;
use fpstore_base::{Fingerprint, IdRef};

/// Callback for a document: its fingerprint, its id if it has one, and the features or the sketch
/// to compare.
pub(super) type TakeDocument<'a, T> =
    dyn FnMut(Fingerprint, Option<IdRef<'_>>, &T) -> Result<()> + 'a;

/// The kind of result of a [`Confirmer`]: [`InPairs`] or [`InClusters`].
pub trait Goal: stages::Find {}

impl<F: stages::Find> Goal for F {}

mod stages {
    use super::{Candidates, Documents, JoinOptions, Result};

    /// The stages of a confirmation that depend on its goal.
    pub trait Find {
        /// The result.
        type Found;

        /// Finds the documents whose features are needed.
        fn candidates(&self, documents: Documents, options: &JoinOptions) -> Result<Candidates>;

        /// Compares the candidates, whose features have been taken.
        fn find(&self, candidates: Candidates, threshold: f64) -> Result<Self::Found>;
    }
}

/// Finds pairs: the result is [`Confirmed`].
#[derive(Clone, Copy, Debug)]
pub struct InPairs;

impl stages::Find for InPairs {
    type Found = Confirmed;

    fn candidates(&self, documents: Documents, options: &JoinOptions) -> Result<Candidates> {
        documents.candidates(options)
    }

    fn find(&self, candidates: Candidates, threshold: f64) -> Result<Confirmed> {
        candidates.confirm(threshold)
    }
}

/// Finds clusters, by a method: the result is [`ConfirmedClusters`].
#[derive(Clone, Copy, Debug)]
pub struct InClusters(pub ClusterMethod);

impl stages::Find for InClusters {
    type Found = ConfirmedClusters;

    fn candidates(&self, documents: Documents, options: &JoinOptions) -> Result<Candidates> {
        documents.candidates_to_lead(options)
    }

    fn find(&self, candidates: Candidates, threshold: f64) -> Result<ConfirmedClusters> {
        candidates.clusters(threshold, self.0)
    }
}

/// Confirms near pairs of documents, or finds the clusters of these pairs. The documents are read
/// twice.
///
/// Documents are numbered 0, 1, 2 and so on, in the order of the readings. Each takes 68 bytes of
/// memory in addition to the join, 33 more with features, and 40 more for clusters.
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
/// assert_eq!((confirmed.candidate_count(), confirmed.pair_count(false)), (3, 1));
/// # Ok::<(), fpstore::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Confirmer<G = InPairs> {
    threshold: f64,
    options: JoinOptions,
    goal: G,
}

impl Confirmer {
    /// Pairs within the distance of `options` are candidates. Candidates with a Jaccard similarity
    /// of at least `threshold` are confirmed.
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
    /// Clusters take no list of their pairs, so a limit of pairs has no effect on them.
    #[must_use]
    pub fn to<H: Goal>(self, goal: H) -> Confirmer<H> {
        let Confirmer { threshold, options, .. } = self;
        Confirmer { threshold, options, goal }
    }
}

impl<G: Goal> Confirmer<G> {
    /// Confirms the pairs of the documents given by `read`, by their features. `read` is called
    /// twice, or once if there are no candidates, and must give the same documents in the same
    /// order. The features of a document are in ascending order and without repeats.
    ///
    /// # Errors
    ///
    /// * As [`near_pairs`](crate::join::near_pairs); for clusters never [`Error::TooManyPairs`].
    /// * [`Error::TooLarge`] for more than 2^32 - 2 documents.
    /// * [`Error::InvalidOptions`] if the second reading gives other documents.
    /// * Any error that `read` returns.
    pub fn features<E: From<Error>>(
        &self,
        read: impl FnMut(&mut TakeDocument<'_, [u64]>) -> Result<(), E>,
    ) -> Result<G::Found, E> {
        self.confirm(Documents::outlined(self.threshold), Documents::push, Candidates::take, read)
    }

    /// Confirms the pairs of the documents of a store, by their sketches. Similarities are
    /// estimates.
    ///
    /// # Errors
    ///
    /// As [`Confirmer::features`], and [`Error::InvalidOptions`] if the store keeps no sketches.
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
        let (push, take) = (Documents::push_sketch, Candidates::take_sketch);
        self.confirm(Documents::of_sketches(), push, take, |take| {
            store.for_each(|hit| {
                let mut ids = hit.ids();
                while let Some(id) = ids.next() {
                    take(hit.fingerprint(), Some(id?), ids.sketch())?;
                }
                Ok(())
            })
        })
    }

    fn confirm<T: ?Sized, E: From<Error>>(
        &self,
        mut list: Documents,
        push: impl Fn(&mut Documents, Fingerprint, &T),
        take: impl Fn(&mut Candidates, u32, &T) -> Result<()>,
        mut read: impl FnMut(&mut TakeDocument<'_, T>) -> Result<(), E>,
    ) -> Result<G::Found, E> {
        let mut ids = DocumentIds::default();
        let folder = self.options.sort_resources()?.folder;
        read(&mut |fingerprint, id, content| {
            if list.is_empty() && id.is_some() {
                ids = DocumentIds::create(&folder)?;
            }
            push(&mut list, fingerprint, content);
            id.map_or(Ok(()), |id| ids.push(id))
        })?;
        let count = list.len();
        let mut candidates = self.goal.candidates(list, &self.options)?;
        if candidates.pair_count() > 0 {
            let mut seen = 0;
            read(&mut |_, id, content| {
                // There are fewer than 2^32 documents.
                let number = u32::try_from(seen).unwrap_or(u32::MAX);
                seen += 1;
                if !candidates.needs(number) {
                    return Ok(());
                }
                take(&mut candidates, number, content).map_err(|error| match (error, id) {
                    (Error::InvalidOptions { .. }, Some(id)) => was_changed(id.to_string()),
                    (error, _) => error,
                })
            })?;
            if seen != count {
                let reason = "the files were changed while they were read; nothing was written";
                return Err(Error::InvalidOptions { reason: reason.into() }.into());
            }
        }
        candidates.ids = ids;
        Ok(self.goal.find(candidates, self.threshold)?)
    }
}

fn was_changed(id: String) -> Error {
    let reason = format!("{id} was changed while the documents were read; nothing was written");
    Error::InvalidOptions { reason }
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
