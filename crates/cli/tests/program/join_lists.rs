//! Tests `join`: it finds the same pairs as a scan of both lists, for files and for stores.

use crate::common::program::TestDir;

fn even(i: u64) -> u64 {
    let z = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z ^ z >> 27
}

/// Two lists of records. Some values differ in 0 to 4 bits from a value of the other list.
fn lists() -> [Vec<(u64, String)>; 2] {
    let near = |i: u64| even(i) ^ ((1 << (i % 5)) - 1) << (i % 59);
    let one = (0..120).map(|i| (even(i % 100), format!("a{i}")));
    let other = (50..170).map(|i| (near(i), format!("b{i}")));
    [one.collect(), other.collect()]
}

fn write(dir: &TestDir, name: &str, list: &[(u64, String)]) {
    let lines: String = list.iter().map(|(value, id)| format!("{value:016x}\t{id}\n")).collect();
    dir.write(name, lines);
}

/// The expected lines, computed by comparing all records of the two lists.
fn scan([asked, searched]: [&[(u64, String)]; 2], k: u32) -> Vec<String> {
    let mut lines = Vec::new();
    for (query, id) in asked {
        for (value, other) in searched {
            let distance = (query ^ value).count_ones();
            if distance <= k {
                lines.push(format!("{id}\t{query:016x}\t{value:016x}\t{distance}\t{other}"));
            }
        }
    }
    lines.sort();
    lines
}

#[test]
fn files_and_stores_are_joined_as_by_a_scan() {
    let dir = TestDir::new();
    let [one, other] = lists();
    write(&dir, "one.tsv", &one);
    write(&dir, "other.tsv", &other);
    dir.run(&["build", "one.tsv", "-s", "one.fps", "-q"], 0);
    dir.run(&["build", "other.tsv", "-s", "other.fps", "-q"], 0);
    for k in [0, 2, 3, 4] {
        let expected = scan([&one, &other], k);
        assert!(expected.len() >= 10, "k = {k}");
        for asked in ["one.tsv", "one.fps"] {
            for searched in ["other.tsv", "other.fps"] {
                let (out, _) = dir.run(&["join", asked, searched, "-k", &k.to_string()], 0);
                let mut lines: Vec<&str> = out.lines().collect();
                if asked == "one.tsv" {
                    // The lines are sorted by the order of the first list.
                    let number = |line: &&str| -> u64 {
                        line.split('\t').next().unwrap()[1..].parse().unwrap()
                    };
                    assert!(lines.is_sorted_by_key(number), "{out}");
                }
                lines.sort_unstable();
                assert_eq!(lines, expected, "{asked} {searched} {k}");
            }
        }
    }
    // The default of -k is the distance of the searched store, or 3 for a file.
    let (out, _) = dir.run(&["join", "one.tsv", "other.fps"], 0);
    assert_eq!(out.lines().count(), scan([&one, &other], 3).len());
    let (out, _) =
        dir.run_on(&["join", "-", "other.fps"], format!("{:x}\n", other[0].0).as_bytes(), 0);
    assert!(out.contains("\tb50"), "{out}");
}

#[test]
fn documents_of_two_folders_are_joined() {
    let dir = TestDir::new();
    let text =
        |words: std::ops::Range<u32>| words.map(|word| format!("word{word} ")).collect::<String>();
    let line = |id: &str, text: String| format!("{{\"id\":\"{id}\",\"text\":\"{text}\"}}\n");
    dir.write("one.jsonl", line("x", text(0..200)) + &line("y", text(500..700)));
    dir.write("other.jsonl", line("z", text(0..200)) + &line("w", text(900..990)));
    let (out, _) = dir.run(&["join", "--docs", "one.jsonl", "other.jsonl"], 0);
    let fields: Vec<&str> = out.trim_end().split('\t').collect();
    assert_eq!((fields[0], fields[3], fields[4]), ("x", "0", "z"), "{out}");
}

/// If both lists have the same fields, one message tells which were guessed.
#[test]
fn fields_of_two_lists_are_told_once() {
    let dir = TestDir::new();
    let line = |id: &str| format!("{{\"url\":\"{id}\",\"body\":\"one two three four five\"}}\n");
    dir.write("one.jsonl", line("a"));
    dir.write("two.jsonl", line("b"));
    let (_, err) = dir.run(&["join", "--docs", "one.jsonl", "two.jsonl"], 0);
    assert_eq!(err.matches("field 'url' is used as the id").count(), 1, "{err}");
    dir.write("other.jsonl", line("c").replace("body", "content"));
    let (_, err) = dir.run(&["join", "--docs", "one.jsonl", "other.jsonl"], 0);
    assert_eq!(err.matches("field 'url' is used as the id").count(), 2, "{err}");
}

#[test]
fn edges_and_refusals_of_a_join() {
    let dir = TestDir::new();
    dir.write("empty.tsv", "");
    dir.write("one.tsv", "0000000000000005 a\n");
    dir.write("far.tsv", "ffffffffffffffff b\n");
    for [asked, searched] in
        [["empty.tsv", "one.tsv"], ["one.tsv", "empty.tsv"], ["one.tsv", "far.tsv"]]
    {
        let (out, _) = dir.run(&["join", asked, searched], 1);
        assert_eq!(out, "");
    }
    let (out, _) = dir.run(&["join", "one.tsv", "far.tsv", "-k", "62"], 0);
    assert_eq!(out, "a\t0000000000000005\tffffffffffffffff\t62\tb\n");
    dir.run(&["join", "one.tsv", "far.tsv", "-k", "61"], 1);
    let (_, err) = dir.run(&["join", "one.tsv", "one.tsv"], 2);
    assert!(err.contains("fpstore pairs one.tsv"), "{err}");
    let (_, err) = dir.run(&["join", "one.tsv", "missing.tsv"], 2);
    assert!(err.contains("missing.tsv"), "{err}");
    let (_, err) = dir.run(&["join", "one.tsv", "far.tsv", "--recipe", "minhash"], 2);
    assert!(err.contains("add --docs"), "{err}");
    // Fingerprints of two different recipes cannot be joined.
    dir.write("docs.jsonl", "{\"id\":\"x\",\"text\":\"some words that make a text\"}\n");
    dir.run(&["build", "--docs", "docs.jsonl", "-s", "docs.fps", "-q"], 0);
    dir.run(&["build", "one.tsv", "-s", "one.fps", "-q"], 0);
    let (_, err) = dir.run(&["join", "docs.fps", "one.fps"], 2);
    assert!(err.contains("recipe"), "{err}");
}
