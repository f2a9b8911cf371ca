//! Tables of document frequencies, which are stored in files and looked up for weights.
//! [`DfBuilder`](crate::DfBuilder) counts the documents.
//!
//! A file consists of a header of 32 bytes, the lines of the recipe that determine the features,
//! entries of 12 bytes, and a CRC-32 of all preceding bytes. All integers are little-endian.
//! `docs/recipe-spec.md` lists the rules D-1 to D-8; [`DfTable::from_bytes`] checks all of them.

use std::io::Write;
use std::path::Path;

use byteorder::{ByteOrder, LittleEndian as Le, WriteBytesExt};

use crate::error::{Error, Result};
use crate::recipe::TextRecipe;
use crate::resource_id::ResourceId;
use crate::votes::weight::Weight;
use fpstore_base::IoError;

const MAGIC: [u8; 8] = *b"\x89FPF\r\n\x1a\n";
const VERSION: u16 = 1;
const HEADER_LEN: usize = 32;
const ENTRY_LEN: usize = 12;
const CRC_LEN: usize = 4;

/// Offsets of the fields of the header.
const VERSION_AT: usize = 8;
const RESERVED_AT: usize = 10;
const TEXT_LEN_AT: usize = 12;
const DOCUMENT_COUNT_AT: usize = 16;
const ENTRY_COUNT_AT: usize = 24;

/// A table of document frequencies: for each feature, the number of documents of a corpus that
/// contain it.
///
/// A table is valid only for recipes with the same features.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DfTable {
    feature_text: String,
    document_count: u64,
    /// The hashes of the features, ascending.
    hashes: Vec<u64>,
    frequencies: Vec<u32>,
    crc: u32,
}

impl DfTable {
    /// A table of features and their frequencies; the hashes of the features must ascend.
    pub(crate) fn of_entries(
        feature_text: String,
        document_count: u64,
        entries: Vec<(u64, u32)>,
    ) -> Self {
        let (hashes, frequencies) = entries.into_iter().unzip();
        let mut table = DfTable { feature_text, document_count, hashes, frequencies, crc: 0 };
        let body = table.body().expect("a vector takes any number of bytes, a recipe is short");
        table.crc = crc32fast::hash(&body);
        table
    }

    /// The number of documents in the corpus.
    pub fn document_count(&self) -> u64 {
        self.document_count
    }

    /// The number of features in the table.
    pub fn entry_count(&self) -> u64 {
        self.hashes.len() as u64
    }

    /// The id of this table in recipes.
    pub fn id(&self) -> ResourceId {
        ResourceId { crc: self.crc, entry_count: self.entry_count() }
    }

    /// The rarity of the feature with this hash: `log2(1 + documents / frequency)`. A feature
    /// missing from the table counts as if it were in a single document.
    pub fn idf(&self, hash: u64) -> Weight {
        let frequency = match self.hashes.binary_search(&hash) {
            Ok(place) => u64::from(self.frequencies[place]),
            Err(_) => 1,
        };
        Weight::log2_ratio(self.document_count.saturating_add(frequency), frequency)
    }

    /// Checks that the table was counted on the features of `recipe`.
    pub(super) fn check(&self, recipe: &TextRecipe) -> Result<()> {
        let wanted = recipe.feature_text();
        if self.feature_text == wanted {
            return Ok(());
        }
        let only_in = |text: &str, other: &str| {
            let found = text.lines().find(|line| !other.lines().any(|known| known == *line));
            found.unwrap_or("nothing").to_string()
        };
        Err(Error::WrongFeatures {
            table: only_in(&self.feature_text, &wanted),
            recipe: only_in(&wanted, &self.feature_text),
        })
    }

