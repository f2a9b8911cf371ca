//! The features of two documents that `fpstore compare` compares.

use std::collections::HashSet;
use std::io::Write;

use fpstore_text::Feature;
use serde::Serialize;

use super::output::{IdPrinter, counted};
use super::sink::Sink;

/// What the features say. There are none of it where features are given instead of texts.
#[derive(Serialize)]
pub(super) struct FeatureReport {
    pub(super) jaccard: f64,
    pub(super) shared_count: usize,
    pub(super) only_a_count: usize,
    pub(super) only_b_count: usize,
    pub(super) only_a: Vec<String>,
    pub(super) only_b: Vec<String>,
}

/// Compares the features of two documents; of those that one has alone, `limit` are listed.
pub(super) fn compare(a: Vec<Feature>, b: Vec<Feature>, limit: usize) -> FeatureReport {
    let hashes = |list: &[Feature]| list.iter().map(|of| of.hash).collect::<HashSet<u64>>();
    let (in_a, in_b) = (hashes(&a), hashes(&b));
    let shared_count = in_a.intersection(&in_b).count();
    let only = |list: Vec<Feature>, others: &HashSet<u64>| {
        let own = list.into_iter().filter(|feature| !others.contains(&feature.hash));
        own.take(limit).map(|feature| feature.text).collect()
    };
    FeatureReport {
        jaccard: shared_count as f64 / (in_a.len() + in_b.len() - shared_count) as f64,
        shared_count,
        only_a_count: in_a.len() - shared_count,
        only_b_count: in_b.len() - shared_count,
        only_a: only(a, &in_b),
        only_b: only(b, &in_a),
    }
}

impl FeatureReport {
    pub(super) fn write(&self, out: &mut Sink, printer: &IdPrinter) -> anyhow::Result<()> {
        let shared = counted(self.shared_count as u64, "feature", "features");
        writeln!(out, "jaccard\t{:.3}\nshared\t{shared}", self.jaccard)?;
        for (side, count, list) in
            [("A", self.only_a_count, &self.only_a), ("B", self.only_b_count, &self.only_b)]
        {
            writeln!(out, "only {side}\t{}", counted(count as u64, "feature", "features"))?;
            list.iter().try_for_each(|text| writeln!(out, "\t{}", printer.show(text)))?;
            if !list.is_empty() && list.len() < count {
                writeln!(out, "\t... --limit prints more")?;
            }
        }
        Ok(())
    }
}
