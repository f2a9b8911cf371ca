//! Two fingerprints bit by bit.

use fpstore_base::Fingerprint;
use maud::{Markup, html};

/// The numbers of the bits that differ, 63 the first.
pub fn differing_bits(one: Fingerprint, other: Fingerprint) -> Vec<u32> {
    let bits = one.value() ^ other.value();
    (0..64).rev().filter(|bit| bits >> bit & 1 == 1).collect()
}

/// Both fingerprints in binary, with the bits marked that differ.
pub(super) fn grids(names: [&str; 2], fingerprints: [Fingerprint; 2]) -> Markup {
    let [one, other] = fingerprints;
    let differing = differing_bits(one, other);
    let listed: Vec<String> = differing.iter().map(u32::to_string).collect();
    let sentence = match listed.as_slice() {
        [] => "The fingerprints are equal.".to_string(),
        [bit] => format!("Bit {bit} differs. Bit 63 is the first."),
        bits => format!("Bits {} differ. Bit 63 is the first.", bits.join(", ")),
    };
    html! {
        p { (sentence) }
        @for (name, fingerprint) in names.into_iter().zip(fingerprints) {
            p.line { span.id { bdi { (name) } } code { (fingerprint) } }
            ol.bits aria-hidden="true" {
                @for bit in (0..64).rev() {
                    @let class = differing.contains(&bit).then_some("differs");
                    li class=[class] { (fingerprint.value() >> bit & 1) }
                }
            }
        }
    }
}
