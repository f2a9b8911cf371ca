//! Tests fingerprints of 32 bits: the program reads and prints them as 8 hex digits.

use serde_json::json;

use crate::common::program::TestDir;
use crate::common::{Random, oracle};

/// Random 32-bit values, some of them near each other, and the smallest and the greatest value.
fn values() -> Vec<u64> {
    let mut random = Random::new(32);
    let mut values: Vec<u64> = (0..300).map(|_| random.next() >> 32).collect();
    for at in 0..60 {
        values.push(random.flip(values[at], at as u32 % 5) & 0xffff_ffff);
    }
    values.extend([0, 0xffff_ffff, values[0]]);
    values
}

fn lines(values: &[u64]) -> String {
    values.iter().enumerate().map(|(id, value)| format!("{value:08x}\t{id}\n")).collect()
}

/// A folder with `a.tsv` and `a.fps`, a store of it.
fn dir(values: &[u64]) -> TestDir {
    let dir = TestDir::with("a.tsv", &lines(values));
    dir.run(&["build", "a.tsv", "-s", "a.fps", "--bits", "32", "-q"], 0);
    dir
}

#[test]
fn every_input_makes_the_same_store() {
    let values = values();
    let dir = dir(&values);
    let sorted = |text: String| {
        let mut lines: Vec<String> = text.lines().map(String::from).collect();
        lines.sort();
        lines
    };
    let expected = sorted(lines(&values));
    assert_eq!(sorted(dir.ok(&["dump", "-s", "a.fps"], "")), expected);
    let signed = |value: u64| i64::from((value as u32).cast_signed());
    let spelled = |spell: &dyn Fn(u64) -> String| -> String {
        let lines = values.iter().enumerate();
        lines.map(|(id, value)| format!("{},{id}\n", spell(*value))).collect()
    };
    dir.write("dec", spelled(&|value| value.to_string()));
    dir.write("sdec", spelled(&|value| signed(value).to_string()));
    dir.write("csv", format!("hash,id\n{}", spelled(&|value| format!("{value:08x}"))));
    let record = |(id, value): (usize, &u64)| {
        [&(*value as u32).to_le_bytes()[..], &(id as u64).to_le_bytes()[..]].concat()
    };
    dir.write("bin", values.iter().enumerate().flat_map(record).collect::<Vec<u8>>());
    let rows = values.iter().enumerate();
    let rows = rows.map(|(id, value)| json!({"id": id, "h": signed(*value)}).to_string() + "\n");
    dir.write("rows.jsonl", rows.collect::<String>());
    for options in [
        &["dec", "--radix", "dec"][..],
        &["sdec", "--radix", "sdec"],
        &["csv"],
        &["csv", "--fingerprint-field", "hash", "--docs-format", "csv"],
        &["bin", "--input-format", "u32le-id"],
        &["rows.jsonl", "--fingerprint-field", "h"],
    ] {
        let build = ["build", "-s", "b.fps", "--bits", "32", "-q", "-f"];
        dir.run(&[&build, options].concat(), 0);
        assert_eq!(sorted(dir.ok(&["dump", "-s", "b.fps"], "")), expected, "{options:?}");
    }
    dir.run(&["verify", "-s", "a.fps"], 0);
}

#[test]
fn answers_are_those_of_a_scan_in_8_digits() {
    let values = values();
    let dir = dir(&values);
    let mut random = Random::new(7);
    for at in 0..12 {
        let needle = random.flip(values[at], at as u32 % 4) & 0xffff_ffff;
        for k in [0, 1, 3, 4] {
            let expected = oracle::scan(&values, needle, k);
            let lines: Vec<String> = expected
                .iter()
                .map(|(bits, value, id)| format!("{needle:08x}\t{value:08x}\t{bits}\t{id}"))
                .collect();
            let status = i32::from(lines.is_empty());
            let (needle, k) = (format!("{needle:08x}"), k.to_string());
            let (out, _) = dir.run(&["query", &needle, "-s", "a.fps", "-k", &k], status);
            assert_eq!(out.lines().collect::<Vec<_>>(), lines);
        }
    }
    let pairs = oracle::pairs_of_positions(&values, 2);
    let pairs: Vec<String> = pairs
        .iter()
        .map(|((a, b), (first, second))| {
            format!("{a:08x}\t{b:08x}\t{}\t{first}\t{second}", oracle::distance(*a, *b))
        })
        .collect();
    assert!(pairs.len() > 10);
    for input in [&["a.fps"][..], &["a.tsv", "--bits", "32"]] {
        let out = dir.ok(&[&["pairs", "-k", "2", "-q"], input].concat(), "");
        let mut found: Vec<&str> = out.lines().collect();
        let mut pairs: Vec<&str> = pairs.iter().map(String::as_str).collect();
        found.sort_unstable();
        pairs.sort_unstable();
        assert_eq!(found, pairs, "{input:?}");
    }
    let joined = |args: &[&str]| {
        let mut lines: Vec<String> =
            dir.ok(&[&["join", "-k", "2"], args].concat(), "").lines().map(String::from).collect();
        lines.sort();
        lines
    };
    dir.write("b.tsv", lines(&values[..40]));
    dir.run(&["build", "b.tsv", "-s", "b.fps", "--bits", "32", "-q"], 0);
    let expected = joined(&["b.tsv", "a.tsv", "--bits", "32"]);
    assert!(expected.len() >= 40 && expected[0].split('\t').nth(1).unwrap().len() == 8);
    for args in [["b.tsv", "a.fps"], ["b.fps", "a.tsv"], ["b.fps", "a.fps"]] {
        assert_eq!(joined(&args), expected, "{args:?}");
    }
}

