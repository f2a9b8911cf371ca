//! Step 2 without a similarity: documents are near if their fingerprints are.

use super::dropped::{Dropped, Other};
use super::error::Result;
use super::number::{Number, Rank};
use super::ranking::Ranking;
use super::spool::Spools;
use super::work::Work;
use crate::base::id_policy::IdPolicy;
use crate::join::dedup;
use crate::writing::builder::BuildOptions;
use crate::writing::builder::temporary::TemporaryBuilder;
use fpstore_base::IdRef;
use fpstore_base::watch::Phase;

/// The documents that are near a stored one, or one that is kept.
pub(super) fn by_distance(work: &Work<'_>, spools: &Spools) -> Result<Vec<Dropped>> {
    let ranking = Ranking::of(&work.settings.keep, spools)?;
    let options = BuildOptions::default()
        .ids(IdPolicy::U64)
        .recipe(work.settings.source.recipe())
        .memory(work.settings.memory)
        .threads(work.settings.threads)
        .observer(work.settings.observer.clone());
    let mut new = TemporaryBuilder::create(&work.temp_dir, options)?;
    spools.each(|number, entry| {
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
    let done = dedup(new.store(), stored, is_within, &work.join_options(work.k))?;
    let watch = work.watch(Phase::Cluster, None);
    let mut list = Vec::new();
    done.for_each_dropped(|dropped| {
        watch.tick(1)?;
        list.push(Dropped {
            number: number_of(dropped.id),
            other: match dropped.is_stored {
                true => Other::Stored(dropped.other_id.map(IdRef::to_id)),
                false => Other::New(number_of(dropped.other_id)),
            },
            other_fingerprint: dropped.pair.second,
            similarity: None,
        });
        Ok::<(), crate::Error>(())
    })?;
    Ok(list)
}
