//! Tests that `fpstore serve` returns the same matches as the library, by every route and in every
//! format.

use fpstore::{Answer as Found, Fingerprint, Id, Limits, Match, Store};
use proptest::prelude::*;
use proptest::test_runner::{TestRng, TestRunner};
use serde_json::{Value, json};

use super::options::resolved;
use crate::common::http::Server;
use crate::common::program::TestDir;
use crate::common::{Record, clustered, record_lines, scan};

const NDJSON: &str = "application/x-ndjson";
const BINARY: &str = "application/octet-stream";

/// Test records: every third has a text id, and some have the same fingerprint.
fn records() -> Vec<Record> {
    let mut records = clustered(3000, 18);
    let text = |at: usize| Id::Text(format!("page \"{at}\" \u{4e2d}\\").into());
    records.iter_mut().enumerate().step_by(3).for_each(|(at, record)| record.1 = Some(text(at)));
    for at in 0..40 {
        records.push((records[at].0, Some(Id::U64(1_000_000 + at as u64))));
    }
    records
}

/// A folder with a store of two segments that contains these records, with deletions.
pub fn desk_of(records: &[Record]) -> TestDir {
    let dir = TestDir::new();
    let (first, second) = records.split_at(records.len() / 2);
    dir.write("a.tsv", record_lines(first));
    dir.write("b.tsv", record_lines(second) + "0000000000000123\tgone\n");
    dir.ok(&["build", "a.tsv", "-s", "store.fps", "-q", "--id-type", "text"], "");
    dir.ok(&["add", "b.tsv", "-s", "store.fps", "-q", "--no-compact", "--id-type", "text"], "");
    dir.ok(&["delete", "--id", "gone", "-s", "store.fps", "-q"], "");
    dir
}

fn matches_of(answer: &Value) -> Vec<Match> {
    let text = |value: &Value| value.as_str().unwrap().to_string();
    let one = |found: &Value| Match {
        fingerprint: text(&found["fingerprint"]).parse().unwrap(),
        distance: found["distance"].as_u64().unwrap() as u32,
        ids: found["ids"].as_array().unwrap().iter().map(|id| Id::Text(text(id).into())).collect(),
    };
    answer["matches"].as_array().unwrap().iter().map(one).collect()
}

/// Converts an answer of the library to the matches that the server should return.
fn expected(found: &Found<'_>) -> Vec<Match> {
    let mut matches = found.to_matches().unwrap();
    for id in matches.iter_mut().flat_map(|found| &mut found.ids) {
        *id = Id::Text(id.to_string().into());
    }
    matches
}

/// Parses answers in the binary format. For each: its fingerprints with distances, and whether it
/// was cut.
fn binary_answers(mut bytes: &[u8]) -> Vec<(Vec<(u64, u32)>, bool)> {
    let mut answers = Vec::new();
    while let Some((head, rest)) = bytes.split_first_chunk::<4>() {
        let head = u32::from_le_bytes(*head);
        let (matches, rest) = rest.split_at((head & 0x7fff_ffff) as usize * 9);
        let one = |m: &[u8]| (u64::from_le_bytes(m[..8].try_into().unwrap()), u32::from(m[8]));
        answers.push((matches.chunks(9).map(one).collect(), head >> 31 == 1));
        bytes = rest;
    }
    assert!(bytes.is_empty());
    answers
}

/// A generated request: several fingerprints and the options.
#[derive(Clone, Debug)]
struct Question {
    needles: Vec<u64>,
    k: u32,
    /// The maximum number of matches for each fingerprint, or the number of nearest ones.
    count: usize,
    is_nearest: bool,
}

/// Generates requests for stored, near, random and extreme fingerprints.
fn questions(records: &[Record]) -> impl Strategy<Value = Question> {
    let stored: Vec<u64> = records.iter().map(|record| record.0).collect();
    let flips = prop::collection::vec(0..64_u32, 0..8);
    let near = (prop::sample::select(stored), flips)
        .prop_map(|(value, flips)| flips.iter().fold(value, |value, bit| value ^ (1 << bit)));
    let needle = prop_oneof![near, any::<u64>(), Just(0), Just(u64::MAX)];
    let k = prop_oneof![0..9_u32, 0..65_u32];
    let count = prop_oneof![1..5_usize, 1..1001_usize];
    (prop::collection::vec(needle, 0..24), k, count, any::<bool>())
        .prop_map(|(needles, k, count, is_nearest)| Question { needles, k, count, is_nearest })
}

