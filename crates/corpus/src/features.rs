//! Step 2 with a similarity and no store: documents are near if their features are similar.
//!
//! Candidates are read again, and their features are kept until they are compared with leaders. If
//! the features of all candidates would take much space, the candidates are processed in rounds of
//! unconnected groups, and the files are read once for each round.

use std::collections::HashMap;
use std::sync::Arc;

use fpstore_base::IdRef;
use fpstore_documents::{Admission, DocumentPlace, Wanted};

use super::bar::{Bars, Decided, set_bar};
use super::dropped::Dropped;
use super::error::{Error, Result};
use super::event::Event;
use super::job::{CONNECTIONS, Job};
use super::number::Number;
use super::passages::position_of;
use super::ranking::Compared;
use super::spool::{Entry, Spools};
use super::work::Work;
use fpstore::join::confirm::{Candidates, Documents, KeepParts, Likeness, Outline};

/// The features of a round take at most the bytes of the input divided by this,
const SPACE_DIVISOR: u64 = 8;
/// or this many bytes if that is more,
const SPACE_MIN: u64 = 1 << 20;
/// or the bytes of all features divided by this, if that is more: this limits the number of rounds.
const ROUNDS_MAX: u64 = 8;

/// The number of dissimilar pairs that take a minute or more to compare.
const UNLIKE_MIN: u64 = if cfg!(test) { 1000 } else { 400_000_000 };

/// The results of the join of all documents, stored in the job, so that work stopped in or after
/// the join can resume.
pub(super) struct Connections<'a> {
    pub(super) work: &'a Work<'a>,
    pub(super) job: &'a Job,
    /// The inputs of the join that are not settings of the job.
    pub(super) state: &'a str,
}

impl KeepParts for Connections<'_> {
    type Error = Error;

    /// The stored parts, if their state is the same.
    fn earlier(&self) -> Option<Vec<u8>> {
        let bytes = self.job.read(CONNECTIONS).ok()??;
        let own = bytes.strip_prefix(self.state.as_bytes())?.strip_prefix(b"\n")?;
        Some(own.to_vec())
    }

    fn resumed(&self, done: u32, count: u32) {
        self.work.tell(Event::Joined { done, count });
    }

    fn keep(&mut self, connections: &[u8]) -> Result<()> {
        if !self.job.is_named() {
            return Ok(());
        }
        self.job.save_bytes(CONNECTIONS, &[self.state.as_bytes(), b"\n", connections].concat())
    }
}

/// A document whose features are needed.
#[derive(Clone, Copy)]
struct Needed {
    /// Its number in the join.
    document: u32,
    file: u32,
    record: u64,
    /// Its position among the passages of its record, if it is a passage.
    passage: Option<usize>,
    /// The number of its features.
    len: u32,
}

impl Needed {
    fn place(&self) -> (usize, u64, Option<usize>) {
        (self.file as usize, self.record, self.passage)
    }
}

/// The position of a passage in its record; `None` for a whole document.
fn passage_of(work: &Work<'_>, id: IdRef<'_>) -> Option<usize> {
    work.options.passage_unit().and_then(|_| position_of(id))
}

/// The documents that are similar to a kept one.
pub(super) fn by_features(
    work: &Work<'_>,
    spools: &Spools,
    compared: &Compared,
    threshold: f64,
    connections: &mut Connections<'_>,
) -> Result<Decided> {
    let ranking = &compared.ranking;
    let likeness = |bar: f64| Likeness::from(bar).contained(work.settings.confirm_contains);
    let (bars, target) = (Bars::Similarity(threshold), work.settings.target);
    let all = compared.ranks();
    let are_all = all.len() == spools.len();
    // The join numbers documents by the position of their rank.
    let document_of = |number: Number| {
        let rank = ranking.rank_of(number);
        let at = if are_all { Ok(rank.index()) } else { all.binary_search(&rank) };
        at.ok().map(|at| at as u32)
    };
    let mut list = Documents::outlined_places(threshold, all.len());
    spools.each(|number, Entry { fingerprint, digest, sketch, .. }| {
        if let Some(document) = document_of(number) {
            list.put_outlined(document, fingerprint, digest, Outline::from_bytes(sketch));
        }
        Ok(())
    })?;
    let mut found = list.candidates_in_parts(&work.join_options(work.k), connections)?;
    let mut needed = Vec::new();
    spools.each(|number, Entry { file, record, id, feature_count: len, .. }| {
        if let Some(document) = document_of(number).filter(|document| found.needs(*document)) {
            let passage = passage_of(work, id);
            needed.push(Needed { document, file, record, passage, len });
        }
        Ok(())
    })?;
    let rounds = Rounds::new(work, &found, &needed);
    let number_of = |document: u32| ranking.number_of(all[document as usize]);
    let lead = |found: &Candidates, bar: f64| -> Result<Vec<Dropped>> {
        let led = found.lead(likeness(bar))?;
        Ok(led.iter().map(|led| Dropped::of_led(led, number_of)).collect())
    };
    if rounds.count == 1 {
        take(work, &mut found, &needed)?;
        tell_unlike(work, &found, likeness(threshold))?;
        return set_bar(bars, target, spools, compared, |bar| lead(&found, bar));
    }
    let mut is_told = false;
    set_bar(bars, target, spools, compared, |bar| {
        let mut dropped = Vec::new();
        for round in 0..rounds.count {
            found.turn_to(|group| rounds.of_group(group) == round)?;
            let is_own = |needed: &&Needed| found.needs(needed.document);
            let own: Vec<Needed> = needed.iter().filter(is_own).copied().collect();
            take(work, &mut found, &own)?;
            // The first bar is the most lenient; the other bars would report the same again.
            if !is_told {
                tell_unlike(work, &found, likeness(bar))?;
            }
            dropped.extend(lead(&found, bar)?);
        }
        is_told = true;
        Ok(dropped)
    })
}

