//! Tests `-s A -s B`: several stores give the same answers as a scan of all their records, and each
//! id is printed with its store.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::common::program::{TestDir, text};
use crate::common::{Random, clustered, oracle, record_lines};

const NAMES: [&str; 3] = ["one.fps", "two.fps", "three.fps"];

/// A folder with three stores that have different schemes and tuned distances and share some
/// records, and with a file of all records; and the records: fingerprint, store, id.
fn dir() -> (TestDir, Vec<(u64, &'static str, String)>) {
    let dir = TestDir::new();
    let records = clustered(600, 801);
    let mut all = Vec::new();
    for (at, name) in NAMES.into_iter().enumerate() {
        let part = &records[(at * 200).saturating_sub(7 * at)..(at + 1) * 200];
        dir.write("part.tsv", record_lines(part));
        let k = ["3", "1", "6"][at];
        dir.run(&["build", "part.tsv", "-s", name, "-q", "-k", k], 0);
        all.extend(part.iter().map(|(value, id)| (*value, name, id.as_ref().unwrap().to_string())));
    }
    dir.write("empty.tsv", "");
    dir.run(&["build", "empty.tsv", "-s", "empty.fps", "-q"], 0);
    (dir, all)
}

/// Adds a -s for each store to `args`.
fn with_stores<'a>(args: &[&'a str]) -> Vec<&'a str> {
    let stores = NAMES.into_iter().chain(["empty.fps"]).flat_map(|name| ["-s", name]);
    args.iter().copied().chain(stores).collect()
}

fn refused(dir: &TestDir, args: &[&str]) -> String {
    let output = dir.output(args, "");
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    assert!(output.stdout.is_empty());
    text(output.stderr)
}

#[test]
fn queries_of_several_stores_are_answered_as_by_a_scan_in_every_format() {
    let (dir, all) = dir();
    let mut random = Random::new(802);
    let asked: Vec<u64> = (0..60)
        .map(|at| random.flip(all[at * 9].0, at as u32 % 6))
        .chain([all[199].0, all[195].0])
        .collect();
    dir.write_fingerprints("asked.tsv", asked.iter().copied());
    for k in [0, 3, 4] {
        let number = k.to_string();
        let mut expected = Vec::new();
        for (at, query) in asked.iter().enumerate() {
            let mut found: Vec<(u32, u64, usize, usize)> = Vec::new();
            for (distance, value, place) in oracle::scan(all.iter().map(|of| of.0), *query, k) {
                let store = NAMES.iter().position(|name| *name == all[place].1).unwrap();
                found.push((distance, value, store, place));
            }
            found.sort_unstable();
            expected.extend(found.into_iter().map(|(distance, value, _, place)| {
                let (_, store, id) = &all[place];
                format!("{at}\t{query:016x}\t{value:016x}\t{distance}\t{store}\t{id}")
            }));
        }
        let args = with_stores(&["query", "--from", "asked.tsv", "-k", &number]);
        let out = dir.ok(&args, "");
        assert_eq!(out.lines().collect::<Vec<_>>(), expected, "k={k}");
        let joined = dir.ok(&with_stores(&["join", "asked.tsv", "-k", &number]), "");
        assert_eq!(joined, out);
        let csv = dir.ok(&[&args[..], &["--format", "csv"]].concat(), "");
        let (names, lines) = csv.split_once('\n').unwrap();
        assert_eq!(names, "query_id,query,fingerprint,distance,store,id");
        assert_eq!(lines, out.replace('\t', ","));
        let json = dir.ok(&[&args[..], &["--format", "json"]].concat(), "");
        let mut of_json = Vec::new();
        for row in json.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
            for found in row["matches"].as_array().unwrap() {
                for id in found["ids"].as_array().unwrap() {
                    let [own, query, value, store, id] =
                        [&row["id"], &row["query"], &found["fingerprint"], &found["store"], id]
                            .map(|value| value.as_str().unwrap());
                    let distance = &found["distance"];
                    of_json.push(format!("{own}\t{query}\t{value}\t{distance}\t{store}\t{id}"));
                }
            }
        }
        assert_eq!(of_json, expected, "k={k}");
        // Queries on the command line give the same answers as a file, without the id of the query.
        let hex: Vec<String> = asked.iter().map(|query| format!("{query:016x}")).collect();
        let hex: Vec<&str> = hex.iter().map(String::as_str).collect();
        let single = dir.ok(&with_stores(&[&["query", "-k", &number][..], &hex].concat()), "");
        let without_id = |line: &String| line.split_once('\t').unwrap().1.to_owned();
        assert_eq!(
            single.lines().collect::<Vec<_>>(),
            expected.iter().map(without_id).collect::<Vec<_>>()
        );
    }
}