/// Sends a request by every route and in every format, and compares each answer with that of a
/// searcher of the library.
fn ask_in_all_forms(server: &Server, store: &Store, records: &[Record], question: &Question) {
    let Question { needles, k, count, is_nearest } = question;
    let (route, limit) = if *is_nearest { ("nearest", "count") } else { ("query", "limit") };
    let hex: Vec<String> = needles.iter().map(|needle| format!("{needle:016x}")).collect();
    let body = json!({ "fingerprints": hex, "k": k, limit: count });
    let list = server.post_json(&format!("/v1/{route}"), &body);
    assert_eq!(list.status, 200, "{list:?}");
    let list = list.json();
    let lines: String = hex
        .iter()
        .map(|hex| format!("{{\"id\":\"q{hex}\",\"fingerprint\":\"{hex}\"}}\n"))
        .collect();
    let path = format!("/v1/{route}?k={k}&{limit}={count}");
    let stream = String::from_utf8(server.post(&path, NDJSON, &lines).body).unwrap();
    let stream: Vec<Value> =
        stream.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let bytes: Vec<u8> = needles.iter().flat_map(|needle| needle.to_le_bytes()).collect();
    let binary = binary_answers(&server.post(&path, BINARY, &bytes).body);
    assert_eq!((stream.len(), binary.len()), (needles.len(), needles.len()));
    let mut connection = server.connect();
    let mut searcher = store.searcher();
    for (at, &needle) in needles.iter().enumerate() {
        let found = if *is_nearest {
            searcher.nearest(Fingerprint::new(needle), *count, *k)
        } else {
            let limits = Limits::default().limit(*count);
            searcher.search_with(Fingerprint::new(needle), *k, &limits)
        };
        let found = found.unwrap();
        let cut = found.outcome().cut;
        let expected = expected(&found);
        let mut scanned = scan(records, needle, *k);
        scanned.truncate(*count);
        let near = |found: &[Match]| -> Vec<(u64, u32)> {
            found.iter().map(|m| (m.fingerprint.value(), m.distance)).collect()
        };
        assert_eq!(near(&expected), near(&scanned));
        let one =
            connection.ask("GET", &format!("{path}&fingerprint={}", hex[at]), &[], b"").json();
        for answer in [&one, &list["answers"][at], &stream[at]] {
            assert_eq!(matches_of(answer), expected, "{}", hex[at]);
            assert_eq!(answer["cut"].as_bool().unwrap_or(false), cut, "{}", hex[at]);
            assert_eq!(answer["query"], hex[at]);
        }
        assert_eq!(stream[at]["id"], format!("q{}", hex[at]));
        assert_eq!(one["generation"], store.generation());
        assert_eq!(binary[at], (near(&expected), cut), "{}", hex[at]);
    }
}

#[test]
fn every_route_answers_as_a_searcher() {
    let records = records();
    let dir = desk_of(&records);
    let server = Server::start(&dir, &[]);
    let store = Store::open(dir.path("store.fps")).unwrap();
    // A fixed seed, so that the generated requests are the same in each run.
    let config = ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() };
    let random = TestRng::deterministic_rng(config.rng_algorithm);
    let mut runner = TestRunner::new_with_rng(config, random);
    let asked = runner.run(&questions(&records), |question| {
        ask_in_all_forms(&server, &store, &records, &question);
        Ok(())
    });
    if let Err(error) = asked {
        panic!("{error}");
    }
    // Without options, /v1/nearest returns the nearest fingerprint at any distance.
    let one = server.get("/v1/nearest?fingerprint=0").json();
    let mut searcher = store.searcher();
    assert_eq!(matches_of(&one), expected(&searcher.nearest(0.into(), 1, 64).unwrap()));
}

