//! Runs the cases of `doors/cases.json` through the program.

use fpstore::Store;
use serde_json::{Value, json};

use super::{Found, POINT_COUNT, built, by_ids, kept_ids, left, part, word, words};
use crate::common::program::{TestDir, text};

/// Runs the program and returns its output, or its error. Status 1 (nothing was found) is no error.
pub fn lines(dir: &TestDir, args: &[&str]) -> Result<String, String> {
    lines_on(dir, args, "")
}

fn lines_on(dir: &TestDir, args: &[&str], input: &str) -> Result<String, String> {
    let output = dir.output(args, input);
    match output.status.code() {
        Some(0 | 1) => Ok(text(output.stdout)),
        _ => Err(text(output.stderr)),
    }
}

/// The options of cases, with their names on the command line.
const OPTIONS: [(&str, &str); 16] = [
    ("k", "-k"),
    ("n", "-n"),
    ("limit", "--limit"),
    ("nearest", "--nearest"),
    ("method", "--method"),
    ("rule", "--keep"),
    ("keep", "--keep"),
    ("scheme", "--scheme"),
    ("budget", "--budget"),
    ("recipe", "--recipe"),
    ("confirm", "--confirm"),
    ("confirm_contains", "--confirm-contains"),
    ("per_cluster", "--per-cluster"),
    ("collection_size", "--collection-size"),
    ("ids", "--id"),
    ("fingerprints", "--fingerprint"),
];

/// The boolean options of a case.
const FLAGS: [(&str, &str); 3] =
    [("dry_run", "--dry-run"), ("unlisted_differ", "--unlisted-differ"), ("within", "--within")];

/// The options of a case as arguments of the program.
fn arguments(case: &Value) -> Vec<String> {
    let options = &case["options"];
    let mut arguments = Vec::new();
    for (name, option) in OPTIONS {
        let values = match &options[name] {
            Value::Null => Vec::new(),
            Value::Array(values) => values.clone(),
            value => vec![value.clone()],
        };
        for value in values {
            let value = value.as_str().map_or_else(|| value.to_string(), String::from);
            arguments.extend([option.to_string(), value]);
        }
    }
    let flags = FLAGS.iter().filter(|(name, _)| options[name] == true);
    arguments.extend(flags.map(|(_, option)| option.to_string()));
    arguments
}

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

pub fn answer(dir: &TestDir, case: &Value) -> Found {
    let options = &case["options"];
    let word = |name: &str| options[name].as_str().unwrap_or_default();
    let operation = case["operation"].as_str().unwrap();
    match operation {
        "find" => return find(dir, case),
        "check and add" => return check_and_add(dir, case),
        "replace" => {
            lines(dir, &["add", "items.tsv", "-s", "store.fps", "--replace", "-q"])?;
            return find(dir, case);
        }
        "clean" => return clean(dir, case),
        _ => {}
    }
    let fixed: &[&str] = match operation {
        "query" => &["query", "-s", "store.fps", "--format", "json", word("fingerprint")],
        "records" => &["dump", "store.fps", "--format", "json"],
        "info" | "segment" => &["info", "store.fps", "--format", "json"],
        "pairs" => &["pairs", "store.fps", "--format", "json", "-q"],
        "clusters" => &["cluster", "store.fps", "--format", "json", "-q"],
        "keep" => &["cluster", "store.fps", "-q"],
        "build" => &["build", "records.tsv", "-s", "built.fps", "-q"],
        "compare" => &["compare", "--literal", word("first"), word("second"), "--format", "json"],
        "delete" => &["delete", "-s", "store.fps", "--format", "json", "-q"],
        "dedup" => &["dedup", "items.tsv", "-s", "store.fps", "-q"],
        "confirmed pairs" => &["pairs", "--docs", "docs.jsonl", "--format", "json", "-q"],
        "evaluate" => &["evaluate", "records.tsv", "--pairs", "labels.tsv", "--format", "json"],
        "plan" => &["plan", "--format", "json"],
        other => panic!("the program has no {other}"),
    };
    let given = arguments(case);
    let given: Vec<&str> = given.iter().map(String::as_str).collect();
    let out = lines(dir, &[fixed, &given[..]].concat())?;
    let mut objects = out.lines().map(json_of);
    Ok(match operation {
        "query" => objects.next().map_or(json!([]), |answer: Value| answer["matches"].clone()),
        "info" | "compare" => part(&objects.next().unwrap(), case),
        "segment" => part(&objects.next().unwrap()["segments"][0], case),
        "build" => built(&Store::open(dir.path("built.fps")).unwrap()),
        "clusters" => objects.flat_map(|cluster: Value| members(&cluster)).collect(),
        "keep" | "dedup" => out.lines().map(record).collect(),
        "delete" => {
            let mut done = objects.next().unwrap();
            done["left"] = left(dir).into();
            done
        }
        "confirmed pairs" => {
            let rows = objects.map(|row| {
                let names = ["first_id", "second_id", "distance", "similarity"];
                names.into_iter().map(|name| (name.to_string(), row[name].clone())).collect()
            });
            by_ids(rows.collect())
        }
        "evaluate" => evaluated(&objects.next().unwrap()["recipes"][0]),
        "plan" => planned(&objects.next().unwrap()["schemes"]),
        _ => objects.collect(),
    })
}

