//! Encodes answers: as JSON, or as fixed binary records for large batches.

use std::path::Path;

use fpstore_base::{Fingerprint, IdRef, Width};

use crate::protocol::memory_budget::Charge;
use fpstore::{Answer, Hit, Result};

/// A query fingerprint, and the id that the client gave it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Needle<'a> {
    pub(crate) id: Option<&'a str>,
    pub(crate) fingerprint: Fingerprint,
}

/// The query fingerprints of a request.
#[derive(Debug)]
pub(crate) enum Needles {
    /// Fingerprints without ids: 8 bytes each, because many waiting batches may be in memory.
    /// `_charge` counts the fingerprints of a request body in the memory budget.
    Bare { values: Vec<Fingerprint>, _charge: Option<Charge> },
    /// Fingerprints of a stream, each with an optional id.
    Named(Vec<NamedNeedle>),
}

/// A query fingerprint of a stream, and the id that the client gave it.
pub(crate) type NamedNeedle = (Option<String>, Fingerprint);

impl Needles {
    pub(crate) fn len(&self) -> usize {
        match self {
            Needles::Bare { values, .. } => values.len(),
            Needles::Named(needles) => needles.len(),
        }
    }

    pub(crate) fn get(&self, at: usize) -> Option<Needle<'_>> {
        match self {
            Needles::Bare { values, .. } => {
                values.get(at).map(|&fingerprint| Needle { id: None, fingerprint })
            }
            Needles::Named(needles) => needles
                .get(at)
                .map(|(id, fingerprint)| Needle { id: id.as_deref(), fingerprint: *fingerprint }),
        }
    }
}

/// The bit of a match count that marks an answer cut by a limit.
pub(crate) const CUT_BIT: u32 = 1 << 31;

/// The format of answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoder {
    /// One JSON object.
    Object,
    /// JSON objects in a list.
    List,
    /// JSON objects, each on a line.
    Lines,
    /// For each query: the number of matches as u32, then for each match the fingerprint as u64 and
    /// the distance as one byte; numbers are little-endian. No ids.
    Binary,
}

/// The bytes before the first answer of a list.
const LIST_HEAD: &[u8] = b"{\"answers\":[";

impl Encoder {
    /// Adds the bytes before all answers.
    pub(crate) fn begin_all(self, out: &mut Vec<u8>) {
        if self == Encoder::List {
            out.extend_from_slice(LIST_HEAD);
        }
    }

    /// Adds the bytes after all answers: objects and lists end with the generation of the store,
    /// and with the bytes that `more` adds.
    pub(crate) fn end_all(
        self,
        out: &mut Vec<u8>,
        generation: u64,
        more: impl FnOnce(&mut Vec<u8>),
    ) {
        match self {
            Encoder::Object => drop(out.pop()),
            Encoder::List => out.push(b']'),
            Encoder::Lines | Encoder::Binary => return,
        }
        out.extend_from_slice(b",\"generation\":");
        push_number(out, generation);
        more(out);
        out.extend_from_slice(b"}\n");
    }

    /// Adds the answer to one query. Stops once `out` exceeds `len_max` bytes; the answer is then
    /// incomplete.
    pub(crate) fn push(
        self,
        out: &mut Vec<u8>,
        needle: Needle<'_>,
        answer: &Answer<'_>,
        cut_by: Option<&str>,
        ids_max: usize,
        len_max: usize,
    ) -> Result<()> {
        if self == Encoder::Binary {
            push_binary(out, answer, cut_by.is_some());
            return Ok(());
        }
        let width = answer.width();
        self.begin(out, needle, width);
        let mut ids_cut = false;
        let states = answer.united_paths();
        for (at, hit) in answer.hits().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            if states.is_empty() {
                ids_cut |= push_match(out, (&hit, width), None, ids_max, len_max)?;
            }
            // With several stores, each store that contains the fingerprint yields a match.
            for (number, (store, hit)) in hit.stores().enumerate().take(states.len()) {
                if number > 0 {
                    out.push(b',');
                }
                let store = states.get(store.0).copied();
                ids_cut |= push_match(out, (&hit, width), store, ids_max, len_max)?;
            }
            if out.len() > len_max {
                return Ok(());
            }
        }
        self.end(out, cut_by.or(ids_cut.then_some("ids")));
        Ok(())
    }

    /// Adds the answer to a query that was not searched before the deadline.
    pub(crate) fn push_late(self, out: &mut Vec<u8>, needle: Needle<'_>, width: Width) {
        if self == Encoder::Binary {
            return out.extend_from_slice(&CUT_BIT.to_le_bytes());
        }
        self.begin(out, needle, width);
        self.end(out, Some("deadline"));
    }

    /// Adds the part of an answer before its first match.
    fn begin(self, out: &mut Vec<u8>, needle: Needle<'_>, width: Width) {
        if self == Encoder::List && out.len() > LIST_HEAD.len() {
            out.push(b',');
        }
        out.push(b'{');
        if let Some(id) = needle.id {
            out.extend_from_slice(b"\"id\":");
            push_text(out, id);
            out.push(b',');
        }
        out.extend_from_slice(b"\"query\":\"");
        push_hex(out, needle.fingerprint, width);
        out.extend_from_slice(b"\",\"matches\":[");
    }

    /// Ends an answer after its last match.
    fn end(self, out: &mut Vec<u8>, cut_by: Option<&str>) {
        out.push(b']');
        if let Some(by) = cut_by {
            out.extend_from_slice(b",\"cut\":true,\"cut_by\":");
            push_text(out, by);
        }
        out.push(b'}');
        if self == Encoder::Lines {
            out.push(b'\n');
        }
    }
}

