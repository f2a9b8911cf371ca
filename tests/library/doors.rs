//! Every door says the same: the cases of `doors/cases.json` through the library, the program and the
//! server. `bindings/python/tests/test_doors.py` runs them through Python.

use std::collections::BTreeSet;

use fpstore::join::{ClusterMethod, Fate, JoinOptions, KeepRule, clusters, document_pairs};
use fpstore::rows::{PairRow, RecordRow};
use fpstore::{Answer, BuildOptions, Builder, Fingerprint, Limits, SchemeChoice, Store};
use serde_json::{Value, json};

#[cfg(all(unix, feature = "serve"))]
use crate::common::http::Server;
use crate::common::program::{Desk, text};

type Found = Result<Value, String>;

fn cases() -> Value {
    serde_json::from_str(include_str!("../doors/cases.json")).unwrap()
}

/// A desk with `records.tsv` and `store.fps` of a store of the table.
fn desk(table: &Value, case: &Value) -> Desk {
    let desk = Desk::new();
    let Some(records) = case["store"].as_str().map(|name| &table["stores"][name]) else {
        return desk;
    };
    let lines = records.as_array().unwrap().iter().map(|record| match record[1].as_str() {
        Some(id) => format!("{}\t{id}\n", record[0].as_str().unwrap()),
        None => format!("{}\n", record[0].as_str().unwrap()),
    });
    desk.write("records.tsv", lines.collect::<String>());
    desk.ok(&["build", "records.tsv", "-s", "store.fps", "-q"], "");
    desk
}

/// Compares what a door answers with what the case expects, value by value.
fn check(door: &str, case: &Value, found: Found) {
    let doors = case["doors"].as_array().unwrap();
    if !doors.iter().any(|name| name == door) {
        return;
    }
    let is_same = match &found {
        Ok(found) => *found == case["expected"],
        Err(_) => case["expected"] == "error",
    };
    let name = case["case"].as_str().unwrap();
    match case["apart"][door].as_str() {
        None => assert!(is_same, "{door}, {name}: {found:#?}, expected {}", case["expected"]),
        Some(why) => assert!(
            !is_same,
            "{door}, {name}: no longer apart, so take the mark out of cases.json ({why})"
        ),
    }
}

fn each_case(door: &str, answer: impl Fn(&Desk, &Value) -> Found) {
    let table = cases();
    for case in table["cases"].as_array().unwrap() {
        if case["doors"].as_array().unwrap().iter().any(|name| name == door) {
            check(door, case, answer(&desk(&table, case), case));
        }
    }
}

/// The values that a case expects of an object that has more.
fn part(whole: &Value, case: &Value) -> Value {
    let Some(expected) = case["expected"].as_object() else { return whole.clone() };
    expected.keys().map(|name| (name.clone(), whole[name].clone())).collect()
}

fn built(store: &Store) -> Value {
    let info = store.info();
    json!({ "tuned_k": info.tuned_k, "tables": info.segments[0].tables.len() })
}

fn names(object: &Value) -> BTreeSet<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

fn k_of(case: &Value) -> Option<u32> {
    case["options"]["k"].as_u64().map(|k| k as u32)
}

fn matches(answer: &Answer<'_>) -> Value {
    let matches = answer.to_matches().unwrap().into_iter().map(|found| {
        json!({ "fingerprint": found.fingerprint, "distance": found.distance, "ids": found.ids })
    });
    matches.collect()
}

