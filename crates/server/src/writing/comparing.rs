//! Compares the items of an addition with all known records, in the writer's turn.
//!
//! Items that are costly to compare arrive with the result of a comparison with an earlier snapshot
//! ([`Ahead`]): only the records added since then are compared here, unless that takes too long.

use std::ops::Range;
use std::time::Instant;

use super::task::{Items, Verdict, not_written};
use crate::protocol::failure::Failure;
use fpstore::join::JudgedPairs;
use fpstore::writer::{Ahead, CheckedWriter, ComparisonProgress, NewRecord, Verdict as Found};
use fpstore::{Limits, Result as StoreResult};

/// The largest number of ids in the answer for a near item.
const IDS_MAX: usize = 10;
/// The expected nanoseconds for which comparing the items of a request may hold the writer.
pub(crate) const TURN_NANOS: f64 = 2_000_000.0;
/// The largest number of pending items while commits fail.
const PENDING_MAX: usize = 100_000;

/// The verdicts on the items of a request, and the positions of its new items among the pending
/// items.
pub(super) type Checked = (Vec<Verdict>, Range<usize>);

/// Compares items with all known records; new items become pending. Returns the verdicts, and the
/// positions of the new items; `None` if comparing would take too long and was not done.
pub(super) fn check_all(
    writer: &mut CheckedWriter,
    items: &mut Items,
    deadline: Instant,
) -> Result<Option<Checked>, Failure> {
    let limits = Limits::default().deadline(deadline);
    if let Some(ahead) = &mut items.ahead
        && !catch_up(writer, ahead, &limits, items.is_last_try)?
    {
        return Ok(None);
    }
    let Items { records, k, pairs, ahead, .. } = items;
    let before = writer.pending().len();
    if before + records.len() > PENDING_MAX {
        let message = "too many items are pending, because commits fail; see the log";
        return Err(Failure::busy(message));
    }
    let verdicts: Result<Vec<Verdict>, Failure> = match ahead {
        Some(ahead) => records
            .iter()
            .zip(ahead.nearest())
            .map(|(item, nearest)| {
                let found = writer.add_compared_judged(item, *k, nearest, &limits, pairs)?;
                verdict_of(item, found, pairs)
            })
            .collect(),
        None => records
            .iter()
            .map(|item| {
                let found = writer.check_and_add_judged(item, *k, &limits, pairs)?;
                verdict_of(item, found, pairs)
            })
            .collect(),
    };
    if verdicts.is_err() {
        writer.forget(before..);
    }
    Ok(Some((verdicts?, before..writer.pending().len())))
}

/// Compares items with the records added since the comparison `ahead`. Returns `false` if that
/// would take too long.
fn catch_up(
    writer: &mut CheckedWriter,
    ahead: &mut Ahead,
    limits: &Limits,
    may_be_costly: bool,
) -> Result<bool, Failure> {
    let writer = writer.writer().map_err(|error| not_written(&error))?;
    let store = writer.store();
    ahead.set_out(store);
    if !may_be_costly && ahead.expected_nanos() > TURN_NANOS {
        return Ok(false);
    }
    match ahead.compare(limits, None, may_be_costly)? {
        ComparisonProgress::Cut => Err(cut()),
        compared => Ok(compared == ComparisonProgress::All && ahead.is_at(store)),
    }
}

/// The verdict for the answer, without ids that are judged different from the item.
fn verdict_of(item: &NewRecord, found: Found<'_>, pairs: &JudgedPairs) -> Result<Verdict, Failure> {
    match found {
        Found::Added => Ok(Verdict::New),
        Found::Stored(hit) => {
            let own = item.id.as_ref().map(ToString::to_string);
            let ids = hit.ids().map(|id| Ok(id?.to_string()));
            let ids = ids.filter(|id: &StoreResult<String>| {
                let both = own.as_ref().zip(id.as_ref().ok());
                !both.is_some_and(|(own, id)| pairs.are_different(own, id))
            });
            let ids = ids.take(IDS_MAX).collect::<StoreResult<_>>()?;
            let fingerprint = hit.fingerprint();
            let distance = fingerprint.distance(item.fingerprint);
            Ok(Verdict::Near { fingerprint, distance, ids, pending: false })
        }
        Found::Pending { record, distance } => {
            let ids = record.id.iter().map(ToString::to_string).collect();
            Ok(Verdict::Near { fingerprint: record.fingerprint, distance, ids, pending: true })
        }
        Found::Cut => Err(cut()),
    }
}

/// The failure for an addition that could not be compared before its deadline.
pub(crate) fn cut() -> Failure {
    Failure::busy("the store could not be searched within --deadline; nothing was added")
}
