//! Counts and lengths of a store, its segments and their parts.

use std::path::PathBuf;
use std::time::SystemTime;

use crate::base::error::Result;
use crate::base::section::{Section, TableIndex};
use crate::bytes::checksum::PAGE_LEN;
use crate::scheme::Scheme;
use crate::search::snapshot::{OpenSegment, Snapshot};
use crate::segment::access::Access;
use fpstore_base::{IdKind, Recipe, Width};

/// Counts and lengths of a store.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StoreInfo {
    /// The directory of the store.
    pub path: PathBuf,
    /// Sixteen random bytes that identify the store: drawn when it was made or replaced, and
    /// preserved by every later change.
    pub store_id: [u8; 16],
    /// The generation: the number of manifests that the store has had.
    pub generation: u64,
    /// The digest of the manifest: snapshots with the same digest give the same answers.
    pub manifest_digest: [u8; 16],
    /// The length of the sketch of each id in bytes; 0 without sketches, or if sketches have
    /// different lengths in different segments.
    pub sketch_len: u8,
    /// The width of the fingerprints, see [`Store::width`](crate::Store::width).
    pub width: Width,
    /// The distance for which the store is tuned, see [`Store::tuned_k`](crate::Store::tuned_k).
    pub tuned_k: u32,
    /// The recipe of the fingerprints; `None` for a store without segments.
    pub recipe: Option<Recipe>,
    /// The live segments, oldest first.
    pub segments: Vec<SegmentInfo>,
}

impl StoreInfo {
    pub(crate) fn of(snapshot: &Snapshot) -> Self {
        StoreInfo {
            path: snapshot.path().into(),
            store_id: snapshot.store_id(),
            generation: snapshot.generation(),
            manifest_digest: snapshot.manifest_digest().bytes(),
            sketch_len: snapshot.sketch_len(),
            width: snapshot.width(),
            tuned_k: snapshot.tuned_k(),
            recipe: snapshot.recipe(),
            segments: snapshot.segments().iter().map(SegmentInfo::of).collect(),
        }
    }

    /// The number of fingerprints of all segments, deleted ones excluded. A fingerprint in two
    /// segments counts twice.
    pub fn fingerprint_count(&self) -> u64 {
        let live = |segment: &SegmentInfo| segment.fingerprint_count - segment.deleted_fingerprints;
        self.segments.iter().map(live).sum()
    }

    /// The number of ids of all segments, deleted ones excluded. A record that was added several
    /// times counts each time, see [`Hit::stored_ids`](crate::Hit::stored_ids).
    pub fn id_count(&self) -> u64 {
        let live = |segment: &SegmentInfo| segment.id_count.saturating_sub(segment.deleted_ids);
        self.segments.iter().map(live).sum()
    }

    /// The number of deleted fingerprints that still take space, over all segments.
    pub fn deleted_fingerprints(&self) -> u64 {
        self.segments.iter().map(|segment| segment.deleted_fingerprints).sum()
    }

    /// The number of deleted ids that still take space, over all segments.
    pub fn deleted_ids(&self) -> u64 {
        self.segments.iter().map(|segment| segment.deleted_ids).sum()
    }

    /// The length of all segment files in bytes.
    pub fn file_len(&self) -> u64 {
        self.segments.iter().map(|segment| segment.file_len).sum()
    }
}

/// Also serialises the totals over all segments, as additional fields.
#[cfg(feature = "serde")]
impl serde::Serialize for StoreInfo {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut fields = to.serialize_struct("StoreInfo", 12)?;
        fields.serialize_field("path", &self.path.display().to_string())?;
        let hex = |bytes: [u8; 16]| format!("{:032x}", u128::from_be_bytes(bytes));
        fields.serialize_field("store_id", &hex(self.store_id))?;
        fields.serialize_field("generation", &self.generation)?;
        fields.serialize_field("manifest_digest", &hex(self.manifest_digest))?;
        fields.serialize_field("fingerprints", &self.fingerprint_count())?;
        fields.serialize_field("ids", &self.id_count())?;
        fields.serialize_field("file_len", &self.file_len())?;
        fields.serialize_field("sketch_len", &self.sketch_len)?;
        fields.serialize_field("bits", &self.width)?;
        fields.serialize_field("tuned_k", &self.tuned_k)?;
        fields.serialize_field("recipe", &self.recipe)?;
        fields.serialize_field("segments", &self.segments)?;
        fields.end()
    }
}

