//! The manifest: the list of the live segments of a store and of their deletion files.
//!
//! Both the snapshot of a reader and the transaction of a writer use [`Manifest`]. Nothing here
//! opens the files that a manifest lists.

use std::collections::BTreeSet;

use crate::base::error::Fault;
use crate::bytes::checksum::{Digest, crc32};
use crate::bytes::fields::{put_u16, put_u32, put_u64, slice_at, u16_at, u32_at, u64_at};
use crate::format::fault::FileFault;

/// The file name of the manifest in the directory of the store.
pub(crate) const FILE_NAME: &str = "MANIFEST";
/// The file name for a manifest that a repair proposes.
pub(crate) const REPAIRED_NAME: &str = "MANIFEST.repaired";
/// The first eight bytes of a manifest.
pub(crate) const MAGIC: [u8; 8] = *b"\x89FPM\r\n\x1a\n";
const VERSION: u16 = 2;
const FIXED_LEN: usize = 48;
const ENTRY_LEN: usize = 88;
/// Offsets of the fields in an entry.
const DELETIONS_AT: usize = 24;
const SEGMENT_DIGEST_AT: usize = 48;
const DELETION_DIGEST_AT: usize = 64;
const LABEL_LEN_AT: usize = 80;
const CRC_LEN: usize = 4;
/// The maximum number of live segments of a store.
pub(crate) const SEGMENT_COUNT_MAX: usize = 65_536;
/// File numbers and generations must be below this, so that there is always a next number.
pub(crate) const NUMBER_MAX: u64 = 1 << 62;
/// The maximum length of a label in bytes.
pub(crate) const LABEL_LEN_MAX: usize = 255;
/// The maximum number of run names that a store remembers; a new name displaces the oldest.
pub(crate) const RUN_COUNT_MAX: usize = 1024;
/// The maximum length of a manifest in bytes; a reader rejects a longer file before reading it.
pub(crate) const LEN_MAX: u64 = (FIXED_LEN
    + SEGMENT_COUNT_MAX * (ENTRY_LEN + LABEL_LEN_MAX)
    + RUN_COUNT_MAX * (1 + LABEL_LEN_MAX)
    + CRC_LEN) as u64;

/// Sixteen random bytes, not all of them zero, that identify a store.
pub(crate) type StoreId = [u8; 16];

/// The entry for a deletion file in the manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeletionEntry {
    /// The number of the deletion file; a store never uses a number twice.
    pub(crate) number: u64,
    /// The digest of the whole deletion file.
    pub(crate) digest: Digest,
    /// The number of deleted fingerprints.
    pub(crate) fingerprint_count: u64,
    /// The number of deleted ids, including the ids of deleted fingerprints.
    pub(crate) id_count: u64,
}

/// The entry for a live segment in the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SegmentEntry {
    /// The number of the segment; a store never uses a number twice.
    pub(crate) number: u64,
    pub(crate) file_len: u64,
    pub(crate) fingerprint_count: u64,
    /// The digest of the file's header, which identifies the file: the header contains a digest of
    /// the file's contents.
    pub(crate) digest: Digest,
    /// The deletion file of the segment, if the segment has deleted records.
    pub(crate) deletions: Option<DeletionEntry>,
    /// The label given by the user; empty if there is none.
    pub(crate) label: String,
}

impl SegmentEntry {
    pub(crate) fn file_name(&self) -> String {
        segment_file_name(self.number)
    }
}

/// The file name of segment `number` in the directory of the store.
pub(crate) fn segment_file_name(number: u64) -> String {
    format!("segment-{number:016x}.fps")
}

/// The number in the file name of a segment; `None` for other names.
pub(crate) fn segment_number(file_name: &str) -> Option<u64> {
    let digits = file_name.strip_prefix("segment-")?.strip_suffix(".fps")?;
    let number = u64::from_str_radix(digits, 16).ok()?;
    (segment_file_name(number) == file_name).then_some(number)
}

/// The contents of a manifest file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// Random bytes, drawn when the store was made; all manifests of the store have the same.
    pub(crate) store_id: StoreId,
    /// The number of this manifest; each new manifest adds one.
    pub(crate) generation: u64,
    /// The number for the next new segment or deletion file.
    pub(crate) next_number: u64,
    /// The segments, oldest first; ids in answers have the same order.
    pub(crate) segments: Vec<SegmentEntry>,
    /// The names of runs that have added records to the store, oldest first.
    pub(crate) runs: Vec<String>,
}

/// The reason why a text is not a valid name of a run, or `None`.
pub(crate) fn fault_of_run(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("the name of a run is empty".into());
    }
    fault_of_label(name).map(|fault| fault.replacen("a label", "the name of a run", 1))
}

