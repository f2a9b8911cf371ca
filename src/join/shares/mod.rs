//! Joins divided over several processes, and the plan of such a join: the bits on which near
//! fingerprints agree, and the input of each part.
//!
//! The bits are cut into blocks so that every near pair agrees on some of them (see `blocking`). A
//! pair belongs to the first block on which it agrees, which is one of the first `k + 1` blocks. So
//! each fingerprint is the input of only `k + 1` parts, one for each of these blocks, whatever the
//! number of parts:
//!
//! * A share of a store reads a range of each of `k + 1` tables whose leading bits are these blocks
//!   (`share`).
//! * A data frame engine, such as Spark, sends each fingerprint to `k + 1` groups (`plan_groups`).
//!
//! The parts together find every pair once. A plan has a text form (`plan_text`): one process makes
//! the plan, and all others follow it.

mod plan_groups;
mod plan_text;
pub(in crate::join) mod range;
pub(in crate::join) mod share;

use std::fmt;

use crate::base::error::{Error, Result};
use crate::join::engine::blocking::Blocking;
use crate::join::engine::cut::{even_blocks, first_bits, leads_with};
use crate::join::shares::range::TableOfStore;
use crate::scheme::Scheme;
use crate::store::Store;
use fpstore_base::Fingerprint;

/// Minimum length in bits of a block of bits that lead no table.
const BLOCK_BITS_MIN: u32 = 8;
/// Maximum number of blocks on which a pair must agree in a plan.
pub(in crate::join) const AGREEING_MAX: u32 = 4;
/// Maximum number of groups of a plan.
pub(in crate::join) const GROUPS_MAX: u32 = 1 << 20;

/// The input that a share of a join reads from a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanReads {
    /// A range of each of `k + 1` tables: all shares together read as much as one join does.
    Ranges,
    /// All fingerprints, because the store has no tables whose leading bits are the blocks. Each
    /// share costs at least as much as a pass over the store.
    Everything,
}

impl fmt::Display for PlanReads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PlanReads::Ranges => "ranges",
            PlanReads::Everything => "everything",
        })
    }
}

/// The division of a join into ranges of a store or groups of fingerprints.
///
/// The text form of a plan ([`Display`](fmt::Display), [`FromStr`](std::str::FromStr)) is complete,
/// so one process can make the plan and other processes follow it. All parts of one join must use
/// the same plan and the same release of fpstore; if they read a store, also the same
/// [generation](Store::generation) of the store.
///
/// # Examples
///
#[cfg_attr(feature = "write", doc = "```")]
#[cfg_attr(not(feature = "write"), doc = "```ignore")]
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// use fpstore::join::{JoinOptions, JoinPlan, PlanReads, Share};
/// use fpstore::{BuildOptions, Builder, SchemeChoice};
///
/// let options = BuildOptions::default().scheme(SchemeChoice::named("blocks-5", 3)?);
/// let mut builder = Builder::with_options(folder.path().join("news.fps"), options)?;
/// for value in [0b0000_u64, 0b0111, 0b1111, 1 << 60] {
///     builder.push_bare(value.into())?;
/// }
/// let store = builder.finish()?;
///
/// let plan = JoinPlan::of(&store, 3)?;
/// assert_eq!(plan.reads(), PlanReads::Ranges);
/// let text = plan.to_string(); // goes to every task
///
/// let mut found = 0;
/// for number in 0..8 {
///     let plan: JoinPlan = text.parse()?;
///     let options = JoinOptions::new(3).threads(1).share(Share { number, count: 8 });
///     plan.pairs_of_share(&store, &options, |pairs| {
///         found += pairs.len();
///         Ok::<(), fpstore::Error>(())
///     })?;
/// }
/// assert_eq!(found, 3);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinPlan {
    pub(in crate::join) k: u32,
    /// Disjoint blocks of bits; a near pair agrees on all but at most `k` blocks.
    pub(in crate::join) blocks: Vec<u64>,
    /// For each of the first `k + 1` blocks, the mask of the table whose leading bits it is; empty
    /// without such tables.
    pub(in crate::join) tables: Vec<u64>,
    /// The number of groups for each of the first `k + 1` blocks.
    pub(in crate::join) parts: u32,
}

