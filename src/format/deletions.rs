//! Deletion files: the deleted fingerprints of a segment, and the single deleted ids of its live
//! fingerprints.
//!
//! A reader checks every hit against [`Deletions`]; a writer collects further deletions in a
//! [`DeletionSet`]. Ranks count values of the first table, and ids have the same order. The segment
//! file itself never changes.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::base::error::Fault;
use crate::base::section::Rank;
use crate::bytes::checksum::{Digest, crc32};
use crate::bytes::fields::{put_u16, put_u32, put_u64, slice_at, u16_at, u32_at, u64_at};
use crate::bytes::varint;
use crate::format::fault::FileFault;

/// The first eight bytes of a deletion file.
pub(crate) const MAGIC: [u8; 8] = *b"\x89FPD\r\n\x1a\n";
/// The version of the file format that this release reads and writes.
const VERSION: u16 = 2;
const FIXED_LEN: usize = 56;
/// Offsets of the counts in the file.
const ENTRY_COUNT_AT: usize = 32;
const FINGERPRINT_COUNT_AT: usize = 40;
const ID_COUNT_AT: usize = 48;
const CRC_LEN: usize = 4;

/// The name of the deletion file with this number, in the directory of the store.
pub(crate) fn file_name(number: u64) -> String {
    format!("deletion-{number:016x}.fpd")
}

/// The number in the name of a deletion file; `None` for other names.
pub(crate) fn file_number(name: &str) -> Option<u64> {
    let digits = name.strip_prefix("deletion-")?.strip_suffix(".fpd")?;
    let number = u64::from_str_radix(digits, 16).ok()?;
    (file_name(number) == name).then_some(number)
}

/// The maximum length of a deletion file with these counts. A reader rejects a longer file unread.
pub(crate) fn len_max(fingerprint_count: u64, id_count: u64) -> u64 {
    let varints = fingerprint_count.saturating_add(id_count).saturating_mul(3);
    varints.saturating_mul(varint::LEN_MAX as u64).saturating_add((FIXED_LEN + CRC_LEN) as u64)
}

/// The deleted records of a segment, identified by rank in the first table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Deletions {
    /// The ranks of deleted fingerprints, ascending.
    fingerprints: Vec<u64>,
    /// Single deleted ids of live fingerprints, as pairs of rank and position in the list,
    /// ascending.
    ids: Vec<(u64, u64)>,
    /// The number of deleted ids, including the ids of deleted fingerprints.
    id_count: u64,
}

impl Deletions {
    /// Whether the fingerprint at `rank` is deleted.
    #[inline]
    pub(crate) fn has(&self, rank: Rank) -> bool {
        self.fingerprints.binary_search(&rank.0).is_ok()
    }

    /// The ranks in `ranks` whose fingerprints are deleted, ascending.
    pub(crate) fn fingerprints_in(&self, ranks: Range<u64>) -> &[u64] {
        let start = self.fingerprints.partition_point(|&rank| rank < ranks.start);
        let rest = self.fingerprints.get(start..).unwrap_or_default();
        rest.get(..rest.partition_point(|&rank| rank < ranks.end)).unwrap_or_default()
    }

    /// The single deleted ids of the fingerprint at `rank`, as pairs of rank and position,
    /// ascending.
    pub(crate) fn ids_of(&self, rank: Rank) -> &[(u64, u64)] {
        let start = self.ids.partition_point(|&(of, _)| of < rank.0);
        let rest = self.ids.get(start..).unwrap_or_default();
        rest.get(..rest.partition_point(|&(of, _)| of == rank.0)).unwrap_or_default()
    }

    /// The ranks of deleted fingerprints, ascending.
    pub(crate) fn fingerprints(&self) -> &[u64] {
        &self.fingerprints
    }

    /// The single deleted ids of live fingerprints, as pairs of rank and position, ascending.
    pub(crate) fn single_ids(&self) -> &[(u64, u64)] {
        &self.ids
    }

    /// Whether these deletions include all deletions in `earlier`.
    pub(crate) fn has_all_of(&self, earlier: &Deletions) -> bool {
        earlier.fingerprints.iter().all(|&rank| self.has(Rank(rank)))
            && earlier
                .ids
                .iter()
                .all(|id| self.has(Rank(id.0)) || self.ids_of(Rank(id.0)).binary_search(id).is_ok())
    }

