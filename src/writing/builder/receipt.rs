//! The receipt of a segment file, made by its writer and checked by a commit.

use std::fmt::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::base::error::{Error, Result};
use crate::base::text_version::fault_of_version;
use crate::segment::{Segment, map};
use fpstore_base::Recipe;
use fpstore_disk::system::name_of_bytes;

/// The first words of the text form of a receipt.
const TITLE: &str = "segment 1";
/// The remedy in the error message for a receipt of another version.
const REMEDY: &str = "write the segment again, with one version of fpstore on all machines";

/// The properties of a segment file that belongs to no store yet.
///
/// Its text form ([`Display`](fmt::Display), [`FromStr`]) is one line, to be sent from the task
/// that wrote the file to the process that [commits](crate::writer::commit()) it.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("part-7.fps");
/// use fpstore::{BuildOptions, Builder, SegmentReceipt};
///
/// let mut builder = Builder::segment_file(&path, BuildOptions::default())?;
/// builder.push(0xc0f1_789b_ed2e_b9b8.into(), "a.html")?;
/// let receipt = builder.finish_segment()?;
/// assert_eq!(receipt.fingerprint_count, 1);
///
/// let text = receipt.to_string();
/// assert_eq!(text.parse::<SegmentReceipt>()?, receipt);
/// assert_eq!(SegmentReceipt::of(&path)?, receipt);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SegmentReceipt {
    /// The path given to the writer of the file.
    pub path: PathBuf,
    /// The digest of the header, which includes a digest of all other bytes: the same records give
    /// the same digest.
    pub digest: [u8; 16],
    /// The length of the file in bytes.
    pub file_len: u64,
    /// The number of distinct fingerprints.
    pub fingerprint_count: u64,
    /// The number of ids.
    pub id_count: u64,
    /// The length of the sketch of each id in bytes; 0 without sketches.
    pub sketch_len: u8,
    /// The masks of the tables. If the tables with whole values have different masks in two
    /// segments, each share of a join reads the whole store instead of ranges.
    pub masks: Vec<u64>,
    /// The recipe of the fingerprints.
    pub recipe: Recipe,
}

impl SegmentReceipt {
    /// The receipt of the segment file at `path`. Reads its header.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the file cannot be read, [`Error::Corrupt`] or
    /// [`Error::UnsupportedVersion`] if it is not a segment or is incomplete.
    pub fn of(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Ok(SegmentReceipt::for_segment(path, &map(path)?))
    }

    /// The receipt of an open segment, with `path` as its path.
    pub(crate) fn for_segment(path: &Path, segment: &Segment) -> Self {
        let header = segment.header();
        SegmentReceipt {
            path: path.into(),
            digest: header.digest.bytes(),
            file_len: header.file_len,
            fingerprint_count: header.fingerprint_count,
            id_count: header.id_count,
            sketch_len: u8::try_from(header.sketch_len).unwrap_or(u8::MAX),
            masks: header.tables.iter().map(|table| table.mask.0).collect(),
            recipe: segment.recipe().clone(),
        }
    }
}

impl fmt::Display for SegmentReceipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(TITLE)?;
        f.write_str(" digest=")?;
        self.digest.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        write!(f, " bytes={}", self.file_len)?;
        write!(f, " fingerprints={} ids={}", self.fingerprint_count, self.id_count)?;
        let masks: Vec<String> = self.masks.iter().map(|mask| format!("{mask:016x}")).collect();
        write!(f, " sketch={} masks={}", self.sketch_len, masks.join("+"))?;
        write!(f, " recipe={}", escaped(self.recipe.text().as_bytes()))?;
        write!(f, " path={}", escaped(self.path.as_os_str().as_encoded_bytes()))
    }
}

impl FromStr for SegmentReceipt {
    type Err = Error;