impl JoinPlan {
    /// A plan for fingerprints whose bits all vary. Each of the first `k + 1` blocks has one group.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidDistance`] if `k` is above 63: then any two fingerprints are a pair.
    pub fn new(k: u32) -> Result<Self> {
        JoinPlan::of_bits(u64::MAX, k)
    }

    /// A plan whose blocks are cut from the bits that vary in `sample`. Bits that are equal in all
    /// fingerprints, as in the upper half of 32-bit fingerprints, would send all fingerprints to
    /// the same group.
    ///
    /// The sample may be any part of the fingerprints. It affects how even the sizes of groups are,
    /// but never which pairs are found.
    ///
    /// # Errors
    ///
    /// The same as [`JoinPlan::new`].
    pub fn for_sample(sample: &[Fingerprint], k: u32) -> Result<Self> {
        let any = sample.iter().fold(0, |any, of| any | of.value());
        let all = sample.iter().fold(u64::MAX, |all, of| all & of.value());
        let varying = any & !all;
        // With fewer than `k + 1` varying bits, bits that do not vary in the sample are used, too.
        let bits = if varying.count_ones() > k { varying } else { u64::MAX };
        JoinPlan::of_bits(bits, k)
    }

    fn of_bits(bits: u64, k: u32) -> Result<Self> {
        if k >= 64 {
            return Err(Error::InvalidDistance { k });
        }
        let count = (k + 2).min(bits.count_ones());
        Ok(JoinPlan { k, blocks: even_blocks(bits, count), tables: Vec::new(), parts: 1 })
    }

    /// The plan for all pairs within `k` bits of a store. Its shares read ranges if each non-empty
    /// segment has tables whose leading bits are `k + 1` disjoint blocks, as in the schemes
    /// `blocks-M` for `k` below M, and `choose-M`. Of several such plans it is the plan with the
    /// least expected work.
    ///
    /// # Errors
    ///
    /// The same as [`JoinPlan::new`].
    pub fn of(store: &Store, k: u32) -> Result<Self> {
        let even = JoinPlan::new(k)?;
        let count = store.info().fingerprint_count();
        let masks: Vec<u64> = TableOfStore::all(store).iter().map(|table| table.mask).collect();
        let plans = candidates(&masks, k).into_iter();
        let cost = |plan: &JoinPlan| plan.blocking().nanos_for(count);
        Ok(plans.min_by(|one, other| cost(one).total_cmp(&cost(other))).unwrap_or(even))
    }

    /// The same plan with `count` groups, rounded up to a multiple of `k + 1`. Choose `count` so
    /// that a task has 16 bytes of memory for each fingerprint of a group.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOptions`] if `count` is 0 or above 2^20.
    pub fn with_groups(mut self, count: u32) -> Result<Self> {
        if count == 0 || count > GROUPS_MAX {
            let reason = format!("{count} groups, expected 1 to {GROUPS_MAX}");
            return Err(Error::InvalidOptions { reason });
        }
        self.parts = count.div_ceil(self.k + 1);
        Ok(self)
    }

    /// The distance for which the plan was made.
    pub fn k(&self) -> u32 {
        self.k
    }

    /// The input that each share reads from the store of the plan. A plan made without a store
    /// returns [`PlanReads::Everything`].
    pub fn reads(&self) -> PlanReads {
        if self.tables.is_empty() { PlanReads::Everything } else { PlanReads::Ranges }
    }

    /// The number of groups; they are numbered from 0.
    pub fn group_count(&self) -> u32 {
        self.parts * (self.k + 1)
    }

    /// The name of a scheme with which shares of a store read ranges for this `k`.
    pub fn scheme(&self) -> String {
        format!("blocks-{}", self.k + 1)
    }

