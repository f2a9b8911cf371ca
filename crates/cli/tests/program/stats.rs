//! Tests `stats`: its report, its HTML page and its error messages.

use std::fs;

use serde_json::Value;

use crate::common::program::{TestDir, text};

/// Evenly distributed and deterministic values.
fn even(i: u64) -> u64 {
    let z = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[test]
fn a_store_and_its_input_are_told_alike() {
    let dir = TestDir::new();
    dir.write_fingerprints("input.tsv", (0..3000).map(|i| even(i % 2500)));
    dir.run(&["build", "input.tsv", "--scheme", "2"], 0);
    let (text, err) = dir.run(&["stats"], 0);
    assert_eq!(err, "");
    for part in ["source         store.fps", "2 500", "nothing to report", "64 of 64 vary"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let store = dir.json(&["stats"]);
    let input = dir.json(&["stats", "input.tsv", "--scheme", "2"]);
    assert_eq!(store["fingerprints"], 2500);
    assert_eq!((&store["counted"], &input["counted"]), (&"ids".into(), &"records".into()));
    assert_eq!(store["findings"].as_array().unwrap().len(), 0);
    assert_eq!(store["duplicates"], input["duplicates"]);
    assert_eq!(store["duplicates"][1]["count"], 500);
    assert_eq!(store["bits"], input["bits"]);
    assert_eq!(store["bits"][0]["bit"], 63);
    assert_eq!(store["tables"][1]["mask"], "00000000ffffffff");
    assert_eq!(store["tables"][0]["gaps"], input["tables"][0]["gaps"]);
    assert_eq!(store["chance"][64]["random"], 2500.0);
    assert!(store["sample"].is_null());
    assert_eq!(store["nearest"], input["nearest"]);
    assert_eq!(store["nearest"]["fingerprints"], 2500);
}

#[test]
fn a_gap_between_near_copies_and_strangers_proposes_a_k() {
    let dir = TestDir::new();
    // For each value, a copy that differs in one bit, one that differs in two, and an unrelated
    // value.
    let near = |i: u64| [even(i), even(i) ^ 1 << (i % 60), even(i) ^ 5 << (i % 60), !even(i)];
    dir.write_fingerprints("input.tsv", (0..500).flat_map(near));
    dir.run(&["build", "input.tsv", "-q"], 0);
    let (text, _) = dir.run(&["stats"], 0);
    assert!(text.contains("which k: of 2 000 fingerprints"), "{text}");
    assert!(text.contains("proposed: -k 3; 75 % of the fingerprints have another"), "{text}");
    assert_eq!(dir.json(&["stats"])["nearest"]["proposed_k"], 3);
    dir.run(&["stats", "--html", "stats.html"], 0);
    let page = fs::read_to_string(dir.path("stats.html")).unwrap();
    assert!(page.contains("within the proposed k = 3"), "{page}");
    // Without the copies no k is proposed: neither for the store after their deletion, nor for a
    // file of the remaining records.
    let copies = (0..500).flat_map(|i| [even(i) ^ 1 << (i % 60), even(i) ^ 5 << (i % 60)]);
    let copies: String = copies.map(|value| format!("{value:016x}\n")).collect();
    dir.write("copies.txt", &copies);
    dir.run(&["delete", "--fingerprints", "copies.txt"], 0);
    let nearest = dir.json(&["stats"])["nearest"].clone();
    assert!(nearest["proposed_k"].is_null(), "{nearest}");
    assert_eq!(nearest["counts"].as_array().unwrap()[..4], [0, 0, 0, 0]);
}

#[test]
fn findings_are_for_programs_too() {
    let dir = TestDir::new();
    dir.write_fingerprints(
        "input.tsv",
        (0..5000).map(|i| if i % 2 == 0 { 0 } else { even(i) >> 32 }),
    );
    dir.run(&["build", "input.tsv", "--quiet"], 0);
    let report = dir.json(&["stats"]);
    let codes: Vec<&str> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["code"].as_str().unwrap())
        .collect();
    assert_eq!(codes[..2], ["zero-extended", "heavy-fingerprint"]);
    assert_eq!(report["findings"][0]["severity"], "serious");
    assert!(report["findings"][1]["sentence"].as_str().unwrap().contains("2 500 of 5 000 ids"));
    assert_eq!(report["zero_count"], 2500);
    let (text, _) = dir.run(&["stats"], 0);
    assert!(text.contains("what to do: make 64-bit fingerprints"), "{text}");
}

#[test]
fn input_options_are_those_of_build() {
    let dir = TestDir::new();
    let bytes: Vec<u8> = (0..100).flat_map(|i| even(i).to_le_bytes()).collect();
    let args = ["stats", "-", "--input-format", "u64le", "--format", "json"];
    let (out, _) = dir.run_on(&args, &bytes, 0);
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (&report["fingerprints"], &report["source"]),
        (&100.into(), &"standard input".into())
    );
    dir.write("dec.txt", "18364758544493064720\nno\n5\n");
    let (_, err) = dir.run(&["stats", "dec.txt", "--radix", "dec"], 2);
    assert!(err.contains("dec.txt: line 2") && err.contains("--skip-bad"), "{err}");
    let args = ["stats", "dec.txt", "--radix", "dec", "--skip-bad", "--scheme", "14"];
    let (out, err) = dir.run(&args, 0);
    assert!(err.contains("1 bad record skipped"), "{err}");
    assert!(out.contains("     13  "), "{out}");
    // These options are only for files, so they are rejected for a store.
    for args in [["--scheme", "4"], ["--radix", "dec"], ["-k", "5"]] {
        let output = dir.output(&[&["stats"], &args[..]].concat(), "");
        assert_eq!(output.status.code(), Some(2));
        let err = text(output.stderr);
        assert!(err.contains("is for files of records"), "{err}");
    }
}

