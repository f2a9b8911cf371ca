//! Clusters: documents that are near-duplicates of one another.

use std::cmp::Reverse;
use std::sync::Arc;

use super::components::{Components, Positions};
use super::graph::Near;
use super::members::{Cluster, ClusterMember, by_connection, cluster_of};
use super::options::JoinOptions;
use super::run::Join;
use super::source::Source;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::id::IdRef;
use crate::search::Searcher;
use crate::sort::Resources;
use crate::store::Store;
use crate::watch::{Phase, Watch};

/// Bytes for each fingerprint: itself, the name of its set, and its place among the members.
const NODE_LEN: u64 = 8 + 4 + 12;

/// What a cluster is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClusterMethod {
    /// Connected components: each member is near some other one. Chains can make ends that are far apart.
    #[default]
    Components,
    /// Stars: each member is near the representative. In each component the most connected document becomes
    /// the first representative and takes all that are near it; then the most connected of those that are left
    /// over, and so on.
    ///
    /// # Source
    ///
    /// Aslam, Pelekhov and Rus, "The Star Clustering Algorithm for Static and Dynamic Information
    /// Organization", JGAA 8 (2004): the off-line algorithm.
    Star,
    /// Leaders: in the order of smallest ids, each document that is near no leader becomes one; the others
    /// belong to the first leader that they are near. It is what one gets who drops each document that is near an
    /// earlier one that was kept.
    Leader,
}

/// The clusters of a store.
#[derive(Debug)]
pub struct Clusters {
    store: Store,
    k: u32,
    method: ClusterMethod,
    values: Arc<Vec<u64>>,
    /// Components: name and position.
    members: Vec<(u32, u32)>,
    /// The numbers of the clusters in their order, where they are not 1, 2, 3 ...
    numbers: Option<Vec<u64>>,
    watch: Watch,
}

/// Finds the clusters of two or more documents in a store: what is within `options.k` bits belongs together, by
/// `method`.
///
/// Documents that share a fingerprint cost no more than one. Takes 24 bytes of memory for each fingerprint, and while
/// it looks for pairs what the join takes beside that.
///
/// # Errors
///
/// * As [`near_pairs`](crate::near_pairs).
/// * [`Error::InvalidOptions`] if the memory is not enough, or a share is asked for.
/// * [`Error::TooLarge`] if there are more than 2^32 - 2 fingerprints.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let mut builder = fpstore::Builder::new(folder.path().join("news.fps"))?;
/// for (fingerprint, id) in [(0b0, "a"), (0b111, "b"), (0b11111, "c"), (u64::MAX, "d")] {
///     builder.push(fingerprint.into(), id)?;
/// }
/// let store = builder.finish()?;
///
/// use fpstore::{ClusterMethod, JoinOptions, clusters};
/// let found = clusters(&store, &JoinOptions::new(3), ClusterMethod::Star)?;
/// found.for_each(|cluster| {
///     assert_eq!(cluster.representative().ids[0].to_string(), "b");
///     assert_eq!((cluster.size, cluster.diameter), (3, 5));
///     Ok::<(), fpstore::Error>(())
/// })?;
/// # Ok(()) }
/// ```
pub fn clusters(store: &Store, options: &JoinOptions, method: ClusterMethod) -> Result<Clusters> {
    options.check()?;
    if options.share.count > 1 {
        let reason = "clusters need all pairs, not a share of them".into();
        return Err(Error::InvalidOptions { reason });
    }
    let store = &store.pinned();
    let room = Room::of(store, options)?;
    let (values, copied) = read(store, options)?;
    Clusters::among(store, options, method, room, values, copied)
}

/// What is left of the memory beside what clusters take.
pub(super) struct Room(Resources);

impl Room {
    pub(super) fn of(store: &Store, options: &JoinOptions) -> Result<Self> {
        let mut resources = options.resources()?;
        let count = store.info().fingerprint_count();
        if count >= u64::from(u32::MAX) {
            let reason = format!("{count} fingerprints, clusters are found among 2^32 - 2 at most");
            return Err(Error::TooLarge { reason });
        }
        let held = count * NODE_LEN;
        if held > resources.memory {
            let reason = format!(
                "{count} fingerprints take {} MiB of memory beside the join, there are {} MiB",
                held >> 20,
                resources.memory >> 20
            );
            return Err(Error::InvalidOptions { reason });
        }
        // The join itself counts the values.
        resources.memory -= held - 8 * count;
        Ok(Room(resources))
    }
}

/// All values in order, and the positions of those with more than one id.
pub(super) fn read(store: &Store, options: &JoinOptions) -> Result<(Arc<Vec<u64>>, Vec<u32>)> {
    let mut values = Vec::new();
    let mut copied = Vec::new();
    let watch = options.watch(Phase::Read, Some(store.info().fingerprint_count()));
    if store.info().id_count() == 0 {
        store.for_each_run(|run| {
            values.extend_from_slice(run);
            watch.tick(run.len() as u64)
        })?;
        if !values.is_sorted() {
            values.sort_unstable();
        }
        return Ok((Arc::new(values), copied));
    }
    store.for_each(|hit| {
        let mut ids = hit.ids();
        let (first, second) = (ids.next().transpose()?, ids.next().transpose()?);
        if first.is_some() && second.is_some() {
            copied.push(values.len() as u32);
        }
        values.push(hit.fingerprint().value());
        watch.tick(1)
    })?;
    Ok((Arc::new(values), copied))
}

