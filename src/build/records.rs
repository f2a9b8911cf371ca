//! Records on their way into a segment: fingerprints with ids, collected and sorted.

use crate::bits::permutation::Permuted;
use crate::build::IdPolicy;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::id_records::{IdLayout, id_len_for};
use crate::id::{IdKind, IdRef};

/// The ordinal of a record without an id: it sorts after all others of its fingerprint.
const NO_ID: u64 = u64::MAX;

/// Records in the order in which they came.
#[derive(Debug)]
pub(super) struct Records {
    policy: IdPolicy,
    /// The fingerprint, and which of the ids is its own.
    entries: Vec<(u64, u64)>,
    ids: IdColumn,
}

/// Ids in the order in which they came.
#[derive(Debug)]
enum IdColumn {
    U64(Vec<u64>),
    Text { bytes: Vec<u8>, ends: Vec<u64> },
}

impl IdColumn {
    fn count(&self) -> u64 {
        match self {
            IdColumn::U64(numbers) => numbers.len() as u64,
            IdColumn::Text { ends, .. } => ends.len() as u64,
        }
    }

    fn push_text(&mut self, text: &str) {
        if let IdColumn::U64(numbers) = self {
            // Canonical decimals say the same as numbers, so nothing is lost on the way.
            let numbers = std::mem::take(numbers);
            *self = IdColumn::Text { bytes: Vec::new(), ends: Vec::new() };
            numbers.iter().for_each(|number| self.push_text(&number.to_string()));
        }
        if let IdColumn::Text { bytes, ends } = self {
            bytes.extend_from_slice(text.as_bytes());
            ends.push(bytes.len() as u64);
        }
    }

    fn get(&self, ordinal: u64) -> IdRef<'_> {
        let at = ordinal as usize;
        match self {
            IdColumn::U64(numbers) => IdRef::U64(numbers[at]),
            IdColumn::Text { bytes, ends } => {
                let start = at.checked_sub(1).map_or(0, |before| ends[before] as usize);
                let text = str::from_utf8(&bytes[start..ends[at] as usize]);
                IdRef::Text(text.expect("only whole texts were put in"))
            }
        }
    }
}

impl Records {
    pub(super) fn new(policy: IdPolicy) -> Self {
        let ids = match policy {
            IdPolicy::Text => IdColumn::Text { bytes: Vec::new(), ends: Vec::new() },
            _ => IdColumn::U64(Vec::new()),
        };
        Records { policy, entries: Vec::new(), ids }
    }

    pub(super) fn push_bare(&mut self, fingerprint: Fingerprint) {
        self.entries.push((fingerprint.value(), NO_ID));
    }

    pub(super) fn push(&mut self, fingerprint: Fingerprint, id: IdRef<'_>) -> Result<()> {
        if self.policy == IdPolicy::None {
            self.push_bare(fingerprint);
            return Ok(());
        }
        if let IdRef::Text(text) = id
            && let Some(fault) = IdRef::fault_of_text(text)
        {
            let reason = format!("{fault}, expected 1 to 65535 bytes without NUL, CR or LF");
            return Err(Error::InvalidId { reason });
        }
        let ordinal = self.ids.count();
        let number = match id {
            IdRef::U64(number) => Some(number),
            IdRef::Text(text) => IdRef::canonical_number(text),
        };
        match (&mut self.ids, number, id) {
            (IdColumn::U64(numbers), Some(number), _) => numbers.push(number),
            (_, _, IdRef::U64(number)) => self.ids.push_text(&number.to_string()),
            (_, None, IdRef::Text(text)) if self.policy == IdPolicy::U64 => {
                let shown: String = text.chars().take(40).flat_map(char::escape_debug).collect();
                let reason = format!("'{shown}' is no canonical decimal number of 64 bits");
                return Err(Error::InvalidId { reason });
            }
            (_, _, IdRef::Text(text)) => self.ids.push_text(text),
        }
        self.entries.push((fingerprint.value(), ordinal));
        Ok(())
    }

    /// Sorts by permuted value; the ids of one fingerprint stay in the order they came in.
    pub(super) fn sort(self, permute: impl Fn(Fingerprint) -> Permuted) -> SortedRecords {
        let Records { policy: _, mut entries, ids } = self;
        for (value, _) in &mut entries {
            *value = permute(Fingerprint::new(*value)).0;
        }
        entries.sort_unstable();
        let fingerprint_count = entries.chunk_by(same_value).count() as u64;
        let has_ids = ids.count() > 0;
        SortedRecords { entries, ids, fingerprint_count, has_ids }
    }
}

