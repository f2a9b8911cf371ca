//! Answers of a server, converted to matches and rows with ids of the stored kind.

use fpstore::{Id, IdKind, IdRef, Match};
use fpstore_client::{AnswerRow, MatchRow, QueryOptions};

use super::connection::Served;
use crate::answer_columns::{ANSWER_NAMES, IdColumn, answer_columns};
use crate::columns::RowsBuilder;
use crate::errors::Failure;
use crate::rows::Rows;

/// Converts an id from a server, which sends all ids as texts, to the id kind of its store.
pub(super) fn id_of(text: &str, kind: IdKind) -> Id {
    let number = IdRef::canonical_number(text).filter(|_| kind == IdKind::U64);
    number.map_or_else(|| Id::Text(text.into()), Id::U64)
}

/// Whether the limit of the caller cut the answer. Fails if another limit cut it, because then the
/// answer is incomplete.
pub(super) fn is_cut(answer: &AnswerRow, options: &QueryOptions) -> Result<bool, Failure> {
    if !answer.cut {
        return Ok(false);
    }
    let by = answer.cut_by.as_deref().unwrap_or_default();
    let count = answer.matches.len();
    let why = match by {
        "limit" if options.limit.is_some() || options.count.is_some() => return Ok(true),
        "ids" if options.ids == Some(0) => return Ok(false),
        "limit" => format!(
            "the server returns at most {count} matches, its --max-matches; limit={count} accepts \
             them, a smaller k finds fewer"
        ),
        "ids" => "a match has more ids than the --max-ids of the server".to_owned(),
        _ => "the search took longer than the --deadline of the server".to_owned(),
    };
    let by = by.to_owned();
    Err(Failure::Cut { message: format!("the answer to {} is cut: {why}", answer.query), by })
}

/// The matches of one answer, each with the name of its store if there are several.
pub(super) fn matches_of(answer: AnswerRow, served: &Served) -> Vec<(Match, Option<String>)> {
    let match_of = |found: MatchRow| {
        let (fingerprint, distance) = (found.fingerprint.fingerprint, found.distance);
        let ids = found.ids.iter().flatten().map(|id| id_of(id, served.ids)).collect();
        (Match { fingerprint, distance, ids }, found.store)
    };
    answer.matches.into_iter().map(match_of).collect()
}

/// The rows of many answers, with the columns of `Store.query_many`; the column `store` is omitted
/// for a single store.
pub(super) fn rows_of(
    answers: &[AnswerRow],
    options: &QueryOptions,
    stores: bool,
    ids: IdKind,
) -> Result<Rows, Failure> {
    let columns = answer_columns(stores, false, IdColumn::new(ids));
    let has_ids = columns.5.is_there();
    let mut table = RowsBuilder::new(ANSWER_NAMES, columns);
    let mut cut = false;
    for (query, answer) in answers.iter().enumerate() {
        cut |= is_cut(answer, options)?;
        for found in &answer.matches {
            let (value, distance) = (found.fingerprint.fingerprint.value(), found.distance);
            // `query as u32` keeps the value: `check_count` has limited the number of queries.
            let store = found.store.as_deref().unwrap_or_default();
            let mut keep =
                |id: Option<IdRef<'_>>| table.keep((query as u32, value, distance, store, "", id));
            let own = found.ids.as_deref().unwrap_or_default();
            for id in own.iter().filter(|_| has_ids) {
                let id = id_of(id, ids);
                keep(Some(id.as_ref()))?;
            }
            if own.is_empty() || !has_ids {
                keep(None)?;
            }
        }
    }
    Ok(table.finish()?.with_cut(cut))
}