#[test]
fn a_text_is_found_as_the_program_finds_it() {
    let dir = TestDir::new();
    let words: Vec<String> = (0..400).map(|n| format!("word{}", n * n % 97)).collect();
    let text = words.join(" ");
    dir.write("docs/a.txt", &text);
    dir.write("docs/b.txt", "something else that has nothing to do with it at all, or has it");
    dir.ok(&["build", "--docs", "docs", "-s", "store.fps", "-q"], "");
    let server = Server::start(&dir, &[]);
    let near = text.replace("word3 ", "other ");
    dir.write("near.txt", &near);
    let local: Value = dir.json(&["query", "--file", "near.txt", "-s", "store.fps", "-k", "20"]);
    let answer = server.post("/v1/text?k=20", "text/plain; charset=utf-8", &near).json();
    assert_eq!(answer["query"], local["query"]);
    assert_eq!(answer["matches"], local["matches"]);
    assert_eq!(answer["matches"][0]["ids"], json!(["a.txt"]));
    let page = format!("<html><title>x</title><body><p>{near}</p>");
    let answer = server.post("/v1/text?count=1&html=full&explain", "text/html", &page).json();
    assert_eq!(answer["matches"][0]["ids"], json!(["a.txt"]));
    assert!(answer["explain"]["segments"][0]["path"].is_string());
    for (path, kind, body, code) in [
        ("/v1/text", "text/plain", "  ", "no-features"),
        ("/v1/text", "text/plain; charset=nothing", "a", "bad-content-type"),
        ("/v1/text", "application/pdf", "a", "bad-content-type"),
        ("/v1/text?html=half", "text/html", "a", "bad-parameter"),
        ("/v1/text?k=3&limit=2&count=2", "text/plain", "a", "bad-parameter"),
        ("/v1/text?fingerprint=3", "text/plain", "a", "unknown-parameter"),
    ] {
        assert_eq!(server.post(path, kind, body).code(), code, "{path} {kind}");
    }
    let broken = server.post("/v1/text", "text/plain", b"\xff\xfe\xff");
    assert_eq!((broken.status, broken.code().as_str()), (400, "bad-text"));
}

#[test]
fn what_is_wrong_is_named_and_nothing_is_guessed() {
    let dir = desk_of(&clustered(100, 1));
    let server = Server::start(&dir, &[]);
    for (path, code) in [
        ("/v1/query", "no-fingerprint"),
        ("/v1/query?fingerprint=", "bad-fingerprint"),
        ("/v1/query?fingerprint=xyz", "bad-fingerprint"),
        ("/v1/query?fingerprint=00000000000000001", "bad-fingerprint"),
        ("/v1/query?fingerprint=1&k=65", "bad-k"),
        ("/v1/query?fingerprint=1&k=-1", "bad-parameter"),
        ("/v1/query?fingerprint=1&k=3&k=3", "duplicate-parameter"),
        ("/v1/query?fingerprint=1&fingerprint=2", "duplicate-parameter"),
        ("/v1/query?fingerprint=1&distance=3", "unknown-parameter"),
        ("/v1/query?fingerprint=1&count=3", "unknown-parameter"),
        ("/v1/query?fingerprint=1&limit=0", "bad-parameter"),
        ("/v1/nearest?fingerprint=1&count=0", "bad-parameter"),
        ("/v1/nearest?fingerprint=1&limit=1", "unknown-parameter"),
        ("/v1/nearest?fingerprint=1&k=65", "bad-k"),
        ("/v1/info?verbose", "unknown-parameter"),
        ("/v1/que", "not-found"),
        ("/v1/query/", "not-found"),
        ("/v1/text", "method-not-allowed"),
    ] {
        let answer = server.get(path);
        assert_eq!(answer.code(), code, "{path}: {answer:?}");
        assert_eq!(answer.header("content-type"), Some("application/json"));
        assert!((400..500).contains(&answer.status), "{path}");
    }
    for (body, code) in [
        ("", "bad-json"),
        ("{}", "no-fingerprint"),
        ("[]", "bad-json"),
        ("{\"fingerprint\":\"1\",\"fingerprint\":\"2\"}", "bad-json"),
        ("{\"fingerprint\":\"1\",\"kk\":2}", "bad-json"),
        ("{\"fingerprint\":1}", "bad-json"),
        ("{\"fingerprint\":\"1\"} x", "bad-json"),
        ("{\"fingerprint\":\"1\",\"fingerprints\":[]}", "no-fingerprint"),
        ("{\"fingerprint\":\"1\",\"k\":65}", "bad-k"),
        ("{\"fingerprint\":\"1\",\"k\":-1}", "bad-json"),
        ("{\"fingerprint\":\"1\",\"count\":1}", "unknown-parameter"),
        ("{\"fingerprints\":[\"1\",\"g\"]}", "bad-fingerprint"),
        ("{\"fingerprints\":[\"1\"],\"explain\":true}", "bad-parameter"),
    ] {
        let answer = server.post("/v1/query", "application/json", body);
        assert_eq!(answer.code(), code, "{body}: {answer:?}");
    }
    let twice = server.post("/v1/query?k=3", "application/json", "{\"fingerprint\":\"1\",\"k\":3}");
    assert_eq!(twice.code(), "duplicate-parameter");
    assert_eq!(server.post("/v1/query", BINARY, b"1234567").code(), "bad-body-length");
    assert_eq!(server.post("/v1/query?ids=1", BINARY, b"").code(), "unknown-parameter");
    assert_eq!(server.post("/v1/query", "text/csv", b"").code(), "bad-content-type");
    assert_eq!(server.post("/v1/query?k=65", NDJSON, b"\"1\"\n").code(), "bad-k");
    let packed = [("Content-Type", "application/json"), ("Content-Encoding", "gzip")];
    let answer = server.connect().ask("POST", "/v1/query", &packed, b"x");
    assert_eq!(answer.code(), "bad-content-encoding");
    // A request with an empty list is valid.
    assert_eq!(
        server.post_json("/v1/query", &json!({"fingerprints": []})).json()["answers"],
        json!([])
    );
    assert_eq!(server.post("/v1/query", BINARY, b"").body, b"");
}