    pub(in crate::join) fn blocking(&self) -> Blocking {
        Blocking::of_blocks(self.blocks.clone(), self.blocks.len() - self.k as usize)
    }
}

/// All plans by which shares read ranges of tables with these masks.
fn candidates(masks: &[u64], k: u32) -> Vec<JoinPlan> {
    let firsts = k as usize + 1;
    let mut plans = Vec::new();
    // Plans with the blocks of `blocks-M`: blocks that are leading bits of a table (its mask may be
    // longer) come first.
    for agreeing in 1..=AGREEING_MAX.min(64 - k) {
        let Ok(scheme) = Scheme::named(&format!("blocks-{}", k + agreeing), k) else { continue };
        let lead = |block: u64| masks.iter().copied().find(|&mask| leads_with(mask, block));
        let (led, others): (Vec<u64>, Vec<u64>) =
            scheme.masks().iter().partition(|&&block| lead(block).is_some());
        if led.len() >= firsts {
            let tables = led.iter().take(firsts).filter_map(|&block| lead(block)).collect();
            plans.push(JoinPlan { k, blocks: [led, others].concat(), tables, parts: 1 });
        }
    }
    // Plans for tables with disjoint masks, which may be laid out for the data: the blocks are the
    // leading bits of each table, and blocks of the remaining bits.
    let mut disjoint: Vec<u64> = Vec::new();
    for &mask in masks {
        if mask != 0 && disjoint.iter().all(|of| of & mask == 0) {
            disjoint.push(mask);
        }
    }
    if disjoint.len() >= firsts {
        disjoint.truncate(firsts);
        for agreeing in 1..=AGREEING_MAX.min(64 - k) {
            let bits = if agreeing == 1 { 64 } else { 64 / (k + agreeing) };
            let led = disjoint.iter().map(|&mask| first_bits(mask, bits));
            let led: Vec<u64> = led.collect();
            let left = !led.iter().fold(0, |all, block| all | block);
            if (agreeing - 1) * BLOCK_BITS_MIN <= left.count_ones() {
                let blocks = [led, even_blocks(left, agreeing - 1)].concat();
                plans.push(JoinPlan { k, blocks, tables: disjoint.clone(), parts: 1 });
            }
        }
    }
    plans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_for_named_schemes_read_what_their_tables_allow() {
        let tables = |name: &str, k: u32| {
            let scheme = Scheme::named(name, 3).unwrap();
            let plans = candidates(scheme.masks(), k);
            let blocks = plans.iter().map(|plan| plan.blocks.len()).max();
            for plan in &plans {
                assert_eq!(plan.tables.len(), k as usize + 1);
                assert_eq!(plan.to_string().parse::<JoinPlan>().unwrap(), *plan);
            }
            blocks
        };
        assert_eq!(tables("blocks-4", 3), Some(7));
        assert_eq!(tables("blocks-5", 3), Some(7));
        assert_eq!(tables("blocks-5", 4), Some(8));
        assert_eq!(tables("blocks-5", 5), None);
        assert_eq!(tables("choose-5", 3), Some(5));
        assert_eq!(tables("2", 3), None);
        assert!(tables("2", 1).is_some() && tables("1", 0).is_some());
    }

    #[test]
    fn blocks_are_cut_from_bits_that_vary() {
        let sample: Vec<Fingerprint> =
            (0..100).map(|i| Fingerprint::new(i * 0x9e37_79b9)).collect();
        let plan = JoinPlan::for_sample(&sample, 3).unwrap();
        assert!(plan.blocks.iter().all(|block| *block <= 0xff_ffff_ffff), "{plan}");
        let equal = JoinPlan::for_sample(&sample[..1], 3).unwrap();
        assert_eq!(equal, JoinPlan::new(3).unwrap());
        assert!(JoinPlan::new(64).is_err());
        assert_eq!(JoinPlan::new(63).unwrap().blocks.len(), 64);
    }
}
