//! Tests `plan`: it recommends the scheme that `build --scheme auto` chooses, and rejects
//! impossible requests.

use std::fs;

use serde_json::Value;

use crate::common::program::{TestDir, text};

/// Writes evenly distributed fingerprints, of which only the bits in `mask` vary, with ids from 1.
fn write_fingerprints(dir: &TestDir, name: &str, count: u64, mask: u64) {
    let spread = |i: u64| {
        let z = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (z ^ z >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    };
    let lines: String = (1..=count).map(|i| format!("{:016x}\t{i}\n", spread(i) & mask)).collect();
    dir.write(name, lines);
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn the_frontier_is_a_table_with_the_choice_marked_and_its_masks_to_copy() {
    let dir = TestDir::new();
    let (out, err) = dir.run(&["plan", "-n", "1e9"], 0);
    assert_eq!(err, "");
    assert!(out.contains("1 000 000 000 fingerprints, random bits; k = 3"), "{out}");
    let chosen: Vec<&str> = out.lines().filter(|line| line.starts_with('*')).collect();
    assert!(chosen.len() == 1 && chosen[0].starts_with("* halves"), "{out}");
    assert!(chosen[0].ends_with("fastest within the budget"), "{out}");
    assert!(out.ends_with("ffffffff00000000\n00000000ffffffff\n"), "{out}");
    let (all, _) = dir.run(&["plan", "-n", "1e9", "--all"], 0);
    assert!(all.lines().count() > out.lines().count() + 5);
    let (out, _) = dir.run(&["plan", "-n", "5000", "-k", "30"], 0);
    assert!(out.contains("by a scan"), "{out}");
}

#[test]
fn json_has_every_number_and_no_scheme_of_the_frontier_beats_another_in_both() {
    let dir = TestDir::new();
    let (out, _) = dir.run(&["plan", "-n", "1e8", "--budget", "2GB", "--format", "json"], 0);
    let plan = json(&out);
    assert_eq!(plan["fingerprints"], 100_000_000);
    assert_eq!(plan["budget_len"], 2e9);
    let schemes = plan["schemes"].as_array().unwrap();
    assert_eq!(schemes.iter().filter(|s| s["chosen"] == true).count(), 1);
    let frontier: Vec<&Value> = schemes.iter().filter(|s| s["on_frontier"] == true).collect();
    let number = |s: &Value, name: &str| s[name].as_f64().unwrap();
    for pair in frontier.windows(2) {
        assert!(number(pair[0], "tables_len") <= number(pair[1], "tables_len"));
        assert!(number(pair[0], "hot_micros") > number(pair[1], "hot_micros"));
    }
    for scheme in schemes {
        for name in
            ["probes", "candidates", "hot_len", "cold_pages", "cold_micros", "largest_group"]
        {
            assert!(number(scheme, name) > 0.0, "{name}: {scheme}");
        }
    }
}

#[test]
fn a_sample_moves_masks_to_the_bits_that_tell_values_apart() {
    let dir = TestDir::new();
    write_fingerprints(&dir, "ips.tsv", 5000, 0xffff_ffff);
    let args = ["plan", "--sample", "ips.tsv", "-n", "1e6", "--format", "json"];
    let (out, _) = dir.run(&args, 0);
    let plan = json(&out);
    assert_eq!(plan["sample"], 5000);
    let schemes = plan["schemes"].as_array().unwrap();
    let chosen = schemes.iter().find(|s| s["chosen"] == true).unwrap();
    for mask in chosen["masks"].as_array().unwrap() {
        assert!(mask.as_str().unwrap().starts_with("00000000"), "{chosen}");
    }
    let (out, _) = dir.run(&["plan", "--sample", "ips.tsv"], 0);
    assert!(out.contains("5 000 fingerprints, like a sample of 5 000"), "{out}");
}

#[test]
fn what_cannot_be_planned_names_what_would_work() {
    let dir = TestDir::new();
    dir.write("one.tsv", "c0f1789bed2eb9b8\n");
    dir.write("junk.bin", b"\x00\xff\x01junk");
    for (args, named) in [
        (&["plan"][..], "give -n COUNT"),
        (&["plan", "-n", "0"], "0 fingerprints, expected 1 to 2^40"),
        (&["plan", "-n", "many"], "'many' is not a count, expected one such as 1e9"),
        (&["plan", "-n", "1e9", "-k", "65"], "0..=64"),
        (&["plan", "-n", "1e9", "--budget", "1GB"], "the smallest that works is"),
        (&["plan", "-n", "1e9", "--budget", "lots"], "12GB or 16B/fp"),
        (&["plan", "--sample", "one.tsv"], "at least 16 distinct fingerprints, this one has 1"),
        (&["plan", "--sample", "junk.bin"], "junk.bin: line 1"),
        (&["plan", "--sample", "missing.tsv"], "missing.tsv"),
        (&["plan", "-n", "1e6", "--svg", "no/such/folder.svg"], "no/such/folder.svg"),
        (&["build", "one.tsv", "--budget", "3B/fp"], "the smallest that works is"),
        (
            &["build", "one.tsv", "--scheme", "2", "--budget", "3B/fp"],
            "--budget is for --scheme auto",
        ),
    ] {
        // `output` and not `run`, because messages of the argument parser have another form.
        let output = dir.output(args, "");
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let (out, err) = (text(output.stdout), text(output.stderr));
        assert_eq!(out, "", "{args:?}");
        assert!(err.contains(named), "{args:?}: {err}");
    }
    assert!(!dir.path("store.fps").exists());
}

#[test]
fn the_smallest_budget_that_is_named_works() {
    let dir = TestDir::new();
    write_fingerprints(&dir, "all.tsv", 3000, u64::MAX);
    let (_, err) = dir.run(&["build", "all.tsv", "--budget", "1B/fp"], 2);
    let least = err.split("smallest that works is ").nth(1).unwrap().split(' ').next().unwrap();
    dir.run(&["build", "all.tsv", "--budget", least], 0);
    let (out, _) = dir.run(&["info", "--format", "json"], 0);
    assert_eq!(json(&out)["segments"][0]["tables"].as_array().unwrap().len(), 1);
}

#[test]
fn a_build_takes_the_scheme_that_plan_shows_and_answers_with_it() {
    let dir = TestDir::new();
    write_fingerprints(&dir, "dead.tsv", 4000, u64::MAX >> 20);
    for (k, budget) in [("3", "16B/fp"), ("6", "30B/fp"), ("1", "100KB")] {
        let plan =
            ["plan", "--sample", "dead.tsv", "-k", k, "--budget", budget, "--format", "json"];
        let plan = json(&dir.run(&plan, 0).0);
        let schemes = plan["schemes"].as_array().unwrap();
        let chosen = schemes.iter().find(|s| s["chosen"] == true).unwrap();
        dir.run(&["build", "dead.tsv", "-k", k, "--budget", budget, "-f"], 0);
        let info = json(&dir.run(&["info", "--format", "json"], 0).0);
        let tables = info["segments"][0]["tables"].as_array().unwrap();
        let masks: Vec<&Value> = tables.iter().map(|table| &table["mask"]).collect();
        assert_eq!(masks, chosen["masks"].as_array().unwrap().iter().collect::<Vec<_>>());
        dir.run(&["verify"], 0);
    }
}

#[test]
fn the_order_of_input_does_not_change_what_auto_builds() {
    let dir = TestDir::new();
    write_fingerprints(&dir, "forward.tsv", 3000, 0x0fff_ff00_00ff_ffff);
    let text = dir.read("forward.tsv");
    let backward: Vec<&str> = text.lines().rev().collect();
    dir.write("backward.tsv", backward.join("\n"));
    let built = |input: &str| {
        let store = input.replace("tsv", "fps");
        dir.run(&["build", input, "-q", "--id-type", "none", "-s", &store], 0);
        fs::read(dir.path(&store).join("segment-0000000000000001.fps")).unwrap()
    };
    assert!(built("forward.tsv") == built("backward.tsv"));
}

#[test]
fn an_empty_input_builds_an_empty_store() {
    let dir = TestDir::new();
    dir.write("empty.tsv", "");
    dir.run(&["build", "empty.tsv", "--budget", "1B/fp"], 0);
    dir.run(&["query", "0"], 1);
}

#[test]
fn the_picture_is_an_svg_that_names_the_choice() {
    let dir = TestDir::new();
    dir.run(&["plan", "-n", "1e8", "--svg", "plan.svg"], 0);
    let svg = dir.read("plan.svg");
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    for named in ["halves", "budget", "bytes a fingerprint", "microseconds"] {
        assert!(svg.contains(named), "{named}");
    }
}