fn library(desk: &Desk, case: &Value) -> Found {
    let options = &case["options"];
    let told = |error: fpstore::Error| error.to_string();
    let store = Store::open(desk.path("store.fps")).map_err(told)?;
    let mut rows = Vec::new();
    match case["operation"].as_str().unwrap() {
        "query" => {
            let needle = options["fingerprint"].as_str().unwrap();
            let needle: Fingerprint = needle.parse().map_err(|error| format!("{error}"))?;
            let mut searcher = store.searcher();
            let answer = match options["nearest"].as_u64() {
                Some(count) => searcher.nearest(needle, count as usize, 64),
                None => {
                    let most = options["limit"].as_u64().map_or(usize::MAX, |most| most as usize);
                    let limits = Limits::default().limit(most);
                    let k = k_of(case).unwrap_or(store.tuned_k());
                    searcher.search_with(needle, k, &limits)
                }
            };
            return Ok(matches(&answer.map_err(told)?));
        }
        "records" => {
            let walked = store.for_each(|entry| -> Result<(), fpstore::Error> {
                let fingerprint = entry.fingerprint();
                let mut ids = entry.ids().peekable();
                if ids.peek().is_none() {
                    rows.push(json!(RecordRow { fingerprint, id: None }));
                }
                for id in ids {
                    rows.push(json!(RecordRow { fingerprint, id: Some(id?) }));
                }
                Ok(())
            });
            walked.map_err(told)?;
        }
        "info" => return Ok(part(&json!(store.info()), case)),
        "pairs" => {
            let join = JoinOptions::new(k_of(case).unwrap());
            let pairs = document_pairs(&store, &join, false).map_err(told)?;
            let walked = pairs.for_each(|pair| -> Result<(), fpstore::Error> {
                rows.push(json!(PairRow {
                    first: pair.pair.first,
                    second: pair.pair.second,
                    distance: pair.pair.distance(),
                    similarity: None,
                    first_id: pair.first_id,
                    second_id: pair.second_id,
                }));
                Ok(())
            });
            walked.map_err(told)?;
        }
        "clusters" | "keep" => {
            let join = JoinOptions::new(k_of(case).unwrap());
            let found = clusters(&store, &join, ClusterMethod::Components).map_err(told)?;
            let rule = match options["rule"].as_str() {
                None => {
                    found
                        .for_each(|cluster| -> Result<(), fpstore::Error> {
                            for member in &cluster.members {
                                rows.extend(member.ids.iter().map(|id| {
                                json!({
                                    "cluster": cluster.number, "fingerprint": member.fingerprint,
                                    "distance": member.distance, "id": id,
                                })
                            }));
                            }
                            Ok(())
                        })
                        .map_err(told)?;
                    return Ok(rows.into());
                }
                Some("representative") => KeepRule::Representative,
                Some("smallest-id") => KeepRule::SmallestId,
                _ => KeepRule::LargestCluster,
            };
            let walked = found.for_each_document(
                rule,
                |fate, fingerprint, id| -> Result<(), fpstore::Error> {
                    if fate == Fate::Keep {
                        rows.push(json!(RecordRow { fingerprint, id }));
                    }
                    Ok(())
                },
            );
            walked.map_err(told)?;
        }
        "build" => {
            let scheme = options["scheme"].as_str().unwrap();
            let choice = SchemeChoice::named(scheme, k_of(case).unwrap()).map_err(told)?;
            let options = BuildOptions::default().scheme(choice);
            let mut builder =
                Builder::with_options(desk.path("built.fps"), options).map_err(told)?;
            store
                .for_each(|entry| -> Result<(), fpstore::Error> {
                    entry.ids().try_for_each(|id| builder.push(entry.fingerprint(), id?))
                })
                .map_err(told)?;
            return Ok(built(&builder.finish().map_err(told)?));
        }
        other => panic!("the library has no {other}"),
    }
    Ok(rows.into())
}

#[test]
fn the_library_answers_every_case() {
    each_case("library", library);
}

/// Runs the program; status 1 says that nothing was found.
fn lines(desk: &Desk, args: &[&str]) -> Result<String, String> {
    let output = desk.output(args, "");
    match output.status.code() {
        Some(0 | 1) => Ok(text(output.stdout)),
        _ => Err(text(output.stderr)),
    }
}

