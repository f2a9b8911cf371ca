//! Clusters of confirmed pairs.

use std::cmp::Reverse;

use super::confirmed::Confirmed;
use crate::base::error::{Error, Result};
use crate::disk::ScratchFile;
use crate::join::engine::side_by_side::side_by_side;
use crate::join::grouping::cluster::{diameter, number_of};
use crate::join::grouping::clusters::ClusterMethod;
use crate::join::grouping::disjoint_sets::DisjointSets;
use crate::join::grouping::keep::{Fate, KeepRule};
use crate::join::grouping::numbering::Shared;
use crate::writing::sort::{RecordSorter, SortedRecords};
use fpstore_base::watch::{Phase, Watch};
use fpstore_base::{Fingerprint, Id, IdRef};

/// With fewer members than this for each thread, one thread finds their similarities.
const MEMBERS_PER_THREAD: usize = if cfg!(test) { 2 } else { 64 };

/// Documents of a cluster with equal features.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ConfirmedMember {
    /// Their fingerprint.
    pub fingerprint: Fingerprint,
    /// Its distance from that of the representative in bits.
    pub distance: u32,
    /// The Jaccard similarity of their features with those of the representative.
    pub similarity: f64,
    /// Their numbers, ascending.
    pub documents: Vec<u32>,
}

/// Two or more documents that are near-duplicates.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ConfirmedCluster {
    /// Its number: 1, 2, 3 ... by ascending smallest fingerprint of its component, unless
    /// [`ConfirmedClusters::keep_numbers`] gave it another.
    pub number: u64,
    /// The number of its documents.
    pub size: u64,
    /// The largest distance between two of its fingerprints, or a lower bound of it.
    pub diameter: u32,
    /// Whether the diameter is exact, which it is for up to 4096 members.
    pub diameter_is_exact: bool,
    /// Its members: the representative, then the others by falling similarity, then by their first
    /// document. The representative is alike to the most documents, ties by smallest number; with
    /// [`ClusterMethod::Leader`] it is the leader.
    pub members: Vec<ConfirmedMember>,
}

impl Confirmed {
    /// The clusters of two or more documents; a confirmed pair belongs together in the way that
    /// `method` says. For [`ClusterMethod::Leader`], documents come in the order of their numbers.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if temporary files cannot be written or read.
    pub fn clusters(&self, method: ClusterMethod) -> Result<ConfirmedClusters<'_>> {
        let nodes = &self.nodes;
        let count = nodes.len() as u32;
        let weight = |node: u32| nodes.documents(node).len() as u64;
        let mut components = DisjointSets::new(count);
        let mut degrees: Vec<u64> = (0..count).map(weight).collect();
        let mut both_ways = RecordSorter::new(self.options.sort_resources()?, false);
        let watch = self.options.watch(Phase::Sort, Some(self.pair_count(false)));
        self.each_edge(|one, other, _| {
            watch.tick(weight(one) * weight(other))?;
            components.union(one, other);
            degrees[one as usize] += weight(other);
            degrees[other as usize] += weight(one);
            for (from, to) in [(one, other), (other, one)] {
                if method != ClusterMethod::Components {
                    both_ways.push(u64::from(from) << 32 | u64::from(to), IdRef::U64(0))?;
                }
            }
            Ok(())
        })?;
        let copied: Vec<u32> = (0..count).filter(|&node| weight(node) > 1).collect();
        let members = components.members(&copied);
        let neighbours = Neighbours::new(self, &both_ways.finish()?, &watch)?;
        let watch = self.options.watch(Phase::Cluster, Some(members.len() as u64));
        Ok(ConfirmedClusters {
            confirmed: self,
            method,
            members,
            degrees,
            neighbours,
            numbers: None,
            watch,
        })
    }
}

/// The nodes alike to each node, in a temporary file.
#[derive(Debug)]
struct Neighbours {
    file: ScratchFile,
    /// Where the neighbours of each node start, and where the last ones end, counted in nodes.
    starts: Vec<u64>,
}

