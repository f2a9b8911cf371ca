//! Numbers and bits in words, as people read them.

/// A count with its digits in groups of three.
pub(super) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.char_indices() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// A number with about three digits that matter: `12 345`, `123`, `1.23`, `0.0123`, `1.2e-9`.
pub(super) fn rounded(number: f64) -> String {
    let size = number.abs();
    match size {
        _ if number == 0.0 => "0".into(),
        _ if size >= 1e15 => format!("{number:.1e}"),
        _ if size >= 99.95 => grouped(number.round() as u64),
        _ if size >= 9.995 => format!("{number:.1}"),
        _ if size >= 0.0995 => format!("{number:.2}"),
        _ if size >= 0.000_95 => format!("{number:.4}"),
        _ => format!("{number:.1e}"),
    }
}

/// A number of bytes in the largest unit that leaves at least one.
pub(super) fn bytes(len: f64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let unit = (len.max(1.0).log2() / 10.0).min(5.0) as usize;
    let scaled = len / 1024_f64.powi(unit as i32);
    if unit == 0 { format!("{scaled:.0} B") } else { format!("{scaled:.1} {}", UNITS[unit]) }
}

/// A share, 0 to 1, as a percentage that is 0 or 100 only if it is.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        _ if share <= 0.0 => "0 %".into(),
        _ if share >= 1.0 => "100 %".into(),
        _ if percent < 0.1 => "less than 0.1 %".into(),
        _ if percent > 99.9 => "more than 99.9 %".into(),
        _ if percent < 10.0 => format!("{percent:.1} %"),
        _ if percent > 99.0 => format!("{percent:.1} %"),
        _ => format!("{percent:.0} %"),
    }
}

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
    fn numbers_are_as_exact_as_people_read_them() {
        for (number, expected) in [
            (0.0, "0"),
            (0.2782, "0.28"),
            (0.012_34, "0.0123"),
            (1.5e-9, "1.5e-9"),
            (1.0, "1.00"),
            (12.34, "12.3"),
            (99.96, "100"),
            (1_234_567.0, "1 234 567"),
            (3e20, "3.0e20"),
        ] {
            assert_eq!(rounded(number), expected);
        }
        for (share, expected) in [
            (0.0, "0 %"),
            (1e-9, "less than 0.1 %"),
            (0.0123, "1.2 %"),
            (0.5, "50 %"),
            (0.9987, "99.9 %"),
            (0.999_999, "more than 99.9 %"),
            (1.0, "100 %"),
        ] {
            assert_eq!(percent(share), expected);
        }
    }

    #[test]
    fn bytes_come_in_their_largest_unit() {
        for (len, expected) in [(0.0, "0 B"), (1023.0, "1023 B"), (1_572_864.0, "1.5 MiB")] {
            assert_eq!(bytes(len), expected);
        }
    }

    #[test]
    fn runs_of_bits_are_drawn_together() {
        assert_eq!(bits(&[63, 62, 61, 7, 1, 0]), "bits 63-61, 7 and 1-0");
        assert_eq!(bits(&[5]), "bit 5");
    }
}