#[test]
fn a_bad_line_of_a_stream_has_its_error_and_the_others_their_answers() {
    let dir = desk_of(&clustered(100, 1));
    let server = Server::start(&dir, &[]);
    let lines =
        "\"1\"\n\nnonsense\r\n{\"fingerprint\":\"2\",\"k\":3}\n{\"fingerprint\":\"zz\"}\n  \"3\"";
    let answer = server.post("/v1/query", NDJSON, lines);
    let body = String::from_utf8(answer.body).unwrap();
    let lines: Vec<Value> = body.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let queries: Vec<&str> = lines.iter().filter_map(|line| line["query"].as_str()).collect();
    assert_eq!(queries, ["0000000000000001", "0000000000000003"]);
    let errors: Vec<&str> =
        lines.iter().filter_map(|line| line["error"]["message"].as_str()).collect();
    assert_eq!(errors.len(), 3, "{body}");
    for (error, line) in errors.iter().zip(["line 3: ", "line 4: ", "line 5: "]) {
        assert!(error.starts_with(line), "{error}");
    }
    assert!(lines[1]["error"].is_object() && lines[4]["query"].is_string());
}

#[test]
fn limits_are_named_in_the_errors_and_in_info() {
    let mut records = clustered(200, 3);
    records.extend((0..30).map(|id| (0xffff_0000_ffff_0000, Some(Id::U64(5000 + id)))));
    let dir = desk_of(&records);
    let limits = [
        "--max-body",
        "2KiB",
        "--max-answer",
        "1KiB",
        "--max-batch",
        "50",
        "--max-items",
        "3",
        "--max-k",
        "40",
        "--max-matches",
        "20",
        "--max-ids",
        "10",
        "--max-connections",
        "99",
        "--header-timeout",
        "1s",
        "--body-timeout",
        "2s",
        "--idle-timeout",
        "3s",
        "--deadline",
        "4s",
        "--queue-timeout",
        "100ms",
        "--drain-timeout",
        "5s",
        "--writable",
    ];
    let server = Server::start(&dir, &limits);
    let shown = server.get("/v1/info").json()["limits"].clone();
    let expected = json!({
        "max_body": 2048, "max_bodies": 256 << 20, "max_answer": 1024, "max_batch": 50, "max_items": 3, "max_k": 40,
        "max_matches": 20, "max_ids": 10, "max_connections": 99, "header_timeout_ms": 1000,
        "body_timeout_ms": 2000, "idle_timeout_ms": 3000, "deadline_ms": 4000,
        "queue_timeout_ms": 100, "drain_timeout_ms": 5000,
    });
    assert_eq!(shown, expected);
    let many = |count: usize| json!({ "fingerprints": vec!["1"; count], "k": 0 });
    let items = json!({ "items": vec![json!({"fingerprint": "1"}); 4] });
    let ids = json!({ "ids": ["1", "2", "3", "4"] }).to_string();
    let json = [("Content-Type", "application/json")];
    for (answer, status, name, value) in [
        (server.get("/v1/query?fingerprint=1&k=41"), 400, "max-k", 40),
        (server.get("/v1/query?fingerprint=1&limit=21"), 400, "max-matches", 20),
        (server.get("/v1/nearest?fingerprint=1&count=21"), 400, "max-matches", 20),
        (server.get("/v1/query?fingerprint=1&ids=11"), 400, "max-ids", 10),
        (server.get("/v1/query?fingerprint=1&k=40"), 413, "max-answer", 1024),
        (server.post_json("/v1/query", &many(51)), 413, "max-batch", 50),
        (server.post("/v1/query", BINARY, [0; 51 * 8]), 413, "max-batch", 50),
        (server.post("/v1/query", BINARY, [0; 2056]), 413, "max-body", 2048),
        (server.post("/v1/query", NDJSON, [b'1'; 2100]), 200, "max-body", 2048),
        (server.post_json("/v1/check-and-add", &items), 413, "max-items", 3),
        (server.connect().ask("DELETE", "/v1/ids", &json, ids.as_bytes()), 413, "max-items", 3),
    ] {
        assert_eq!(answer.status, status, "{answer:?}");
        let limit = &answer.json()["error"]["limit"];
        assert_eq!(limit, &json!({ "name": name, "value": value }), "{answer:?}");
        let message = answer.json()["error"]["message"].as_str().unwrap().to_string();
        assert!(message.contains(&format!("--{name} {value}")), "{message}");
    }
    // For a fingerprint with more ids than the limit, the answer contains the total number of ids.
    let answer = server.get("/v1/query?fingerprint=ffff0000ffff0000&k=0").json();
    let found = &answer["matches"][0];
    assert_eq!((found["ids"].as_array().unwrap().len(), &found["id_count"]), (10, &json!(30)));
    assert_eq!((&answer["cut"], &answer["cut_by"]), (&json!(true), &json!("ids")));
    let bare = server.get("/v1/query?fingerprint=ffff0000ffff0000&k=0&ids=0").json();
    assert_eq!((&bare["matches"][0]["ids"], &bare["cut"]), (&Value::Null, &Value::Null));
}

