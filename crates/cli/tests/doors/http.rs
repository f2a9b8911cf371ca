//! Runs the cases of `doors/cases.json` through the server. Tests that its responses and its API
//! description have the field names of the library's rows.

use fpstore::Store;
use fpstore::rows::{AnswerRow, Explained, MatchRow};
use serde_json::{Value, json};

use super::names::names;
use super::program::lines;
use super::{Found, cases, dir, left, part, word};
use crate::common::http::{Answer, Server};
use crate::common::program::{TestDir, text};

pub fn answer(dir: &TestDir, case: &Value) -> Found {
    let operation = word(&case["operation"]);
    let writes = ["check and add", "delete", "replace"].contains(&operation);
    let server = Server::start(dir, if writes { &["--writable"] } else { &[] });
    let options = &case["options"];
    if operation == "find" {
        return find(&server, options);
    }
    let answer = match operation {
        "query" => {
            let mut body = options.clone();
            let path = if body["nearest"].is_null() { "/v1/query" } else { "/v1/nearest" };
            if let Some(count) = body.as_object_mut().unwrap().remove("nearest") {
                body["count"] = count;
            }
            server.post_json(path, &body)
        }
        "info" | "segment" => server.get("/v1/info"),
        "check and add" => {
            let item = |it: &Value| json!({ "fingerprint": it[0], "id": it[1] });
            let items: Value = case["items"].as_array().unwrap().iter().map(item).collect();
            let body = json!({ "items": items, "k": options["k"], "same_recipe": true });
            server.post_json("/v1/check-and-add", &body)
        }
        "replace" => {
            let item = |it: &Value| json!({ "fingerprint": it[0], "id": it[1] });
            let items: Value = case["items"].as_array().unwrap().iter().map(item).collect();
            let body = json!({ "items": items, "same_recipe": true }).to_string();
            let json = [("Content-Type", "application/json")];
            server.connect().ask("PUT", "/v1/ids", &json, body.as_bytes())
        }
        "delete" => {
            let body = options.to_string();
            let json = [("Content-Type", "application/json")];
            server.connect().ask("DELETE", "/v1/ids", &json, body.as_bytes())
        }
        other => panic!("the server has no {other}"),
    };
    let Answer { status, .. } = answer;
    let mut body = answer.json();
    match (status, operation) {
        (200, "query") => Ok(body["matches"].clone()),
        (200, "segment") => Ok(part(&body["store"]["segments"][0], case)),
        (200, "check and add") => {
            let results = body["results"].as_array().unwrap().iter().map(result);
            Ok(json!({ "results": results.collect::<Value>(), "left": left(dir) }))
        }
        (200, "replace") => find(&server, options),
        (200, "delete") => {
            body.as_object_mut().unwrap().remove("generation");
            body["left"] = left(dir).into();
            Ok(body)
        }
        (200, _) => Ok(part(&body["store"], case)),
        // All errors of cases are errors of the request, so a status of 500 or more fails the test.
        (400..500, _) => Err(body.to_string()),
        (status, _) => panic!("status {status}: {body}"),
    }
}

/// Looks up the stored fingerprints of each id of a case.
fn find(server: &Server, options: &Value) -> Found {
    let of_id = |id: &str| {
        let id: String = id.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let answer = server.get(&format!("/v1/ids?id={id}"));
        assert_eq!(answer.status, 200);
        answer.json()["fingerprints"].clone()
    };
    Ok(super::words(&options["ids"]).into_iter().map(of_id).collect())
}

/// Converts the server's result for an item to the form of the cases.
fn result(item: &Value) -> Value {
    match word(&item["status"]) {
        "new" => json!({ "added": true }),
        _ => json!({
            "added": false, "near": item["near"]["fingerprint"],
            "near_id": item["near"]["ids"][0], "distance": item["near"]["distance"],
        }),
    }
}

/// The server formats responses with its own fast code; the bytes must be those of serde.
#[test]
fn the_bytes_of_the_server_are_the_row_of_the_library() {
    let table = cases();
    for case in table["cases"].as_array().unwrap() {
        if case["operation"] != "query" || case["expected"] == "error" {
            continue;
        }
        let dir = dir(&table, case);
        let server = Server::start(&dir, &[]);
        let fingerprint = case["options"]["fingerprint"].as_str().unwrap();
        for options in ["k=3", "k=64&limit=1", "k=64&ids=0", "k=64&ids=1"] {
            let body = server.get(&format!("/v1/query?fingerprint={fingerprint}&{options}")).body;
            let row: AnswerRow = serde_json::from_slice(&body).unwrap();
            // Parses the answer and formats it again, which would lose a field that the row lacks.
            assert_eq!(serde_json::to_string(&row).unwrap() + "\n", text(body));
        }
        let path = format!("/v1/query?fingerprint={fingerprint}&k=3&explain=true");
        let explained = server.get(&path).json()["explain"].clone();
        let store = Store::open(dir.path("store.fps")).unwrap();
        let row = json!(Explained::of(&store, 3, Default::default()).unwrap());
        assert_eq!(names(&explained), names(&row));
        assert_eq!(explained["segments"], row["segments"]);
        let printed = ["query", "-s", "store.fps", fingerprint, "-k", "3", "--explain"];
        let printed = lines(&dir, &[&printed[..], &["--format", "json"]].concat()).unwrap();
        let printed: Value = serde_json::from_str(&printed).unwrap();
        assert_eq!(names(&printed["explain"]), names(&row));
        assert_eq!(printed["explain"]["segments"], row["segments"]);
    }
}

/// The field names of responses in the API description.
#[test]
fn the_description_of_the_server_has_the_names_of_the_rows() {
    let api: Value =
        serde_json::from_str(include_str!("../../../../crates/server/src/api/openapi.json"))
            .unwrap();
    let schema = |name: &str| &api["components"]["schemas"][name]["properties"];
    let table = cases();
    let dir = dir(&table, &table["cases"][0]);
    let store = Store::open(dir.path("store.fps")).unwrap();
    let info = json!(store.info());
    let explain = Explained::of(&store, 3, Default::default()).unwrap();
    let found = json!(MatchRow {
        store: Some(String::new()),
        ids: Some(Vec::new()),
        id_count: Some(0),
        ..Default::default()
    });
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