fn same_value(a: &(u64, u64), b: &(u64, u64)) -> bool {
    a.0 == b.0
}

/// Records sorted for the first table.
#[derive(Debug)]
pub(super) struct SortedRecords {
    entries: Vec<(u64, u64)>,
    ids: IdColumn,
    fingerprint_count: u64,
    has_ids: bool,
}

impl SortedRecords {
    pub(super) fn fingerprint_count(&self) -> u64 {
        self.fingerprint_count
    }

    /// Sorts by other permuted values, made of the present ones.
    pub(super) fn permute(&mut self, permute: impl Fn(Permuted) -> Permuted) {
        for (value, _) in &mut self.entries {
            *value = permute(Permuted(*value)).0;
        }
        self.entries.sort_unstable();
    }

    /// How the ids are stored.
    pub(super) fn id_layout(&self) -> IdLayout {
        match &self.ids {
            _ if !self.has_ids => IdLayout { kind: IdKind::None, id_len: 0 },
            IdColumn::U64(numbers) => {
                let largest = numbers.iter().copied().max().unwrap_or(0);
                IdLayout { kind: IdKind::U64, id_len: id_len_for(largest) }
            }
            IdColumn::Text { .. } => IdLayout { kind: IdKind::Text, id_len: 0 },
        }
    }

    /// The distinct values, ascending.
    pub(super) fn values(&self) -> impl Iterator<Item = Permuted> {
        self.entries.chunk_by(same_value).map(|group| Permuted(group[0].0))
    }

    /// The ids of each distinct value, in the order they came in.
    pub(super) fn id_lists(&self) -> impl Iterator<Item = impl Iterator<Item = IdRef<'_>>> {
        self.entries.chunk_by(same_value).map(|group| {
            let with_id = group.iter().filter(|&&(_, ordinal)| ordinal != NO_ID);
            with_id.map(|&(_, ordinal)| self.ids.get(ordinal))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind_of(policy: IdPolicy, ids: &[&str]) -> IdKind {
        let mut records = Records::new(policy);
        for id in ids {
            records.push(Fingerprint::new(1), IdRef::Text(id)).unwrap();
        }
        records.sort(|f| Permuted(f.value())).id_layout().kind
    }

    #[test]
    fn auto_takes_numbers_only_when_every_id_is_one() {
        assert_eq!(kind_of(IdPolicy::Auto, &[]), IdKind::None);
        assert_eq!(kind_of(IdPolicy::Auto, &["7", "0"]), IdKind::U64);
        assert_eq!(kind_of(IdPolicy::Auto, &["7", "007"]), IdKind::Text);
        assert_eq!(kind_of(IdPolicy::Text, &["7"]), IdKind::Text);
        assert_eq!(kind_of(IdPolicy::None, &["7"]), IdKind::None);
    }

    #[test]
    fn a_late_text_turns_earlier_numbers_into_text_unchanged() {
        let mut records = Records::new(IdPolicy::Auto);
        for id in ["10", "9", "x", "8"] {
            records.push(Fingerprint::new(5), IdRef::Text(id)).unwrap();
        }
        records.push_bare(Fingerprint::new(4));
        records.push(Fingerprint::new(5), IdRef::U64(3)).unwrap();
        let sorted = records.sort(|f| Permuted(f.value()));
        let lists: Vec<Vec<String>> =
            sorted.id_lists().map(|ids| ids.map(|id| id.to_string()).collect()).collect();
        assert_eq!(lists, [vec![], vec!["10", "9", "x", "8", "3"]]);
    }

    #[test]
    fn ids_that_cannot_be_stored_are_refused() {
        let mut records = Records::new(IdPolicy::Auto);
        for id in ["", "a\nb", "a\rb", "a\0b", &"x".repeat(65_536)] {
            let refused = records.push(Fingerprint::new(1), IdRef::Text(id));
            assert!(matches!(refused, Err(Error::InvalidId { .. })), "{id:?}");
        }
        let mut numbers = Records::new(IdPolicy::U64);
        assert!(numbers.push(Fingerprint::new(1), IdRef::Text("007")).is_err());
        assert!(numbers.push(Fingerprint::new(1), IdRef::Text("7")).is_ok());
    }
}
