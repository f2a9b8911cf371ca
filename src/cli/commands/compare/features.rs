//! The features of two documents that `fpstore compare` compares.

use std::io::Write;

use fpstore_text::{Comparison, Feature};
use serde::Serialize;

use crate::cli::output::sink::Sink;
use crate::cli::output::text::{IdPrinter, counted};

/// What the features say. There are none of it where features are given instead of texts.
#[derive(Serialize)]
pub(in crate::cli) struct FeatureReport {
    pub(in crate::cli) jaccard: f64,
    pub(in crate::cli) shared_count: usize,
    pub(in crate::cli) only_a_count: usize,
    pub(in crate::cli) only_b_count: usize,
    pub(in crate::cli) only_a: Vec<String>,
    pub(in crate::cli) only_b: Vec<String>,
}

impl FeatureReport {
    /// Of the features that one text has alone, `limit` are listed.
    pub(in crate::cli) fn of(compared: Comparison, limit: usize) -> Self {
        let listed = |features: Vec<Feature>| {
            features.into_iter().take(limit).map(|feature| feature.text).collect()
        };
        let Comparison { jaccard, common_count, only: [only_a, only_b], .. } = compared;
        FeatureReport {
            jaccard,
            shared_count: common_count,
            only_a_count: only_a.len(),
            only_b_count: only_b.len(),
            only_a: listed(only_a),
            only_b: listed(only_b),
        }
    }

    pub(in crate::cli) fn write(&self, out: &mut Sink, printer: &IdPrinter) -> anyhow::Result<()> {
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