impl Neighbours {
    fn new(confirmed: &Confirmed, both_ways: &SortedRecords, watch: &Watch) -> Result<Self> {
        let folder = confirmed.options.sort_resources()?.folder;
        let mut file = ScratchFile::create(&folder)?;
        let mut starts = vec![0; confirmed.nodes.len() + 1];
        let mut buffer: Vec<u32> = Vec::new();
        both_ways.pass(|key, _| {
            starts[(key >> 32) as usize + 1] += 1;
            buffer.push(key as u32);
            if buffer.len() >= 1 << 16 {
                watch.look()?;
                file.append(bytemuck::cast_slice(&buffer))?;
                buffer.clear();
            }
            Ok(())
        })?;
        file.append(bytemuck::cast_slice(&buffer))?;
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        Ok(Neighbours { file, starts })
    }

    fn of(&self, node: u32) -> Result<Vec<u32>> {
        let (start, end) = (self.starts[node as usize], self.starts[node as usize + 1]);
        let mut neighbours = vec![0; (end - start) as usize];
        self.file.read_at(bytemuck::cast_slice_mut(&mut neighbours), 4 * start)?;
        Ok(neighbours)
    }
}

/// The clusters of [`Confirmed::clusters`].
#[derive(Debug)]
pub struct ConfirmedClusters<'a> {
    confirmed: &'a Confirmed,
    method: ClusterMethod,
    /// The name of a component and a node of it.
    members: Vec<(u32, u32)>,
    /// The number of documents alike to each node, its own included.
    degrees: Vec<u64>,
    neighbours: Neighbours,
    numbers: Option<Vec<u64>>,
    watch: Watch,
}

