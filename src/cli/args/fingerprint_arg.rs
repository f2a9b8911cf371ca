//! Fingerprints as arguments of a command, and what helps where one is none.

use std::path::Path;

use anyhow::anyhow;
use fpstore::{Fingerprint, Radix, Store};

use crate::cli::output::remedy::near_store;

/// The digits of a fingerprint in hex.
const DIGITS: usize = 16;
/// With fewer digits than these a number is meant; with more, but not all, one was lost.
const LOST_MIN: usize = 12;
/// From this length on, hex digits are a longer hash.
const LONG_MIN: usize = 24;

/// A fingerprint. One that seems to lack a digit is told, unless the user wants quiet: it stands for
/// another one then.
pub(in crate::cli) fn parse(text: &str, radix: Radix, quiet: bool) -> anyhow::Result<Fingerprint> {
    let digits = digits_of(text);
    match Fingerprint::parse(text, radix) {
        Ok(fingerprint) => {
            let count = digits.len();
            if radix == Radix::Hex && (LOST_MIN..DIGITS).contains(&count) && !quiet {
                message!("'{text}' has {count} digits, and was read as {fingerprint}");
            }
            Ok(fingerprint)
        }
        Err(error) if digits.len() >= LONG_MIN && is_hex(digits) => Err(anyhow!(
            "{error}; it is a hash of {} bits, and a fingerprint has 64: make hashes of 64 bits, such \
             as hash_size=8 of imagehash",
            4 * digits.len()
        )),
        Err(error) => Err(error.into()),
    }
}

/// A fingerprint among arguments that may also name a store. A name that is neither is told with the
/// store that has a similar one.
pub(in crate::cli) fn parse_needle(
    text: &str,
    radix: Radix,
    quiet: bool,
) -> anyhow::Result<Fingerprint> {
    let path = Path::new(text);
    parse(text, radix, quiet).map_err(|error| match near_store(path) {
        _ if path.is_file() => anyhow!(
            "{error}; it is a file: --from {text} asks with the fingerprints in it, --file {text} with \
             its text"
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
