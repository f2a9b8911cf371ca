//! In how many documents of a corpus each feature occurs.

use std::collections::HashMap;
use std::io::Write;

use crate::bytes::u64_at;
use crate::error::{Error, Result};
use crate::text::hasher::SimHasher;
use crate::text::recipe::{Mark, TextRecipe, invalid};
use crate::text::weight::Weight;

const MAGIC: [u8; 8] = *b"\x89FPF\r\n\x1a\n";
const VERSION: u16 = 1;
const HEADER_LEN: usize = 32;
const ENTRY_LEN: usize = 12;
const CRC_LEN: usize = 4;

/// A table of document frequencies: in how many documents of a corpus each feature occurs.
///
/// It holds for the recipe that made its features. Its file is described in `format-spec.md`, section 9.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DfTable {
    feature_text: String,
    document_count: u64,
    /// Ascending.
    hashes: Vec<u64>,
    frequencies: Vec<u32>,
    crc: u32,
}

impl DfTable {
    /// The number of documents in the corpus.
    pub fn document_count(&self) -> u64 {
        self.document_count
    }

    /// The number of features in the table.
    pub fn entry_count(&self) -> u64 {
        self.hashes.len() as u64
    }

    /// What tells this table from others.
    pub fn mark(&self) -> Mark {
        Mark { crc: self.crc, entry_count: self.entry_count() }
    }

    /// How rare the feature with this hash is: `log2(1 + documents / frequency)`. What is not in the table
    /// counts as one document.
    pub fn idf(&self, hash: u64) -> Weight {
        let frequency = match self.hashes.binary_search(&hash) {
            Ok(place) => u64::from(self.frequencies[place]),
            Err(_) => 1,
        };
        Weight::log2_ratio(self.document_count.saturating_add(frequency), frequency)
    }

    /// Checks that the table was made of such features as the recipe makes.
    pub(crate) fn check(&self, recipe: &TextRecipe) -> Result<()> {
        let wanted = recipe.feature_text();
        if self.feature_text == wanted {
            return Ok(());
        }
        let line = |text: &str, other: &str| {
            let found = text.lines().find(|line| !other.lines().any(|known| known == *line));
            found.unwrap_or("nothing").to_string()
        };
        let (table, given) = (line(&self.feature_text, &wanted), line(&wanted, &self.feature_text));
        Err(invalid(format!(
            "the table of document frequencies was made with {table}, the recipe has {given}"
        )))
    }

    /// Reads the bytes of a file.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRecipe`] if they are no table, are damaged, or break a rule of the format.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        parse(bytes).map_err(|reason| invalid(format!("table of document frequencies: {reason}")))
    }

    /// Writes the bytes of a file.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn write_to(&self, out: &mut impl Write) -> std::io::Result<()> {
        let body = self.body();
        out.write_all(&body)?;
        out.write_all(&crc32fast::hash(&body).to_le_bytes())
    }

    fn body(&self) -> Vec<u8> {
        let text = self.feature_text.as_bytes();
        let mut body = Vec::with_capacity(HEADER_LEN + text.len() + self.hashes.len() * ENTRY_LEN);
        body.extend(MAGIC);
        body.extend(VERSION.to_le_bytes());
        body.extend(0_u16.to_le_bytes());
        body.extend(u32::try_from(text.len()).expect("a few lines").to_le_bytes());
        body.extend(self.document_count.to_le_bytes());
        body.extend((self.hashes.len() as u64).to_le_bytes());
        body.extend(text);
        for (hash, frequency) in self.hashes.iter().zip(&self.frequencies) {
            body.extend(hash.to_le_bytes());
            body.extend(frequency.to_le_bytes());
        }
        body
    }
}