#[test]
fn nothing_at_all_and_junk_are_no_reason_to_panic() {
    let dir = TestDir::new();
    dir.write("empty.tsv", "");
    let (out, _) = dir.run(&["stats", "empty.tsv", "--html", "empty.html"], 0);
    assert!(out.contains("there are no fingerprints"), "{out}");
    dir.run(&["build", "empty.tsv", "-q"], 0);
    let (out, _) = dir.run(&["stats"], 0);
    assert!(out.contains("there are no fingerprints"), "{out}");
    dir.write("one.tsv", "0000000000000005 a\n");
    dir.run(&["stats", "one.tsv", "--html", "one.html"], 0);
    dir.write("junk", [0xff, 0xfe, 0, 7, 10, 200].repeat(1000));
    let (_, err) = dir.run(&["stats", "junk"], 2);
    assert!(err.contains("junk: line 1"), "{err}");
    let (_, err) = dir.run(&["stats", "missing.tsv"], 2);
    assert!(err.contains("missing.tsv"), "{err}");
    let (_, err) = dir.run(&["stats", "-s", "missing.fps"], 2);
    assert!(err.contains("missing.fps"), "{err}");
}

#[test]
fn a_damaged_store_is_refused_with_the_place() {
    let dir = TestDir::new();
    dir.write_fingerprints("input.tsv", (0..2000).map(even));
    dir.run(&["build", "input.tsv", "-q"], 0);
    let segment = dir.path("store.fps/segment-0000000000000001.fps");
    let mut bytes = fs::read(&segment).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::remove_file(&segment).unwrap();
    fs::write(&segment, bytes).unwrap();
    let (out, err) = dir.run(&["stats", "--html", "page.html"], 2);
    assert_eq!(out, "");
    assert!(err.contains("corrupt at byte") && err.contains("fpstore verify"), "{err}");
    assert!(!dir.path("page.html").exists());
}