/// Reports if comparing takes long because many documents are near one another and not similar.
pub(super) fn tell_unlike(work: &Work<'_>, found: &Candidates, likeness: Likeness) -> Result<()> {
    if let Some(unlike) = found.unlike(likeness, UNLIKE_MIN)? {
        work.tell(Event::ManyUnlike(unlike));
    }
    Ok(())
}

/// The round of each group.
struct Rounds {
    of_groups: HashMap<u32, u16>,
    count: u16,
}

impl Rounds {
    fn new(work: &Work<'_>, found: &Candidates, needed: &[Needed]) -> Self {
        let group_of = |needed: &Needed| found.group_of(needed.document).unwrap_or_default();
        let mut lens: HashMap<u32, u64> = HashMap::new();
        for one in needed {
            *lens.entry(group_of(one)).or_default() += 8 * u64::from(one.len);
        }
        let whole: u64 = lens.values().sum();
        let input_len = work.files.total_len().unwrap_or(0);
        let most = (input_len / SPACE_DIVISOR).max(SPACE_MIN).max(whole / ROUNDS_MAX);
        let mut of_groups = HashMap::with_capacity(lens.len());
        let (mut round, mut taken) = (0, 0);
        for group in needed.iter().map(group_of) {
            let Some(len) = lens.remove(&group) else { continue };
            if taken > 0 && taken + len > most {
                (round, taken) = (round + 1, 0);
            }
            taken += len;
            of_groups.insert(group, round);
        }
        Rounds { of_groups, count: round + 1 }
    }

    /// The round of a group; the first round if none of its documents must be read.
    fn of_group(&self, group: u32) -> u16 {
        self.of_groups.get(&group).copied().unwrap_or(0)
    }
}

/// Reads the needed documents for the candidates.
fn take(work: &Work<'_>, candidates: &mut Candidates, needed: &[Needed]) -> Result<()> {
    let mut places: HashMap<usize, Vec<u64>> = HashMap::new();
    for Needed { file, record, .. } in needed {
        places.entry(*file as usize).or_default().push(*record);
    }
    if places.is_empty() {
        return Ok(());
    }
    let is_wanted = move |place: DocumentPlace| {
        let records = places.get(&place.file);
        records.is_some_and(|records| records.binary_search(&place.record()).is_ok())
    };
    let wanted: Arc<Wanted> = Arc::new(is_wanted);
    let hasher = work.settings.source.text_hasher()?;
    let is_of_passages = work.options.passage_unit().is_some();
    let mut next = needed.iter().peekable();
    work.files.read_features(hasher, &work.options, Some(wanted), |document| -> Result<_> {
        let passage = passage_of(work, document.id);
        let place = (document.place.file, document.place.record(), passage);
        let taken = match next.next_if(|one| one.place() == place) {
            Some(one) => candidates.take(one.document, document.features),
            // All passages of a record are read, and some are not needed.
            None if is_of_passages => Ok(()),
            None => Err(fpstore::Error::InvalidOptions { reason: String::new() }),
        };
        match taken {
            Ok(()) => Ok(Admission::Taken),
            // The document has changed.
            Err(fpstore::Error::InvalidOptions { .. }) => {
                let reason = format!("{} was changed while the documents were read", document.id);
                Err(Error::refused(reason))
            }
            Err(error) => Err(error.into()),
        }
    })?;
    if next.next().is_some() {
        return Err(Error::refused("the files were changed while they were read"));
    }
    Ok(())
}