/// The reason why a text is not a valid label, or `None`.
pub(crate) fn fault_of_label(label: &str) -> Option<String> {
    if label.len() > LABEL_LEN_MAX {
        return Some(format!("a label has {} bytes, at most {LABEL_LEN_MAX}", label.len()));
    }
    let control = label.chars().find(|c| c.is_control())?;
    Some(format!("a label contains the control character {}", control.escape_default()))
}

impl Manifest {
    /// Reads and checks a whole manifest file.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, FileFault> {
        let at = FileFault::at;
        let found_len = bytes.len() as u64;
        let short =
            |needed: usize| at(0, Fault::Truncated { needed: needed as u64, found: found_len });
        let magic = slice_at(bytes, 0, 8).ok_or_else(|| short(FIXED_LEN))?;
        if magic != MAGIC {
            return Err(at(0, Fault::rule(1, "the magic bytes of a manifest are missing")));
        }
        let version = u16_at(bytes, 8).ok_or_else(|| short(FIXED_LEN))?;
        if version != VERSION {
            let (oldest, newest) = (VERSION, VERSION);
            return Err(FileFault::Version { found: version, oldest, newest });
        }
        let count = u32_at(bytes, 12).ok_or_else(|| short(FIXED_LEN))? as usize;
        if count > SEGMENT_COUNT_MAX {
            let detail = format!("{count} segments, expected at most {SEGMENT_COUNT_MAX}");
            return Err(at(12, Fault::rule(22, detail)));
        }
        let labels_at = FIXED_LEN + count * ENTRY_LEN;
        let body_len = bytes.len().saturating_sub(CRC_LEN);
        if body_len < labels_at {
            let detail = format!("{} bytes are too few for {count} segments", bytes.len());
            return Err(at(12, Fault::rule(22, detail)));
        }
        let (body, stored) = bytes.split_at(body_len);
        let expected = u32_at(stored, 0).ok_or_else(|| short(body_len + CRC_LEN))?;
        let found = crc32(body);
        if found != expected {
            return Err(at(body_len, Fault::Checksum { found, expected }));
        }
        let run_count = usize::from(u16_at(body, 10).ok_or_else(|| short(FIXED_LEN))?);
        if run_count > RUN_COUNT_MAX {
            let detail = format!("{run_count} runs, expected at most {RUN_COUNT_MAX}");
            return Err(at(10, Fault::rule(29, detail)));
        }
        let field = |offset: usize| u64_at(body, offset).ok_or_else(|| short(body_len));
        let store_id = slice_at(body, 32, 16).and_then(|id| id.first_chunk().copied());
        let mut manifest = Manifest {
            store_id: store_id.ok_or_else(|| short(FIXED_LEN))?,
            generation: field(16)?,
            next_number: field(24)?,
            segments: Vec::new(),
            runs: Vec::new(),
        };
        if manifest.store_id == StoreId::default() {
            return Err(at(32, Fault::rule(28, "the store id is zero")));
        }
        if manifest.generation > NUMBER_MAX || manifest.next_number > NUMBER_MAX {
            return Err(at(16, Fault::rule(22, "the generation or the next number is above 2^62")));
        }
        let mut numbers = BTreeSet::new();
        let mut labels = slice_at(body, labels_at, body_len - labels_at).unwrap_or_default();
        for start in (FIXED_LEN..labels_at).step_by(ENTRY_LEN) {
            let at_label = start + LABEL_LEN_AT;
            let label_len = u32_at(body, at_label).ok_or_else(|| short(body_len))? as usize;
            if u32_at(body, at_label + 4) != Some(0) {
                return Err(at(at_label + 4, Fault::rule(5, "reserved bytes are not zero")));
            }
            let bad_label = |detail: String| at(at_label, Fault::rule(24, detail));
            let (label, after) = labels
                .split_at_checked(label_len)
                .ok_or_else(|| bad_label(format!("a label of {label_len} bytes is truncated")))?;
            labels = after;
            let label = str::from_utf8(label).map_err(|_| bad_label("not UTF-8".into()))?;
            fault_of_label(label).map_or(Ok(()), |detail| Err(bad_label(detail)))?;
            let digest = Digest::read(body, start + SEGMENT_DIGEST_AT);
            let deletions = read_deletions(body, start);
            let entry = SegmentEntry {
                number: field(start)?,
                file_len: field(start + 8)?,
                fingerprint_count: field(start + 16)?,
                digest: digest.ok_or_else(|| short(body_len))?,
                deletions: deletions.map_err(|fault| at(start + DELETIONS_AT, fault))?,
                label: label.into(),
            };
            let of_deletions = entry.deletions.map(|deletions| deletions.number);
            for number in [entry.number].into_iter().chain(of_deletions) {
                if number >= manifest.next_number || !numbers.insert(number) {
                    let detail = format!(
                        "file number {number} is repeated, or not below the next \
                                          number"
                    );
                    return Err(at(start, Fault::rule(22, detail)));
                }
            }
            manifest.segments.push(entry);
        }
        let mut rest = labels;
        let mut names = BTreeSet::new();
        for _ in 0..run_count {
            let start = body_len - rest.len();
            let bad_run = |detail: String| at(start, Fault::rule(29, detail));
            let (name, after) = rest
                .split_first()
                .and_then(|(&len, rest)| rest.split_at_checked(len.into()))
                .ok_or_else(|| bad_run("the name of a run is truncated".into()))?;
            rest = after;
            let name = str::from_utf8(name).map_err(|_| bad_run("not UTF-8".into()))?;
            fault_of_run(name).map_or(Ok(()), |detail| Err(bad_run(detail)))?;
            if !names.insert(name) {
                return Err(bad_run(format!("two runs have the name {name}")));
            }
            manifest.runs.push(name.into());
        }
        if !rest.is_empty() {
            let detail = format!("{} bytes after the last name", rest.len());
            return Err(at(body_len - rest.len(), Fault::rule(22, detail)));
        }
        Ok(manifest)
    }

    /// Adds the name of a run, and removes the oldest names beyond the maximum number.
    pub(crate) fn add_run(&mut self, name: &str) {
        self.runs.retain(|run| run != name);
        self.runs.push(name.into());
        let forgotten = self.runs.len().saturating_sub(RUN_COUNT_MAX);
        self.runs.drain(..forgotten);
    }

    /// Encodes the whole manifest file.
    #[expect(clippy::expect_used, reason = "a writer's own values, in range by construction")]
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        put_u16(&mut out, VERSION);
        put_u16(&mut out, u16::try_from(self.runs.len()).expect("at most 1024 runs"));
        put_u32(&mut out, u32::try_from(self.segments.len()).expect("at most 65536 segments"));
        put_u64(&mut out, self.generation);
        put_u64(&mut out, self.next_number);
        out.extend_from_slice(&self.store_id);
        for entry in &self.segments {
            put_u64(&mut out, entry.number);
            put_u64(&mut out, entry.file_len);
            put_u64(&mut out, entry.fingerprint_count);
            let deletions = entry.deletions.as_ref();
            put_u64(&mut out, deletions.map_or(0, |of| of.number));
            put_u64(&mut out, deletions.map_or(0, |of| of.fingerprint_count));
            put_u64(&mut out, deletions.map_or(0, |of| of.id_count));
            entry.digest.put(&mut out);
            deletions.map_or(Digest::NONE, |of| of.digest).put(&mut out);
            put_u32(&mut out, u32::try_from(entry.label.len()).expect("at most 255 bytes"));
            put_u32(&mut out, 0);
        }
        self.segments.iter().for_each(|entry| out.extend_from_slice(entry.label.as_bytes()));
        for run in &self.runs {
            out.push(u8::try_from(run.len()).expect("at most 255 bytes"));
            out.extend_from_slice(run.as_bytes());
        }
        let crc = crc32(&out);
        put_u32(&mut out, crc);
        out
    }
}