#[cfg_attr(windows, ignore = "no file has such a name there")]
#[test]
fn the_page_is_one_file_that_asks_for_nothing() {
    let dir = TestDir::new();
    dir.write_fingerprints("<i>&.tsv", (0..2000).map(even));
    dir.run(&["stats", "<i>&.tsv", "--html", "page.html"], 0);
    let page = dir.read("page.html");
    assert!(page.contains("<h1>&lt;i&gt;&amp;.tsv</h1>"), "the name of the input is escaped");
    for plot in ["bits", "duplicates", "frontier", "groups-0", "gaps-0", "groups-1", "gaps-1"] {
        assert!(page.contains(&format!("id=\"plot-{plot}\"")), "{plot}");
    }
    let schema = "http://www.w3.org/2000/svg";
    let links = page.replace(schema, "");
    for outside in ["http://", "https://", "<script", "src=", "@import", "url("] {
        assert!(!links.contains(outside), "{outside}");
    }
    assert!(page.contains("prefers-color-scheme: dark") && page.contains("name=\"viewport\""));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(dir.path("page.html")).unwrap().permissions().mode();
        assert_eq!(mode & 0o600, 0o600);
        let usual = fs::metadata(dir.path("<i>&.tsv")).unwrap().permissions().mode();
        assert_eq!(mode, usual, "as any file that its owner makes");
    }
}

#[test]
fn a_page_is_not_overwritten_unless_told_to() {
    let dir = TestDir::new();
    dir.write_fingerprints("input.tsv", (0..100).map(even));
    dir.write("page.html", "mine");
    let args = ["stats", "input.tsv", "--html", "page.html"];
    let (out, err) = dir.run(&args, 2);
    assert_eq!(out, "");
    assert!(err.contains("page.html exists; to replace it once"), "{err}");
    assert_eq!(dir.read("page.html"), "mine");
    dir.run(&[&args[..], &["--force"]].concat(), 0);
    assert!(dir.read("page.html").starts_with("<!DOCTYPE html>"));
    fs::create_dir(dir.path("folder")).unwrap();
    let (_, err) = dir.run(&["stats", "input.tsv", "--html", "folder", "--force"], 2);
    assert!(err.contains("it is a directory"), "{err}");
    let (_, err) = dir.run(&["stats", "input.tsv", "--html", "-"], 2);
    assert!(err.contains("--html needs the name of a file"), "{err}");
    let (_, err) = dir.run(&["stats", "input.tsv", "--html", "none/page.html"], 2);
    assert!(err.contains("cannot create none/page.html"), "{err}");
    dir.assert_files(&["folder", "input.tsv", "page.html"]);
}

#[test]
fn build_warns_in_two_lines_of_what_matters() {
    let dir = TestDir::new();
    let warnings = |args: &[&str]| {
        let (_, err) = dir.run(args, 0);
        err.lines().skip(4).map(String::from).collect::<Vec<_>>()
    };
    dir.write_fingerprints("even.tsv", (0..20_000).map(even));
    assert_eq!(warnings(&["build", "even.tsv", "-s", "even.fps"]), Vec::<String>::new());
    dir.write_fingerprints("short.tsv", (0..200_000).map(|i| even(i) >> 32));
    let found = warnings(&["build", "short.tsv", "-s", "a.fps"]);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("fpstore: warning: bits 63-32 are 0 in every"), "{found:?}");
    assert!(found[1].ends_with("run 'fpstore stats -s a.fps' for advice"), "{found:?}");
    dir.write_fingerprints(
        "empty-pages.tsv",
        (0..200_000).map(|i| if i % 2 == 0 { 0 } else { even(i) }),
    );
    let found = warnings(&["build", "empty-pages.tsv", "-s", "b.fps", "--scheme", "2"]);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains("100 000 of 200 000 records (50 %)"), "{found:?}");
    let (_, err) =
        dir.run(&["build", "short.tsv", "-s", "a.fps", "--scheme", "2", "--force", "--quiet"], 0);
    assert_eq!(err, "");
    // `build` prints warnings of the doctor, but no notes.
    dir.write_fingerprints("few.tsv", (0..1000).map(|i| if i == 7 { 0 } else { even(i) }));
    assert_eq!(warnings(&["build", "few.tsv", "-s", "c.fps"]), Vec::<String>::new());
}