#[test]
fn rows_of_all_commands_have_8_digits() {
    let dir = TestDir::with("a.tsv", "deadbeef\ta\ndeadbeee\tb\n00000001\tc\n");
    dir.run(&["build", "a.tsv", "-s", "a.fps", "--bits", "32", "-q"], 0);
    let info = dir.json(&["info", "-s", "a.fps"]);
    assert_eq!((&info["bits"], &info["tuned_k"]), (&json!(32), &json!(1)));
    assert!(dir.ok(&["info", "-s", "a.fps"], "").contains("bits           32"));
    let answer = dir.json(&["query", "deadbeef", "-s", "a.fps"]);
    assert_eq!(answer["query"], "deadbeef");
    assert_eq!(answer["matches"][1]["fingerprint"], "deadbeee");
    let clusters = dir.ok(&["cluster", "a.fps", "-q"], "");
    assert_eq!(clusters, "1\t2\t1\t0\tdeadbeef\ta\n1\t2\t1\t1\tdeadbeee\tb\n");
    let kept = dir.ok(&["dedup", "a.tsv", "--bits", "32", "-q", "--removed", "gone.tsv"], "");
    assert_eq!(kept, "deadbeef\ta\n00000001\tc\n");
    assert!(dir.read("gone.tsv").starts_with("deadbeee\tdeadbeef\t1\t\tb\ta\tnew"));
    let compared = dir.ok(&["compare", "a", "b", "-s", "a.fps"], "");
    assert!(compared.starts_with("deadbeef\ta\ndeadbeee\tb\n"), "{compared}");
    assert_eq!(
        dir.ok(&["query", "-", "-s", "a.fps", "-k", "0"], "deadbeef\n"),
        "deadbeef\tdeadbeef\t0\ta\n"
    );
    let stream = ["dedup", "--add", "-", "-s", "a.fps", "-k", "1", "-q"];
    let (answers, _) = dir.run_on(&stream, "deadbeef\te\n0eadbea0\tf\n", 0);
    assert_eq!(answers, "near\tdeadbeef\te\tdeadbeef\t0\ta\nnew\t0eadbea0\tf\n");
    dir.run(&["delete", "-s", "a.fps", "--id", "f", "-q"], 0);
    dir.run(&["delete", "-s", "a.fps", "--fingerprint", "deadbeee", "-q"], 0);
    dir.run_on(&["add", "-s", "a.fps", "-q"], "0000beef\td\n", 0);
    assert_eq!(dir.ok(&["query", "beef", "-s", "a.fps", "-q"], ""), "0000beef\t0000beef\t0\td\n");
}

#[test]
fn what_does_not_fit_is_refused_with_its_remedy() {
    let dir = TestDir::with("a.tsv", "deadbeef\ta\n00c0ffee\tb\n");
    let (_, err) = dir.run(&["build", "a.tsv", "-s", "a.fps"], 2);
    assert!(err.contains("run: fpstore build a.tsv -s a.fps --bits 32"), "{err}");
    dir.run(&["build", "a.tsv", "-s", "a.fps", "--bits", "32", "-q"], 0);
    let (_, err) = dir.run(&["query", "0123456789abcdef", "-s", "a.fps"], 2);
    assert!(err.contains("'0123456789abcdef' has more than 32 bits"), "{err}");
    // Leading zeros beyond 8 digits are accepted.
    dir.run(&["query", "00000000deadbeef", "-s", "a.fps"], 0);
    let (_, err) = dir.run_on(&["add", "-s", "a.fps"], "deadbeef\tx\n1deadbeef\ty\n", 2);
    assert!(err.contains("line 2") && err.contains("more than 32 bits"), "{err}");
    let (_, err) = dir.run(&["query", "--from", "a.tsv", "--bits", "64", "-s", "a.fps"], 2);
    assert!(err.contains("--bits 64: the fingerprints of the store have 32 bits"), "{err}");
    dir.write("wide.tsv", "0123456789abcdef\tw\n");
    dir.run(&["build", "wide.tsv", "-s", "wide.fps", "-q"], 0);
    for args in [&["join", "wide.fps", "a.fps"][..], &["import", "wide.fps", "-s", "a.fps"]] {
        let (_, err) = dir.run(args, 2);
        assert!(err.contains("recipes differ") && err.contains("bits=32"), "{args:?}: {err}");
    }
    for args in [&["stats", "a.fps"][..], &["stats", "a.tsv", "--bits", "32"]] {
        let (_, err) = dir.run(args, 2);
        assert!(err.contains("64 bits"), "{args:?}: {err}");
    }
    let (_, err) = dir.run(&["build", "--docs", "a.tsv", "-s", "d.fps", "--bits", "32"], 2);
    assert!(err.contains("--bits is for fingerprints"), "{err}");
    let (_, err) =
        dir.run(&["build", "a.tsv", "-s", "d.fps", "--bits", "32", "--recipe", "minhash"], 2);
    assert!(err.contains("--recipe is for fingerprints of 64 bits"), "{err}");
}
