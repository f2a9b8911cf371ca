//! Numbers formatted for people.

use bytesize::ByteSize;

/// A count with its digits in groups of three: `12 345`.
pub fn grouped(count: u64) -> String {
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

/// A count with its noun, singular or plural: `1 bit`, `12 345 bits`.
pub fn counted(count: u64, singular: &str, plural: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { singular } else { plural })
}

/// A number of bytes in the largest binary unit that it reaches: `1.5 MiB`.
pub fn bytes(len: u64) -> String {
    ByteSize::b(len).display().iec().to_string()
}

/// A number with about three significant digits: `12 345`, `123`, `1.23`, `0.0123`, `1.2e-9`.
pub fn rounded(number: f64) -> String {
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

/// A share, 0 to 1, as a percentage; `0 %` and `100 %` are exact, never rounded.
pub fn percent(share: f64) -> String {
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

/// A power of two in at most four characters, k for 1024: `1`, `512`, `4k`, `1M`.
pub fn short_binary(number: u64) -> String {
    let unit = (number.max(1).ilog2() / 10) as usize;
    format!("{}{}", number >> (10 * unit), ["", "k", "M", "G", "T", "P", "E"][unit])
}

/// A number in at most four characters: `1`, `64`, `1k`, `2M`, `17G`.
pub fn short(number: f64) -> String {
    let (unit, name) = match number {
        n if n >= 1e18 => return format!("{n:.0e}"),
        n if n >= 1e15 => (1e15, "P"),
        n if n >= 1e12 => (1e12, "T"),
        n if n >= 1e9 => (1e9, "G"),
        n if n >= 1e6 => (1e6, "M"),
        n if n >= 1e3 => (1e3, "k"),
        _ => (1.0, ""),
    };
    let scaled = number / unit;
    if number < 0.095 {
        format!("{number:.2}")
    } else if scaled >= 9.95 || (scaled - scaled.round()).abs() < 0.05 {
        format!("{scaled:.0}{name}")
    } else {
        format!("{scaled:.1}{name}")
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
        for (len, expected) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1_048_575, "1024.0 KiB"),
            (1_572_864, "1.5 MiB"),
            (5 << 40, "5.0 TiB"),
        ] {
            assert_eq!(bytes(len), expected);
        }
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(1_234_567), "1 234 567");
    }

    #[test]
    fn labels_are_short() {
        let shown = [0.064, 0.5, 1.0, 12.0, 999.0, 1500.0, 1e4, 2e6].map(short);
        assert_eq!(shown, ["0.06", "0.5", "1", "12", "999", "1.5k", "10k", "2M"]);
        let shown = [1, 512, 1024, 1 << 15, 1 << 20, 1 << 63].map(short_binary);
        assert_eq!(shown, ["1", "512", "1k", "32k", "1M", "8E"]);
    }
}
