//! Tests that the API description and the documentation list the same options as the library.

use std::fs;

use fpstore::options::{COUNT, IDS, K, LIMIT, NumberOption};
use fpstore_server::LIMIT_OPTIONS;
use serde_json::Value;

use crate::common::root;

/// The options of queries over HTTP. They are those of the library, except that the minimum number
/// of matches is one.
const QUERY_OPTIONS: [NumberOption; 4] = [K, LIMIT, NumberOption { min: 1, ..COUNT }, IDS];

fn file(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

fn description() -> Value {
    serde_json::from_str(&file("crates/server/src/api/openapi.json")).unwrap()
}

/// Follows a reference in the API description; a part without a reference is returned itself.
pub(super) fn resolved<'a>(described: &'a Value, part: &'a Value) -> &'a Value {
    let named = part["$ref"].as_str().and_then(|name| described.pointer(&name[1..]));
    named.unwrap_or(part)
}

/// The cells of the rows in tables of the documentation whose first cell is this code.
fn cells(page: &str, code: &str) -> Vec<String> {
    let start = format!("| `{code}` |");
    let row = page.lines().find(|line| line.starts_with(&start));
    let row = row.unwrap_or_else(|| panic!("{code} has no row"));
    row.trim_matches('|').split(" | ").map(|cell| cell.trim().to_string()).collect()
}

/// Changes the first letter of a sentence to lower case.
fn within_a_sentence(about: &str) -> String {
    about[..1].to_lowercase() + &about[1..]
}

fn assert_range(schema: &Value, option: &NumberOption, place: &str) {
    assert_eq!(schema["minimum"].as_u64(), Some(option.min), "{place}: {}", option.name);
    let max = Some(option.max).filter(|max| *max < u64::MAX);
    assert_eq!(schema["maximum"].as_u64(), max, "{place}: {}", option.name);
    // The default of k is not in the description, because it is the distance of the store.
    let default = option.default.filter(|_| option.name != K.name);
    assert_eq!(schema["default"].as_u64(), default, "{place}: {}", option.name);
}

#[test]
fn parameters_are_described_as_the_options_of_a_query() {
    let described = description();
    let page = file("docs/serve.md");
    let mut seen = 0;
    for (path, methods) in described["paths"].as_object().unwrap() {
        for operation in methods.as_object().unwrap().values() {
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let parameter = resolved(&described, parameter);
                let is_same = |option: &&NumberOption| parameter["name"] == option.name;
                let Some(option) = QUERY_OPTIONS.iter().find(is_same) else { continue };
                assert_range(&parameter["schema"], option, path);
                let about = parameter["description"].as_str().unwrap();
                assert!(about.starts_with(&within_a_sentence(option.about)), "{path}: {about}");
                seen += 1;
            }
        }
    }
    assert_eq!(
        seen,
        4 * 3 + 4 + 1,
        "each route has k, ids, and limit or count; texts have both; the price has k"
    );
    for (name, schema) in described["components"]["schemas"].as_object().unwrap() {
        for option in &QUERY_OPTIONS {
            let field = &schema["properties"][option.name];
            let is_of_request = ["Query", "NearestQuery", "CheckAndAdd"].contains(&name.as_str());
            if is_of_request && field.is_object() {
                assert_range(field, option, name);
            }
        }
    }
    for option in &QUERY_OPTIONS {
        let row = cells(&page, option.name);
        assert!(row[1].starts_with(&within_a_sentence(option.about)), "{row:?}");
        let default = option.default.filter(|_| option.name != K.name);
        assert_eq!(row[2].parse().ok(), default, "{row:?}");
    }
}

#[test]
fn limits_are_described_as_the_options_of_the_server() {
    let described = description();
    let page = file("docs/serve.md");
    let limits = &described["components"]["schemas"]["Limits"];
    let names = limits["required"].as_array().unwrap();
    let mut expected = Vec::new();
    for option in LIMIT_OPTIONS {
        let name = match option.unit {
            "ms" => format!("{}_ms", option.name),
            _ => option.name.into(),
        };
        assert_range(&limits["properties"][&name], option, "Limits");
        expected.push(name);
        let row = cells(&page, &format!("--{}", option.flag()));
        let end = row[1].find(|c: char| !c.is_ascii_digit() && c != ' ').unwrap_or(row[1].len());
        let (number, unit) = row[1].split_at(end);
        let number: u64 = number.replace(' ', "").parse().unwrap();
        let default = match unit {
            _ if option.unit == "ms" && !unit.starts_with("ms") => number * 1000,
            unit if unit.starts_with("MiB") => number << 20,
            _ => number,
        };
        assert_eq!(Some(default), option.default, "{row:?}");
    }
    assert_eq!(names, &expected);
    assert_eq!(limits["properties"].as_object().unwrap().len(), expected.len());
    // The table has no rows for limits that do not exist.
    let table = page.split("## Limits").nth(1).unwrap().split("\n## ").next().unwrap();
    assert_eq!(table.matches("\n| `--").count(), LIMIT_OPTIONS.len());
}
