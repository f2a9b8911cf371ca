//! Parses fingerprints given as arguments, with hints for invalid ones.

use std::path::Path;

use anyhow::{Context, anyhow};
use fpstore::{Fingerprint, Radix, Store, Width};

use crate::output::remedy::near_store;

/// An argument with fewer than this fraction (numerator, denominator) of the digits of a whole
/// fingerprint is a small number. With more digits, but not all, a digit is probably missing.
const LOST_MIN: (usize, usize) = (3, 4);
/// This many hex digits or more are a longer hash, not a fingerprint with surplus digits.
const LONG_MIN: usize = 24;

/// Parses a fingerprint of this width. If a digit seems to be missing, prints the parsed
/// fingerprint, unless `quiet`.
pub(crate) fn parse(
    text: &str,
    radix: Radix,
    width: Width,
    quiet: bool,
) -> anyhow::Result<Fingerprint> {
    let digits = digits_of(text);
    match Fingerprint::parse(text, radix) {
        Ok(fingerprint) => {
            // Extra leading zeros are allowed, because only the value must fit into the width.
            let fingerprint = width.narrowed(fingerprint, radix).with_context(|| {
                format!("'{text}' has more than {width} bits, the width of the fingerprints")
            })?;
            let (count, all) = (digits.len(), width.digits());
            let least = all * LOST_MIN.0 / LOST_MIN.1;
            if radix == Radix::Hex && (least..all).contains(&count) && !quiet {
                let read = width.hex(fingerprint);
                message!("'{text}' has {count} digits, and was read as {read}");
            }
            Ok(fingerprint)
        }
        Err(error) if digits.len() >= LONG_MIN && is_hex(digits) => Err(anyhow!(
            "{error}; it is a hash of {} bits, and a fingerprint has {width}: make hashes of {width} \
             bits, such as hash_size=8 of imagehash for 64",
            4 * digits.len()
        )),
        Err(error) => Err(error.into()),
    }
}

/// Parses a fingerprint among arguments that may also be stores. The error for an argument that is
/// neither suggests a store with a similar name.
pub(crate) fn parse_needle(
    text: &str,
    radix: Radix,
    width: Width,
    quiet: bool,
) -> anyhow::Result<Fingerprint> {
    let path = Path::new(text);
    parse(text, radix, width, quiet).map_err(|error| match near_store(path) {
        _ if path.is_file() => anyhow!(
            "{error}; it is a file: to search for the fingerprints in it, use --from {text}; for \
             its text, use --file {text}"
        ),
        Some(near) if !Store::is_at(path) && !is_hex(digits_of(text)) => anyhow!(
            "'{}' is neither a fingerprint nor a store; did you mean {}?",
            text.escape_debug(),
            near.display()
        ),
        _ => error,
    })
}

fn digits_of(text: &str) -> &str {
    text.strip_prefix("0x").or(text.strip_prefix("0X")).unwrap_or(text)
}

fn is_hex(digits: &str) -> bool {
    digits.bytes().all(|digit| digit.is_ascii_hexdigit())
}