/// The deletion file in the segment entry at `start`, if there is one.
fn read_deletions(body: &[u8], start: usize) -> Result<Option<DeletionEntry>, Fault> {
    let short = || Fault::Truncated { needed: (start + ENTRY_LEN) as u64, found: 0 };
    let field = |offset: usize| u64_at(body, start + offset).ok_or_else(short);
    let segment_count = field(16)?;
    let (number, fingerprint_count, id_count) = (field(24)?, field(32)?, field(40)?);
    let digest = Digest::read(body, start + DELETION_DIGEST_AT).ok_or_else(short)?;
    let entry = DeletionEntry { number, digest, fingerprint_count, id_count };
    match number {
        0 if (digest, fingerprint_count, id_count) == (Digest::NONE, 0, 0) => Ok(None),
        0 => Err(Fault::rule(25, "the segment has deletions, but no file of them")),
        _ if fingerprint_count > segment_count => {
            let detail = format!("it deletes {fingerprint_count} of {segment_count} fingerprints");
            Err(Fault::rule(25, detail))
        }
        _ => Ok(Some(entry)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Manifest {
        let entry = |number, label: &str| SegmentEntry {
            number,
            file_len: 28_672,
            fingerprint_count: 5,
            digest: Digest::of(b"segment"),
            deletions: (number == 2).then_some(DeletionEntry {
                number: 4,
                digest: Digest::of(b"deletions"),
                fingerprint_count: 3,
                id_count: 9,
            }),
            label: label.into(),
        };
        let segments = vec![entry(3, "2026-10"), entry(1, ""), entry(2, "2026-11")];
        let runs = vec!["2026-11-21".into(), "night".into()];
        Manifest { store_id: *b"0123456789abcdef", generation: 7, next_number: 5, segments, runs }
    }

    #[test]
    fn a_manifest_comes_back() {
        assert_eq!(Manifest::read(&sample().encode()), Ok(sample()));
    }

    #[test]
    fn any_changed_byte_and_any_cut_is_refused() {
        let whole = sample().encode();
        assert!(Manifest::read(&whole).is_ok());
        for at in 0..whole.len() {
            for flip in [1, 0x80, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] ^= flip;
                assert!(Manifest::read(&bytes).is_err(), "byte {at} ^ {flip:#x}");
            }
            assert!(Manifest::read(&whole[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn names_of_runs_are_distinct_texts() {
        for (names, is_good) in [
            (&[][..], true),
            (&["a", "b\u{e9}"], true),
            (&["a", ""], false),
            (&["a", "b", "a"], false),
            (&["a\tb"], false),
        ] {
            let runs: Vec<String> = names.iter().map(ToString::to_string).collect();
            let manifest = Manifest { runs, ..sample() };
            let read = Manifest::read(&manifest.encode());
            assert_eq!(read.is_ok(), is_good, "{names:?}");
            assert!(!is_good || read == Ok(manifest));
        }
        let runs = (0..=RUN_COUNT_MAX).map(|number| number.to_string()).collect();
        assert!(Manifest::read(&Manifest { runs, ..sample() }.encode()).is_err());
    }

    #[test]
    fn the_oldest_runs_are_forgotten() {
        let mut manifest = Manifest { runs: Vec::new(), ..sample() };
        (0..RUN_COUNT_MAX + 5).for_each(|number| manifest.add_run(&number.to_string()));
        manifest.add_run("7");
        assert_eq!(manifest.runs.len(), RUN_COUNT_MAX);
        assert_eq!((manifest.runs[0].as_str(), manifest.runs[1].as_str()), ("5", "6"));
        assert_eq!(manifest.runs.last().unwrap(), "7");
        assert_eq!(manifest.runs.iter().filter(|run| *run == "7").count(), 1);
        assert_eq!(Manifest::read(&manifest.encode()), Ok(manifest));
    }

    /// Readers reject a longer manifest, so `LEN_MAX` must be the length of the largest manifest.
    #[test]
    fn the_largest_manifest_has_the_greatest_length() {
        let mut manifest = sample();
        let entry =
            SegmentEntry { label: "x".repeat(LABEL_LEN_MAX), ..manifest.segments[0].clone() };
        manifest.segments = vec![entry; SEGMENT_COUNT_MAX];
        manifest.runs = vec!["x".repeat(255); RUN_COUNT_MAX];
        assert_eq!(manifest.encode().len() as u64, LEN_MAX);
    }

    #[test]
    fn a_store_id_of_zeros_is_refused() {
        let manifest = Manifest { store_id: StoreId::default(), ..sample() };
        let refused = Manifest::read(&manifest.encode());
        let is_rule_28 = |fault| matches!(fault, Fault::Rule { rule: 28, .. });
        let Err(FileFault::Fault { offset: 32, fault }) = refused else {
            panic!("{refused:?}");
        };
        assert!(is_rule_28(fault));
    }

    #[test]
    fn numbers_must_be_distinct_and_below_the_next() {
        let mut manifest = sample();
        manifest.next_number = 3;
        assert!(Manifest::read(&manifest.encode()).is_err());
        manifest = sample();
        manifest.segments[1].number = 3;
        assert!(Manifest::read(&manifest.encode()).is_err());
        for change in [
            |of: &mut DeletionEntry| of.number = 1,
            |of: &mut DeletionEntry| of.number = 0,
            |of: &mut DeletionEntry| of.number = 5,
            |of: &mut DeletionEntry| of.fingerprint_count = 6,
        ] {
            manifest = sample();
            manifest.segments[2].deletions.as_mut().map(change).unwrap();
            assert!(Manifest::read(&manifest.encode()).is_err());
        }
    }

    #[test]
    fn labels_are_short_texts_without_control_characters() {
        for (label, good) in [("", true), ("a\u{e4}", true), ("a\tb", false), ("a\n", false)] {
            assert_eq!(fault_of_label(label).is_none(), good, "{label:?}");
            let mut manifest = sample();
            manifest.segments[0].label = label.into();
            assert_eq!(Manifest::read(&manifest.encode()).is_ok(), good, "{label:?}");
        }
        assert!(fault_of_label(&"x".repeat(255)).is_none());
        assert!(fault_of_label(&"x".repeat(256)).is_some());
    }

    #[test]
    fn file_names_and_numbers_agree() {
        assert_eq!(segment_number(&segment_file_name(26)), Some(26));
        for name in ["segment-1a.fps", "segment-000000000000001A.fps", "MANIFEST"] {
            assert_eq!(segment_number(name), None);
        }
    }
}
