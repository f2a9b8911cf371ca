//! Counts the removed documents for the overview of a cleaning.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::clusters::Leader;
use super::decide::Decisions;
use super::dropped::DroppedList;
use super::error::Result;
use super::loss::{Loss, LossOf};
use super::number::Number;
use super::overview::{LargeCluster, Overview};
use super::reasons::ReasonCounts;
use super::sample::sample_lines;
use super::spool::{Empties, Spools};
use super::work::Work;
use fpstore::rows::Side;

/// Maximum number of clusters in an overview.
const CLUSTERS_MAX: usize = 10;
/// Minimum number of documents of a cluster in an overview: smaller clusters are common.
const CLUSTER_MIN: u64 = 10;

/// The losses of all files together, of each file and of each source.
pub(super) fn losses(work: &Work<'_>, spools: &Spools, dropped: &DroppedList) -> Result<Vec<Loss>> {
    let mut all = Loss::new(LossOf::All);
    let mut files: Vec<Option<Loss>> = (0..work.files.len())
        .map(|number| {
            let file = work.files.get(number, &work.options)?;
            let is_listed = !file.format().is_one_document() && !spools.leaves_out(number);
            is_listed.then(|| Loss::new(LossOf::File(file.name().into())))
        })
        .collect();
    let mut sources: HashMap<String, Loss> = HashMap::new();
    let has_sources = work.settings.named_source_field().is_some();
    let mut count = |file: u32, source: Option<&str>, count: &dyn Fn(&mut Loss)| {
        count(&mut all);
        if let Some(Some(file)) = files.get_mut(file as usize) {
            count(file);
        }
        if has_sources {
            let name = source.unwrap_or_default();
            match sources.get_mut(name) {
                Some(source) => count(source),
                None => {
                    let source = Loss::new(LossOf::Source(name.into()));
                    count(sources.entry(name.into()).or_insert(source));
                }
            }
        }
    };
    spools.each(|number, entry| {
        let is_dropped = dropped.get(number).is_some();
        count(entry.file, entry.source, &|loss| loss.count(is_dropped));
        Ok(())
    })?;
    for Empties { file, source, count: empty_count } in spools.empties() {
        count(*file, source.as_deref(), &|loss| loss.empty_count += empty_count);
    }
    let mut sources: Vec<(String, Loss)> = sources.into_iter().collect();
    sources.sort_unstable_by(|one, other| one.0.cmp(&other.0));
    let sources = sources.into_iter().map(|(_, loss)| loss);
    Ok([all].into_iter().chain(files.into_iter().flatten()).chain(sources).collect())
}

pub(super) fn overview(
    work: &Work<'_>,
    spools: &Spools,
    decisions: &Decisions,
) -> Result<Overview> {
    Ok(Overview {
        judgement: work.judgement(decisions.bar),
        reasons: ReasonCounts::of(decisions.dropped.iter().map(|one| one.reason)),
        losses: losses(work, spools, &decisions.dropped)?,
        clusters: largest_clusters(work, spools, decisions)?,
    })
}

/// The largest clusters, each with the beginning of the text of a document.
fn largest_clusters(
    work: &Work<'_>,
    spools: &Spools,
    decisions: &Decisions,
) -> Result<Vec<LargeCluster>> {
    // For each leader, the size of its cluster and the first document near it.
    let mut found: HashMap<Leader<'_>, (u64, Number)> = HashMap::new();
    for one in decisions.dropped.iter().chain(decisions.spared.iter()) {
        let leader = Leader::of_cluster(one, &decisions.spared);
        let (count, first) = found.entry(leader).or_insert((1, one.number));
        *count += 1;
        *first = one.number.min(*first);
    }
    let mut list: Vec<_> =
        found.into_iter().filter(|(_, (count, _))| *count >= CLUSTER_MIN).collect();
    list.sort_unstable_by_key(|(_, (count, first))| (Reverse(*count), *first));
    list.truncate(CLUSTERS_MAX);

    // Shows the text of the leader or of the first document near it: the earlier of the two,
    // because reading finds it sooner.
    let early = |(kept, (_, first)): &(Leader<'_>, (u64, Number))| match kept {
        Leader::New(number) => (*number).min(*first),
        Leader::Stored(..) => *first,
    };
    let shown: Vec<Number> = list.iter().map(early).collect();
    let mut places = vec![None; list.len()];
    let mut ids = vec![None; list.len()];
    spools.each(|number, entry| {
        for at in (0..list.len()).filter(|&at| shown[at] == number) {
            places[at] = Some((entry.file as usize, entry.record, entry.id.to_id()));
        }
        for at in (0..list.len()).filter(|&at| list[at].0 == Leader::New(number)) {
            ids[at] = Some(entry.id.to_id());
        }
        Ok(())
    })?;
    let lines = sample_lines(work, places)?;
    let clusters = list.iter().zip(ids).zip(lines).map(|((&(kept, (count, _)), id), line)| {
        let (id, side) = match kept {
            Leader::New(_) => (id, Side::New),
            Leader::Stored(_, id) => (id.cloned(), Side::Stored),
        };
        LargeCluster { document_count: count, id, side, line }
    });
    Ok(clusters.collect())
}
