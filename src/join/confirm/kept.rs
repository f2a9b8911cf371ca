//! A connecting join in parts, so that stopped work continues after the last finished part.
//!
//! A part is a share of the join.

use super::candidates::{Candidates, Documents};
use super::connected::Connected;
use super::nodes::Nodes;
use super::outline::Outlines;
use crate::base::error::Error;
use crate::bytes::fields::{put_u32, put_u64, read_u32, read_u64};
use crate::join::options::{JoinOptions, Share};

/// Nodes for each part of a resumable join, and the largest number of parts.
const PART_COUNT: usize = if cfg!(test) { 16 } else { 1 << 18 };
const PARTS_MAX: usize = 32;

/// Stores the state of a connecting join after each of its parts, so that stopped work continues
/// after the last finished part.
pub trait KeepParts {
    /// The error of the caller.
    type Error: From<Error>;

    /// The state stored by earlier work, if there is any.
    fn earlier(&self) -> Option<Vec<u8>>;

    /// Called if earlier work has finished `done` of `count` parts.
    fn resumed(&self, done: u32, count: u32);

    /// Stores the state after all parts finished so far.
    fn keep(&mut self, bytes: &[u8]) -> Result<(), Self::Error>;
}

/// The number of parts of a join that connects this many nodes.
fn parts_of(node_count: usize) -> u32 {
    (node_count / PART_COUNT).clamp(1, PARTS_MAX) as u32
}

impl Documents {
    /// As [`Documents::candidates_to_lead`], but continues where stopped earlier work with the same
    /// documents, in the same order, and the same options ended.
    ///
    /// # Errors
    ///
    /// As [`Documents::candidates_to_lead`], and any error that `kept` returns.
    pub fn candidates_in_parts<K: KeepParts>(
        self,
        options: &JoinOptions,
        kept: &mut K,
    ) -> Result<Candidates, K::Error> {
        self.find_by(options, |nodes, outlines, options| {
            Connected::connect_in_parts(nodes, outlines, options, kept)
        })
    }
}

impl Connected {
    /// Reads the state of `count` nodes after some parts of the join. Returns it with the number of
    /// finished parts, or `None` if the bytes are of other nodes or parts.
    fn read(count: usize, mut bytes: &[u8]) -> Option<(Self, u32)> {
        let from = &mut bytes;
        let done = read_u32(from).ok()?;
        if read_u32(from).ok()? != parts_of(count) || read_u64(from).ok()? != count as u64 {
            return None;
        }
        let mut connected = Connected::new(count);
        connected.pair_count = read_u64(from).ok()?;
        for (node, is_candidate) in (0..).zip(&mut connected.is_candidate) {
            let (first, after) = from.split_first()?;
            *is_candidate = *first == 1;
            *from = after;
            let group = read_u32(from).ok()?;
            if group as usize >= count {
                return None;
            }
            connected.sets.union(group, node);
        }
        Some((connected, done)).filter(|_| from.is_empty())
    }

    /// The bytes for [`Connected::read`].
    fn bytes(&mut self, done: u32) -> Vec<u8> {
        let count = self.is_candidate.len();
        let mut bytes = Vec::with_capacity(24 + 5 * count);
        put_u32(&mut bytes, done);
        put_u32(&mut bytes, parts_of(count));
        put_u64(&mut bytes, count as u64);
        put_u64(&mut bytes, self.pair_count);
        for node in 0..count {
            bytes.push(u8::from(self.is_candidate[node]));
            put_u32(&mut bytes, self.sets.find(node as u32));
        }
        bytes
    }

    /// As [`Connected::connect`], part by part: continues after the parts of the stored state, and
    /// passes the state after each part to `kept.keep`.
    fn connect_in_parts<K: KeepParts>(
        nodes: &Nodes,
        outlines: &Outlines,
        options: &JoinOptions,
        kept: &mut K,
    ) -> Result<Self, K::Error> {
        let count = parts_of(nodes.len());
        let earlier = kept.earlier().and_then(|bytes| Connected::read(nodes.len(), &bytes));
        let (mut connected, done) = earlier.unwrap_or((Connected::new(nodes.len()), 0));
        if done > 0 {
            kept.resumed(done, count);
        }
        for number in done..count {
            let share = Share { number, count };
            connected.connect(nodes, outlines, &options.of_share(share))?;
            kept.keep(&connected.bytes(number + 1))?;
        }
        Ok(connected)
    }
}