    /// The number of deleted fingerprints.
    pub(crate) fn fingerprint_count(&self) -> u64 {
        self.fingerprints.len() as u64
    }

    /// The number of deleted ids, including the ids of deleted fingerprints.
    pub(crate) fn id_count(&self) -> u64 {
        self.id_count
    }

    /// Reads and checks a whole deletion file. `segment` is the digest of its segment, which
    /// has `fingerprint_count` fingerprints.
    pub(crate) fn read(
        bytes: &[u8],
        segment: Digest,
        fingerprint_count: u64,
    ) -> Result<Self, FileFault> {
        let at = FileFault::at;
        let short = |needed: usize| {
            at(0, Fault::Truncated { needed: needed as u64, found: bytes.len() as u64 })
        };
        let magic = slice_at(bytes, 0, 8).ok_or_else(|| short(FIXED_LEN))?;
        if magic != MAGIC {
            return Err(at(0, Fault::rule(1, "the magic bytes of a deletion file are missing")));
        }
        let version = u16_at(bytes, 8).ok_or_else(|| short(FIXED_LEN))?;
        if version != VERSION {
            let (oldest, newest) = (VERSION, VERSION);
            return Err(FileFault::Version { found: version, oldest, newest });
        }
        if bytes.len() < FIXED_LEN + CRC_LEN {
            return Err(short(FIXED_LEN + CRC_LEN));
        }
        let (body, stored) = bytes.split_at(bytes.len() - CRC_LEN);
        let expected = u32_at(stored, 0).ok_or_else(|| short(bytes.len()))?;
        let found = crc32(body);
        if found != expected {
            return Err(at(body.len(), Fault::Checksum { found, expected }));
        }
        if slice_at(body, 10, 6) != Some(&[0; 6]) {
            return Err(at(10, Fault::rule(5, "reserved bytes are not zero")));
        }
        let of_segment = Digest::read(body, 16).ok_or_else(|| short(FIXED_LEN))?;
        if of_segment != segment {
            let detail = format!("it belongs to segment {of_segment}, expected {segment}");
            return Err(at(16, Fault::rule(26, detail)));
        }
        let field = |offset: usize| u64_at(body, offset).ok_or_else(|| short(FIXED_LEN));
        let (entry_count, deleted_count) = (field(ENTRY_COUNT_AT)?, field(FINGERPRINT_COUNT_AT)?);
        let id_count = field(ID_COUNT_AT)?;
        let mut deletions = Deletions { id_count, ..Deletions::default() };
        let mut rest = body.get(FIXED_LEN..).unwrap_or_default();
        let mut place = FIXED_LEN;
        let mut next = |place: &mut usize| -> Result<u64, FileFault> {
            let (value, len) = varint::read(rest).map_err(|fault| at(*place, fault))?;
            rest = rest.get(len..).unwrap_or_default();
            *place += len;
            Ok(value)
        };
        let above = |least: u64, gap: u64, most: u64| {
            least.checked_add(gap).filter(|&value| value < most).ok_or_else(|| {
                let detail = format!("rank or position is {least} + {gap}, expected below {most}");
                at(FIXED_LEN, Fault::rule(26, detail))
            })
        };
        let mut least_rank = 0;
        for _ in 0..entry_count {
            let rank = above(least_rank, next(&mut place)?, fingerprint_count)?;
            least_rank = rank + 1;
            let position_count = next(&mut place)?;
            if position_count == 0 {
                deletions.fingerprints.push(rank);
            }
            let mut least = 0;
            for _ in 0..position_count {
                let position = above(least, next(&mut place)?, u64::MAX)?;
                least = position + 1;
                deletions.ids.push((rank, position));
            }
        }
        if place != body.len() {
            return Err(at(place, Fault::rule(26, "there are bytes after the last entry")));
        }
        let found = deletions.fingerprint_count();
        if found != deleted_count {
            let detail = format!("found {found} fingerprints, expected {deleted_count}");
            return Err(at(FINGERPRINT_COUNT_AT, Fault::rule(26, detail)));
        }
        Ok(deletions)
    }