/// Options of a case as arguments of the program.
fn arguments(case: &Value, names: &[(&str, &str)]) -> Vec<String> {
    let options = &case["options"];
    let given = names.iter().filter(|(name, _)| !options[name].is_null());
    given
        .flat_map(|(name, option)| {
            let value = match &options[name] {
                Value::String(text) => text.clone(),
                number => number.to_string(),
            };
            [option.to_string(), value]
        })
        .collect()
}

fn program(desk: &Desk, case: &Value) -> Found {
    let options = &case["options"];
    let word = |name: &str| options[name].as_str().unwrap_or_default();
    let names = [
        ("k", "-k"),
        ("limit", "--limit"),
        ("nearest", "--nearest"),
        ("method", "--method"),
        ("rule", "--keep"),
        ("scheme", "--scheme"),
        ("budget", "--budget"),
        ("recipe", "--recipe"),
    ];
    let given = arguments(case, &names);
    let operation = case["operation"].as_str().unwrap();
    let fixed: &[&str] = match operation {
        "query" => &["query", "-s", "store.fps", "--format", "json", word("fingerprint")],
        "records" => &["dump", "store.fps", "--format", "json"],
        "info" => &["info", "store.fps", "--format", "json"],
        "pairs" => &["pairs", "store.fps", "--format", "json", "-q"],
        "clusters" => &["cluster", "store.fps", "--format", "json", "-q"],
        "keep" => &["cluster", "store.fps", "-q"],
        "build" => &["build", "records.tsv", "-s", "built.fps", "-q"],
        "compare" => &["compare", "--literal", word("first"), word("second"), "--format", "json"],
        other => panic!("the program has no {other}"),
    };
    let given: Vec<&str> = given.iter().map(String::as_str).collect();
    let out = lines(desk, &[fixed, &given[..]].concat())?;
    let objects = || out.lines().map(|line| serde_json::from_str(line).unwrap());
    Ok(match operation {
        "query" => objects().next().map_or(json!([]), |answer: Value| answer["matches"].clone()),
        "info" | "compare" => part(&objects().next().unwrap(), case),
        "build" => built(&Store::open(desk.path("built.fps")).unwrap()),
        "clusters" => objects().flat_map(|cluster: Value| members(&cluster)).collect(),
        "keep" => {
            let record = |line: &str| match line.split_once('\t') {
                Some((fingerprint, id)) => json!({ "fingerprint": fingerprint, "id": id }),
                None => json!({ "fingerprint": line, "id": null }),
            };
            out.lines().map(record).collect()
        }
        _ => objects().collect(),
    })
}

/// A row for each document of a cluster.
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

#[test]
fn the_program_answers_every_case() {
    each_case("program", program);
}

#[test]
fn reports_have_the_names_of_the_table() {
    let table = cases();
    let desk = desk(&table, &table["cases"][0]);
    let info = json!(Store::open(desk.path("store.fps")).unwrap().info());
    let (segment, expected) = (&info["segments"][0], &table["names"]);
    for (name, object) in [("store", &info), ("segment", segment), ("table", &segment["tables"][0])]
    {
        let expected = expected[name].as_array().unwrap().iter().map(|name| name.as_str().unwrap());
        assert_eq!(names(object), expected.collect(), "{name}");
    }
    // The program names the store as it was named to it.
    let printed = desk.json(&["info", "store.fps"]);
    let path = printed["segments"][0]["path"].as_str().unwrap();
    assert_eq!(desk.path(path).display().to_string(), segment["path"]);
}

