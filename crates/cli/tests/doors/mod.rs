//! All interfaces (doors) return the same results: runs the cases of `doors/cases.json` through the
//! library, the program and the server. `bindings/python/tests/test_doors.py` runs them through
//! Python.
//!
//! A case runs through all doors, except those for which `cases.json` gives a reason why they lack
//! the operation or the option.

#[cfg(unix)]
mod http;
mod library;
mod names;
mod program;

use fpstore::{Fingerprint, Store};
use serde_json::{Value, json};

use crate::common::program::TestDir;

type Found = Result<Value, String>;

fn cases() -> Value {
    serde_json::from_str(include_str!("../../../../tests/doors/cases.json")).unwrap()
}

/// A folder with `records.tsv` and `store.fps`, made from the records that all cases share,
/// `docs.jsonl` with the documents of the case, and `labels.tsv` with its labelled pairs.
fn dir(table: &Value, case: &Value) -> TestDir {
    let dir = TestDir::new();
    if let Some(documents) = case["documents"].as_str() {
        let documents = table["documents"][documents].as_array().unwrap();
        let line = |it: &Value| format!("{}\n", json!({ "id": it[0], "text": it[1] }));
        dir.write("docs.jsonl", documents.iter().map(line).collect::<String>());
    }
    if let Some(labels) = case["labels"].as_array() {
        let line = |it: &Value| format!("{}\t{}\t{}\n", word(&it[0]), word(&it[1]), it[2]);
        dir.write("labels.tsv", labels.iter().map(line).collect::<String>());
    }
    if let Some(items) = case["items"].as_array() {
        dir.write("items.tsv", items.iter().map(record).collect::<String>());
    }
    if let Some(records) = case["store"].as_str().map(|name| &table["stores"][name]) {
        let records = records.as_array().unwrap();
        dir.write("records.tsv", records.iter().map(record).collect::<String>());
        dir.ok(&["build", "records.tsv", "-s", "store.fps", "-q"], "");
    }
    dir
}

/// Formats a record as an input line of the program.
fn record(record: &Value) -> String {
    match record[1].as_str() {
        Some(id) => format!("{}\t{id}\n", word(&record[0])),
        None => format!("{}\n", word(&record[0])),
    }
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn words(values: &Value) -> Vec<&str> {
    values.as_array().map(|list| list.iter().map(word).collect()).unwrap_or_default()
}

fn fingerprint(value: &Value) -> Result<Fingerprint, String> {
    word(value).parse().map_err(|error| format!("{error}"))
}

/// Compares the result of a door with the expected result, considering exceptions listed in the
/// case. Returns a message if they differ.
fn fault(door: &str, case: &Value, found: Found) -> Option<String> {
    let is_same = match &found {
        Ok(found) => *found == case["expected"],
        Err(_) => case["expected"] == "error",
    };
    let (name, expected) = (word(&case["case"]), &case["expected"]);
    let found = found.map_or_else(|error| error, |found| found.to_string());
    match (case["apart"][door].as_str(), is_same) {
        (None, false) => Some(format!("{door}, {name}: {found}, expected {expected}")),
        (Some(why), true) => {
            Some(format!("{door}, {name}: no longer apart, so take the mark out ({why})"))
        }
        _ => None,
    }
}

/// The names of all doors.
const DOORS: [&str; 4] = ["library", "program", "http", "python"];

/// The reason why a door does not run a case; `None` if it does.
fn reason<'a>(table: &'a Value, case: &'a Value, door: &str) -> Option<&'a str> {
    let lacking = &table["operations"][word(&case["operation"])][door];
    lacking.as_str().or_else(|| case["without"][door].as_str())
}

fn each_case(door: &str, answer: impl Fn(&TestDir, &Value) -> Found) {
    let table = cases();
    let cases = table["cases"].as_array().unwrap();
    let cases = cases.iter().filter(|case| reason(&table, case, door).is_none());
    let faults: Vec<String> =
        cases.filter_map(|case| fault(door, case, answer(&dir(&table, case), case))).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The object `whole`, reduced to the fields that the case compares.
fn part(whole: &Value, case: &Value) -> Value {
    let Some(expected) = case["expected"].as_object() else { return whole.clone() };
    expected.keys().map(|name| (name.clone(), whole[name].clone())).collect()
}

fn built(store: &Store) -> Value {
    let info = store.info();
    json!({ "tuned_k": info.tuned_k, "tables": info.segments[0].tables.len() })
}

/// The number of curve points that a case compares.
const POINT_COUNT: usize = 5;

/// Sorts pairs by their ids, the smaller id of each pair first, because doors return them in
/// different orders.
fn by_ids(mut rows: Vec<Value>) -> Value {
    for row in &mut rows {
        let (first, second) = (row["first_id"].clone(), row["second_id"].clone());
        if first.as_str() > second.as_str() {
            (row["first_id"], row["second_id"]) = (second, first);
        }
    }
    rows.sort_by_key(|row| (row["first_id"].to_string(), row["second_id"].to_string()));
    rows.into()
}

/// The number of records in the store of a folder, after a change.
fn left(dir: &TestDir) -> u64 {
    Store::open(dir.path("store.fps")).unwrap().info().id_count()
}

/// A similarity rounded as in output lines.
fn four_digits(similarity: f64) -> f64 {
    (similarity * 1e4).round() / 1e4
}

/// The ids of the documents in `clean.jsonl`, in file order.
fn kept_ids(dir: &TestDir) -> Value {
    let line = |line: &str| serde_json::from_str::<Value>(line).unwrap()["id"].clone();
    dir.read("clean.jsonl").lines().map(line).collect()
}

#[test]
fn the_library_answers_every_case() {
    each_case("library", library::answer);
}

#[test]
fn the_program_answers_every_case() {
    each_case("program", program::answer);
}

#[cfg(unix)]
#[test]
fn the_server_answers_every_case() {
    each_case("http", http::answer);
}

/// Tests the cases themselves: a case that runs through a single door, or expects an empty object,
/// would compare nothing.
#[test]
fn every_case_expects_something_of_two_doors_or_more() {
    let table = cases();
    let operations = table["operations"].as_object().unwrap();
    for case in table["cases"].as_array().unwrap() {
        let name = word(&case["case"]);
        assert!(operations.contains_key(word(&case["operation"])), "{name}");
        let doors = DOORS.iter().filter(|door| reason(&table, case, door).is_none());
        assert!(doors.count() > 1, "{name}");
        assert_ne!(case["expected"], json!({}), "{name}");
    }
    let lacking = operations.values();
    let without = table["cases"].as_array().unwrap().iter().map(|case| &case["without"]);
    for reasons in lacking.chain(without).filter_map(Value::as_object) {
        for (door, reason) in reasons {
            assert!(DOORS.contains(&door.as_str()) && word(reason).len() > 10, "{door}: {reason}");
        }
    }
}