#[test]
fn a_search_past_its_deadline_says_that_it_was_cut() {
    let dir = desk_of(&clustered(200_000, 3));
    let server = Server::start(&dir, &["--deadline", "1ms"]);
    let list = vec!["1"; 3000];
    let answer = server.post_json("/v1/query", &json!({ "fingerprints": list, "k": 24, "ids": 0 }));
    let last = answer.json()["answers"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&last["cut"], &last["cut_by"]), (&json!(true), &json!("deadline")));
    let nearest = server.post_json("/v1/nearest", &json!({ "fingerprints": list, "ids": 0 }));
    let last = nearest.json()["answers"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["cut_by"], "deadline");
}

/// Checks a value against a schema of the API description. Returns the violations.
fn faults(schemas: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap();
        return faults(schemas, &schemas[name], value, &format!("{at}:{name}"));
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        let all: Vec<Vec<String>> =
            choices.iter().map(|choice| faults(schemas, choice, value, at)).collect();
        return if all.iter().any(Vec::is_empty) { Vec::new() } else { all.concat() };
    }
    let is_right = match schema["type"].as_str().unwrap_or_else(|| panic!("{at}: no type")) {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        _ => value.is_boolean(),
    };
    if !is_right {
        return vec![format!("{at}: {value}")];
    }
    let mut found = Vec::new();
    if let Some(choices) = schema["enum"].as_array() {
        found.extend((!choices.contains(value)).then(|| format!("{at}: {value} is no choice")));
    }
    for item in value.as_array().into_iter().flatten() {
        found.extend(faults(schemas, &schema["items"], item, at));
    }
    let (Some(fields), Some(properties)) = (value.as_object(), schema["properties"].as_object())
    else {
        return found;
    };
    for name in schema["required"].as_array().into_iter().flatten() {
        found.extend(
            fields.get(name.as_str().unwrap()).is_none().then(|| format!("{at}: no {name}")),
        );
    }
    for (name, value) in fields {
        match properties.get(name) {
            Some(schema) => found.extend(faults(schemas, schema, value, &format!("{at}.{name}"))),
            None => found.push(format!("{at}: {name} is not described")),
        }
    }
    found
}