#[cfg(all(unix, feature = "serve"))]
fn http(desk: &Desk, case: &Value) -> Found {
    let server = Server::start(desk, &[]);
    let options = &case["options"];
    let answer = match case["operation"].as_str().unwrap() {
        "query" => {
            let mut body = options.clone();
            let path = if body["nearest"].is_null() { "/v1/query" } else { "/v1/nearest" };
            if let Some(count) = body.as_object_mut().unwrap().remove("nearest") {
                body["count"] = count;
            }
            server.post_json(path, &body)
        }
        "info" => server.get("/v1/info"),
        other => panic!("the server has no {other}"),
    };
    let body = answer.json();
    match (answer.status, case["operation"].as_str().unwrap()) {
        (200, "query") => Ok(body["matches"].clone()),
        (200, _) => Ok(part(&body["store"], case)),
        // What is wrong with a request is not the fault of the server.
        (400..500, _) => Err(body.to_string()),
        (status, _) => panic!("status {status}: {body}"),
    }
}

#[cfg(all(unix, feature = "serve"))]
#[test]
fn the_server_answers_every_case() {
    each_case("http", http);
}

/// The server writes answers by hand, because that is faster.
#[cfg(all(unix, feature = "serve"))]
#[test]
fn the_bytes_of_the_server_are_the_row_of_the_library() {
    use fpstore::rows::{AnswerRow, Explained};

    let table = cases();
    for case in table["cases"].as_array().unwrap() {
        if case["operation"] != "query" || case["expected"] == "error" {
            continue;
        }
        let desk = desk(&table, case);
        let server = Server::start(&desk, &[]);
        let fingerprint = case["options"]["fingerprint"].as_str().unwrap();
        for options in ["k=3", "k=64&limit=1", "k=64&ids=0", "k=64&ids=1"] {
            let body = server.get(&format!("/v1/query?fingerprint={fingerprint}&{options}")).body;
            let row: AnswerRow = serde_json::from_slice(&body).unwrap();
            // What the row did not take would be missing here.
            assert_eq!(serde_json::to_string(&row).unwrap() + "\n", text(body));
        }
        let path = format!("/v1/query?fingerprint={fingerprint}&k=3&explain=true");
        let explained = server.get(&path).json()["explain"].clone();
        let store = Store::open(desk.path("store.fps")).unwrap();
        let row = json!(Explained::of(&store, 3, Default::default()).unwrap());
        assert_eq!(names(&explained), names(&row));
        assert_eq!(explained["segments"], row["segments"]);
        let printed = ["query", "-s", "store.fps", fingerprint, "-k", "3", "--explain"];
        let printed = lines(&desk, &[&printed[..], &["--format", "json"]].concat()).unwrap();
        let printed: Value = serde_json::from_str(&printed).unwrap();
        assert_eq!(names(&printed["explain"]), names(&row));
        assert_eq!(printed["explain"]["segments"], row["segments"]);
    }
}

/// The names that the description of the server gives the parts of its answers.
#[cfg(all(unix, feature = "serve"))]
#[test]
fn the_description_of_the_server_has_the_names_of_the_rows() {
    use fpstore::rows::{AnswerRow, Explained, MatchRow};

    let api: Value =
        serde_json::from_str(include_str!("../../src/http/serve/api/openapi.json")).unwrap();
    let schema = |name: &str| &api["components"]["schemas"][name]["properties"];
    let table = cases();
    let desk = desk(&table, &table["cases"][0]);
    let store = Store::open(desk.path("store.fps")).unwrap();
    let info = json!(store.info());
    let explain = Explained::of(&store, 3, Default::default()).unwrap();
    let found = json!(MatchRow { ids: Some(Vec::new()), id_count: Some(0), ..Default::default() });
    let answer = json!(AnswerRow {
        id: Some(String::new()),
        cut: true,
        cut_by: Some(String::new()),
        generation: Some(0),
        explain: Some(explain.clone()),
        ..Default::default()
    });
    let explain = json!(explain);
    for (name, row) in [
        ("Match", &found),
        ("Answer", &answer),
        ("Explained", &explain),
        ("Store", &info),
        ("Segment", &info["segments"][0]),
        ("Table", &info["segments"][0]["tables"][0]),
        ("Section", &info["segments"][0]["sections"][0]),
    ] {
        assert_eq!(names(schema(name)), names(row), "{name}");
    }
}