fn parse(bytes: &[u8]) -> Result<DfTable, String> {
    if bytes.get(..8) != Some(&MAGIC) {
        return Err("it does not start as one".into());
    }
    let u16_at = |at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let u32_at = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let short = || format!("{} bytes, too short", bytes.len());
    let version = u16_at(8).ok_or_else(short)?;
    if version != VERSION {
        return Err(format!("version {version}, this release reads {VERSION}"));
    }
    let end =
        bytes.len().checked_sub(CRC_LEN).filter(|&end| end >= HEADER_LEN).ok_or_else(short)?;
    let (body, stored) = bytes.split_at(end);
    let crc = crc32fast::hash(body);
    if stored != crc.to_le_bytes() {
        return Err("its checksum does not fit its bytes".into());
    }
    let text_len = u32_at(12).ok_or_else(short)? as usize;
    let document_count = u64_at(bytes, 16).ok_or_else(short)?;
    let entry_count = u64_at(bytes, 24).ok_or_else(short)?;
    let rest = body.get(HEADER_LEN..).ok_or_else(short)?;
    let (text, entries) = rest.split_at_checked(text_len).ok_or_else(short)?;
    let feature_text = str::from_utf8(text).map_err(|_| "its recipe is not UTF-8")?.to_string();
    if u16_at(10) != Some(0) || Some(entries.len() as u64) != entry_count.checked_mul(12) {
        return Err(format!("{} bytes of entries for {entry_count} of them", entries.len()));
    }
    let (mut hashes, mut frequencies) = (Vec::new(), Vec::new());
    for entry in entries.chunks_exact(ENTRY_LEN) {
        let hash = u64_at(entry, 0).ok_or_else(short)?;
        let frequency = entry.get(8..).and_then(|bytes| bytes.try_into().ok());
        let frequency = u32::from_le_bytes(frequency.ok_or_else(short)?);
        let in_order = hashes.last().is_none_or(|&last| last < hash);
        if !in_order || frequency == 0 || u64::from(frequency) > document_count {
            return Err(format!("entry {} breaks the order or the range", hashes.len()));
        }
        hashes.push(hash);
        frequencies.push(frequency);
    }
    Ok(DfTable { feature_text, document_count, hashes, frequencies, crc })
}

/// Counts in how many documents each feature occurs.
///
/// Holds about 20 bytes for each distinct feature of the corpus.
///
/// # Examples
///
/// ```
/// use fpstore::{DfBuilder, SimHasher, TextRecipe};
///
/// let recipe = TextRecipe::default();
/// let mut hasher = SimHasher::new(&recipe)?;
/// let mut builder = DfBuilder::new(&recipe);
/// for text in ["the cat", "the dog", "the the mouse"] {
///     builder.add(&mut hasher, text);
/// }
/// let table = builder.finish(1);
/// assert_eq!((table.document_count(), table.entry_count()), (3, 7));
/// # Ok::<(), fpstore::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct DfBuilder {
    feature_text: String,
    document_count: u64,
    frequencies: HashMap<u64, u32>,
}

impl DfBuilder {
    /// A builder of a table for the features of `recipe`; its weights do not matter.
    pub fn new(recipe: &TextRecipe) -> Self {
        DfBuilder {
            feature_text: recipe.feature_text(),
            document_count: 0,
            frequencies: HashMap::new(),
        }
    }

    /// Counts a document. Without features it does not count.
    pub fn add(&mut self, hasher: &mut SimHasher, text: &str) {
        let hashes = hasher.distinct_features(text);
        self.add_hashes(&hashes);
    }

    /// Counts a document by the hashes of its distinct features.
    pub fn add_hashes(&mut self, hashes: &[u64]) {
        if hashes.is_empty() {
            return;
        }
        self.document_count += 1;
        for &hash in hashes {
            let frequency = self.frequencies.entry(hash).or_default();
            *frequency = frequency.saturating_add(1);
        }
    }

    /// The number of documents so far.
    pub fn document_count(&self) -> u64 {
        self.document_count
    }

    /// The table of the features that occur in at least `frequency_min` documents.
    pub fn finish(self, frequency_min: u32) -> DfTable {
        let kept = self.frequencies.into_iter().filter(|&(_, count)| count >= frequency_min);
        let mut entries: Vec<(u64, u32)> = kept.collect();
        entries.sort_unstable();
        let (hashes, frequencies) = entries.into_iter().unzip();
        let mut table = DfTable {
            feature_text: self.feature_text,
            document_count: self.document_count,
            hashes,
            frequencies,
            crc: 0,
        };
        table.crc = crc32fast::hash(&table.body());
        table
    }
}

impl DfTable {
    /// Reads the file at `path`.
    ///
    /// # Errors
    ///
    /// * [`Error::Io`] if it cannot be read.
    /// * As [`DfTable::from_bytes`].
    pub fn open(path: impl AsRef<std::path::Path>) -> Result<Self> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(Error::io("read", path))?;
        DfTable::from_bytes(&bytes)
    }
}