impl ConfirmedClusters<'_> {
    /// Calls `each` with each cluster, by ascending smallest fingerprint of its component. Can be
    /// called any number of times. The members of one component are in memory at a time.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if temporary files cannot be read, [`Error::Interrupted`] if the observer ends
    /// the work, and any error that `each` returns.
    pub fn for_each<E: From<Error>>(
        &self,
        mut each: impl FnMut(&ConfirmedCluster) -> Result<(), E>,
    ) -> Result<(), E> {
        let watch = self.watch.next(Phase::Cluster, Some(self.members.len() as u64));
        let mut taken = vec![false; self.confirmed.nodes.len()];
        let mut count = 0;
        for component in self.members.chunk_by(|a, b| a.0 == b.0) {
            watch.tick(component.len() as u64).map_err(Error::from)?;
            for group in self.divide(component, &mut taken, &watch).map_err(E::from)? {
                let mut cluster = self.cluster_of(&group, &watch)?;
                if cluster.size < 2 {
                    continue;
                }
                count += 1;
                cluster.number = number_of(count, self.numbers.as_deref());
                each(&cluster)?;
            }
        }
        Ok(())
    }

    /// Calls `each` with each document, in the order of their numbers, and whether `rule` keeps it.
    ///
    /// # Errors
    ///
    /// As [`ConfirmedClusters::for_each`].
    pub fn for_each_document<E: From<Error>>(
        &self,
        rule: KeepRule,
        mut each: impl FnMut(Fate, u32) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut is_kept = vec![rule != KeepRule::LargestCluster; self.confirmed.document_count()];
        let mut largest = 0;
        self.for_each(|cluster| {
            let documents = cluster.members.iter().flat_map(|member| &member.documents);
            if rule != KeepRule::LargestCluster {
                let kept = self.kept_one(cluster, rule)?;
                documents.for_each(|&number| is_kept[number as usize] = Some(number) == kept);
            } else if cluster.size > largest {
                largest = cluster.size;
                is_kept.fill(false);
                documents.for_each(|&number| is_kept[number as usize] = true);
            }
            Ok::<(), Error>(())
        })?;
        let fate = |is_kept| if is_kept { Fate::Keep } else { Fate::Drop };
        (0..).zip(is_kept).try_for_each(|(number, is_kept)| each(fate(is_kept), number))
    }

    /// The document of a cluster that a rule keeps.
    fn kept_one(&self, cluster: &ConfirmedCluster, rule: KeepRule) -> Result<Option<u32>> {
        let named = |&number: &u32| {
            let id = if rule.compares_ids() { self.confirmed.id(number)? } else { None };
            Ok((number, id))
        };
        let documents = cluster.members.iter().flat_map(|member| &member.documents);
        let documents = documents.map(named).collect::<Result<Vec<(u32, Option<Id>)>>>()?;
        let own_count = cluster.members[0].documents.len();
        let kept = rule.choose(
            &documents,
            own_count,
            |(number, _)| *number,
            |&(number, id)| (id.is_none(), id, *number),
        );
        Ok(kept.map(|(number, _)| *number))
    }

    /// Gives clusters the numbers that they had in an earlier run. `earlier` returns the number of
    /// the cluster in which a document was, by its number now, if it was in one. The rules are those
    /// of [`Clusters::keep_numbers`](crate::join::Clusters::keep_numbers).
    ///
    /// # Errors
    ///
    /// As [`ConfirmedClusters::for_each`].
    pub fn keep_numbers<E: From<Error>>(
        &mut self,
        last: u64,
        mut earlier: impl FnMut(Fingerprint, u32) -> Result<Option<u64>, E>,
    ) -> Result<(), E> {
        let mut shared = Shared::default();
        let mut had: Vec<u64> = Vec::new();
        self.numbers = None;
        self.for_each(|cluster| {
            for member in &cluster.members {
                for &document in &member.documents {
                    had.extend(earlier(member.fingerprint, document)?);
                }
            }
            shared.take(&mut had);
            Ok::<(), E>(())
        })?;
        self.numbers = Some(shared.numbers(last));
        Ok(())
    }

    /// The clusters of a component, each with its representative first.
    fn divide(
        &self,
        component: &[(u32, u32)],
        taken: &mut [bool],
        watch: &Watch,
    ) -> Result<Vec<Vec<u32>>> {
        let nodes = &self.confirmed.nodes;
        let mut order: Vec<u32> = component.iter().map(|&(_, node)| node).collect();
        order.sort_unstable_by_key(|&node| {
            let degree = match self.method {
                ClusterMethod::Leader => 0,
                _ => self.degrees[node as usize],
            };
            (Reverse(degree), nodes.documents(node)[0])
        });
        if self.method == ClusterMethod::Components {
            return Ok(vec![order]);
        }
        let mut groups = Vec::new();
        for center in order {
            if std::mem::replace(&mut taken[center as usize], true) {
                continue;
            }
            watch.look()?;
            let mut group = vec![center];
            for near in self.neighbours.of(center)? {
                if !std::mem::replace(&mut taken[near as usize], true) {
                    group.push(near);
                }
            }
            groups.push(group);
        }
        Ok(groups)
    }

    /// The cluster of these nodes, the representative first.
    fn cluster_of(&self, group: &[u32], watch: &Watch) -> Result<ConfirmedCluster> {
        let Confirmed { nodes, sets, options, .. } = self.confirmed;
        let (center, others) = (group[0], &group[1..]);
        let pairs: Vec<(u32, u32)> = others.iter().map(|&other| (center, other)).collect();
        let similarities = if pairs.len() <= MEMBERS_PER_THREAD {
            vec![sets.confirm(&pairs, 0.0, watch)?]
        } else {
            let threads = options.sort_resources()?.threads.max(1);
            let parts: Vec<&[(u32, u32)]> = pairs.chunks(pairs.len().div_ceil(threads)).collect();
            side_by_side(&parts, |part| sets.confirm(part, 0.0, watch))?
        };
        let fingerprint = nodes.fingerprint(center);
        let member = |node: u32, similarity: f64| ConfirmedMember {
            fingerprint: nodes.fingerprint(node),
            distance: nodes.fingerprint(node).distance(fingerprint),
            similarity,
            documents: nodes.documents(node).to_vec(),
        };
        let mut members = vec![member(center, 1.0)];
        members.extend(similarities.into_iter().flatten().map(|(_, node, is)| member(node, is)));
        members[1..].sort_by(|a, b| {
            let order = b.similarity.total_cmp(&a.similarity);
            order.then(a.documents[0].cmp(&b.documents[0]))
        });
        let values: Vec<u64> = members.iter().map(|member| member.fingerprint.value()).collect();
        let (diameter, diameter_is_exact) = diameter(&values);
        let size = members.iter().map(|member| member.documents.len() as u64).sum();
        Ok(ConfirmedCluster { number: 0, size, diameter, diameter_is_exact, members })
    }
}