/// Counts and lengths of a segment.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SegmentInfo {
    /// The segment file.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::plan::serialize::path"))]
    pub path: PathBuf,
    /// The number of the segment. A store never uses a number again.
    pub number: u64,
    /// The label given by the user; empty without a label.
    pub label: String,
    /// The [format version](crate::FORMAT_VERSIONS) of the file.
    pub format_version: u16,
    /// The length of the file in bytes.
    pub file_len: u64,
    /// How the bytes of the file are accessed: `Map` or `Memory`.
    pub access: Access,
    /// The number of distinct fingerprints in the file, deleted ones included.
    #[cfg_attr(feature = "serde", serde(rename = "fingerprints"))]
    pub fingerprint_count: u64,
    /// The number of ids in the file, deleted ones included.
    #[cfg_attr(feature = "serde", serde(rename = "ids"))]
    pub id_count: u64,
    /// The number of deleted fingerprints; all their ids are deleted, too.
    pub deleted_fingerprints: u64,
    /// The number of deleted ids, including the ids of deleted fingerprints.
    pub deleted_ids: u64,
    /// The time when the file was written, if the system reports it.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::plan::serialize::seconds"))]
    pub written: Option<SystemTime>,
    /// The kind of the ids.
    pub id_kind: IdKind,
    /// The length of the sketch of each id in bytes; 0 without sketches.
    pub sketch_len: u32,
    /// The distance for which the scheme is tuned.
    pub tuned_k: u32,
    /// The recipe of the fingerprints.
    pub recipe: Recipe,
    /// The minimum average number of bits per fingerprint that any code needs for a random set of
    /// this size n: the width - log2 n + log2 e. `None` without fingerprints.
    pub information_limit: Option<f64>,
    /// The tables of the segment, in order.
    pub tables: Vec<TableInfo>,
    /// The sections of the file, in file order.
    pub sections: Vec<SectionInfo>,
}

/// The layout of a table.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct TableInfo {
    /// The position of the table in the segment.
    pub table: TableIndex,
    /// The mask: the bits of a fingerprint that come first in the table.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::plan::serialize::mask"))]
    pub mask: u64,
    /// The number of bits of the mask.
    pub prefix_bits: u32,
    /// The number of leading bits that select a block.
    pub block_bits: u32,
    /// The number of low bits of each value that are stored in the tails, verbatim or as a
    /// syndrome.
    pub tail_bits: u32,
    /// The number of syndrome bits that each tail stores in place of the bits outside the mask; 0
    /// if tails are stored verbatim.
    pub syndrome_bits: u32,
    /// The average number of bits per fingerprint, including padding to whole pages and page
    /// checksums. `None` without fingerprints.
    pub bits_per_fingerprint: Option<f64>,
    /// The number of bits to pass to [`Scheme::with_syndromes`] for a table like this one.
    #[cfg_attr(feature = "serde", serde(skip))]
    telling_bits: u32,
}

/// The position of a section in a segment file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SectionInfo {
    /// The kind of the section.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::plan::serialize::text"))]
    pub section: Section,
    /// The offset from the start of the file in bytes.
    pub offset: u64,
    /// The length in bytes, padding not counted.
    pub len: u64,
}

impl SegmentInfo {
    /// Whether the segment has fingerprints that are not deleted. The label of a segment without
    /// records never prevents an expiry.
    pub fn has_records(&self) -> bool {
        self.fingerprint_count > self.deleted_fingerprints
    }

    /// The scheme of the tables of the segment.
    ///
    /// # Errors
    ///
    /// The same as [`Scheme::from_masks`]; they do not occur for an open segment, whose tables are
    /// valid.
    pub fn scheme(&self) -> Result<Scheme> {
        let tables = self.tables.iter().map(|table| (table.mask, table.telling_bits));
        Scheme::of_tables(tables, self.tuned_k)
    }

    fn of(open: &OpenSegment) -> Self {
        let header = open.segment.header();
        let n = header.fingerprint_count;
        let bits = f64::from(open.segment.recipe().width().bits());
        let sections: Vec<SectionInfo> = header
            .places
            .iter()
            .map(|place| SectionInfo {
                section: place.section,
                offset: place.offset,
                len: place.len,
            })
            .collect();
        let tables = (0..).map(TableIndex).zip(&header.tables).map(|(table, descriptor)| {
            let bits = table_len(&sections, table) as f64 * 8.0 / n as f64;
            TableInfo {
                table,
                mask: descriptor.mask.0,
                prefix_bits: descriptor.prefix_bits(),
                block_bits: descriptor.block_bits,
                tail_bits: descriptor.tail_bits,
                syndrome_bits: descriptor.syndrome_bits,
                bits_per_fingerprint: (n > 0).then_some(bits),
                telling_bits: descriptor.telling_bits(),
            }
        });
        SegmentInfo {
            path: open.segment.path().into(),
            number: open.entry.number,
            label: open.entry.label.clone(),
            format_version: header.version,
            file_len: header.file_len,
            access: open.segment.access(),
            fingerprint_count: header.fingerprint_count,
            id_count: header.id_count,
            deleted_fingerprints: open.deleted.as_ref().map_or(0, |of| of.fingerprint_count()),
            deleted_ids: open.deleted.as_ref().map_or(0, |of| of.id_count()),
            written: std::fs::metadata(open.segment.path()).and_then(|of| of.modified()).ok(),
            id_kind: header.id_kind,
            sketch_len: header.sketch_len,
            tuned_k: header.tuned_k,
            recipe: open.segment.recipe().clone(),
            information_limit: (n > 0).then(|| bits - (n as f64).log2() + std::f64::consts::LOG2_E),
            tables: tables.collect(),
            sections,
        }
    }
}

/// The length of a table in bytes: whole pages, and a checksum of 4 bytes for each page.
fn table_len(sections: &[SectionInfo], table: TableIndex) -> u64 {
    let pages: u64 = sections
        .iter()
        .filter(|info| info.section.table() == Some(table))
        .map(|info| info.len.div_ceil(PAGE_LEN as u64))
        .sum();
    pages * (PAGE_LEN as u64 + 4)
}
