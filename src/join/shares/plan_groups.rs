//! A join over groups, for data frame engines such as Spark, which have fingerprints in a data
//! frame and no store.
//!
//! [`JoinPlan::scatter`] packs fingerprints into payloads of bytes, each for a group. The engine
//! gathers the payloads of a group, and [`JoinPlan::pairs_of_group`] joins them. A fingerprint is
//! sent to `k + 1` groups, one for each block that can be the first block on which a pair agrees.

use super::JoinPlan;
use crate::base::error::{Error, Result};
use crate::join::engine::one_join::Join;
use crate::join::engine::values::{JoinValues, distinct};
use crate::join::options::{JoinOptions, Share};
use crate::join::pairs::{Pair, ascending, emit_pairs};
use fpstore_base::Fingerprint;
use fpstore_base::watch::Phase;
use std::sync::Mutex;

/// Bytes of a fingerprint in a payload.
const PACKED_LEN: usize = 8;

impl JoinPlan {
    /// Packs fingerprints for the groups in which they will be compared. Calls `each` with the
    /// number of a group and a payload, at most once for each group, in ascending order of groups.
    ///
    /// A payload consists of the values of fingerprints, each as eight bytes, least significant
    /// byte first. Payloads of one group can be joined in any order, and whole payloads can be
    /// concatenated. Takes 8 (`k` + 1) bytes of memory for each fingerprint.
    ///
    /// # Errors
    ///
    /// Any error that `each` returns.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use fpstore::Fingerprint;
    /// use fpstore::join::{JoinOptions, JoinPlan};
    ///
    /// let plan = JoinPlan::new(3)?.with_groups(40)?;
    /// let pages = [0b0000, 0b0111, 0b1111, 1 << 60].map(Fingerprint::new);
    /// // What an engine does: `groupBy`.
    /// let mut groups: BTreeMap<u32, Vec<Vec<u8>>> = BTreeMap::new();
    /// for part in pages.chunks(2) {
    ///     plan.scatter(part, |group, payload| {
    ///         groups.entry(group).or_default().push(payload.to_vec());
    ///         Ok::<(), fpstore::Error>(())
    ///     })?;
    /// }
    /// let mut found = 0;
    /// for (group, payloads) in &groups {
    ///     let payloads = payloads.iter().map(Vec::as_slice);
    ///     plan.pairs_of_group(*group, payloads, &JoinOptions::new(3), |pairs| {
    ///         found += pairs.len();
    ///         Ok::<(), fpstore::Error>(())
    ///     })?;
    /// }
    /// assert_eq!(found, 3);
    /// # Ok::<(), fpstore::Error>(())
    /// ```
    pub fn scatter<E>(
        &self,
        fingerprints: &[Fingerprint],
        mut each: impl FnMut(u32, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut payload = Vec::new();
        // A pair can first agree on each of the first `k + 1` blocks.
        for first in 0..=self.k as usize {
            let mut sorted: Vec<(u32, u64)> = fingerprints
                .iter()
                .map(|fingerprint| fingerprint.value())
                .map(|value| (self.group_of(first, value), value))
                .collect();
            sorted.sort_unstable();
            sorted.dedup();
            for of_group in sorted.chunk_by(|one, other| one.0 == other.0) {
                payload.clear();
                payload.extend(of_group.iter().flat_map(|(_, value)| value.to_le_bytes()));
                each(of_group[0].0, &payload)?;
            }
        }
        Ok(())
    }

    /// Finds the near pairs that belong to a group, given all payloads of the group, and passes
    /// them to `each` like [`near_pairs`](crate::join::near_pairs). All groups together find each
    /// pair once. Repeated payloads, from a task that was run again, change nothing.
    ///
    /// # Errors
    ///
    /// The errors of [`near_pairs`](crate::join::near_pairs), and [`Error::InvalidOptions`] if the
    /// distance of the options differs from the distance of the plan, if the options have a share,
    /// if the group does not exist, or if a payload is truncated or was packed for another group or
    /// by another plan.
    pub fn pairs_of_group<'a, E: From<Error> + Send>(
        &self,
        group: u32,
        payloads: impl IntoIterator<Item = &'a [u8]>,
        options: &JoinOptions,
        each: impl FnMut(&[Pair]) -> Result<(), E> + Send,
    ) -> Result<(), E> {
        self.check(options)?;
        let refuse = |reason: String| Err(Error::InvalidOptions { reason });
        if options.share != Share::WHOLE {
            return Ok(refuse("a group has no shares: make a plan with more groups".into())?);
        }
        if group >= self.group_count() {
            return Ok(refuse(format!(
                "there is no group {group}, there are {} groups",
                self.group_count()
            ))?);
        }
        let first = (group / self.parts) as usize;
        let mut values = Vec::new();
        for (number, payload) in payloads.into_iter().enumerate() {
            let (packed, rest) = payload.as_chunks::<PACKED_LEN>();
            if !rest.is_empty() {
                return Ok(refuse(format!(
                    "payload {number} of group {group} has {} bytes, which is not a multiple of 8",
                    payload.len()
                ))?);
            }
            let start = values.len();
            values.extend(packed.iter().map(|packed| u64::from_le_bytes(*packed)));
            let strange =
                values[start..].iter().find(|value| self.group_of(first, **value) != group);
            if let Some(strange) = strange {
                return Ok(refuse(format!(
                    "payload {number} of group {group} has {strange:016x}, which belongs to group \
                     {}: it was packed for another group, or by another plan",
                    self.group_of(first, *strange)
                ))?);
            }
        }
        distinct(&mut values);
        let resources = options.budget()?;
        let watch = options.watch(Phase::Join, Some(values.len() as u64));
        let blocking = self.blocking();
        emit_pairs(options, ascending, each, |emit| {
            let join = Join::new(vec![JoinValues::owned(values)], options, resources);
            Join { watch, ..join }.run_first(&blocking, first, &Mutex::new(emit))
        })
    }

    /// The group of a value for the block at position `first`.
    fn group_of(&self, first: usize, value: u64) -> u32 {
        let hash = mixed(value & self.blocks[first]);
        let part = (u128::from(hash) * u128::from(self.parts)) >> 64;
        first as u32 * self.parts + part as u32
    }
}

/// A hash of a value: values that differ in a few bits at any positions are spread over all
/// numbers. The hash must never change: tasks of one job may run in several processes.
///
/// # Source
///
/// The finalizer of MurmurHash3 by Austin Appleby, in the public domain.
fn mixed(value: u64) -> u64 {
    let mut mixed = value;
    mixed = (mixed ^ mixed >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    mixed = (mixed ^ mixed >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    mixed ^ mixed >> 33
}
