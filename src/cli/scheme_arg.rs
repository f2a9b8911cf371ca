//! The options `--scheme` and `--budget`: which tables a segment gets.

use std::path::Path;
use std::str::FromStr;

use anyhow::{Context, bail};
use fpstore::plan::Budget;
use fpstore::{Scheme, SchemeChoice};

use super::costs;

/// The choice that `--scheme` names: `auto`, a family, or else a file of masks.
pub(super) fn scheme_choice(
    text: &str,
    k: u32,
    budget: Option<BudgetArg>,
) -> anyhow::Result<SchemeChoice> {
    if text == "auto" {
        let budget = budget.map_or(Budget::Default, |arg| arg.0);
        return Ok(SchemeChoice::Auto { k, budget, costs: costs::of_this_machine() });
    }
    if budget.is_some() {
        bail!("--budget is for --scheme auto, not for --scheme {text}");
    }
    let path = Path::new(text);
    match SchemeChoice::named(text, k) {
        Err(_) if path.is_file() => {
            let list = std::fs::read_to_string(path)
                .with_context(|| format!("cannot read masks from {text}"))?;
            Ok(Scheme::from_mask_list(&list, k).with_context(|| format!("masks in {text}"))?.into())
        }
        choice => Ok(choice?),
    }
}

/// Space for tables: `12GB`, `500MiB`, `4096`, or `16B/fp` for each fingerprint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BudgetArg(pub(super) Budget);

impl FromStr for BudgetArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("'{text}' is no amount of bytes, expected one such as 12GB or 16B/fp");
        let (amount, is_per_fingerprint) = match text.strip_suffix("/fp") {
            Some(amount) => (amount, true),
            None => (text, false),
        };
        let split = amount.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(amount.len());
        let (number, unit) = amount.split_at(split);
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let bytes = number * unit_len(unit.trim_start()).ok_or_else(wrong)?;
        if !bytes.is_finite() || bytes <= 0.0 || bytes >= 2_f64.powi(63) {
            return Err(wrong());
        }
        Ok(BudgetArg(if is_per_fingerprint {
            Budget::BytesPerFingerprint(bytes)
        } else {
            Budget::Bytes(bytes as u64)
        }))
    }
}

fn unit_len(unit: &str) -> Option<f64> {
    let unit = unit.strip_suffix(['B', 'b']).unwrap_or(unit);
    let power = match unit.chars().next() {
        None => return Some(1.0),
        Some(prefix) => 1 + "kmgt".find(prefix.to_ascii_lowercase())? as i32,
    };
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
            ("4096", Budget::Bytes(4096)),
            ("1.5k", Budget::Bytes(1500)),
            ("2Ti", Budget::Bytes(2 << 40)),
            ("16B/fp", Budget::BytesPerFingerprint(16.0)),
            ("11.5/fp", Budget::BytesPerFingerprint(11.5)),
        ] {
            assert_eq!(text.parse(), Ok(BudgetArg(expected)), "{text}");
        }
        for text in
            ["", "B", "12XB", "GB", "-3", "1e9", "0", "12GB/doc", "12GiiB", "1..2", "9999999TB"]
        {
            let error = text.parse::<BudgetArg>().unwrap_err();
            assert!(error.contains("12GB or 16B/fp"), "{text}: {error}");
        }
    }
}
