//! Division of similar nodes into clusters.

use std::cmp::Reverse;

use super::alike::Alike;
use super::candidates::Candidates;
use super::degrees::Degrees;
use super::pivots::Pivots;
use crate::base::error::Result;
use crate::join::grouping::cluster_method::ClusterMethod;
use crate::join::grouping::leader_pairs::{NearLists, near_within};
use crate::join::grouping::leaders::scan;
use fpstore_base::watch::{Phase, Watch};

/// In components of up to this many nodes, a scan finds the nodes near a centre.
const SCANNED_COUNT: usize = if cfg!(test) { 8 } else { 1 << 10 };

/// A node and the representative of its cluster.
pub(super) type Member = (u32, u32);

impl Candidates {
    /// The members of all clusters of two or more documents, cluster by cluster, each with its
    /// representative first.
    pub(super) fn divide(&self, similarity: f64, method: ClusterMethod) -> Result<Vec<Member>> {
        if method == ClusterMethod::Leader {
            return self.led_members(similarity);
        }
        let Degrees { of_nodes: degrees, components } = self.degrees(similarity)?;
        let nodes = &self.nodes;
        let copied: Vec<u32> =
            (0..nodes.len() as u32).filter(|&node| nodes.documents(node).len() > 1).collect();
        let in_components = components.members(&copied);
        let watch = self.options.watch(Phase::Cluster, Some(in_components.len() as u64));
        let mut members = Vec::with_capacity(in_components.len());
        for component in in_components.chunk_by(|a, b| a.0 == b.0) {
            watch.tick(component.len() as u64)?;
            let mut order: Vec<u32> = component.iter().map(|&(_, node)| node).collect();
            order.sort_unstable_by_key(|&node| {
                (Reverse(degrees[node as usize]), nodes.documents(node)[0])
            });
            match method {
                ClusterMethod::Star => {
                    self.stars(&order, similarity, &watch, &mut members)?;
                }
                _ => members.extend(order.iter().map(|&node| (order[0], node))),
            }
        }
        Ok(members)
    }

    /// The members of the clusters of leaders, in the order of the leaders.
    fn led_members(&self, similarity: f64) -> Result<Vec<Member>> {
        let nodes = &self.nodes;
        let mut members = self.lead_nodes(similarity.into(), |led, found: &mut Vec<Member>| {
            found.push((led.leader, led.node));
        })?;
        members.sort_unstable_by_key(|&(leader, node)| {
            (nodes.documents(leader)[0], node != leader, node)
        });
        let clusters = members.chunk_by(|a, b| a.0 == b.0);
        let clusters = clusters.filter(|all| all.len() > 1 || nodes.documents(all[0].0).len() > 1);
        Ok(clusters.flatten().copied().collect())
    }

    /// Adds the stars of a component, whose nodes are in the order in which they may become
    /// centres: each node outside of all earlier stars becomes a centre, and takes all similar
    /// nodes outside of them.
    fn stars(
        &self,
        order: &[u32],
        similarity: f64,
        watch: &Watch,
        members: &mut Vec<Member>,
    ) -> Result<()> {
        let values: Vec<u64> =
            order.iter().map(|&node| self.nodes.fingerprint(node).value()).collect();
        let k = self.options.k;
        let near = match order.len() {
            ..=SCANNED_COUNT => None,
            // For each node, the nodes after it.
            _ => near_within(&values, k, watch)?.map(NearLists::turned),
        };
        let pivots = Pivots::new(self, order, self.feature_memory()?, watch)?;
        let mut alike = Alike::new(self, (order, &pivots), similarity, watch)?;
        let mut is_taken = vec![false; order.len()];
        for at in 0..order.len() {
            if std::mem::replace(&mut is_taken[at], true) {
                continue;
            }
            let center = order[at];
            let mut star = vec![center];
            let mut add = |other: usize| -> Result<Option<()>> {
                if !is_taken[other] && alike.are(at as u32, other as u32)? {
                    is_taken[other] = true;
                    star.push(order[other]);
                }
                Ok(None)
            };
            // All earlier nodes are in stars.
            match &near {
                Some(near) => {
                    near.of(at as u32).try_for_each(|other| add(other as usize).map(drop))?;
                }
                None => {
                    scan(values[at], &values[at + 1..], k, |other| add(at + 1 + other))?;
                }
            }
            watch.look()?;
            if star.len() > 1 || self.nodes.documents(center).len() > 1 {
                members.extend(star.into_iter().map(|node| (center, node)));
            }
        }
        Ok(())
    }
}
