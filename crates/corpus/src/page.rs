//! The HTML page of a cleaning.

use super::cleaned::Cleaned;
use super::error::{Error, Result};
use super::overview::Overview;
use fpstore::rows::Reason;
use fpstore_plot::numbers::grouped;
use fpstore_report::page::{CleaningPage, RemovedPair};

impl Cleaned<'_> {
    /// An HTML page of the removed documents: their similarities, the reasons, the losses of files
    /// and sources, the largest clusters, and a sample of at most `most` removed documents, each
    /// next to the document kept instead.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] if the files of the work cannot be read or the observer ends it.
    pub fn page(&self, overview: &Overview, most: usize, title: &str) -> Result<String> {
        let mut page = CleaningPage::default();
        self.for_each_removed(|row| {
            page.take(row.distance, row.similarity);
            Ok::<(), Error>(())
        })?;
        let reasons = overview.reasons.each().into_iter().filter(|(_, count)| *count > 0);
        page.reasons = reasons.map(|(reason, count)| (reason.name().into(), count)).collect();
        let losses = overview.losses.iter();
        let losses = losses.map(|it| (it.of.to_string(), it.document_count, it.removed_count));
        page.losses = losses.collect();
        page.cluster_sizes = self.cluster_sizes();
        let clusters = overview.clusters.iter().map(|cluster| {
            let id = cluster.id.as_ref().map(ToString::to_string).unwrap_or_default();
            (cluster.document_count, id, cluster.line.clone().unwrap_or_default())
        });
        page.clusters = clusters.collect();
        let pairs = self.sample(most)?.into_iter().map(|of| RemovedPair {
            id: of.id.to_string(),
            other_id: of.other_id.to_string(),
            text: of.text,
            other_text: of.other_text,
            distance: of.distance,
            similarity: of.similarity,
            reason: of.reason.name().into(),
            by_likeness: !matches!(of.reason, Reason::Address | Reason::Judged),
        });
        page.pairs = pairs.collect();
        let account = self.account();
        page.stored_count = account.near_stored_count;
        let facts = [
            ("documents", grouped(account.document_count())),
            ("kept", grouped(account.kept_count)),
            ("removed", grouped(account.removed_count())),
            ("judged", overview.judgement.to_string()),
        ];
        Ok(page.write(title, &facts))
    }
}
