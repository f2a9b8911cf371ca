//! Bits and lists in words.

/// Bits, given in descending order, with runs drawn together: `bits 63-44, 7 and 0`.
pub(super) fn bits(bits: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &bit in bits {
        match runs.last_mut() {
            Some((_, low)) if *low == bit + 1 => *low = bit,
            _ => runs.push((bit, bit)),
        }
    }
    let named: Vec<String> = runs
        .iter()
        .map(|&(high, low)| if high == low { high.to_string() } else { format!("{high}-{low}") })
        .collect();
    let noun = if bits.len() == 1 { "bit" } else { "bits" };
    format!("{noun} {}", listed(&named))
}

/// Things in a row: `a`, `a and b`, `a, b and c`.
pub(super) fn listed(things: &[String]) -> String {
    match things {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_bits_are_drawn_together() {
        assert_eq!(bits(&[63, 62, 61, 7, 1, 0]), "bits 63-61, 7 and 1-0");
        assert_eq!(bits(&[5]), "bit 5");
    }
}