/// Parses an output line with a fingerprint and an id.
fn record(line: &str) -> Value {
    match line.split_once('\t') {
        Some((fingerprint, id)) => json!({ "fingerprint": fingerprint, "id": id }),
        None => json!({ "fingerprint": line, "id": null }),
    }
}

/// Converts a cluster to one row for each document.
fn members(cluster: &Value) -> Vec<Value> {
    let mut rows = Vec::new();
    for member in cluster["members"].as_array().unwrap() {
        rows.extend(member["ids"].as_array().unwrap().iter().map(|id| {
            json!({
                "cluster": cluster["cluster"], "fingerprint": member["fingerprint"],
                "distance": member["distance"], "id": id,
            })
        }));
    }
    rows
}

/// Looks up the stored fingerprints of each id of a case.
fn find(dir: &TestDir, case: &Value) -> Found {
    let of_id = |id: &str| -> Found {
        let args = ["query", "--id", id, "-k", "0", "-s", "store.fps", "--format", "json", "-q"];
        let out = lines(dir, &args)?;
        Ok(out.lines().map(|line| json_of(line)["query"].clone()).collect())
    };
    words(&case["options"]["ids"]).into_iter().map(of_id).collect()
}

fn check_and_add(dir: &TestDir, case: &Value) -> Found {
    let given = arguments(case);
    let given: Vec<&str> = given.iter().map(String::as_str).collect();
    let fixed = ["dedup", "-s", "store.fps", "--add", "-", "-q"];
    let out = lines_on(dir, &[&fixed, &given[..]].concat(), &dir.read("items.tsv"))?;
    let result = |line: &str| {
        let columns: Vec<&str> = line.split('\t').collect();
        match columns[..] {
            ["new", ..] => json!({ "added": true }),
            ["near", _, _, near, distance, id] => json!({
                "added": false, "near": near, "near_id": id, "distance": json_of(distance),
            }),
            _ => panic!("{line}"),
        }
    };
    Ok(json!({ "results": out.lines().map(result).collect::<Value>(), "left": left(dir) }))
}

fn clean(dir: &TestDir, case: &Value) -> Found {
    let given = arguments(case);
    let given: Vec<&str> = given.iter().map(String::as_str).collect();
    let fixed = ["clean", "docs.jsonl", "-o", "clean.jsonl", "--removed", "removed.tsv"];
    lines(dir, &[&fixed, &given[..]].concat())?;
    let names =
        ["fingerprint", "other", "distance", "similarity", "id", "other_id", "side", "reason"];
    let row = |line: &str| -> Value {
        let cell = |(name, cell): (&str, &str)| {
            let value = match name {
                "distance" => json_of(cell),
                "similarity" if cell.is_empty() => Value::Null,
                "similarity" => json!(cell.parse::<f64>().unwrap()),
                _ => cell.into(),
            };
            (name.to_string(), value)
        };
        names.into_iter().zip(line.split('\t')).map(cell).collect()
    };
    let removed: Value = dir.read("removed.tsv").lines().map(row).collect();
    Ok(json!({ "ids": kept_ids(dir), "removed": removed }))
}

fn evaluated(report: &Value) -> Value {
    let best_k = report["best_k"].as_u64().unwrap() as usize;
    json!({
        "points": report["points"].as_array().unwrap()[..POINT_COUNT], "area": report["area"],
        "best": report["points"][best_k], "duplicates": report["duplicates"],
        "others": report["others"], "recommended_k": report["forecast"]["recommended_k"],
    })
}

fn planned(schemes: &Value) -> Value {
    let schemes = schemes.as_array().unwrap();
    let frontier = schemes.iter().filter(|it| it["on_frontier"] == true);
    let chosen = schemes.iter().find(|it| it["chosen"] == true).unwrap();
    json!({
        "chosen": word(&chosen["name"]),
        "frontier": frontier.map(|it| word(&it["name"])).collect::<Vec<_>>(),
    })
}
