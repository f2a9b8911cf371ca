//! The answer to a query as output rows: TSV or JSON.

use std::io::Write;

use fpstore::{Answer, Fingerprint};
use serde::Serialize;

use super::output::IdPrinter;

/// Writes one line for each match and id, which begins with the id of the query if it has one.
pub(super) fn write_tsv(
    out: &mut Vec<u8>,
    query_id: Option<&str>,
    needle: Fingerprint,
    answer: &Answer<'_>,
    printer: &IdPrinter,
) -> anyhow::Result<()> {
    let query = match query_id {
        Some(id) => format!("{}\t{needle}", printer.show_column(id)),
        None => needle.to_string(),
    };
    for hit in answer.hits() {
        let mut bare = true;
        for id in hit.ids() {
            bare = false;
            let id = id?.to_string();
            let (fingerprint, distance) = (hit.fingerprint(), hit.distance());
            writeln!(out, "{query}\t{fingerprint}\t{distance}\t{}", printer.show(&id))?;
        }
        if bare {
            writeln!(out, "{query}\t{}\t{}\t", hit.fingerprint(), hit.distance())?;
        }
    }
    Ok(())
}

#[derive(Serialize)]
struct JsonAnswer<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    query: String,
    matches: Vec<JsonMatch>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
}

#[derive(Serialize)]
struct JsonMatch {
    fingerprint: String,
    distance: u32,
    /// As strings, because JavaScript rounds numbers above 2^53.
    ids: Vec<String>,
}

/// Writes an answer as one JSON object on one line.
pub(super) fn write_json(
    out: &mut Vec<u8>,
    id: Option<&str>,
    needle: Fingerprint,
    answer: &Answer<'_>,
) -> anyhow::Result<()> {
    let mut matches = Vec::with_capacity(answer.len());
    for hit in answer.hits() {
        let ids: Result<Vec<String>, _> = hit.ids().map(|id| id.map(|id| id.to_string())).collect();
        matches.push(JsonMatch {
            fingerprint: hit.fingerprint().to_string(),
            distance: hit.distance(),
            ids: ids?,
        });
    }
    let cut = answer.outcome().cut;
    serde_json::to_writer(&mut *out, &JsonAnswer { id, query: needle.to_string(), matches, cut })?;
    out.push(b'\n');
    Ok(())
}
