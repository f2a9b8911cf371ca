//! Tests the commands for documents: they compute the same fingerprints for every kind of input,
//! and report bad records.

use std::io::Write;

use serde_json::{Value, json};

use crate::common::program::TestDir;

const DOCS: &str = "\
{\"id\":\"a\",\"text\":\"Two such documents differ from each other in a very small portion\"}
{\"id\":\"b\",\"text\":\"two such documents differ from each other in a very small part\"}
{\"id\":\"c\",\"text\":\"An engineer has looked at the cracks in the second pillar of the bridge\"}
{\"id\":\"empty\",\"text\":\"  \"}
";

/// A folder that contains `docs.jsonl`.
fn dir() -> TestDir {
    TestDir::with("docs.jsonl", DOCS)
}

/// The fingerprints printed by `fingerprint`, without ids.
fn fingerprints(dir: &TestDir, args: &[&str]) -> Vec<String> {
    let (out, _) = dir.run(&[&["fingerprint"], args].concat(), 0);
    out.lines().map(|line| line.split('\t').next().unwrap().to_string()).collect()
}

/// The lines of the recipe in the output of `info`.
fn recipe_of(info: &str) -> String {
    info.lines()
        .skip_while(|line| !line.starts_with("recipe"))
        .take_while(|line| !line.starts_with("generation"))
        .map(|line| format!("{line}\n"))
        .collect()
}

#[test]
fn fingerprints_are_printed_as_lines_that_build_reads() {
    let dir = dir();
    let (out, err) = dir.run(&["fingerprint", "docs.jsonl"], 0);
    let ids: Vec<&str> = out.lines().map(|line| line.split_once('\t').unwrap().1).collect();
    assert_eq!(ids, ["a", "b", "c"]);
    assert!(
        err.contains("1 document without fingerprint (no features, or a null): empty"),
        "{err}"
    );
    dir.run_on(&["build", "-", "-q"], &out, 0);
    let (info, _) = dir.run(&["info"], 0);
    assert!(info.contains("external"), "{info}");
    let (_, err) = dir.run(&["query", "--text", "some text"], 2);
    assert!(err.contains("recipe 'external'"), "{err}");
    // With --recipe the user declares the recipe of fingerprints that are read.
    let told = ["build", "-", "-q", "--recipe", "minhash", "-s", "told.fps"];
    dir.run_on(&told, &out, 0);
    let text = "two such documents differ from each other in a very small part";
    let (found, _) = dir.run(&["query", "--text", text, "-s", "told.fps", "-k0"], 0);
    assert!(found.ends_with("\t0\tb\n"), "{found}");
}

#[test]
fn a_store_of_documents_is_asked_with_texts_and_files_by_its_own_recipe() {
    let dir = dir();
    let recipe = ["--shingle", "1", "--hash-key", "000102030405060708090a0b0c0d0e0f"];
    let (_, err) = dir.run(&[&["build", "--docs", "docs.jsonl"], &recipe[..]].concat(), 0);
    assert!(err.contains("3 records, 3 fingerprints, 3 ids"), "{err}");
    let (info, _) = dir.run(&["info"], 0);
    for part in ["fpstore-text=1", "shingle=1", "hash=siphash-1-3 000102030405060708090a0b0c0d0e0f"]
    {
        assert!(info.contains(part), "{part}: {info}");
    }
    let near = "Two such documents differ from each other in a very small portion!";
    let (out, _) = dir.run(&["query", "--text", near, "-k", "0"], 0);
    assert!(out.ends_with("\t0\ta\n") && out.lines().count() == 1, "{out}");
    dir.write("page.html", format!("<html><body><p>{near}</p></body></html>"));
    dir.write("plain.txt", near);
    let (from_files, _) =
        dir.run(&["query", "--file", "page.html", "--file", "plain.txt", "-k0"], 0);
    assert_eq!(from_files, out.repeat(2));
    let (_, err) = dir.run(&["query", "--text", " "], 2);
    assert!(err.contains("no features"), "{err}");
    let (_, err) = dir.run(&["query", "--file", "docs.jsonl"], 2);
    assert!(err.contains("holds 4 documents, expected one"), "{err}");
    // The recipe that `info` prints, given as a file, computes the same fingerprints.
    dir.write("recipe.txt", recipe_of(&info));
    let again = fingerprints(&dir, &["docs.jsonl", "--recipe", "recipe.txt"]);
    assert_eq!(again, fingerprints(&dir, &[&["docs.jsonl"], &recipe[..]].concat()));
}

#[test]
fn every_kind_of_input_gives_the_same_fingerprints() {
    let dir = dir();
    let texts: Vec<(String, String)> = DOCS
        .lines()
        .take(3)
        .map(|line| {
            let row: Value = serde_json::from_str(line).unwrap();
            let field = |name: &str| row[name].as_str().unwrap().to_string();
            (field("id"), field("text"))
        })
        .collect();
    let expected = fingerprints(&dir, &["docs.jsonl"]);
    let csv: String = texts.iter().map(|(id, text)| format!("{id},\"{text}\"\r\n")).collect();
    dir.write("docs.csv", format!("key,body\r\n{csv}"));
    let tsv: String = texts.iter().map(|(id, text)| format!("{text}\t{id}\n")).collect();
    dir.write("docs.tsv", format!("text\tid\n{tsv}"));
    let lines: String = texts.iter().map(|(_, text)| format!("{text}\n")).collect();
    dir.write("docs.lines", &lines);
    for (id, text) in &texts {
        dir.write(&format!("folder/sub/{id}.txt"), text);
        let page = format!("<html><head></head><body><div>{text}</div></body></html>");
        dir.write(&format!("pages/{id}.html"), page);
    }
    dir.write("folder/.hidden", "not read");
    dir.write("docs.jsonl.zst", zstd::encode_all(DOCS.as_bytes(), 3).unwrap());
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(csv_with_names(&texts).as_bytes()).unwrap();
    dir.write("docs.csv.gz", gz.finish().unwrap());
    let utf16: Vec<u8> =
        format!("\u{feff}{DOCS}").encode_utf16().flat_map(u16::to_be_bytes).collect();
    dir.write("utf16.jsonl", utf16);
    for args in [
        &["docs.jsonl.zst"][..],
        &["docs.csv", "--id-field", "key", "--text-field", "body"],
        &["docs.csv.gz"],
        &["docs.tsv"],
        &["docs.lines", "--docs-format", "lines"],
        &["folder"],
        &["pages"],
        &["utf16.jsonl"],
        &["docs.jsonl", "--threads", "1"],
        &["docs.jsonl", "--threads", "5"],
    ] {
        assert_eq!(fingerprints(&dir, args), expected, "{args:?}");
    }
    let (out, _) = dir.run_on(&["fingerprint"], DOCS, 0);
    assert_eq!(out.lines().count(), 3);
    let (out, _) = dir.run(&["fingerprint", "folder", "docs.lines", "--docs-format", "lines"], 0);
    let ids: Vec<&str> = out.lines().map(|line| line.split_once('\t').unwrap().1).collect();
    assert_eq!(ids[..4], ["sub/a.txt:1", "sub/b.txt:1", "sub/c.txt:1", "docs.lines:1"]);
}

fn csv_with_names(texts: &[(String, String)]) -> String {
    let rows: String = texts.iter().map(|(id, text)| format!("{id},{text}\n")).collect();
    format!("id,text\n{rows}")
}

#[test]
fn ready_features_are_taken_with_their_weights() {
    let dir = dir();
    let lines = "{\"id\":1,\"features\":{\"alpha\":2.5,\"beta\":1,\"gamma\":1}}\n\
                 {\"id\":2,\"features\":{\"alpha\":7}}\n{\"id\":3,\"features\":{\"beta\":0}}\n";
    dir.write("f.jsonl", lines);
    let (out, err) = dir.run(&["fingerprint", "f.jsonl", "--docs-format", "features"], 0);
    // The weight 2.5 is greater than 1 + 1, so the first feature determines both fingerprints.
    let prints: Vec<&str> = out.lines().map(|line| &line[..16]).collect();
    assert_eq!((prints.len(), prints[0]), (2, prints[1]));
    assert!(err.contains("1 document without fingerprint"), "{err}");
    dir.run(&["build", "--docs", "f.jsonl", "--docs-format", "features", "-q"], 0);
    let (info, _) = dir.run(&["info"], 0);
    assert!(info.contains("segment=given"), "{info}");
    // MinHash accepts only features without weights.
    let minhash = ["--docs-format", "features", "--recipe", "minhash"];
    let (_, err) = dir.run(&[&["fingerprint", "f.jsonl"], &minhash[..]].concat(), 2);
    assert!(err.contains("line 1: feature 'alpha' has a weight other than 1"), "{err}");
    dir.write("sets.jsonl", lines.replace("2.5", "1").replace('7', "1"));
    let (sets, _) = dir
        .run(&["fingerprint", "sets.jsonl", "--docs-format", "features", "--recipe", "minhash"], 0);
    assert_eq!(sets.lines().count(), 2);
    dir.write("recipe.txt", recipe_of(&info));
    dir.run(&["fingerprint", "f.jsonl", "--recipe", "recipe.txt", "--docs-format", "features"], 0);
    dir.write("docs.csv", "id,text\n1,one two\n");
    let (_, err) = dir.run(&["fingerprint", "docs.csv", "--recipe", "recipe.txt"], 2);
    assert!(
        err.contains("the recipe is for features made elsewhere; docs.csv holds texts"),
        "{err}"
    );
}

#[test]
fn bad_records_are_named_or_passed_over() {
    let dir = dir();
    dir.write(
        "bad.jsonl",
        "{\"id\":1,\"text\":\"one two\"}\nnot json\n\n{\"id\":2}\n{\"id\":3,\"text\":\"x y\"}\n",
    );
    let (_, err) = dir.run(&["fingerprint", "bad.jsonl"], 2);
    assert!(err.contains("bad.jsonl: line 2: not JSON: ") && err.contains("--skip-bad"), "{err}");
    let (out, err) = dir.run(&["fingerprint", "bad.jsonl", "--skip-bad"], 0);
    assert_eq!(out.lines().count(), 2);
    assert!(
        err.contains("line 4: no field 'text'") && err.contains("2 bad records skipped"),
        "{err}"
    );
    dir.write("latin.txt", b"caf\xe9 and more words than that");
    let (_, err) = dir.run(&["fingerprint", "latin.txt"], 2);
    assert!(err.contains("latin.txt") && err.contains("byte 3: not UTF-8"), "{err}");
    assert!(err.contains("--encoding"), "{err}");
    let latin = fingerprints(&dir, &["latin.txt", "--encoding", "windows-1252"]);
    dir.write("utf8.txt", "caf\u{e9} and more words than that");
    assert_eq!(latin, fingerprints(&dir, &["utf8.txt"]));
    assert_eq!(fingerprints(&dir, &["latin.txt", "--encoding", "detect"]), latin);
    dir.write("junk.csv", b"\x00\xff\x01");
    dir.run(&["fingerprint", "junk.csv"], 2);
    dir.write("none.jsonl", "");
    assert_eq!(dir.run(&["fingerprint", "none.jsonl"], 0), (String::new(), String::new()));
    let (_, err) = dir.run(&["fingerprint", "missing.txt"], 2);
    assert!(err.contains("cannot open missing.txt"), "{err}");
    dir.write("id.jsonl", "{\"id\":\"a\\nb\",\"text\":\"one two\"}\n");
    let (_, err) = dir.run(&["fingerprint", "id.jsonl"], 2);
    assert!(err.contains("line 1: bad id"), "{err}");
    for args in [
        &["fingerprint", "docs.jsonl", "--recipe", "french"][..],
        &["fingerprint", "docs.jsonl", "--segment", "characters", "--shingle", "2"],
        &["fingerprint", "docs.jsonl", "--hash-key", "12"],
        &["fingerprint", "docs.jsonl", "--encoding", "klingon"],
        &["fingerprint", "docs.jsonl", "--df", "docs.jsonl"],
        &["build", "--docs", "bad.jsonl"],
    ] {
        dir.run(args, 2);
    }
    assert!(!dir.path("store.fps").exists());
}

#[test]
fn tables_and_lists_are_part_of_the_recipe_and_must_be_given_again() {
    let dir = dir();
    let words = ["--recipe", "simhash", "--segment", "words", "--shingle", "1"];
    let make = [&["df", "docs.jsonl", "-o", "docs.df"], &words[..]].concat();
    let (_, err) = dir.run(&make, 0);
    assert!(err.contains("docs.df: 3 documents, "), "{err}");
    dir.run(&make, 2);
    dir.run(&["df", "docs.jsonl", "-o", "other.df", "--recipe", "simhash"], 0);
    dir.write("stop.txt", "the\nin\na\n");
    let build = ["build", "--docs", "docs.jsonl", "-q", "--df", "docs.df"];
    dir.run(&[&build, &words[..]].concat(), 0);
    // MinHash does not support weights.
    for option in [["--df", "docs.df"], ["--count", "log"], ["--top", "9"], ["--tie", "one"]] {
        let (_, err) = dir.run(&[&["fingerprint", "docs.jsonl"], &option[..]].concat(), 2);
        assert!(err.contains("minhash") && err.contains("simhash"), "{err}");
    }
    let text = "two such documents differ from each other in a very small part";
    let (_, err) = dir.run(&["query", "--text", text], 2);
    assert!(err.contains("the recipe needs the table of document frequencies"), "{err}");
    let (_, err) = dir.run(&["query", "--text", text, "--df", "other.df"], 2);
    assert!(err.contains("the recipe needs the table of document frequencies"), "{err}");
    let (out, _) = dir.run(&["query", "--text", text, "--df", "docs.df", "-k0"], 0);
    assert!(out.ends_with("\t0\tb\n"), "{out}");
    let other = [&["fingerprint", "docs.jsonl", "--df", "other.df"], &words[..]].concat();
    let (_, err) = dir.run(&other, 2);
    assert!(err.contains("was made with unicode=categories"), "{err}");
    let stopped =
        ["build", "--docs", "docs.jsonl", "--stop-words", "stop.txt", "-s", "s.fps", "-q"];
    dir.run(&stopped, 0);
    dir.run(&["query", "--text", text, "-s", "s.fps"], 2);
    dir.run(&["query", "--text", text, "-s", "s.fps", "--stop-words", "stop.txt"], 0);
}

/// A store with an earlier recipe, which keeps curly apostrophes and soft hyphens, finds a text
/// only in the stored spelling.
#[test]
fn a_store_of_an_earlier_recipe_answers_as_before_and_mixes_with_no_other() {
    let dir = dir();
    let plain = "It's the third time he's asked, and she hasn't answered.";
    let curly = plain.replace('\'', "\u{2019}").replace("third", "th\u{ad}ird");
    let docs =
        format!("{}\n{}\n", json!({"id": "a", "text": plain}), json!({"id": "b", "text": curly}));
    dir.write("docs.jsonl", &docs);
    let build = ["build", "--docs", "docs.jsonl", "-q"];
    dir.run(&[&build[..], &["-s", "new.fps"]].concat(), 0);
    let (info, _) = dir.run(&["info", "-s", "new.fps"], 0);
    let recipe = info.lines().skip_while(|line| !line.starts_with("recipe"));
    let recipe = recipe.take_while(|line| !line.starts_with("generation"));
    let is_new = |line: &&str| line.contains("ignorables=") || line.contains("apostrophes=");
    let lines: Vec<&str> = recipe.filter(|line| !is_new(line)).collect();
    dir.write("earlier", lines.join("\n"));
    dir.run(&[&build[..], &["--recipe", "earlier", "-s", "old.fps"]].concat(), 0);
    // The expected value was computed by a release before these lines of the recipe existed.
    let (found, _) = dir.run(&["query", "--text", &curly, "-s", "old.fps", "-k0"], 0);
    assert_eq!(found, "1ec28aefe62e9726\t1ec28aefe62e9726\t0\tb\n");
    let (found, _) = dir.run(&["query", "--text", &curly, "-s", "new.fps", "-k0"], 0);
    let value = "1c563d64217f7245";
    assert_eq!(found, format!("{value}\t{value}\t0\ta\n{value}\t{value}\t0\tb\n"));
    // `add` uses the recipe of the store.
    dir.run(&["add", "--docs", "docs.jsonl", "-s", "old.fps", "-q"], 0);
    let (found, _) = dir.run(&["dump", "-s", "old.fps"], 0);
    assert!(found.contains("1ec28aefe62e9726\tb\n") && found.contains(&format!("{value}\ta\n")));
    for mixed in [
        &["join", "old.fps", "new.fps"][..],
        &["join", "new.fps", "old.fps"],
        &["import", "old.fps", "-s", "new.fps"],
    ] {
        let (_, err) = dir.run(mixed, 2);
        assert!(
            err.contains("recipes differ") && err.contains("ignorables=dropped"),
            "{mixed:?}: {err}"
        );
    }
    let both = ["clean", "docs.jsonl", "-s", "old.fps", "-s", "new.fps", "-o", "kept.jsonl"];
    let (_, err) = dir.run(&both, 2);
    assert!(err.contains("made in different ways") && err.contains("ignorables=dropped"), "{err}");
}

#[test]
fn words_of_a_list_without_effect_are_counted() {
    let dir = dir();
    dir.write("docs.jsonl", "{\"id\":\"a\",\"text\":\"The cat and the hat And the mat\"}\n");
    let run = |list: &str| {
        dir.write("list.txt", list);
        dir.run(&["fingerprint", "docs.jsonl", "--stop-words", "list.txt"], 0)
    };
    let (small, _) = run("the\nand\n");
    let (capital, err) = run("The \nAnd\n");
    assert_eq!(capital, small);
    assert!(!err.contains("without effect"), "{err}");
    let (more, err) = run("The\nNew York\nAnd\n--\n");
    assert_eq!(more, small);
    let told =
        "2 words in lists without effect: '--' is not a single word or feature by this recipe";
    assert!(err.contains(told), "{err}");
}

#[test]
fn compare_and_evaluate_tell_distances() {
    let dir = dir();
    let (out, _) =
        dir.run(&["compare", "--literal", "the quick brown fox", "The quick, brown fox!"], 0);
    let same = "distance\t0\nestimate\t1.000\njaccard\t1.000\nshared\t3 features\n\
                only A\t0 features\nonly B\t0 features\n";
    assert!(out.ends_with(same), "{out}");
    let (out, _) = dir.run(&["compare", "--literal", "one two three", "one two six"], 0);
    let (_, lists) = out.split_once("jaccard").unwrap();
    let expected = "\t0.333\nshared\t1 feature\nonly A\t1 feature\n\ttwo three\n\
                    only B\t1 feature\n\ttwo six\n";
    assert_eq!(lists, expected);
    let (json, _) = dir.run(&["compare", "--literal", "one two", "six ten", "--format", "json"], 0);
    let report: Value = serde_json::from_str(&json).unwrap();
    assert!(report["distance"].as_u64().unwrap() > 10, "{json}");
    assert_eq!((&report["jaccard"], &report["only_second"][0]), (&0.0.into(), &"six ten".into()));
    dir.run(&["compare", "--literal", " ", "a"], 2);

    dir.write("pairs.tsv", "id1\tid2\tlabel\na\tb\t1\na\tc\t0\nc\tb\t-1\n");
    let args = ["evaluate", "--pairs", "pairs.tsv", "--docs", "docs.jsonl"];
    let (out, _) = dir.run(&[&args[..], &["--svg", "curve.svg"]].concat(), 0);
    assert_eq!(out.lines().count(), 38);
    assert!(out.contains("\nbest f1\t1.0000\n") && out.contains("\nspread\t"), "{out}");
    let svg = dir.read("curve.svg");
    assert!(svg.starts_with("<svg") && svg.contains("precision"), "{svg}");
    dir.run(&[&args[..], &["--svg", "curve.svg"]].concat(), 2);
    let (out, _) =
        dir.run(&[&args[..], &["--unlisted-differ", "--format", "json", "-q"]].concat(), 0);
    let report: Value = serde_json::from_str(&out).unwrap();
    let result = &report["recipes"][0];
    assert_eq!(result["points"].as_array().unwrap().len(), 33);
    // One of 4 documents has no fingerprint, so 3 pairs are measured: a and b are duplicates, c and
    // b are ignored.
    assert_eq!((&result["duplicates"], &result["others"]), (&1.into(), &1.into()));
    for (pairs, part) in [
        ("a\tb\n", "expected two ids and a label"),
        ("a\tx\t1\n", "no document has the id 'x'"),
        ("a\tb\t1\na\tb\t2\n", "line 2: label is '2'"),
        ("a\tb\t1\nb\ta\t0\n", "another label"),
    ] {
        dir.write("pairs.tsv", pairs);
        let (_, err) = dir.run(&args, 2);
        assert!(err.contains(part), "{err}");
    }
}

#[test]
fn many_documents_come_out_in_order_whatever_the_number_of_threads() {
    let dir = dir();
    let lines: String = (0..5000)
        .map(|n| format!("{{\"id\":{n},\"text\":\"document {n} has {} and {}\"}}\n", n % 7, n * n))
        .collect();
    dir.write("many.jsonl", lines);
    let (one, _) = dir.run(&["fingerprint", "many.jsonl", "--threads", "1"], 0);
    let (four, _) = dir.run(&["fingerprint", "many.jsonl", "--threads", "4"], 0);
    assert!(one == four);
    let ids: Vec<usize> =
        one.lines().map(|line| line.split_once('\t').unwrap().1.parse().unwrap()).collect();
    assert_eq!(ids, (0..5000).collect::<Vec<_>>());
    // It is not an error that the reader of the output closes the pipe.
    let mut child = dir.command(&["fingerprint", "many.jsonl"]).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

#[test]
fn recipes_are_measured_side_by_side_and_for_larger_collections() {
    let dir = dir();
    dir.write("pairs.tsv", "a\tb\t1\n");
    let args = ["evaluate", "--pairs", "pairs.tsv", "--docs", "docs.jsonl", "--unlisted-differ"];
    let (out, _) = dir.run(&[&args[..], &["--all", "--svg", "all.svg"]].concat(), 0);
    let names: Vec<&str> = out.lines().map(|line| line.split('\t').next().unwrap()).collect();
    assert_eq!(names, ["recipe", "minhash", "simhash", "code", "1e0ng"]);
    assert!(dir.read("all.svg").contains(">simhash<"));
    let two = ["--recipe", "1e0ng", "--recipe", "minhash", "--collection-size", "1e6"];
    let (out, _) = dir.run(&[&args[..], &two, &["--format", "json", "--keys", "2"]].concat(), 0);
    let report: Value = serde_json::from_str(&out).unwrap();
    // The hash of the first recipe has no key, so it is measured once.
    let keys = |at: usize| report["recipes"][at]["of_keys"].as_array().unwrap().len();
    assert_eq!((keys(0), keys(1)), (1, 2));
    let forecast = &report["recipes"][1]["forecast"];
    assert_eq!(forecast["collection_size"], 1_000_000);
    assert!(forecast["points"][32]["by_chance"].as_f64().unwrap() > 2e11);
    let (out, _) = dir.run(&[&args[..], &["--collection-size", "1e6"]].concat(), 0);
    assert!(out.contains("\nexpected in 1 000 000 documents\n"), "{out}");
    assert!(out.lines().last().unwrap().starts_with("recommended k\t"), "{out}");
    for (wrong, part) in [
        (&["--pairs", "pairs.tsv", "docs.jsonl", "--recipe", "minhash"][..], "--docs"),
        (&["--pairs", "pairs.tsv", "--docs", "-", "--keys", "2"], "can be read once"),
    ] {
        let (_, err) = dir.run_on(&[&["evaluate"], wrong].concat(), DOCS, 2);
        assert!(err.contains(part), "{err}");
    }
    // Standard input can be read only once, so it is measured with one key.
    let (out, _) = dir.run_on(&["evaluate", "--pairs", "pairs.tsv", "--docs", "-"], DOCS, 0);
    assert!(!out.contains("spread"), "{out}");
    // Files of fingerprints in place of documents.
    dir.write("hashes.tsv", "00000000000000ff\ta\n00000000000000fe\tb\nffff000000000000\tc\n");
    let ready = ["evaluate", "--pairs", "pairs.tsv", "hashes.tsv", "--unlisted-differ"];
    let (out, _) = dir.run(&ready, 0);
    assert!(out.contains("\n1\t1\t0\t0\t1.0000\t1.0000\t1.0000\n"), "{out}");
    assert!(out.contains("best k\t1\n"), "{out}");
    dir.write("hashes.tsv", "00000000000000ff\n");
    let (_, err) = dir.run(&ready, 2);
    assert!(err.contains("without an id"), "{err}");
    dir.write("hashes.tsv", "00000000000000ff\ta\n00000000000000fe\ta\n");
    let (_, err) = dir.run(&ready, 2);
    assert!(err.contains("two documents have the id 'a'"), "{err}");
}

#[test]
fn features_show_what_a_recipe_sees() {
    let dir = dir();
    let text = ["features", "--literal", "One two, one two three"];
    let (out, _) = dir.run(&text, 0);
    let rows: Vec<Vec<&str>> = out.lines().map(|line| line.split('\t').collect()).collect();
    let shown: Vec<(&str, &str, &str)> = rows.iter().map(|row| (row[0], row[1], row[3])).collect();
    assert_eq!(
        shown,
        [("2", "1.000", "one two"), ("1", "1.000", "two one"), ("1", "1.000", "two three")]
    );
    assert_eq!(rows[0][2], "7bcf8b09c87cc52e");
    let (out, _) = dir.run(&[&text[..], &["--words"]].concat(), 0);
    assert_eq!(out, "one\ntwo\none\ntwo\nthree\n");
    // By default, shingles have seven letters with --segment letters, else two words.
    let letters = ["features", "--literal", "One two", "--segment", "letters"];
    let (out, _) = dir.run(&[&letters[..], &["--shingle", "3"]].concat(), 0);
    assert_eq!(out.lines().next().unwrap().split('\t').nth(3), Some("one"));
    let (out, _) = dir.run(&["features", "--literal", "One two three", "--segment", "letters"], 0);
    assert_eq!(out.lines().next().unwrap().split('\t').nth(3), Some("onetwot"));
    // Finds keywords: the heaviest words by count and document frequency.
    let words = ["--recipe", "simhash", "--segment", "words", "--shingle", "1"];
    dir.run(&[&["df", "docs.jsonl", "-o", "docs.df"], &words[..]].concat(), 0);
    let keywords = ["--count", "count", "--df", "docs.df", "--limit", "2"];
    let text =
        ["features", "--literal", "the documents of the engineer, the pillar and the pillar"];
    let (out, _) = dir.run(&[&text[..], &words, &keywords].concat(), 0);
    let found: Vec<&str> = out.lines().map(|line| line.rsplit('\t').next().unwrap()).collect();
    assert_eq!(found, ["the", "pillar"], "{out}");
    let (json, _) = dir.run(&[&text[..], &words, &["--format", "json"]].concat(), 0);
    let report: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(report["words"].as_array().unwrap().len(), 10);
    assert_eq!(report["features"].as_array().unwrap().len(), 6);
    assert_eq!(report["fingerprint"].as_str().unwrap().len(), 16);
    let (_, err) = dir.run(&["features", "docs.jsonl"], 2);
    assert!(err.contains("holds 4 documents, expected one"), "{err}");
}

#[test]
fn simhash_is_the_other_method_by_name() {
    let dir = dir();
    let (by_name, err) = dir.run(&["simhash", "docs.jsonl"], 0);
    assert!(err.contains("used recipe simhash"), "{err}");
    let by_recipe = dir.run(&["fingerprint", "docs.jsonl", "--recipe", "simhash"], 0).0;
    assert_eq!(by_name, by_recipe);
    let (by_default, err) = dir.run(&["fingerprint", "docs.jsonl"], 0);
    assert!(err.contains("used recipe minhash") && by_default != by_name, "{err}");
    let (_, err) = dir.run(&["simhash", "docs.jsonl", "--recipe", "minhash"], 2);
    assert!(err.contains("'fpstore fingerprint' accepts any recipe"), "{err}");
    let (_, err) =
        dir.run(&["fingerprint", "docs.jsonl", "--recipe", "minhash", "--recipe", "simhash"], 2);
    assert!(err.contains("--recipe is given twice"), "{err}");
    // The recipe `code` distinguishes operators and upper case.
    let compare = ["compare", "--literal", "return a+b", "return A-b", "--format", "json"];
    let jaccard = |recipe: &str| {
        let (json, _) = dir.run(&[&compare[..], &["--recipe", recipe]].concat(), 0);
        serde_json::from_str::<Value>(&json).unwrap()["jaccard"].as_f64().unwrap()
    };
    assert_eq!((jaccard("minhash"), jaccard("code")), (1.0, 0.0));
}
