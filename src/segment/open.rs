//! Opens a segment: checks its header, its recipe, and its entry in the manifest.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::AtomicU32;

use crate::base::error::{Error, Fault, IoError, Result};
use crate::base::section::{Section, TableIndex};
use crate::bytes::checksum::PAGE_LEN;
use crate::format::directory::SectionPlace;
use crate::format::header;
use crate::format::manifest::SegmentEntry;
use crate::segment::Segment;
use crate::segment::access::Access;
use crate::segment::map::{SegmentBytes, truncated};
use crate::segment::read::{COLD_FOR, CheckedPages};
use crate::segment::table::Table;
use fpstore_base::Recipe;
use fpstore_disk::plain_file::{self, Refused};

/// Opens the segment at `path` as a memory map, and checks its header and recipe.
pub(crate) fn map(path: &Path) -> Result<Segment> {
    open(path, Access::Map, 0)
}

/// Like [`map`], but with the given access, `Map` or `Memory`. A file whose length differs from
/// `expected_len` is always mapped: the caller will reject it, and its length must not decide how
/// much memory is allocated.
pub(crate) fn open(path: &Path, access: Access, expected_len: u64) -> Result<Segment> {
    let file = open_file(path)?;
    let len = file.metadata().map_err(Error::io("open", path))?.len();
    if len < PAGE_LEN as u64 {
        // For an empty file, `mmap` fails with an error that does not name the cause.
        return Err(truncated(path, PAGE_LEN as u64, len));
    }
    let bytes = match access {
        Access::Memory if len == expected_len => SegmentBytes::read(file, len, path)?,
        _ => SegmentBytes::map(file, path)?,
    };
    Segment::from_bytes(bytes, path)
}

pub(crate) fn open_file(path: &Path) -> Result<File> {
    open_plain_file(path, Section::Header, 23)
}

/// Opens a file of a store. `section` and `rule` are for the error if it is not a plain file.
pub(crate) fn open_plain_file(path: &Path, section: Section, rule: u8) -> Result<File> {
    plain_file::open(path).map_err(|refused| match refused {
        Refused::Kind(kind) => {
            let fault = Fault::rule(rule, format!("it is {kind}, not a plain file"));
            Error::corrupt(path, section, 0, fault)
        }
        Refused::Io(source) => Error::Io(IoError { doing: "open", path: path.into(), source }),
    })
}

impl Segment {
    /// Checks the header and the recipe of the segment in `data`; `path` is for messages. Takes the
    /// same time for any number of fingerprints.
    pub(super) fn from_bytes(data: SegmentBytes, path: &Path) -> Result<Self> {
        let header =
            header::read(data.bytes()).map_err(|fault| fault.into_error(path, Section::Header))?;
        let missing = |section: Section| {
            let fault = Fault::rule(9, format!("no section {section}"));
            Error::corrupt(path, Section::Header, 0, fault)
        };
        let place = |section: Section| header.place(section).copied().ok_or(missing(section));
        let mut tables = Vec::with_capacity(header.tables.len());
        for (number, &descriptor) in (0..).zip(&header.tables) {
            tables.push(Table::new(TableIndex(number), descriptor, place)?);
        }
        let checksums = place(Section::Checksums)?;
        let recipe_place = place(Section::Recipe)?;
        let checked = CheckedPages::new(header.file_len / PAGE_LEN as u64);
        let recipe = Recipe::external();
        let path = path.to_path_buf();
        let coldness = AtomicU32::new(COLD_FOR);
        let mut segment =
            Segment { data, path, header, recipe, tables, checksums, checked, coldness };
        segment.recipe = segment.read_recipe(&recipe_place)?;
        Ok(segment)
    }

    fn read_recipe(&self, place: &SectionPlace) -> Result<Recipe> {
        let bytes = self.bytes(place, 0, place.len)?;
        let recipe = str::from_utf8(bytes).ok().and_then(Recipe::from_text);
        let recipe = recipe
            .ok_or_else(|| self.corrupt(place, 0, Fault::rule(21, "recipe is not plain text")))?;
        if recipe.is_unknown_external() {
            let detail = "the lines after 'external' declare no width that this release knows";
            return Err(self.corrupt(place, 0, Fault::rule(31, detail)));
        }
        Ok(recipe)
    }

    /// The entry of this segment in a manifest, with `number` and `label`.
    pub(crate) fn entry(&self, number: u64, label: &str) -> SegmentEntry {
        SegmentEntry {
            number,
            file_len: self.header.file_len,
            fingerprint_count: self.header.fingerprint_count,
            digest: self.header.digest,
            deletions: None,
            label: label.into(),
        }
    }

    /// Rejects a manifest entry that does not match this segment file.
    pub(crate) fn check_entry(&self, entry: &SegmentEntry) -> Result<()> {
        let found = self.entry(entry.number, &entry.label);
        if (SegmentEntry { deletions: entry.deletions, ..found.clone() }) == *entry {
            return Ok(());
        }
        let detail = format!(
            "it has {} bytes, {} fingerprints and digest {}, \
             but the manifest states {}, {} and {}",
            found.file_len,
            found.fingerprint_count,
            found.digest,
            entry.file_len,
            entry.fingerprint_count,
            entry.digest,
        );
        Err(Error::corrupt(&self.path, Section::Header, 0, Fault::rule(23, detail)))
    }

    /// Rejects a segment whose recipe is not the recipe of the store: fingerprints of different
    /// recipes cannot be compared.
    pub(crate) fn check_recipe(&self, of_store: &Recipe) -> Result<()> {
        if self.recipe == *of_store {
            return Ok(());
        }
        Err(Error::RecipeMismatch { store: of_store.clone(), given: self.recipe.clone() })
    }
}
