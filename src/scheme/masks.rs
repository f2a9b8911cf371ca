//! A scheme: validated masks, and the distance for which they are meant.
//!
//! `families` makes schemes by name; `cover` proves which distances given radii cover.

use super::cover::{Radius, TABLE_COUNT_MAX, covers};
use super::families::masks_of;
use crate::base::error::{Error, Result, check_distance};
use crate::bytes::syndrome::{HASHED_BITS_MAX, SYNDROME_BITS};
use fpstore_base::lists;

/// The masks of a store, one per table, and the distance for which they are meant.
///
/// ```
/// use fpstore::Scheme;
///
/// let halves = Scheme::named("2", 3)?;
/// assert_eq!(halves.masks(), [0xffff_ffff_0000_0000, 0x0000_0000_ffff_ffff]);
/// // Of any three flips, one of the two halves contains at most one.
/// assert!(halves.covers(3, &[Some(1), Some(1)]));
/// assert!(!halves.covers(4, &[Some(1), Some(1)]));
/// # Ok::<(), fpstore::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheme {
    masks: Vec<u64>,
    tuned_k: u32,
    /// Syndrome bits of the tables after the first; 0 if they hold whole values.
    syndrome_bits: u32,
}

impl Scheme {
    /// The scheme of a family, see [`FAMILIES`](crate::plan::FAMILIES), tuned for `k`.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidScheme`] if the family does not exist or has no member for `k`;
    /// [`Error::InvalidDistance`] if `k` is above 64.
    pub fn named(name: &str, k: u32) -> Result<Self> {
        Scheme::from_masks(masks_of(name, k)?, k)
    }

    /// The scheme with these masks, tuned for `k`.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidScheme`] for no mask, more than 256 masks, an empty mask, or a repeated
    /// mask; [`Error::InvalidDistance`] if `k` is above 64.
    pub fn from_masks(masks: Vec<u64>, k: u32) -> Result<Self> {
        check_distance(k)?;
        match fault_of_masks(&masks) {
            Some(reason) => Err(Error::InvalidScheme { reason }),
            None => Ok(Scheme { masks, tuned_k: k, syndrome_bits: 0 }),
        }
    }

    /// Parses a list of masks: one per line, 1 to 16 hex digits each. Blank lines and comments
    /// after a `#` are skipped.
    ///
    /// # Errors
    ///
    /// The errors of [`Scheme::from_masks`], and [`Error::InvalidScheme`] with the line number for
    /// an invalid hex number.
    pub(crate) fn from_mask_list(text: &str, k: u32) -> Result<Self> {
        let mut masks = Vec::new();
        for (line, content) in lists::rows(text) {
            let mask = content.split('#').next().unwrap_or_default().trim();
            if !mask.is_empty() {
                let mask: fpstore_base::Fingerprint = mask.parse().map_err(|fault| {
                    Error::InvalidScheme { reason: format!("line {line}, mask: {fault}") }
                })?;
                masks.push(mask.value());
            }
        }
        Scheme::from_masks(masks, k)
    }

    /// The same scheme, but the tables after the first store a syndrome of `bits` bits in place of
    /// the bits outside their mask; 0 stores whole values. Answers are the same and the store is
    /// smaller.
    ///
    /// If the heads of a table extend beyond its mask, as they do from about 10^9 fingerprints on,
    /// the bits of the head outside the mask count towards `bits`, and the stored syndromes are
    /// shorter.
    ///
    /// A syndrome replaces the bits of a tail outside the mask, at most 32. A table still holds
    /// whole values if there are more such bits, as with a mask of few bits and short heads, or if
    /// values are so dense that a syndrome would save nothing.
    ///
    /// ```
    /// use fpstore::Scheme;
    ///
    /// let smaller = Scheme::named("halves", 3)?.with_syndromes(12)?;
    /// assert_eq!(smaller.syndrome_bits(), 12);
    /// # Ok::<(), fpstore::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidScheme`] if `bits` is neither 0 nor 6 to 21, and for a scheme in which no
    /// table after the first has a mask of at least 32 bits.
    pub fn with_syndromes(mut self, bits: u32) -> Result<Self> {
        let fits = |mask: &u64| 64 - mask.count_ones() <= HASHED_BITS_MAX;
        let reason = if bits != 0 && !SYNDROME_BITS.contains(&bits) {
            format!("syndromes have {bits} bits, expected 6 to 21, or 0 for whole values")
        } else if bits != 0 && !self.masks.iter().skip(1).any(fits) {
            "syndromes are for tables after the first whose mask has at least 32 bits; \
             halves has one"
                .into()
        } else {
            self.syndrome_bits = bits;
            return Ok(self);
        };
        Err(Error::InvalidScheme { reason })
    }

    /// The scheme of existing tables, given as pairs of a mask and the argument of
    /// [`Scheme::with_syndromes`].
    pub(crate) fn of_tables(tables: impl Iterator<Item = (u64, u32)>, k: u32) -> Result<Self> {
        let (masks, bits): (Vec<u64>, Vec<u32>) = tables.unzip();
        Scheme::from_masks(masks, k)?.with_syndromes(bits.into_iter().max().unwrap_or(0))
    }

    /// The length of syndromes in the tables after the first, in bits, see
    /// [`Scheme::with_syndromes`]; 0 if they hold whole values.
    pub fn syndrome_bits(&self) -> u32 {
        self.syndrome_bits
    }

    /// The masks, one per table, in the order of the tables.
    pub fn masks(&self) -> &[u64] {
        &self.masks
    }

    /// The distance for which the scheme is meant. Queries for any other distance are exact, too.
    pub fn tuned_k(&self) -> u32 {
        self.tuned_k
    }

    /// Whether probing with these radii finds everything within `k`: for every placement of at most
    /// `k` flipped bits, the mask of some table contains no more of them than its radius.
    ///
    /// The proof is exhaustive over the ways to distribute flips among the atoms of the masks, so
    /// it can take long for many overlapping masks and a large `k`.
    ///
    /// # Panics
    ///
    /// If the number of radii differs from the number of masks.
    pub fn covers(&self, k: u32, radii: &[Radius]) -> bool {
        assert_eq!(radii.len(), self.masks.len(), "one radius a table");
        let mut steps = u64::MAX;
        covers(&self.masks, radii, k, &mut steps) == Some(true)
    }
}

/// The reason why masks cannot form a scheme (rule R-7 of format-spec.md), or `None`.
pub(crate) fn fault_of_masks(masks: &[u64]) -> Option<String> {
    let most = TABLE_COUNT_MAX;
    if masks.is_empty() || masks.len() > most {
        return Some(format!("{} masks, expected 1 to {most}", masks.len()));
    }
    let mut sorted = masks.to_vec();
    sorted.sort_unstable();
    if sorted.first() == Some(&0) {
        return Some("a mask has no bits, expected at least one".into());
    }
    let twin = sorted.windows(2).find(|pair| pair.first() == pair.last())?;
    Some(format!("mask {:016x} occurs twice, expected distinct masks", twin.first()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mask_lists_are_read_and_their_faults_named() {
        let list = "# halves\nffffffff00000000 # upper\n\n0x00000000FFFFFFFF\n";
        assert_eq!(Scheme::from_mask_list(list, 3).unwrap(), Scheme::named("2", 3).unwrap());
        for (list, named) in
            [("", "0 masks"), ("0", "no bits"), ("f\nF", "twice"), ("f\nxyz", "line 2")]
        {
            let error = Scheme::from_mask_list(list, 3).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
        assert!(matches!(Scheme::from_masks(vec![1], 65), Err(Error::InvalidDistance { k: 65 })));
    }
}
