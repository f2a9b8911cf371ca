//! What holds for the scripts of pages: tests alone.

use sha2::{Digest, Sha256};

/// The 64 digits of base64 as RFC 4648 has them.
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn base64(bytes: &[u8]) -> String {
    let four = |three: &[u8]| {
        let number = (0..3).fold(0, |sum, at| sum << 8 | three.get(at).map_or(0, |&b| b as usize));
        let digit = |at: usize| DIGITS[number >> (18 - 6 * at) & 63] as char;
        (0..4).map(|at| if at <= three.len() { digit(at) } else { '=' }).collect::<String>()
    };
    bytes.chunks(3).map(four).collect()
}

/// A policy lets the script run, and the script makes no markup of texts.
pub(super) fn assert_policy_names(script: &str, hash: &str, name: &str) {
    assert_eq!(base64(b"any carnal pleas"), "YW55IGNhcm5hbCBwbGVhcw==");
    assert_eq!(hash.trim(), base64(&Sha256::digest(script)), "write it to {name}.sha256");
    for way in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("] {
        assert!(!script.contains(way), "{way}");
    }
    assert!(!script.contains("</"), "the script would end there");
}