impl Clusters {
    /// The clusters among these of the values of a store, which ascend; `copied` are the positions of those with
    /// more than one id.
    pub(super) fn among(
        store: &Store,
        options: &JoinOptions,
        method: ClusterMethod,
        room: Room,
        values: Arc<Vec<u64>>,
        copied: Vec<u32>,
    ) -> Result<Clusters> {
        let positions = Positions::new(&values);
        let mut components = Components::new(values.len() as u32);
        let source = Source::Memory(Arc::clone(&values));
        Join::new(vec![source], options, room.0).run(&mut |found| {
            for (one, other) in found.drain(..) {
                components.union(positions.of(&values, one), positions.of(&values, other));
            }
            Ok(())
        })?;
        drop(positions);
        let members = components.members(&copied);
        let watch = options.watch(Phase::Cluster, Some(members.len() as u64));
        let store = store.clone();
        Ok(Clusters { store, k: options.k, method, values, members, numbers: None, watch })
    }

    /// Hands all clusters to `each`, by number unless numbers were kept. It can be done any number of
    /// times; the members of one cluster are held at a time.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if the store is damaged, [`Error::Interrupted`] if the observer says so, and
    /// whatever `each` returns.
    pub fn for_each<E: From<Error>>(
        &self,
        mut each: impl FnMut(&Cluster) -> Result<(), E>,
    ) -> Result<(), E> {
        let watch = self.watch.next(Phase::Cluster, Some(self.members.len() as u64));
        let mut searcher = self.store.searcher();
        let mut count = 0;
        for component in self.members.chunk_by(|a, b| a.0 == b.0) {
            watch.tick(component.len() as u64)?;
            let members = self.load(component, &mut searcher)?;
            for mut cluster in self.divide(members)? {
                count += 1;
                cluster.number = match &self.numbers {
                    Some(numbers) => numbers.get(count - 1).copied().unwrap_or_default(),
                    None => count as u64,
                };
                each(&cluster)?;
            }
        }
        Ok(())
    }

    fn load(
        &self,
        component: &[(u32, u32)],
        searcher: &mut Searcher,
    ) -> Result<Vec<ClusterMember>> {
        let mut members = Vec::with_capacity(component.len());
        for &(_, at) in component {
            let fingerprint = Fingerprint::new(self.values[at as usize]);
            let mut ids = Vec::new();
            for hit in searcher.search(fingerprint, 0)?.hits() {
                for id in hit.ids() {
                    ids.push(id?.to_id());
                }
            }
            members.push(ClusterMember { fingerprint, distance: 0, ids });
        }
        Ok(members)
    }

    /// The clusters of a component, whose members ascend.
    fn divide(&self, members: Vec<ClusterMember>) -> Result<Vec<Cluster>> {
        let graph = Near::new(&members, self.k)?;
        let order = match self.method {
            ClusterMethod::Leader => by_connection(&members, |_| 0),
            _ => by_connection(&members, |at| graph.connections[at as usize]),
        };
        let mut taken = vec![false; members.len()];
        let mut groups: Vec<Vec<u32>> = Vec::new();
        for &center in &order {
            if std::mem::replace(&mut taken[center as usize], true) {
                continue;
            }
            let mut group = vec![center];
            match self.method {
                ClusterMethod::Components => {
                    group.extend(order.iter().filter(|at| **at != center));
                    taken.fill(true);
                }
                ClusterMethod::Star | ClusterMethod::Leader => graph.of(center, |near| {
                    if !std::mem::replace(&mut taken[near as usize], true) {
                        group.push(near);
                    }
                }),
            }
            groups.push(group);
        }
        let mut members: Vec<Option<ClusterMember>> = members.into_iter().map(Some).collect();
        let mut take = |at: u32| members[at as usize].take().expect("each is in one cluster");
        let clusters =
            groups.iter().map(|group| cluster_of(group.iter().map(|&at| take(at)).collect()));
        Ok(clusters.filter(|cluster| cluster.size > 1).collect())
    }

    /// Has clusters that were there in an earlier run keep their numbers: `earlier` says in which cluster a document
    /// was, if it was in any.
    ///
    /// A number goes to the cluster that has most of the documents that had it, ties to the earlier
    /// cluster; a cluster that could have several gets the one that most of its documents had, ties to the
    /// smaller number. All others get numbers above `last`.
    ///
    /// # Errors
    ///
    /// As [`Clusters::for_each`].
    pub fn keep_numbers(
        &mut self,
        last: u64,
        mut earlier: impl FnMut(Fingerprint, Option<IdRef<'_>>) -> Option<u64>,
    ) -> Result<()> {
        let mut shared: Vec<(Reverse<u64>, u64, usize)> = Vec::new();
        let mut count = 0;
        let mut had: Vec<u64> = Vec::new();
        self.numbers = None;
        self.for_each(|cluster| {
            had.clear();
            for member in &cluster.members {
                let fingerprint = member.fingerprint;
                if member.ids.is_empty() {
                    had.extend(earlier(fingerprint, None));
                }
                had.extend(
                    member.ids.iter().filter_map(|id| earlier(fingerprint, Some(id.as_ref()))),
                );
            }
            had.sort_unstable();
            let number_of = |same: &[u64]| (Reverse(same.len() as u64), same[0], count);
            shared.extend(had.chunk_by(|a, b| a == b).map(number_of));
            count += 1;
            Ok::<(), Error>(())
        })?;
        shared.sort_unstable();
        let mut numbers = vec![0; count];
        let mut given = std::collections::HashSet::new();
        for (_, number, cluster) in shared {
            if numbers[cluster] == 0 && given.insert(number) {
                numbers[cluster] = number;
            }
        }
        let fresh = numbers.iter_mut().filter(|number| **number == 0);
        fresh.zip(last + 1..).for_each(|(number, next)| *number = next);
        self.numbers = Some(numbers);
        Ok(())
    }

    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    pub(super) fn values(&self) -> &[u64] {
        &self.values
    }
}