    /// Encodes the whole file; `segment` is the digest of its segment.
    pub(crate) fn encode(&self, segment: Digest) -> Vec<u8> {
        let whole = self.fingerprints.iter().map(|&rank| (rank, [].as_slice()));
        let single = self.ids.chunk_by(|a, b| a.0 == b.0);
        let single = single.filter_map(|ids| ids.first().map(|&(rank, _)| (rank, ids)));
        let entries: Vec<(u64, &[(u64, u64)])> = merged(whole, single);
        let mut out = MAGIC.to_vec();
        put_u16(&mut out, VERSION);
        out.extend([0; 6]);
        segment.put(&mut out);
        put_u64(&mut out, entries.len() as u64);
        put_u64(&mut out, self.fingerprint_count());
        put_u64(&mut out, self.id_count);
        let mut least_rank = 0;
        for (rank, ids) in entries {
            varint::write(rank - least_rank, &mut out);
            varint::write(ids.len() as u64, &mut out);
            least_rank = rank + 1;
            let mut least = 0;
            for &(_, position) in ids {
                varint::write(position - least, &mut out);
                least = position + 1;
            }
        }
        let crc = crc32(&out);
        put_u32(&mut out, crc);
        out
    }
}

/// A set of deletions under construction: the existing deletions of the segment, plus new
/// deletions.
#[derive(Clone, Debug)]
pub(crate) struct DeletionSet<'a> {
    before: Option<&'a Deletions>,
    fingerprints: BTreeSet<u64>,
    ids: BTreeSet<(u64, u64)>,
    /// The number of newly deleted ids, including the ids of newly deleted fingerprints.
    id_count: u64,
}

impl<'a> DeletionSet<'a> {
    /// A set that contains only the existing deletions of the segment.
    pub(crate) fn of(before: Option<&'a Deletions>) -> Self {
        DeletionSet { before, fingerprints: BTreeSet::new(), ids: BTreeSet::new(), id_count: 0 }
    }

    /// Whether the fingerprint at `rank` is deleted.
    pub(crate) fn has(&self, rank: Rank) -> bool {
        self.before.is_some_and(|before| before.has(rank)) || self.fingerprints.contains(&rank.0)
    }

    /// Whether the id at `position` of the fingerprint at `rank` is deleted as a single id.
    pub(crate) fn has_id(&self, rank: Rank, position: u64) -> bool {
        let id = (rank.0, position);
        let before = self.before.map_or([].as_slice(), |before| before.ids_of(rank));
        before.binary_search(&id).is_ok() || self.ids.contains(&id)
    }

    /// The number of single deleted ids of the fingerprint at `rank`.
    pub(crate) fn id_count_of(&self, rank: Rank) -> u64 {
        let before = self.before.map_or(0, |before| before.ids_of(rank).len());
        (before + self.ids.range((rank.0, 0)..=(rank.0, u64::MAX)).count()) as u64
    }

    /// Deletes a fingerprint that has `ids` live ids.
    pub(crate) fn delete(&mut self, rank: Rank, ids: u64) {
        self.fingerprints.insert(rank.0);
        self.id_count = self.id_count.saturating_add(ids);
    }

    /// Deletes a single id of a fingerprint; at least one other id of the fingerprint must remain.
    pub(crate) fn delete_id(&mut self, rank: Rank, position: u64) {
        self.ids.insert((rank.0, position));
        self.id_count += 1;
    }

    /// The numbers of newly deleted fingerprints and ids.
    pub(crate) fn new_counts(&self) -> (u64, u64) {
        (self.fingerprints.len() as u64, self.id_count)
    }

    /// All existing and new deletions, or `None` if there are no new deletions.
    pub(crate) fn finish(self) -> Option<Deletions> {
        if self.fingerprints.is_empty() && self.ids.is_empty() {
            return None;
        }
        let none = Deletions::default();
        let before = self.before.unwrap_or(&none);
        let is_single = |id: &(u64, u64)| !self.fingerprints.contains(&id.0);
        Some(Deletions {
            fingerprints: merged(
                before.fingerprints.iter().copied(),
                self.fingerprints.iter().copied(),
            ),
            ids: merged(
                before.ids.iter().copied().filter(is_single),
                self.ids.iter().copied().filter(is_single),
            ),
            id_count: before.id_count.saturating_add(self.id_count),
        })
    }
}

