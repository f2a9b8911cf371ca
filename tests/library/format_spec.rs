//! The pages on formats are consistent: the fields in tables leave no gap, rules are numbered,
//! listed and cited correctly, and the worked file is a golden store.

use std::path::{Path, PathBuf};

/// The number of the last rule of format-spec.md.
const RULES: usize = 31;
/// The number of the last rule of docs/recipe-spec.md.
const DF_RULES: usize = 8;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).into()
}

fn page(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap()
}

fn format_spec() -> String {
    page("format-spec.md")
}

fn recipe_spec() -> String {
    page("docs/recipe-spec.md")
}

fn cells(row: &str) -> Vec<&str> {
    row.trim().trim_matches('|').split('|').map(str::trim).collect()
}

/// Checks each table of fields: no gap between fields, the length of each type, and the total
/// length. Returns the number of tables.
fn check_tables_of_fields(page: &str) -> usize {
    let mut lines = page.lines();
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
                "16 * u24" => Some(48),
                "bytes" => None,
                other => panic!("type {other}: {row}"),
            };
            assert!(of_type.is_none_or(|len| cells[1] == format!("{len}")), "{row}");
        }
        assert_eq!(total, Some(next), "table {tables}");
    }
    tables
}

/// The rules that a page states, in page order: rule number and section number.
fn stated_rules(page: &str, letter: char) -> Vec<(usize, String)> {
    let mut section = String::new();
    let mut rules = Vec::new();
    for line in page.lines() {
        if line.starts_with("## ") || line.starts_with("### ") {
            let number = line.split(' ').nth(1).unwrap();
            section = number.trim_end_matches('.').to_string();
        } else if let Some(rest) = line.strip_prefix(&format!("- **{letter}-")) {
            let (number, _) = rest.split_once("** ").unwrap();
            rules.push((number.parse().unwrap(), section.clone()));
        }
    }
    rules
}

/// The rows of the index of rules on a page, without its header.
fn index_of_rules(page: &str, letter: char) -> Vec<Vec<&str>> {
    let row_of_rule = format!("| {letter}-");
    page.lines().filter(|line| line.starts_with(&row_of_rule)).map(cells).collect()
}

/// The numbers after each `R-` or `D-` on a page, in page order.
fn cited_rules(page: &str, letter: char) -> Vec<usize> {
    let start = format!("{letter}-");
    let cited = page.match_indices(&start).filter_map(|(at, _)| {
        let is_word = page[..at].ends_with(|before: char| before.is_alphanumeric());
        let digits: String =
            page[at + start.len()..].chars().take_while(char::is_ascii_digit).collect();
        (!is_word && !digits.is_empty()).then(|| digits.parse().unwrap())
    });
    cited.collect()
}

fn check_rules(page: &str, letter: char, last: usize) {
    let mut stated: Vec<usize> =
        stated_rules(page, letter).into_iter().map(|(rule, _)| rule).collect();
    stated.sort_unstable();
    let all: Vec<usize> = (1..=last).collect();
    assert_eq!(stated, all, "each rule is stated once");
    let listed: Vec<String> =
        index_of_rules(page, letter).iter().map(|row| row[0].to_string()).collect();
    let expected: Vec<String> = all.iter().map(|rule| format!("{letter}-{rule}")).collect();
    assert_eq!(listed, expected, "the index lists each rule once, in order");
    for rule in cited_rules(page, letter) {
        assert!((1..=last).contains(&rule), "{letter}-{rule} is cited, and there is none");
    }
}

#[test]
fn every_table_of_fields_is_without_gaps_and_ends_in_its_total() {
    assert_eq!(check_tables_of_fields(&format_spec()), 11);
    assert_eq!(check_tables_of_fields(&recipe_spec()), 2);
}

#[test]
fn every_rule_is_stated_once_and_listed_in_the_index_of_rules() {
    check_rules(&format_spec(), 'R', RULES);
    check_rules(&recipe_spec(), 'D', DF_RULES);
}

#[test]
fn the_index_of_rules_names_the_section_of_each_rule() {
    let spec = format_spec();
    let stated = stated_rules(&spec, 'R');
    for row in index_of_rules(&spec, 'R') {
        let rule: usize = row[0]["R-".len()..].parse().unwrap();
        let (_, section) = stated.iter().find(|(number, _)| *number == rule).unwrap();
        assert_eq!(row[2], section, "R-{rule}");
    }
}

#[test]
fn the_index_of_rules_says_when_each_rule_is_checked() {
    for (page, letter, known) in [
        (format_spec(), 'R', ["open", "touch", "full read", "refresh", "verify"].as_slice()),
        (recipe_spec(), 'D', ["read", "use"].as_slice()),
    ] {
        for row in index_of_rules(&page, letter) {
            for when in row.last().unwrap().split(", ") {
                let when = when.split(" (").next().unwrap();
                assert!(known.contains(&when), "{}: {when}", row[0]);
            }
        }
    }
}

#[test]
fn every_rule_that_the_reader_in_python_names_exists() {
    let reader = page("tools/readers/fpstore_reader.py");
    let cited = cited_rules(&reader, 'R');
    assert!(cited.contains(&RULES), "{cited:?}");
    assert!(cited.iter().all(|rule| (1..=RULES).contains(rule)), "{cited:?}");
}

#[test]
fn the_pages_wrap_at_100_columns() {
    for page in [format_spec(), recipe_spec()] {
        for line in page.lines() {
            assert!(line.is_ascii() && line.len() <= 100, "{line}");
        }
    }
}

/// Compares the dumps on the page with the golden store; dumps omit rows of 16 zeros.
#[test]
fn the_worked_file_is_the_golden_one() {
    let spec = format_spec();
    let worked = spec.split("## 8. A worked file").nth(1).unwrap();
    let dumps: Vec<&str> = worked.split("```").skip(1).step_by(2).collect();
    assert_eq!(dumps.len(), 2);
    for (file, dump) in ["MANIFEST", "segment-0000000000000001.fps"].iter().zip(dumps) {
        let bytes = std::fs::read(root().join("tests/golden/worked.fps").join(file)).unwrap();
        let mut shown = vec![0; bytes.len()];
        for row in dump.lines().filter(|row| !row.is_empty() && !row.starts_with('#')) {
            let (offset, values) = row.split_once(": ").unwrap();
            let offset = usize::from_str_radix(offset, 16).unwrap();
            for (at, value) in values.split(' ').enumerate() {
                assert!(offset + at < shown.len(), "{file} has {} bytes: {row}", shown.len());
                shown[offset + at] = u8::from_str_radix(value, 16).unwrap();
            }
        }
        let differs = shown.iter().zip(&bytes).position(|(a, b)| a != b);
        assert_eq!(differs, None, "{file}");
    }
}
