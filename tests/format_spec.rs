//! format-spec.md says what the files are: its tables add up, its worked file is the golden one.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).into()
}

fn spec() -> String {
    std::fs::read_to_string(root().join("format-spec.md")).unwrap()
}

fn cells(row: &str) -> Vec<&str> {
    row.trim().trim_matches('|').split('|').map(str::trim).collect()
}

#[test]
fn every_table_of_fields_is_without_gaps_and_ends_in_its_total() {
    let spec = spec();
    let mut lines = spec.lines();
    let mut tables = 0;
    while let Some(line) = lines.next() {
        if !line.starts_with("| Offset |") {
            continue;
        }
        tables += 1;
        let mut next = 0;
        let mut total = None;
        for row in lines.by_ref().skip(1).take_while(|row| row.starts_with('|')) {
            let cells = cells(row);
            if let Some(stated) = cells[0].strip_prefix("**") {
                total = stated.trim_end_matches('*').parse::<u64>().ok();
                continue;
            }
            assert_eq!(cells[0].parse(), Ok(next), "{row}");
            next += cells[1].parse::<u64>().unwrap();
            let of_type = match cells[2] {
                "u8" => Some(1),
                "u16" => Some(2),
                "u32" => Some(4),
                "u64" => Some(8),
                "u128" => Some(16),
                _ => None,
            };
            assert!(of_type.is_none_or(|len| cells[1] == format!("{len}")), "{row}");
        }
        assert_eq!(total, Some(next), "table {tables}");
    }
    assert_eq!(tables, 13);
}

#[test]
fn every_rule_from_1_to_26_is_stated_once() {
    let spec = spec();
    for rule in 1..=26 {
        assert_eq!(spec.matches(&format!("- **R-{rule}** ")).count(), 1, "R-{rule}");
    }
}

/// Rows of 16 zeros are left out of the dumps.
#[test]
fn the_worked_file_is_the_golden_one() {
    let spec = spec();
    let worked = spec.split("## 8. A worked file").nth(1).unwrap();
    let dumps: Vec<&str> = worked.split("```").skip(1).step_by(2).collect();
    for (file, dump) in ["MANIFEST", "segment-0000000000000001.fps"].iter().zip(dumps) {
        let bytes = std::fs::read(root().join("tests/golden/worked.fps").join(file)).unwrap();
        let mut shown = vec![0; bytes.len()];
        for row in dump.lines().filter(|row| !row.is_empty() && !row.starts_with('#')) {
            let (offset, values) = row.split_once(": ").unwrap();
            let offset = usize::from_str_radix(offset, 16).unwrap();
            for (at, value) in values.split(' ').enumerate() {
                shown[offset + at] = u8::from_str_radix(value, 16).unwrap();
            }
        }
        let differs = shown.iter().zip(&bytes).position(|(a, b)| a != b);
        assert_eq!(differs, None, "{file}");
    }
}