#[test]
fn with_one_store_no_output_names_it() {
    let (dir, all) = dir();
    let hex = format!("{:016x}", all[0].0);
    let out = dir.ok(&["query", &hex, "-k", "0", "-s", "one.fps"], "");
    assert_eq!(out, format!("{hex}\t{hex}\t0\t{}\n", all[0].2));
    let row = dir.json(&["query", &hex, "-k", "0", "-s", "one.fps"]);
    assert!(row["matches"][0].get("store").is_none());
    let pairs = dir.ok(&["pairs", "-s", "one.fps", "--header"], "");
    assert_eq!(pairs.lines().next(), Some("first\tsecond\tdistance\tfirst_id\tsecond_id"));
}

#[test]
fn cut_answers_and_ids_and_the_nearest_come_from_all_stores() {
    let (dir, all) = dir();
    // Record 195 is in the first two stores.
    let (value, _, id) = &all[195];
    let out = dir.ok(&with_stores(&["query", "--id", id, "-k", "0"]), "");
    let line = |store| format!("{value:016x}\t{value:016x}\t0\t{store}\t{id}\n");
    assert_eq!(out, line("one.fps") + &line("two.fps"));
    let (out, err) = dir.run(&with_stores(&["query", "--id", "none", "-k", "0"]), 1);
    assert!(out.is_empty() && err.contains("no record of one.fps, two.fps, three.fps, empty.fps"));

    let hex = format!("{value:016x}");
    let row = dir.json(&with_stores(&["query", &hex, "-k", "64", "--limit", "1"]));
    assert_eq!(row["cut"], true);
    assert_eq!(row["matches"].as_array().unwrap().len(), 2, "one fingerprint, in two stores");
    let (_, err) = dir.run(&with_stores(&["query", &hex, "-k", "64", "--limit", "2"]), 0);
    assert!(err.contains("cut to the nearest 2 matches"), "{err}");
    let nearest = dir.json(&with_stores(&["query", &hex, "--nearest", "600"]));
    let found: BTreeSet<u64> = nearest["matches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| u64::from_str_radix(found["fingerprint"].as_str().unwrap(), 16).unwrap())
        .collect();
    assert_eq!(found, all.iter().map(|of| of.0).collect());
    let (_, err) = dir.run(&with_stores(&["query", &hex, "--explain"]), 0);
    assert!(err.contains("of two.fps, k="), "{err}");
}

#[test]
fn pairs_of_several_stores_are_those_of_each_with_each() {
    let (dir, all) = dir();
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|&at| (all[at].0, at));
    for distinct in [false, true] {
        let mut expected = Vec::new();
        for (place, &one) in order.iter().enumerate() {
            for &other in &order[place + 1..] {
                let ([first, first_store, first_id], [second, second_store, second_id]) =
                    [one, other]
                        .map(|at| {
                            let (value, store, id) = &all[at];
                            [format!("{value:016x}"), store.to_string(), id.clone()]
                        })
                        .into();
                let distance = oracle::distance(all[one].0, all[other].0);
                if distance <= 3 && (distance > 0 || !distinct) {
                    expected.push(format!(
                        "{first}\t{second}\t{distance}\t{first_store}\t{second_store}\t{first_id}\t{second_id}"
                    ));
                }
            }
        }
        let mut args = with_stores(&["pairs", "-k", "3", "-q"]);
        args.extend(distinct.then_some("--distinct"));
        let out = dir.ok(&args, "");
        let mut found: Vec<&str> = out.lines().collect();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected);
        assert_eq!(
            dir.ok(&[&args[..], &["--memory", "48MiB", "--threads", "1"]].concat(), ""),
            out
        );
        let header = dir.ok(&[&args[..], &["--header"]].concat(), "");
        let names = "first\tsecond\tdistance\tfirst_store\tsecond_store\tfirst_id\tsecond_id\n";
        assert_eq!(header, format!("{names}{out}"));
        let json = dir.ok(&[&args[..], &["--format", "json"]].concat(), "");
        let rows = json.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        for (row, line) in rows.zip(out.lines()) {
            let columns: Vec<&str> = line.split('\t').collect();
            assert_eq!((row["first_store"].as_str(), row["second_store"].as_str()), {
                (Some(columns[3]), Some(columns[4]))
            });
            assert_eq!(row["second_id"], columns[6]);
        }
        let most = (expected.len() - 1).to_string();
        let (out, err) = dir.run(&[&args[..], &["--max-pairs", &most]].concat(), 2);
        assert!(out.is_empty() && err.contains("--max-pairs"), "{err}");
        let shares: Vec<String> = (0..3)
            .map(|at| dir.ok(&[&args[..], &["--share", &format!("{at}/3")]].concat(), ""))
            .collect();
        let shares = shares.concat();
        let mut found: Vec<&str> = shares.lines().collect();
        found.sort_unstable();
        assert_eq!(found, expected);
    }
}

