//! Finds clusters that obey judged pairs.

use super::cluster_method::ClusterMethod;
use super::clusters::{Clusters, check};
use super::judged::{JudgedDocuments, read};
use super::reading::JoinMemory;
use crate::base::error::Result;
use crate::base::judged::JudgedPairs;
use crate::join::options::JoinOptions;
use crate::store::Store;

/// Like [`clusters`](crate::join::clusters()) with [`ClusterMethod::Components`], but obeys pairs
/// that people judged as duplicates or as different. `own_id` extracts the id used in judged pairs
/// from an id of the store, which may contain more than that; it returns an empty text if there is
/// no such id.
///
/// Two documents judged as duplicates are in the same cluster, whatever their distance. Two
/// documents judged different are never in the same cluster: a component that contains both is
/// divided again. Its documents start in clusters of their own, and the clusters of documents
/// judged as duplicates are merged. Then the near pairs of the component are processed in the order
/// of their distance, then of their smaller document, then of their larger document, where
/// documents are ordered by fingerprint, then by id as text. A pair merges the clusters of its two
/// documents, unless the merged cluster would contain two documents judged different. This is
/// single linkage with "cannot link" constraints; all other components stay unchanged.
///
/// A judged pair is skipped if one of its ids is not in the store. A component that is divided
/// again takes the time of a join of its members for each distance from 1 to `k`.
///
/// # Errors
///
/// The errors of [`clusters`](crate::join::clusters()), and
/// [`Error::InvalidOptions`](crate::Error::InvalidOptions) if several records have the same id and
/// it is in a judged pair.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let mut builder = fpstore::Builder::new(folder.path().join("news.fps"))?;
/// for (fingerprint, id) in [(0b0, "a"), (0b1, "b"), (0b111, "c"), (u64::MAX, "d")] {
///     builder.push(fingerprint.into(), id)?;
/// }
/// let store = builder.finish()?;
///
/// use fpstore::join::{JoinOptions, JudgedPairs, LabelFile, judged_clusters};
/// let pairs = JudgedPairs::new(&LabelFile::parse("a\tc\t0\nc\td\t1\n")?)?;
/// let (found, obeyed) = judged_clusters(&store, &JoinOptions::new(3), &pairs, |id| id)?;
/// let mut sizes = Vec::new();
/// found.for_each(|cluster| {
///     sizes.push(cluster.size);
///     Ok::<(), fpstore::Error>(())
/// })?;
/// assert_eq!(sizes, [2, 2]);
/// assert_eq!((obeyed.duplicate_count, obeyed.different_count), (1, 1));
/// # Ok(()) }
/// ```
pub fn judged_clusters(
    store: &Store,
    options: &JoinOptions,
    pairs: &JudgedPairs,
    own_id: fn(&str) -> &str,
) -> Result<(Clusters, JudgedDocuments)> {
    check(options)?;
    let store = &store.pinned();
    let memory = JoinMemory::of(store, options)?;
    let (values, judged, obeyed) = read(store, options, pairs, own_id)?;
    let method = ClusterMethod::Components;
    let found = Clusters::among(store, options, method, memory, values, Some(judged))?;
    Ok((found, obeyed))
}
