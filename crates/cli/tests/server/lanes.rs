//! Tests that quick requests do not wait for slow ones, and that requests above a cost limit are
//! rejected before they run.

use fpstore::Store;
use serde_json::{Value, json};

use crate::common::http::{Answer, Connection, Server, wait_for};
use crate::common::{Random, clustered};
use crate::server::queries::desk_of;

const JSON: &str = "application/json";

fn hex(value: u64) -> String {
    format!("{value:016x}")
}

/// A request of many queries, each of which compares most of the store.
fn slow_body(count: usize, seed: u64) -> Value {
    let mut random = Random::new(seed);
    let list: Vec<String> = (0..count).map(|_| hex(random.next())).collect();
    json!({ "fingerprints": list, "k": 24, "limit": 1, "ids": 0 })
}

/// Sends a request without reading the response.
fn begin(server: &Server, path: &str, body: &Value) -> Connection<std::net::TcpStream> {
    let mut connection = server.connect();
    connection.send("POST", path, &[("Content-Type", JSON)], body.to_string().as_bytes());
    connection
}

#[test]
fn quick_questions_find_a_thread_beside_slow_ones() {
    let dir = desk_of(&clustered(20_000, 3));
    // With --warm none, no query runs on the thread that reads requests.
    let options = ["--threads", "1", "--warm", "none", "--deadline", "1h"];
    let server = Server::start(&dir, &options);
    let mut slow: Vec<_> =
        (0..4).map(|seed| begin(&server, "/v1/query", &slow_body(1500, seed))).collect();
    wait_for("the slow ones are searched for", || server.metric("fpstore_slow_total") >= 4.0);
    let store = Store::open(dir.path("store.fps")).unwrap();
    for (value, _) in clustered(15, 3) {
        let answer = server.get(&format!("/v1/query?fingerprint={}&k=3", hex(value)));
        assert_eq!(answer.status, 200, "{answer:?}");
        let found = answer.json()["matches"].as_array().unwrap().len();
        assert_eq!(found, store.query(value.into(), 3).unwrap().len());
    }
    assert!(server.metric("fpstore_pooled_total") >= 15.0);
    // The slow requests, which run in slices, are answered completely and from one snapshot.
    for (seed, connection) in slow.iter_mut().enumerate() {
        let answer = connection.answer().json();
        let body = slow_body(1500, seed as u64);
        let asked = body["fingerprints"].as_array().unwrap();
        let answers = answer["answers"].as_array().unwrap();
        assert_eq!(answers.len(), asked.len());
        for (asked, found) in asked.iter().zip(answers).step_by(97) {
            let value: fpstore::Fingerprint = asked.as_str().unwrap().parse().unwrap();
            let nearest = store.query(value, 24).unwrap().into_iter().next();
            let nearest = nearest.map(|found| (found.distance, found.fingerprint.to_string()));
            let found = found["matches"].get(0).map(|found| {
                (
                    found["distance"].as_u64().unwrap() as u32,
                    found["fingerprint"].as_str().unwrap().into(),
                )
            });
            assert_eq!(found, nearest, "{asked}");
        }
    }
}

fn statuses(answer: &Answer) -> Vec<String> {
    let answer = answer.json();
    let results = answer["results"].as_array().unwrap_or_else(|| panic!("{answer}"));
    results.iter().map(|result| result["status"].as_str().unwrap().into()).collect()
}