    /// Parses the text form of a receipt.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOptions`] for any other text.
    fn from_str(text: &str) -> Result<Self> {
        let shown: String = text.chars().take(80).collect();
        let refuse = |reason: &str| Error::InvalidOptions {
            reason: format!("'{}' is not a receipt of a segment: {reason}", shown.escape_debug()),
        };
        if let Some(fault) = fault_of_version(text, TITLE, REMEDY) {
            return Err(refuse(&fault));
        }
        let fields = text.trim().strip_prefix(TITLE).and_then(|rest| rest.strip_prefix(' '));
        let mut words = fields.ok_or_else(|| refuse("it does not begin 'segment 1'"))?.split(' ');
        let mut field = |name: &str| {
            let value = words.next().and_then(|word| word.strip_prefix(name)?.strip_prefix('='));
            value.ok_or_else(|| refuse(&format!("expected {name}=...")))
        };
        let number = |text: &str, name: &str| {
            text.parse::<u64>().map_err(|_| refuse(&format!("'{name}' is not a number")))
        };
        let digest = field("digest")?;
        let file_len = number(field("bytes")?, "bytes")?;
        let fingerprint_count = number(field("fingerprints")?, "fingerprints")?;
        let id_count = number(field("ids")?, "ids")?;
        let sketch_len =
            field("sketch")?.parse().map_err(|_| refuse("'sketch' is not a length"))?;
        let mask = |text: &str| (text.len() == 16).then(|| u64::from_str_radix(text, 16).ok())?;
        let masks: Option<Vec<u64>> = field("masks")?.split('+').map(mask).collect();
        let recipe = unescaped(field("recipe")?).and_then(|bytes| String::from_utf8(bytes).ok());
        let recipe = recipe.as_deref().and_then(Recipe::from_text);
        let path =
            unescaped(field("path")?).filter(|path| !path.is_empty()).and_then(name_of_bytes);
        if words.next().is_some() {
            return Err(refuse("there is text after the receipt"));
        }
        let digest = (digest.len() == 32).then(|| u128::from_str_radix(digest, 16).ok()).flatten();
        Ok(SegmentReceipt {
            path: path.ok_or_else(|| refuse("'path' is invalid"))?.into(),
            digest: digest.ok_or_else(|| refuse("'digest' is not 32 hex digits"))?.to_be_bytes(),
            file_len,
            fingerprint_count,
            id_count,
            sketch_len,
            masks: masks.ok_or_else(|| refuse("bad mask in 'masks'"))?,
            recipe: recipe.ok_or_else(|| refuse("'recipe' is invalid"))?,
        })
    }
}

/// Bytes as text: all except printable ASCII become % and two hex digits, and so do % and spaces.
fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        if byte.is_ascii_graphic() && byte != b'%' {
            text.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(text, "%{byte:02x}");
        }
    }
    text
}

/// The bytes of an escaped text; `None` for a % without two hex digits.
fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receipt() -> SegmentReceipt {
        SegmentReceipt {
            path: "parts 1/50% \u{e9}\n.fps".into(),
            digest: std::array::from_fn(|i| i as u8 * 17),
            file_len: 4096,
            fingerprint_count: 3,
            id_count: 4,
            sketch_len: 32,
            masks: vec![u64::MAX << 32, u64::MAX >> 32],
            recipe: Recipe::from_text("simhash\nwords = 3").unwrap(),
        }
    }

    #[test]
    fn a_receipt_is_one_line_that_says_all() {
        let receipt = receipt();
        let text = receipt.to_string();
        assert!(text.starts_with("segment 1 digest=00112233"), "{text}");
        assert!(!text.contains('\n') && text.ends_with("path=parts%201/50%25%20%c3%a9%0a.fps"));
        assert_eq!(text.parse::<SegmentReceipt>().unwrap(), receipt);
        assert_eq!(format!("{text}\n").parse::<SegmentReceipt>().unwrap(), receipt);
    }

    #[test]
    fn a_text_that_is_no_receipt_is_refused() {
        let text = receipt().to_string();
        let wrong = [
            String::new(),
            "segment 2 digest".into(),
            format!("{text} more=1"),
            text.replace("digest=00", "digest=0"),
            text.replace("bytes=4096", "bytes=4k"),
            text.replace("sketch=32", "sketch=256"),
            text.replace("ids=4 ", ""),
            text.replace("masks=ff", "masks=f"),
            text.replace("recipe=simhash", "recipe=%00"),
            text.replace("%20", "%2"),
            text[..text.find("path=").unwrap() + 5].into(),
        ];
        for wrong in wrong {
            let refused = wrong.parse::<SegmentReceipt>();
            assert!(matches!(refused, Err(Error::InvalidOptions { .. })), "{wrong}: {refused:?}");
        }
    }
}