    /// Reads the file at `path`.
    ///
    /// # Errors
    ///
    /// * [`Error::Io`] if the file cannot be read.
    /// * [`Error::DamagedTable`] if it violates a rule of the format.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let bytes = fpstore_base::read_inputs::read(path).map_err(IoError::of("read", path))?;
        DfTable::from_bytes(&bytes, path)
    }

    /// Parses the bytes of a file; `path` is the name of the file in errors.
    ///
    /// # Errors
    ///
    /// [`Error::DamagedTable`] if the bytes violate a rule of the format.
    pub fn from_bytes(bytes: &[u8], path: impl AsRef<Path>) -> Result<Self> {
        parse(bytes).map_err(|Damage { offset, rule, detail }| Error::DamagedTable {
            path: path.as_ref().into(),
            offset: offset as u64,
            rule,
            detail,
        })
    }

    /// Writes the table as the bytes of a file.
    ///
    /// # Errors
    ///
    /// The errors of `out`.
    pub fn write_to(&self, out: &mut impl Write) -> std::io::Result<()> {
        let body = self.body()?;
        out.write_all(&body)?;
        out.write_u32::<Le>(crc32fast::hash(&body))
    }

    /// The bytes of a file without its checksum.
    fn body(&self) -> std::io::Result<Vec<u8>> {
        let text = self.feature_text.as_bytes();
        let mut body = Vec::with_capacity(HEADER_LEN + text.len() + self.hashes.len() * ENTRY_LEN);
        body.write_all(&MAGIC)?;
        body.write_u16::<Le>(VERSION)?;
        body.write_u16::<Le>(0)?;
        body.write_u32::<Le>(u32::try_from(text.len()).map_err(std::io::Error::other)?)?;
        body.write_u64::<Le>(self.document_count)?;
        body.write_u64::<Le>(self.entry_count())?;
        body.write_all(text)?;
        for (&hash, &frequency) in self.hashes.iter().zip(&self.frequencies) {
            body.write_u64::<Le>(hash)?;
            body.write_u32::<Le>(frequency)?;
        }
        Ok(body)
    }
}

/// A violated rule, and the position of the violation.
struct Damage {
    offset: usize,
    rule: u8,
    detail: String,
}

fn check(
    holds: bool,
    rule: u8,
    offset: usize,
    detail: impl FnOnce() -> String,
) -> Result<(), Damage> {
    if holds { Ok(()) } else { Err(Damage { offset, rule, detail: detail() }) }
}

fn parse(bytes: &[u8]) -> Result<DfTable, Damage> {
    check(bytes.starts_with(&MAGIC), 1, 0, || "the magic bytes are missing".into())?;
    let least = HEADER_LEN + CRC_LEN;
    let too_short = || format!("the table has {} bytes, expected at least {least}", bytes.len());
    let (header, rest) = match bytes.split_first_chunk::<HEADER_LEN>() {
        Some((header, rest)) if rest.len() >= CRC_LEN => (header, rest),
        _ => return Err(Damage { offset: bytes.len(), rule: 3, detail: too_short() }),
    };
    let version = Le::read_u16(&header[VERSION_AT..]);
    check(version == VERSION, 2, VERSION_AT, || {
        format!(
            "it has version {version}, expected {VERSION}; make the table again with 'fpstore df'"
        )
    })?;
    let crc_at = bytes.len() - CRC_LEN;
    let crc = crc32fast::hash(&bytes[..crc_at]);
    let stored = Le::read_u32(&bytes[crc_at..]);
    check(stored == crc, 6, crc_at, || format!("checksum {crc:08x}, expected {stored:08x}"))?;
    let reserved = Le::read_u16(&header[RESERVED_AT..]);
    check(reserved == 0, 7, RESERVED_AT, || format!("reserved {reserved:#x}, expected 0"))?;
    let text_len = Le::read_u32(&header[TEXT_LEN_AT..]);
    let document_count = Le::read_u64(&header[DOCUMENT_COUNT_AT..]);
    let entry_count = Le::read_u64(&header[ENTRY_COUNT_AT..]);
    let expected_len = entry_count
        .checked_mul(ENTRY_LEN as u64)
        .and_then(|len| len.checked_add(u64::from(text_len) + CRC_LEN as u64));
    check(expected_len == Some(rest.len() as u64), 3, TEXT_LEN_AT, || {
        format!(
            "{} bytes after the header, expected {text_len} bytes of text and {entry_count} entries",
            rest.len()
        )
    })?;
    // The length was checked, so the text and the entries exist.
    let entries_at = HEADER_LEN + text_len as usize;
    let text = str::from_utf8(&bytes[HEADER_LEN..entries_at]).map_err(|fault| Damage {
        offset: HEADER_LEN + fault.valid_up_to(),
        rule: 8,
        detail: "the recipe is not UTF-8".into(),
    })?;
    let (mut hashes, mut frequencies) = (Vec::new(), Vec::new());
    for (number, entry) in bytes[entries_at..crc_at].chunks_exact(ENTRY_LEN).enumerate() {
        let at = entries_at + number * ENTRY_LEN;
        let (hash, frequency) = (Le::read_u64(entry), Le::read_u32(&entry[8..]));
        check(hashes.last().is_none_or(|&last| last < hash), 4, at, || {
            format!("hash {hash:016x} of entry {number} is not above the hash before it")
        })?;
        check(frequency > 0 && u64::from(frequency) <= document_count, 5, at + 8, || {
            format!("frequency {frequency} of entry {number}, expected 1 to {document_count}")
        })?;
        hashes.push(hash);
        frequencies.push(frequency);
    }
    Ok(DfTable { feature_text: text.into(), document_count, hashes, frequencies, crc })
}