#[test]
fn answers_are_as_the_description_says() {
    let dir = desk_of(&clustered(100, 1));
    let server = Server::start(&dir, &["--writable", "--max-ids", "1"]);
    let described = server.get("/openapi.json").json();
    let check = |method: &str, path: &str, body: Option<Value>| {
        let kind: &[(&str, &str)] = &[("Content-Type", "application/json")];
        let kind = if body.is_some() { kind } else { &[] };
        let sent = body.map(|body| body.to_string()).unwrap_or_default();
        let answer = server.connect().ask(method, path, kind, sent.as_bytes());
        let route = path.split('?').next().unwrap();
        let operation = &described["paths"][route][method.to_lowercase()];
        let response = &operation["responses"][answer.status.to_string()];
        let response = resolved(&described, response);
        let schema = &response["content"]["application/json"]["schema"];
        assert!(schema.is_object(), "{method} {path} {}: not described", answer.status);
        let found = faults(&described["components"]["schemas"], schema, &answer.json(), route);
        assert!(found.is_empty(), "{method} {path}: {found:?} in {}", answer.json());
    };
    let item = json!({ "fingerprint": "77777777", "id": "a" });
    check("GET", "/v1/query?fingerprint=1&k=30&explain", None);
    check("GET", "/v1/query?fingerprint=1&k=30&ids=0&limit=1", None);
    check("GET", "/v1/query?fingerprint=g", None);
    check("POST", "/v1/query", Some(json!({ "fingerprint": "1", "k": 64 })));
    check("POST", "/v1/query", Some(json!({ "fingerprints": ["1", "2"], "k": 64 })));
    check("POST", "/v1/query", Some(json!({ "fingerprints": [1] })));
    check("GET", "/v1/nearest?fingerprint=1&count=3", None);
    check("POST", "/v1/nearest", Some(json!({ "fingerprints": ["1", "2"], "count": 2 })));
    check("POST", "/v1/text", Some(json!({})));
    check("POST", "/v1/check-and-add", Some(json!({ "items": [item, item] })));
    check("POST", "/v1/check-and-add", Some(json!({ "items": [item], "durable": false })));
    check("POST", "/v1/check-and-add", Some(json!({ "items": [{ "text": "a" }] })));
    check("GET", "/v1/ids?id=a", None);
    check("GET", "/v1/ids?id=nobody", None);
    check("GET", "/v1/ids", None);
    check("PUT", "/v1/ids", Some(json!({ "items": [item] })));
    check("PUT", "/v1/ids", Some(json!({ "items": [{ "fingerprint": "1" }] })));
    check("DELETE", "/v1/ids", Some(json!({ "ids": ["a", "b"], "dry_run": true })));
    check("DELETE", "/v1/ids", Some(json!({ "ids": ["a", "b"] })));
    check("POST", "/v1/label", Some(json!({ "label": "2026-10" })));
    check("POST", "/v1/label", Some(json!({ "label": "a\nb" })));
    check("POST", "/v1/check-and-add", Some(json!({ "items": [item] })));
    check("POST", "/v1/expire", Some(json!({ "before": "2026-11", "dry_run": true })));
    check("POST", "/v1/expire", Some(json!({ "older_than": "soon" })));
    check("POST", "/v1/compact", Some(json!({ "segments": "all" })));
    check("POST", "/v1/compact", Some(json!({ "segments": "many" })));
    check("GET", "/v1/info", None);
    check("POST", "/v1/refresh", None);
    check("GET", "/healthz", None);
    check("GET", "/readyz", None);
    check("GET", "/openapi.json", None);
}
