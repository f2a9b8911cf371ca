//! The option `--share`: computes one share of a join that is divided among processes.

use std::str::FromStr;

use anyhow::bail;
use clap::Args;
use fpstore::Store;
use fpstore::join::{JoinPlan, PlanReads, Share};

use super::first_given;
use crate::output::text::counted;

/// The options for the share of a join that this process computes.
#[derive(Args, Debug)]
pub(crate) struct ShareArgs {
    /// Compute only share I of N, I from 0 to N-1
    ///
    /// N processes can do the N shares in parallel; together they find each pair once. The input is
    /// the same store for all shares.
    #[arg(long, value_name = "I/N")]
    share: Option<ShareArg>,
    /// Print the plan: which parts of the tables a share reads; join nothing
    ///
    /// The plan contains 'reads=ranges' if each share reads its part of some tables, and
    /// 'reads=everything' if each share reads all tables.
    #[arg(long, hide_short_help = true)]
    explain: bool,
    /// Fail unless the store is at generation G, see 'info'
    ///
    /// Shares of different generations cannot be combined.
    #[arg(long, value_name = "G", hide_short_help = true)]
    generation: Option<u64>,
}

/// A parsed value `I/N`: share I of N.
#[derive(Clone, Copy, Debug)]
struct ShareArg(Share);

impl FromStr for ShareArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(number, count)| {
            Some(Share { number: number.parse().ok()?, count: count.parse().ok()? })
        });
        match numbers {
            Some(share @ Share { number, count }) if number < count && count <= 1024 => {
                Ok(ShareArg(share))
            }
            _ => Err("expected I/N with I from 0 to N-1 and N from 1 to 1024, such as 0/8".into()),
        }
    }
}

impl ShareArgs {
    /// The share, if the user gave one.
    pub(crate) fn share(&self) -> Option<Share> {
        self.share.map(|share| share.0)
    }

    pub(crate) fn explain(&self) -> bool {
        self.explain
    }

    /// The first of `--share`, `--explain` and `--generation` that the user gave.
    pub(crate) fn first_given(&self) -> Option<&'static str> {
        first_given([
            (self.share.is_some(), "--share"),
            (self.explain, "--explain"),
            (self.generation.is_some(), "--generation"),
        ])
    }

    /// Rejects these options for files, which have no tables to divide, and with `--confirm`.
    pub(crate) fn check(&self, has_files: bool, confirms: bool) -> anyhow::Result<()> {
        match self.first_given() {
            Some(option) if has_files => bail!(
                "{option} is for a store, and the input is files; 'build' a store from them \
                 first, with --scheme blocks-4 for k = 3"
            ),
            Some(option) if confirms => bail!(
                "{option} is for pairs of fingerprints; --confirm compares documents; leave one out"
            ),
            _ => Ok(()),
        }
    }

    /// Rejects a store whose generation differs from the value of `--generation`.
    pub(crate) fn check_generation(&self, store: &Store) -> fpstore::Result<()> {
        self.generation.map_or(Ok(()), |wanted| store.expect_generation(wanted))
    }
}

/// The plan that divides a join within `k` bits into shares, and a description of which tables
/// each share reads.
pub(crate) fn plan_of(store: &Store, k: u32) -> anyhow::Result<(JoinPlan, String)> {
    if k > 63 {
        bail!("within 64 bits every two fingerprints are a pair; for shares, k is at most 63");
    }
    let plan = JoinPlan::of(store, k)?;
    let words = match plan.reads() {
        PlanReads::Ranges => {
            let tables = counted(u64::from(k) + 1, "table", "tables");
            format!("a share reads its range of {tables}")
        }
        _ => format!(
            "each share reads everything: not all segments have {} tables of separate bits; a \
             store with --scheme {} has them",
            k + 1,
            plan.scheme()
        ),
    };
    Ok((plan, words))
}