/// Merges two ascending sequences into one.
fn merged<T: Ord>(one: impl Iterator<Item = T>, other: impl Iterator<Item = T>) -> Vec<T> {
    let (mut one, mut other) = (one.peekable(), other.peekable());
    std::iter::from_fn(|| match (one.peek(), other.peek()) {
        (Some(a), Some(b)) if b < a => other.next(),
        (None, _) => other.next(),
        _ => one.next(),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment() -> Digest {
        Digest::of(b"a segment")
    }

    fn sample() -> Deletions {
        let mut set = DeletionSet::of(None);
        set.delete_id(Rank(3), 0);
        set.delete_id(Rank(3), 700);
        set.delete_id(Rank(9), 5);
        set.delete(Rank(0), 1);
        set.delete(Rank(8), 0);
        set.delete(Rank(9), 2);
        let first = set.finish().unwrap();
        let mut set = DeletionSet::of(Some(&first));
        assert!(set.has(Rank(9)) && set.has_id(Rank(3), 700) && !set.has_id(Rank(3), 7));
        set.delete_id(Rank(5), 1);
        set.delete(Rank(300), 4);
        let second = set.finish().unwrap();
        let mut set = DeletionSet::of(Some(&second));
        assert_eq!(set.id_count_of(Rank(5)), 1);
        // One id of rank 5 was already deleted singly; it remains counted in `id_count`.
        set.delete(Rank(5), 1);
        set.finish().unwrap()
    }

    #[test]
    fn deletions_come_back() {
        let sample = sample();
        assert_eq!(sample.fingerprints, [0, 5, 8, 9, 300]);
        assert_eq!(sample.ids, [(3, 0), (3, 700)]);
        assert_eq!(sample.id_count(), 12);
        assert_eq!(Deletions::read(&sample.encode(segment()), segment(), 301), Ok(sample.clone()));
        assert_eq!(sample.fingerprints_in(1..9), [5, 8]);
        assert_eq!(sample.ids_of(Rank(3)).len(), 2);
        assert!(sample.ids_of(Rank(9)).is_empty());
        assert!(sample.has(Rank(300)) && !sample.has(Rank(3)));
        assert_eq!(DeletionSet::of(Some(&sample)).finish(), None);
        assert!(sample.encode(segment()).len() as u64 <= len_max(5, 2));
    }

    /// The example in section 3.1 of format-spec.md.
    #[test]
    fn entries_are_written_as_the_example_says() {
        let mut set = DeletionSet::of(None);
        set.delete_id(Rank(3), 0);
        set.delete_id(Rank(3), 2);
        set.delete(Rank(5), 1);
        let bytes = set.finish().unwrap().encode(segment());
        assert_eq!(bytes[FIXED_LEN..bytes.len() - CRC_LEN], [3, 2, 0, 1, 1, 0]);
    }

    #[test]
    fn any_changed_byte_and_any_cut_is_refused() {
        let whole = sample().encode(segment());
        assert!(Deletions::read(&whole, segment(), 301).is_ok());
        assert!(Deletions::read(&whole, segment(), 300).is_err());
        assert!(Deletions::read(&whole, Digest::of(b"another"), 301).is_err());
        for at in 0..whole.len() {
            for flip in [1, 0x80, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] ^= flip;
                assert!(Deletions::read(&bytes, segment(), 301).is_err(), "byte {at} ^ {flip:#x}");
            }
            assert!(Deletions::read(&whole[..at], segment(), 301).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn hostile_counts_are_refused_without_taking_memory() {
        let fix = |mut bytes: Vec<u8>| {
            let end = bytes.len() - CRC_LEN;
            let crc = crc32(&bytes[..end]).to_le_bytes();
            bytes[end..].copy_from_slice(&crc);
            bytes
        };
        for at in [ENTRY_COUNT_AT, FINGERPRINT_COUNT_AT] {
            let mut bytes = sample().encode(segment());
            bytes[at..at + 8].copy_from_slice(&u64::MAX.to_le_bytes());
            assert!(Deletions::read(&fix(bytes), segment(), 301).is_err());
        }
        let mut bytes = sample().encode(segment());
        bytes.insert(bytes.len() - CRC_LEN, 0);
        assert!(Deletions::read(&fix(bytes), segment(), 301).is_err());
    }

    #[test]
    fn file_names_and_numbers_agree() {
        assert_eq!(file_number(&file_name(26)), Some(26));
        assert_eq!(file_number("deletion-1a.fpd"), None);
    }
}