#[test]
fn new_records_go_where_a_store_has_them_and_the_store_is_named() {
    let (dir, all) = dir();
    let mut random = Random::new(803);
    let new: Vec<u64> =
        (0..100)
            .map(|at| {
                if at % 2 == 0 { random.next() } else { random.flip(all[at * 5].0, at as u32 % 5) }
            })
            .collect();
    dir.write_fingerprints("new.tsv", new.iter().copied());
    let args = with_stores(&[
        "dedup",
        "new.tsv",
        "-k",
        "3",
        "-q",
        "-o",
        "kept.tsv",
        "--removed",
        "gone.tsv",
    ]);
    dir.run(&args, 0);
    let (mut kept, mut gone) = (String::new(), BTreeSet::new());
    for (at, value) in new.iter().enumerate() {
        match oracle::scan(all.iter().map(|of| of.0), *value, 3).first() {
            None => kept += &format!("{value:016x}\t{at}\n"),
            Some(&(distance, other, _)) => {
                let same = all.iter().filter(|of| of.0 == other);
                let number = |id: &str| id.parse::<u64>().unwrap();
                let place = |of: &&(u64, &str, String)| {
                    (number(&of.2), NAMES.iter().position(|name| *name == of.1))
                };
                let (_, store, id) = same.min_by_key(place).unwrap();
                gone.insert(format!(
                    "{value:016x}\t{other:016x}\t{distance}\t\t{at}\t{id}\tstored\tnear\t{store}"
                ));
            }
        }
    }
    assert!(gone.len() > 20);
    assert_eq!(dir.read("kept.tsv"), kept);
    assert_eq!(dir.read("gone.tsv").lines().map(String::from).collect::<BTreeSet<_>>(), gone);
    let err = refused(&dir, &with_stores(&["dedup", "new.tsv", "--add"]));
    assert!(err.contains("--add takes one store, and -s names 4: one.fps, two.fps"), "{err}");
}

