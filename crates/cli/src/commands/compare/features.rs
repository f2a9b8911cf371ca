//! Compares the features of two documents for `fpstore compare`.

use std::io::Write;

use fpstore_text::{Comparison, Feature};
use serde::Serialize;

use crate::output::sink::Sink;
use crate::output::text::{IdPrinter, counted};

/// The compared features of two documents, for the report of `fpstore compare`.
#[derive(Serialize)]
pub(crate) struct FeatureReport {
    pub(crate) jaccard: f64,
    pub(crate) common_count: usize,
    pub(crate) only_first_count: usize,
    pub(crate) only_second_count: usize,
    pub(crate) only_first: Vec<String>,
    pub(crate) only_second: Vec<String>,
}

impl FeatureReport {
    /// Converts a comparison into the report, which lists at most `limit` of the features that only
    /// one text contains, for each text.
    pub(crate) fn of(compared: Comparison, limit: usize) -> Self {
        let listed = |features: Vec<Feature>| {
            features.into_iter().take(limit).map(|feature| feature.text).collect()
        };
        let Comparison { jaccard, common_count, only: [only_first, only_second], .. } = compared;
        FeatureReport {
            jaccard,
            common_count,
            only_first_count: only_first.len(),
            only_second_count: only_second.len(),
            only_first: listed(only_first),
            only_second: listed(only_second),
        }
    }

    pub(crate) fn write(&self, out: &mut Sink, printer: &IdPrinter) -> anyhow::Result<()> {
        let shared = counted(self.common_count as u64, "feature", "features");
        writeln!(out, "jaccard\t{:.3}\nshared\t{shared}", self.jaccard)?;
        for (side, count, list) in [
            ("A", self.only_first_count, &self.only_first),
            ("B", self.only_second_count, &self.only_second),
        ] {
            writeln!(out, "only {side}\t{}", counted(count as u64, "feature", "features"))?;
            list.iter().try_for_each(|text| writeln!(out, "\t{}", printer.show(text)))?;
            if !list.is_empty() && list.len() < count {
                writeln!(out, "\t... --limit prints more")?;
            }
        }
        Ok(())
    }
}