/// Adds a match. Returns whether ids were omitted.
fn push_match(
    out: &mut Vec<u8>,
    (hit, width): (&Hit<'_>, Width),
    store: Option<&Path>,
    ids_max: usize,
    len_max: usize,
) -> Result<bool> {
    out.extend_from_slice(b"{\"fingerprint\":\"");
    push_hex(out, hit.fingerprint(), width);
    out.extend_from_slice(b"\",\"distance\":");
    push_number(out, hit.distance().into());
    if let Some(store) = store {
        out.extend_from_slice(b",\"store\":");
        push_text(out, &store.to_string_lossy());
    }
    let is_cut = push_ids(out, hit, ids_max, len_max)?;
    out.push(b'}');
    Ok(is_cut)
}

/// Adds the fields for the ids of a match. Returns whether ids were omitted, unless `ids_max` is 0.
fn push_ids(out: &mut Vec<u8>, hit: &Hit<'_>, ids_max: usize, len_max: usize) -> Result<bool> {
    if ids_max == 0 {
        return Ok(false);
    }
    out.extend_from_slice(b",\"ids\":[");
    let mut ids = hit.ids();
    for at in 0..ids_max {
        let Some(id) = ids.next() else {
            out.push(b']');
            return Ok(false);
        };
        if at > 0 {
            out.push(b',');
        }
        match id? {
            IdRef::U64(number) => {
                out.push(b'"');
                push_number(out, number);
                out.push(b'"');
            }
            IdRef::Text(text) => push_text(out, text),
        }
        if out.len() > len_max {
            return Ok(false);
        }
    }
    out.push(b']');
    if ids.next().transpose()?.is_none() {
        return Ok(false);
    }
    out.extend_from_slice(b",\"id_count\":");
    push_number(out, hit.id_count()?);
    Ok(true)
}

fn push_binary(out: &mut Vec<u8>, answer: &Answer<'_>, is_cut: bool) {
    let count = u32::try_from(answer.len()).unwrap_or(CUT_BIT - 1).min(CUT_BIT - 1);
    let flags = if is_cut { CUT_BIT } else { 0 };
    out.extend_from_slice(&(count | flags).to_le_bytes());
    for hit in answer.hits().take(count as usize) {
        out.extend_from_slice(&hit.fingerprint().value().to_le_bytes());
        out.push(hit.distance() as u8);
    }
}

fn push_hex(out: &mut Vec<u8>, fingerprint: Fingerprint, width: Width) {
    // A query fingerprint that is too wide for the store is printed with all its digits.
    let width = if width.fits(fingerprint) { width } else { Width::FULL };
    width.hex(fingerprint).write(|digits| out.extend_from_slice(digits.as_bytes()));
}

fn push_number(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Adds a text as a JSON string.
pub(crate) fn push_text(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(out, text).expect("a vector takes all bytes");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_fingerprints_are_spelled_as_everywhere() {
        for value in [0, 1, 9, 10, 0x0123_4567_89ab_cdef, u64::MAX] {
            let (mut hex, mut number) = (Vec::new(), Vec::new());
            push_hex(&mut hex, value.into(), Width::FULL);
            push_number(&mut number, value);
            assert_eq!(hex, format!("{value:016x}").as_bytes());
            for bits in (8..=64).step_by(8) {
                let width = Width::new(bits).unwrap();
                let mut hex = Vec::new();
                push_hex(&mut hex, value.into(), width);
                let expected = match width.fits(value.into()) {
                    true => width.hex(value.into()).to_string(),
                    false => format!("{value:016x}"),
                };
                assert_eq!(hex, expected.as_bytes());
            }
            assert_eq!(number, value.to_string().as_bytes());
        }
    }
}