#[test]
fn a_corpus_is_cleaned_against_several_stores() {
    let dir = TestDir::new();
    let text = |seed: u64, words: u64| -> String {
        let mut random = Random::new(seed);
        (0..words).map(|_| format!("w{} ", random.below(100_000))).collect()
    };
    let line = |id: &str, text: &str| format!("{{\"id\":\"{id}\",\"text\":\"{text}\"}}\n");
    for (at, name) in NAMES.into_iter().enumerate() {
        let (shared, own) = (text(1, 300), text(10 + at as u64, 300));
        let documents = line(&format!("{name}-own"), &own) + &line(&format!("{name}-a"), &shared);
        dir.write("docs.jsonl", documents);
        dir.run(&["build", "--docs", "docs.jsonl", "-s", name, "-q", "--sketch=64"], 0);
    }
    let new = text(99, 300);
    let corpus = line("new", &new) + &line("copy", &text(12, 300)) + &line("shared", &text(1, 300));
    dir.write("corpus.jsonl", &corpus);
    let stores: Vec<&str> = NAMES.into_iter().flat_map(|name| ["-s", name]).collect();
    for confirm in [false, true] {
        let folder = if confirm { "confirmed" } else { "near" };
        let removed = format!("{folder}.tsv");
        let mut args = vec!["clean", "corpus.jsonl", "-q", "-o", folder, "--removed", &removed];
        args.extend(&stores);
        args.extend(confirm.then_some(["--confirm", "0.8"]).into_iter().flatten());
        dir.run(&args, 0);
        assert_eq!(dir.read(folder), line("new", &new));
        let gone = dir.read(&removed);
        let gone: Vec<Vec<&str>> = gone.lines().map(|line| line.split('\t').collect()).collect();
        let named: Vec<[&str; 3]> = gone.iter().map(|row| [row[4], row[5], row[8]]).collect();
        assert_eq!(named[0], ["copy", "three.fps-own", "three.fps"], "{gone:?}");
        assert_eq!(named[1][0], "shared");
        // The list names the most similar stored document: among equal ones the smallest id, among
        // different documents of the same similarity the first.
        assert_eq!(named[1][1..], ["one.fps-a", "one.fps"], "{gone:?}");
    }
}

#[test]
fn what_takes_one_store_refuses_a_second_one_by_name() {
    let (dir, all) = dir();
    let hex = format!("{:016x}", all[0].0);
    dir.write("new.tsv", format!("{hex}\tx\n"));
    let both = ["-s", "one.fps", "-s", "two.fps"];
    let commands: &[&[&str]] = &[
        &["add", "new.tsv"],
        &["build", "new.tsv"],
        &["delete", "--fingerprint", &hex],
        &["expire", "--older-than", "30d"],
        &["compact"],
        &["import", "three.fps"],
        &["export", "-o", "out.fps"],
        &["backup", "out.fps"],
        &["info"],
        &["log"],
        &["stats"],
        &["verify"],
        &["dump"],
        &["compare", "1", "2"],
        &["cluster"],
    ];
    for command in commands {
        let err = refused(&dir, &[command, &both[..]].concat());
        assert!(
            err.contains("takes one store, and -s names 2: one.fps, two.fps"),
            "{command:?} {err}"
        );
        assert!(err.contains("fpstore import"), "{err}");
    }
    for (option, args) in [
        ("--confirm", &["pairs", "--confirm", "0.8"][..]),
        ("--html", &["pairs", "--html", "page.html"]),
        ("--as-of", &["query", &hex, "--as-of", "1"]),
        ("--add", &["dedup", "new.tsv", "--add"]),
    ] {
        let err = refused(&dir, &[args, &both[..]].concat());
        assert!(err.contains(&format!("{option} takes one store")), "{option}: {err}");
    }
    let err = refused(&dir, &["query", &hex, "-s", "one.fps", "-s", "one.fps"]);
    assert!(err.contains("one.fps is named twice"), "{err}");
    dir.run(&["build", "new.tsv", "--bits", "64", "-s", "wide.fps", "-q"], 0);
    dir.write("narrow.tsv", "0123abcd\tx\n");
    dir.run(&["build", "narrow.tsv", "--bits", "32", "-s", "narrow.fps", "-q"], 0);
    let err = refused(&dir, &["query", &hex, "-s", "wide.fps", "-s", "narrow.fps"]);
    assert!(err.contains("wide.fps and narrow.fps cannot be queried together"), "{err}");
    assert!(err.contains("in different ways: only narrow.fps has bits=32; query"), "{err}");
    assert!(!dir.path("page.html").exists() && !dir.path("out.fps").exists());
}