#[test]
fn a_costly_check_and_add_does_not_hold_the_writer_and_is_exact_all_the_same() {
    let records = clustered(20_000, 4);
    let dir = desk_of(&records);
    let server = Server::start(&dir, &["--writable", "--deadline", "1h", "--no-compact"]);
    let mut random = Random::new(9);
    const K: u32 = 18;
    let values: Vec<u64> = (0..1500).map(|_| random.next()).collect();
    let item = |value: u64, id: String| json!({ "fingerprint": hex(value), "id": id });
    let costly: Vec<Value> =
        values.iter().enumerate().map(|(at, value)| item(*value, format!("slow-{at}"))).collect();
    let body = json!({ "k": K, "items": costly });
    let mut slow = begin(&server, "/v1/check-and-add", &body);
    wait_for("the costly one is compared", || server.metric("fpstore_slow_total") >= 1.0);
    // Items near those of the costly request, which are not yet stored.
    let quick: Vec<u64> = values.iter().step_by(500).map(|value| value ^ 5).collect();
    let (mut generations, mut answers) = (Vec::new(), Vec::new());
    for (at, value) in quick.iter().enumerate() {
        let body = json!({ "k": 3, "items": [item(*value, format!("quick-{at}"))] });
        let answer = server.post_json("/v1/check-and-add", &body);
        assert_eq!(answer.status, 200, "{answer:?}");
        answers.extend(statuses(&answer));
        generations.push(answer.json()["generation"].as_u64().unwrap());
    }
    let answer = slow.answer();
    let generation = answer.json()["generation"].as_u64().unwrap();
    if generations.iter().any(|quick| *quick > generation) {
        // The costly request ended before the quick one was sent, so there is nothing to test.
        return;
    }
    assert!(answers.iter().all(|status| status == "new"), "{answers:?}");
    let mut known: Vec<u64> = records.iter().map(|(value, _)| *value).collect();
    known.extend(&quick);
    let expected: Vec<&str> = values
        .iter()
        .map(|value| {
            let is_near = known.iter().any(|other| (value ^ other).count_ones() <= K);
            if !is_near {
                known.push(*value);
            }
            if is_near { "near" } else { "new" }
        })
        .collect();
    assert_eq!(statuses(&answer), expected);
    // Each result names the nearest record with its distance.
    for (value, result) in values.iter().zip(answer.json()["results"].as_array().unwrap()) {
        if result["status"] == "near" {
            let near = &result["near"];
            let found = u64::from_str_radix(near["fingerprint"].as_str().unwrap(), 16).unwrap();
            assert_eq!(near["distance"], json!((value ^ found).count_ones()));
        }
    }
}

#[test]
fn what_a_question_costs_is_told_and_one_that_costs_too_much_is_refused() {
    let dir = desk_of(&clustered(5000, 6));
    let server = Server::start(&dir, &["--writable"]);
    let plan = server.get("/v1/plan?k=3").json();
    assert_eq!(
        (&plan["k"], &plan["queries"], &plan["lane"]),
        (&json!(3), &json!(1), &json!("inline"))
    );
    let explained = server.get("/v1/query?fingerprint=1&k=3&explain=true").json();
    assert_eq!(plan["segments"], explained["explain"]["segments"], "the rows of --explain");
    let many = server.get("/v1/plan?k=30&queries=10000").json();
    assert_eq!(many["lane"], "slow");
    let cost = |of: &Value| of["cost_us"].as_f64().unwrap();
    assert!(cost(&many) > 1000.0 * cost(&plan));
    // With --max-cost equal to its cost a request is answered; with a lower limit it is rejected.
    let most = cost(&many).ceil() as u64;
    let ask = |max_cost: u64| {
        let list: Vec<String> = (0..10_000).map(hex).collect();
        let body = json!({ "fingerprints": list, "k": 30, "limit": 1, "max_cost": max_cost });
        server.post_json("/v1/query", &body)
    };
    assert_eq!(ask(most).status, 200);
    let refused = ask(most - 2);
    assert_eq!((refused.status, refused.code().as_str()), (422, "cost-over-max"));
    assert_eq!(refused.json()["error"]["cost_us"], many["cost_us"]);
    for path in ["query", "nearest"] {
        let refused = server.get(&format!("/v1/{path}?fingerprint=1&k=40&max_cost=0"));
        assert_eq!(refused.code(), "cost-over-max", "{path}");
    }
    let line = server.post("/v1/query?k=40&max_cost=0", "application/x-ndjson", "\"1\"\n");
    assert_eq!((line.status, line.code().as_str()), (422, "cost-over-max"));
    let body = json!({ "k": 40, "max_cost": 0, "items": [{ "fingerprint": "1", "id": "a" }] });
    assert_eq!(server.post_json("/v1/check-and-add", &body).code(), "cost-over-max");
    for (path, code) in [
        ("/v1/plan?k=65", "bad-k"),
        ("/v1/plan?queries=x", "bad-parameter"),
        ("/v1/plan?queries=1000000", "batch-over-limit"),
        ("/v1/plan?count=1", "unknown-parameter"),
    ] {
        assert_eq!(server.get(path).code(), code, "{path}");
    }
}
