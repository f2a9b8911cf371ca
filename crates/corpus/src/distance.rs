//! Step 2 without a least similarity: documents are near-duplicates if the distance of their
//! fingerprints is within the bar.

use super::bar::{Bars, Decided, set_bar};
use super::dropped::{Dropped, KeptDocument};
use super::error::Result;
use super::number::Number;
use super::ranking::{ComparedDocuments, Rank};
use super::spool::Spools;
use super::work::Work;
use fpstore::join::dedup;
use fpstore::rows::Reason;
use fpstore::{BuildOptions, IdPolicy, TemporaryBuilder};
use fpstore_base::IdRef;
use fpstore_base::watch::Phase;

/// Finds the documents that are near a stored or a kept document.
pub(super) fn by_distance(
    work: &Work<'_>,
    spools: &Spools,
    compared: &ComparedDocuments,
) -> Result<Decided> {
    let ranking = &compared.ranking;
    let options = BuildOptions::default()
        .ids(IdPolicy::U64)
        .recipe(work.settings.source.recipe())
        .resources(work.settings.resources.clone());
    let mut new = TemporaryBuilder::create(&work.temp_dir, options)?;
    spools.each(|number, entry| {
        if !compared.has(number) {
            return Ok(());
        }
        let Rank(rank) = ranking.rank_of(number);
        Ok(new.builder().push(entry.fingerprint, u64::from(rank))?)
    })?;
    let new = new.finish()?;
    let number_of = |id: Option<IdRef<'_>>| -> Number {
        match id {
            Some(IdRef::U64(rank)) => ranking.number_of(Rank(rank as u32)),
            _ => unreachable!("the ids of the temporary store are ranks"),
        }
    };
    let (stored, is_within) = (work.stored.as_ref(), work.settings.is_within());
    set_bar(Bars::Distance(work.k), work.settings.target, spools, compared, |bar| {
        let done = dedup(new.store(), stored, is_within, &work.join_options(bar as u32))?;
        let watch = work.watch(Phase::Cluster, None);
        let mut list = Vec::new();
        done.for_each_dropped(|dropped| {
            watch.tick(1)?;
            list.push(Dropped {
                number: number_of(dropped.id),
                other: match dropped.is_stored {
                    true => KeptDocument::Stored(
                        dropped.other_id.map(IdRef::to_id),
                        dropped.other_store,
                    ),
                    false => KeptDocument::New(number_of(dropped.other_id)),
                },
                other_fingerprint: dropped.pair.second,
                similarity: None,
                reason: Reason::Near,
            });
            Ok::<(), fpstore::Error>(())
        })?;
        Ok(list)
    })
}
