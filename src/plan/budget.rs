//! The space that the tables of a store may take, and its text form.

use std::str::FromStr;

use crate::base::error::{Error, Result};

/// From this `k` on [`Budget::Default`] allows 18.5 instead of 12 bytes for each fingerprint.
const LARGE_K: u32 = 6;
/// Bytes that [`Budget::Default`] allows in addition to the bytes for each fingerprint.
const DEFAULT_FOR_ALL: f64 = (1 << 20) as f64;

/// The space that tables may take.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Budget {
    /// 12 bytes for each fingerprint (18.5 if `k` is 6 or more), plus 1 MiB for the whole store,
    /// since space matters less in small stores.
    #[default]
    Default,
    /// This number of bytes.
    Bytes(u64),
    /// This number of bytes for each distinct fingerprint.
    BytesPerFingerprint(f64),
}

impl Budget {
    /// The bytes for the tables of `fingerprint_count` fingerprints, tuned to distance `k`.
    pub(crate) fn bytes_for(&self, fingerprint_count: u64, k: u32) -> f64 {
        let n = fingerprint_count as f64;
        match *self {
            Budget::Default => {
                // 12 bytes are enough for two halves, 18.5 bytes also for three blocks, which for a
                // large `k` reduce the time of a query to a half or two thirds.
                let each = if k < LARGE_K { 12.0 } else { 18.5 };
                n * each + DEFAULT_FOR_ALL
            }
            Budget::Bytes(bytes) => bytes as f64,
            Budget::BytesPerFingerprint(bytes) => n * bytes,
        }
    }
}

impl FromStr for Budget {
    type Err = Error;

    /// Parses bytes such as `12GB`, `500MiB` or `4096`, or bytes for each fingerprint such as
    /// `16B/fp`. Letters may be small or capital; `k` is 1000 and `Ki` is 1024.
    ///
    /// ```
    /// use fpstore::plan::Budget;
    ///
    /// assert_eq!("1.5 GiB".parse::<Budget>()?, Budget::Bytes(3 << 29));
    /// assert_eq!("16B/fp".parse::<Budget>()?, Budget::BytesPerFingerprint(16.0));
    /// # Ok::<(), fpstore::Error>(())
    /// ```
    fn from_str(text: &str) -> Result<Self> {
        let (amount, is_per_fingerprint) = match text.strip_suffix("/fp") {
            Some(amount) => (amount, true),
            None => (text, false),
        };
        match bytes_in(amount) {
            Some(bytes) if is_per_fingerprint => Ok(Budget::BytesPerFingerprint(bytes)),
            Some(bytes) => Ok(Budget::Bytes(bytes as u64)),
            None => Err(Error::InvalidOptions {
                reason: format!("'{text}' is not an amount of bytes such as 12GB or 16B/fp"),
            }),
        }
    }
}

/// The bytes of an amount such as `1.5 MiB`, above 0 and below 2^63.
fn bytes_in(amount: &str) -> Option<f64> {
    let split = amount.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(amount.len());
    let (number, unit) = amount.split_at(split);
    let bytes = number.parse::<f64>().ok()? * unit_len(unit.trim_start())?;
    (bytes > 0.0 && bytes < 2_f64.powi(63)).then_some(bytes)
}

fn unit_len(unit: &str) -> Option<f64> {
    let unit = unit.to_ascii_lowercase();
    let unit = unit.strip_suffix('b').unwrap_or(&unit);
    let Some(prefix) = unit.chars().next() else { return Some(1.0) };
    let power = 1 + "kmgt".find(prefix)? as i32;
    match unit.get(1..)? {
        "" => Some(1000_f64.powi(power)),
        "i" => Some(1024_f64.powi(power)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_as_people_write_them() {
        for (text, expected) in [
            ("12GB", Budget::Bytes(12_000_000_000)),
            ("500MiB", Budget::Bytes(500 << 20)),
            ("500 MiB", Budget::Bytes(500 << 20)),
            ("1GIB", Budget::Bytes(1 << 30)),
            ("1gib", Budget::Bytes(1 << 30)),
            ("4096", Budget::Bytes(4096)),
            ("1.5k", Budget::Bytes(1500)),
            ("2Ti", Budget::Bytes(2 << 40)),
            ("16B/fp", Budget::BytesPerFingerprint(16.0)),
            ("11.5/fp", Budget::BytesPerFingerprint(11.5)),
        ] {
            assert_eq!(text.parse::<Budget>().unwrap(), expected, "{text}");
        }
        for text in
            ["", "B", "12XB", "GB", "-3", "1e9", "0", "12GB/doc", "12GiiB", "1..2", "9999999TB"]
        {
            let error = text.parse::<Budget>().unwrap_err().to_string();
            assert!(error.contains("12GB or 16B/fp"), "{text}: {error}");
        }
    }
}
