//! Tests that invalid commands are refused, and that the advice in their messages works.

use std::fs;

use serde_json::Value;

use super::formats::record_of;
use crate::common::program::{TestDir, names_in};

const TEXTS: [&str; 3] =
    ["one two three four five six", "one two three four five six", "seven eight nine ten eleven"];

fn dir() -> TestDir {
    let line = |(id, text): (usize, &&str)| {
        format!("{{\"id\":\"d{id}\",\"text\":\"{text}\",\"lang\":\"en\"}}\n")
    };
    let lines: String = TEXTS.iter().enumerate().map(line).collect();
    TestDir::with("in.jsonl", &(lines + "{\"id\":\"none\",\"text\":\"\",\"lang\":\"de\"}\n"))
}

const ARGS: [&str; 4] = ["clean", "in.jsonl", "-o", "out.jsonl"];

/// A field that no document has is probably mistyped. Working files are removed, because the job
/// could not continue with another field.
#[test]
fn a_field_that_no_document_has_is_refused_and_leaves_nothing() {
    let dir = dir();
    for (option, value, told, help) in [
        ("--source-field", "nope", "no document has the field 'nope'", "with --source-field"),
        ("--url-field", "nope", "no document has the field 'nope'", "with --url-field"),
        ("--keep", "best:nope", "no document has the field 'nope'", "the rule of --keep"),
        ("--keep", "source:a", "no document has the field 'source'", "with --source-field"),
    ] {
        let (_, err) = dir.run(&[&ARGS[..], &[option, value]].concat(), 2);
        assert!(err.contains(told) && err.contains(help), "{option}: {err}");
        dir.assert_files(&["in.jsonl"]);
    }
    // The refused commands left no files, so the corrected command needs no --force.
    dir.run(&[&ARGS[..], &["--source-field", "lang"]].concat(), 0);
    // A number is no address but a bad record: otherwise documents with the same number would count
    // as one page.
    let numbers =
        "{\"id\":1,\"text\":\"one two\",\"url\":5}\n{\"id\":2,\"text\":\"six\",\"url\":5}\n";
    dir.write("n.jsonl", numbers);
    let args = ["clean", "n.jsonl", "-o", "n2.jsonl", "--url-field", "url"];
    let (_, err) = dir.run(&args, 2);
    assert!(err.contains("n.jsonl: line 1: 'url' is 5, expected an address"), "{err}");
}

#[test]
fn fields_of_files_without_fields_and_empty_folders_are_refused() {
    let dir = dir();
    dir.write("a.warc", record_of("conversion", "u1", "text/plain", TEXTS[0]));
    dir.write("a.txt", TEXTS[0]);
    fs::create_dir(dir.path("empty")).unwrap();
    for args in [
        &["clean", "a.warc", "-o", "o.warc", "--text-field", "content"][..],
        &["clean", "a.txt", "-o", "o.txt", "--text-field", "content"],
        &["pairs", "--docs", "a.warc", "--id-field", "content"],
        &["cluster", "--docs", "a.txt", "--text-field", "content"],
        &[
            "contamination",
            "--against",
            "in.jsonl",
            "a.warc",
            "--text-field",
            "content",
            "--against-text-field",
            "text",
        ],
        &["build", "--docs", "a.warc", "--text-field", "content"],
    ] {
        let (_, err) = dir.run(args, 2);
        assert!(err.contains("no field 'content': "), "{args:?}: {err}");
    }
    for args in [
        &["clean", "empty", "-o", "out"][..],
        &["contamination", "--against", "empty", "in.jsonl"],
        &["contamination", "--against", "in.jsonl", "empty"],
        &["pairs", "--docs", "empty"],
    ] {
        let (_, err) = dir.run(args, 2);
        assert!(err.contains("empty: no file to read: the folder is empty"), "{args:?}: {err}");
    }
    // The option is accepted if at least one file has fields.
    dir.run(&["pairs", "--docs", "a.txt", "in.jsonl", "--text-field", "text"], 0);
}

/// A mistyped label in the first line is an error: the line counts as a header only if it contains
/// names of columns.
#[test]
fn a_label_that_is_spelled_wrong_is_no_header() {
    let dir = dir();
    dir.write("bad.tsv", "d0\td1\tsame\n");
    dir.write("good.tsv", "id\tid\tLabel\nd0\td1\t0\n");
    let pairs = |file| [&ARGS[..], &["--pairs", file]].concat();
    let (_, err) = dir.run(&pairs("bad.tsv"), 2);
    assert!(err.contains("bad.tsv: line 1: label is 'same', expected 1, 0 or -1"), "{err}");
    let (_, err) = dir.run(&pairs("good.tsv"), 0);
    assert!(err.contains("3 documents kept"), "{err}");
}

/// The advice after an exceeded limit can be followed.
#[test]
fn the_advice_after_a_limit_works() {
    let dir = dir();
    let args = |more: &[&'static str]| [&ARGS[..], more].concat();
    let (_, err) = dir.run(&args(&["--max-loss", "10%"]), 2);
    assert!(err.contains("would lose 33.3 % (1 of 3), but only 10 % is allowed"), "{err}");
    assert!(err.contains("with --force, which begins again"), "{err}");
    let (_, err) = dir.run(&args(&["--max-loss", "10%", "--confirm", "0.9"]), 2);
    assert!(err.contains("other settings: confirm"), "{err}");
    assert!(err.contains("(--max-loss and --target may differ)"), "{err}");
    dir.run(&args(&["--max-loss", "10%", "--confirm", "0.9", "--force"]), 2);
    let (_, err) = dir.run(&args(&["--max-loss", "50%", "--confirm", "0.9"]), 0);
    assert!(err.contains("continuing unfinished work"), "{err}");
    let (_, err) = dir.run(&args(&["--target", "1", "-f"]), 2);
    assert!(err.contains("a target of 1 cannot be reached: 3 documents are left"), "{err}");
    assert!(err.contains("repeat the command with --target 3, which continues from here"), "{err}");
    let (_, err) = dir.run(&args(&["--target", "3", "-f"]), 0);
    assert!(err.contains("continuing unfinished work"), "{err}");
}

/// A report with the same path as a copied file would replace it, and its documents would be lost.
#[test]
fn a_report_that_has_the_place_of_a_copy_is_refused_before_the_work() {
    let line = |id: usize| format!("{{\"id\":{id},\"text\":\"{}\"}}\n", TEXTS[id % 3]);
    let dir = TestDir::with("in/sub/a.jsonl", &(0..9).map(line).collect::<String>());
    dir.write("in/b.jsonl", line(1));
    dir.write("items.jsonl", line(2));
    dir.write("out/sub/a.jsonl", "old");
    dir.write("hard.tsv", "old");
    dir.write("old.jsonl", line(0));
    dir.run(&["build", "--docs", "old.jsonl", "-s", "s.fps", "-q"], 0);
    let dump = dir.ok(&["dump", "-s", "s.fps"], "");
    let dedup = ["clean", "in", "-s", "s.fps", "--within", "--add"];
    let contamination = ["contamination", "--against", "items.jsonl", "--docs", "in"];
    let fresh = [&dedup[..], &["-o", "new/"]].concat();
    let dedup = [&dedup[..], &["-o", "out/", "-f"]].concat();
    let contamination = [&contamination[..], &["-o", "out", "-f"]].concat();
    for (args, options) in [
        (&dedup, &["--removed", "--html", "--losses", "--manifest"][..]),
        (&contamination, &["--found", "--html"]),
    ] {
        for (name, told) in [
            (
                "out/sub/a.jsonl",
                "and the copy of sub/a.jsonl would both be written to out/sub/a.jsonl",
            ),
            (
                "out/../in/../out/sub/a.jsonl",
                "and the copy of sub/a.jsonl would both be written to out/sub/a.jsonl",
            ),
            ("out/b.jsonl", "and the copy of b.jsonl would both be written to out/b.jsonl"),
            ("out/.fpstore-dedup/r.tsv", "the folder for the progress of this work"),
            ("s.fps/r.tsv", "lies in a store"),
            ("s.fps/new/r.tsv", "lies in the store"),
            ("items.jsonl", "is an input, which would be overwritten"),
            ("in/b.jsonl", "; name an"),
            ("in/new.tsv", "whose files are read"),
        ] {
            for option in options {
                // Skips the output that is allowed for this command and refused for the other one.
                let of_other =
                    if *args == dedup { "items.jsonl" } else { "out/.fpstore-dedup/r.tsv" };
                if name == of_other {
                    continue;
                }
                let (out, err) = dir.run(&[&args[..], &[option, name]].concat(), 2);
                assert!(out.is_empty() && err.contains(told), "{args:?} {option} {name}: {err}");
                if !name.starts_with("in/") && !name.starts_with("s.fps") {
                    assert!(err.contains(option), "{option}: {err}");
                }
                assert_eq!(dir.read("out/sub/a.jsonl"), "old");
                dir.assert_files(&["hard.tsv", "in", "items.jsonl", "old.jsonl", "out", "s.fps"]);
                assert_eq!(names_in(&dir.path("out")), ["sub"], "{option} {name}");
            }
        }
    }
    // The conflict is also detected if the copy does not exist yet, before any work.
    let (_, err) = dir.run(&[&fresh[..], &["--removed", "new/sub/a.jsonl"]].concat(), 2);
    assert!(
        err.contains(
            "--removed and the copy of sub/a.jsonl would both be written to new/sub/a.jsonl"
        ),
        "{err}"
    );
    let (_, err) = dir.run(&[&fresh[..], &["--removed", "new/sub"]].concat(), 2);
    assert!(
        err.contains(
            "--removed and the copy of sub/a.jsonl would both be written to new/sub/a.jsonl"
        ),
        "{err}"
    );
    let into_store = [&dedup[..6], &["-o", "s.fps/out/"]].concat();
    let (_, err) = dir.run(&into_store, 2);
    assert!(err.contains("lies in the store"), "{err}");
    // Outputs that would replace inputs other than documents.
    dir.write("out/b.jsonl", "1\t2\t1\n");
    let (_, err) = dir.run(&[&dedup[..], &["--pairs", "out/b.jsonl"]].concat(), 2);
    assert!(err.contains("out/b.jsonl is an input, which would be lost"), "{err}");
    let (_, err) =
        dir.run(&[&dedup[..], &["--pairs", "out/b.jsonl", "--html", "out/b.jsonl"]].concat(), 2);
    assert!(err.contains("--pairs and --html both name it"), "{err}");
    #[cfg(unix)]
    {
        fs::remove_file(dir.path("hard.tsv")).unwrap();
        fs::hard_link(dir.path("out/sub/a.jsonl"), dir.path("hard.tsv")).unwrap();
        std::os::unix::fs::symlink("out/sub/a.jsonl", dir.path("link.tsv")).unwrap();
        std::os::unix::fs::symlink("out", dir.path("folder")).unwrap();
        for name in ["hard.tsv", "link.tsv", "folder/sub/a.jsonl"] {
            let (_, err) = dir.run(&[&dedup[..], &["--removed", name]].concat(), 2);
            assert!(err.contains("--removed and the copy of sub/a.jsonl"), "{name}: {err}");
        }
    }
    assert_eq!(dir.read("out/sub/a.jsonl"), "old");
    assert_eq!(dir.ok(&["dump", "-s", "s.fps"], ""), dump);
}

/// Every command refuses two outputs with the same path.
#[test]
fn two_outputs_of_one_name_are_refused_by_every_command() {
    let dir = dir();
    dir.write("pairs.tsv", "d0\td1\t1\n");
    dir.run(&["build", "--docs", "in.jsonl", "-s", "s.fps", "-q"], 0);
    for args in [
        &["evaluate", "in.jsonl", "--pairs", "pairs.tsv", "-o", "x", "--svg", "./x"][..],
        &["plan", "-n", "1e6", "-o", "x", "--svg", "./x"],
        &["stats", "-s", "s.fps", "-o", "x", "--html", "./x"],
        &["compare", "in.jsonl", "in.jsonl", "-o", "x", "--html", "./x"],
        &["cluster", "-s", "s.fps", "-o", "x", "--html", "./x"],
        &["pairs", "-s", "s.fps", "-o", "x", "--html", "./x"],
        &["clean", "in.jsonl", "-o", "x", "--removed", "./x"],
    ] {
        let (_, err) = dir.run(args, 2);
        assert!(err.contains("--output and ") && err.contains(" both name ./x"), "{args:?}: {err}");
        dir.assert_files(&["in.jsonl", "pairs.tsv", "s.fps"]);
    }
}

/// A repeated run of a job has its complete output, or is an error: it must not replace the output
/// by an empty one.
#[test]
fn a_known_run_without_an_output_is_refused_and_with_one_nothing_is_done() {
    let texts =
        ["one two three four five", "six seven eight nine ten", "some other words again now"];
    let line = |(id, text): (usize, &&str)| format!("{{\"id\":\"d{id}\",\"text\":\"{text}\"}}\n");
    let dir = TestDir::with("in.jsonl", &texts.iter().enumerate().map(line).collect::<String>());
    dir.write("old.jsonl", "{\"id\":\"old\",\"text\":\"a b c d e f\"}\n");
    dir.run(&["build", "--docs", "old.jsonl", "-s", "s.fps", "-q"], 0);
    dir.run(&["dump", "-s", "s.fps", "-o", "old.tsv"], 0);
    let night = |more: &[&'static str]| {
        let args = ["clean", "in.jsonl", "-s", "s.fps", "--within", "--add", "--run", "n1"];
        [&args[..], more].concat()
    };
    let first = dir.ok(&night(&["--list"]), "");
    assert_eq!(first.lines().count(), 3);
    let stored = dir.ok(&["dump", "-s", "s.fps"], "");
    let args = night(&["--list", "-o", "list.tsv", "--removed", "r.tsv"]);
    for args in [&night(&["--list"]), &args] {
        let (out, err) = dir.run(args, 2);
        assert!(
            out.is_empty() && err.contains("s.fps already has the documents of the run 'n1'"),
            "{err}"
        );
        assert!(err.contains("'fpstore dump -s s.fps' prints its ids"), "{err}");
        dir.assert_files(&["in.jsonl", "old.jsonl", "old.tsv", "s.fps"]);
    }
    let (out, err) = dir.run(&night(&["--dry-run"]), 0);
    assert!(out.is_empty() && err.contains("run n1 has added its records before"), "{err}");
    assert!(!err.contains("removed"), "{err}");
    // An existing list is complete, because the documents were added after it.
    dir.write("list.tsv", &first);
    for more in [&["--list", "-o", "list.tsv"][..], &["--list", "-o", "list.tsv", "-f"]] {
        let (_, err) = dir.run(&night(more), 0);
        assert!(err.contains("run n1 has added its records before"), "{err}");
        assert_eq!(dir.read("list.tsv"), first);
    }
    assert_eq!(dir.ok(&["dump", "-s", "s.fps"], ""), stored);
    // A known run is also refused if the input is records of fingerprints.
    dir.run(&["build", "old.tsv", "-s", "t.fps", "-q"], 0);
    dir.write("new.tsv", &first);
    let night = |more: &[&'static str]| {
        let args = ["dedup", "new.tsv", "-s", "t.fps", "--within", "--add", "--run", "n1"];
        [&args[..], more].concat()
    };
    assert_eq!(dir.ok(&night(&[]), ""), first);
    for args in [&night(&[]), &night(&["-o", "gone.tsv"])] {
        let (out, err) = dir.run(args, 2);
        assert!(
            out.is_empty() && err.contains("t.fps already has the documents of the run 'n1'"),
            "{err}"
        );
    }
    let (_, err) = dir.run(&night(&["-o", "list.tsv"]), 0);
    assert!(err.contains("run n1 has added its records before"), "{err}");
    // The command in the message prints the ids of the list.
    let ids: String =
        first.lines().map(|line| format!("{}\n", line.split('\t').nth(1).unwrap())).collect();
    dir.write("ids.txt", ids);
    dir.run(&["delete", "-s", "t.fps", "--ids", "ids.txt", "-q"], 0);
    let args = ["dedup", "new.tsv", "-s", "t.fps", "--within", "--add", "--run", "n1, again"];
    assert_eq!(dir.ok(&args, ""), first);
}

#[test]
fn a_known_run_with_a_missing_output_is_refused() {
    let line = |id: u32, text: &str| format!("{{\"id\":\"d{id}\",\"text\":\"{text}\"}}\n");
    let dir = TestDir::with("in.jsonl", &line(1, "one two three four five"));
    dir.write("old.jsonl", line(0, "a b c d e f"));
    dir.run(&["build", "--docs", "old.jsonl", "-s", "s.fps", "-q"], 0);
    let night = ["clean", "in.jsonl", "-s", "s.fps", "--within", "--add", "--run", "n1"];
    dir.run(&[&night[..], &["-o", "out.jsonl", "--losses", "l.tsv"]].concat(), 0);
    let files = ["in.jsonl", "l.tsv", "old.jsonl", "out.jsonl", "s.fps"];
    for more in [&["-o", "out.jsonl"][..], &["-o", "out.jsonl", "--losses", "l.tsv", "-f"]] {
        let (_, err) = dir.run(&[&night[..], more].concat(), 0);
        assert!(err.contains("run n1 has added its records before"), "{err}");
    }
    for (more, missing) in [
        (&["-o", "other.jsonl"][..], "other.jsonl"),
        (&["-o", "other.jsonl", "-f"], "other.jsonl"),
        (&["-o", "folder/"], "folder/in.jsonl"),
        (&["-o", "out.jsonl", "--removed", "r.tsv"], "r.tsv"),
        (&["-o", "out.jsonl", "--losses", "l.tsv", "--html", "p.html"], "p.html"),
        (&["--list", "-o", "list.tsv"], "list.tsv"),
        (&["--dry-run", "--removed", "r.tsv"], "r.tsv"),
    ] {
        let (out, err) = dir.run(&[&night[..], more].concat(), 2);
        let expected = format!(
            "{missing} does not exist, and s.fps already has the documents of the run 'n1'"
        );
        assert!(out.is_empty() && err.contains(&expected), "{more:?}: {err}");
        dir.assert_files(&files);
    }
}

#[test]
fn outputs_of_one_name_and_outputs_that_are_inputs_are_refused_before_the_work() {
    let dir = dir();
    let before = dir.read("in.jsonl");
    for (more, told) in [
        (&["--removed", "x", "--losses", "./x"][..], "--removed and --losses both name ./x"),
        (&["--manifest", "x", "--html", "x"], "--manifest and --html both name x"),
        (&["--removed", "-", "--losses", "-"], "--removed and --losses both name -"),
        (&["--removed", "out.jsonl"], "--output and --removed both name out.jsonl"),
        (&["--removed", "in.jsonl", "-f"], "in.jsonl is an input, which would be lost"),
    ] {
        let (_, err) = dir.run(&[&ARGS[..], more].concat(), 2);
        assert!(err.contains(told), "{more:?}: {err}");
        dir.assert_files(&["in.jsonl"]);
    }
    for args in [
        &["contamination", "--against", "in.jsonl", "in.jsonl", "-o", "x", "--found", "x"][..],
        &["cluster", "--docs", "in.jsonl", "-o", "x", "--html", "x"],
    ] {
        let (_, err) = dir.run(args, 2);
        assert!(err.contains("both name x"), "{args:?}: {err}");
    }
    for command in ["pairs", "cluster", "fingerprint"] {
        let docs = if command == "fingerprint" { &[][..] } else { &["--docs"] };
        let args = [&[command][..], docs, &["in.jsonl", "-o", "in.jsonl", "-f"]].concat();
        // No input is read, so no message is about its contents.
        let (_, err) = dir.run(&args, 2);
        assert_eq!(
            err,
            "fpstore: in.jsonl is an input, which would be lost; name another output\n"
        );
    }
    assert_eq!(dir.read("in.jsonl"), before);
}

/// Hints name only options that the command has (for benchmark items the options for items), and
/// following them works.
#[test]
fn hints_name_options_of_the_command() {
    let dir = dir();
    let chat = "{\"id\":\"c\",\"messages\":[{\"role\":\"user\",\"content\":\"one two three four \
                five six\"}]}\n";
    dir.write("chat.jsonl", chat);
    let told = |args: &[&str]| dir.run(args, 2).1;
    let err = told(&["contamination", "--against", "chat.jsonl", "in.jsonl"]);
    let field = "--against-text-field 'messages[].content'";
    assert!(err.contains(field) && !err.contains("--line-ids"), "{err}");
    let err = told(&["contamination", "--against", "in.jsonl", "chat.jsonl"]);
    assert!(err.contains(" --text-field 'messages[].content'"), "{err}");
    let text = ["--text-field", "messages[].content", "--against-text-field", "text"];
    let args = ["contamination", "--against", "in.jsonl", "chat.jsonl"];
    assert!(dir.ok(&[&args[..], &text].concat(), "").starts_with("1\t1.0000\tchat.jsonl\tc\t"));
    let args = ["contamination", "--against", "in.jsonl", "in.jsonl"];
    let err = told(&[&args[..], &["--against-text-field", "nope"]].concat());
    assert!(
        err.contains("name the fields with --against-id-field and --against-text-field"),
        "{err}"
    );
    let err =
        told(&[&args[..], &["--text-field", "nope", "--against-text-field", "text"]].concat());
    assert!(
        err.contains("name the fields with --id-field and --text-field; to use line numbers"),
        "{err}"
    );
    let err = told(&[&args[..], &["--format", "parquet"]].concat());
    assert!(err.contains("name it with --found"), "{err}");
    // If the path of a field ends at an array, the error suggests how to continue the path.
    let args = ["clean", "chat.jsonl", "-o", "o.jsonl", "--text-field"];
    let err = told(&[&args[..], &["messages.content"]].concat());
    assert!(err.contains("'messages' is an array; 'messages[].content' names the texts"), "{err}");
    // --skip-bad is not suggested, because it would skip all records.
    assert!(!err.contains("--skip-bad"), "{err}");
    dir.run(&[&args[..], &["messages[].content"]].concat(), 0);
    dir.write("a.jsonl", "{\"id\":1,\"text\":nope}\n");
    let err = told(&["clean", "a.jsonl", "-o", "b.jsonl"]);
    assert!(err.contains("line 1: not JSON: a word that is not true, false or null"), "{err}");
    for (more, help) in [
        (&["--judge", "address"][..], "name it with --url-field"),
        (&["--judge", "bytes", "-k", "3"], "add near to --judge, or leave out -k"),
        (
            &["--annotate", "x", "--cluster-size", "x"],
            "give --annotate and --cluster-size two names",
        ),
        (&["--annotate", "x", "--max-loss", "1%"], "leave out --max-loss or --annotate"),
        (&["--target", "1", "--per-cluster", "2"], "leave out --per-cluster or --target"),
        (&["-k", "3", "--confirm-contains", "1"], "leave out --confirm-contains or -k"),
        (&["-k", "3", "--confirm", "0.8"], "leave out -k or --confirm"),
    ] {
        let err = told(&[&ARGS[..], more].concat());
        assert!(err.contains(help), "{more:?}: {err}");
    }
}

/// The manifest contains all settings that affect the result, the names of the fields, and all
/// files.
#[test]
fn a_manifest_names_unit_fields_limits_pairs_and_the_page() {
    let dir = dir();
    dir.write("pairs.tsv", "d0\td2\t0\n");
    let args = ["--max-loss", "50%", "--pairs", "pairs.tsv", "--manifest", "m.json"];
    let args = [&ARGS[..], &args, &["--html", "page.html", "-q"]].concat();
    dir.run(&args, 0);
    let manifest: Value = serde_json::from_str(&dir.read("m.json")).unwrap();
    let settings = &manifest["settings"];
    assert_eq!((&settings["text-field"], &settings["id-field"]), (&"text".into(), &"id".into()));
    assert_eq!((&settings["max-loss"], &settings["unit"]), (&0.5.into(), &Value::Null));
    assert_eq!(manifest["pairs"]["path"], "pairs.tsv");
    assert_eq!(manifest["pairs"]["sha256"].as_str().unwrap().len(), 64);
    assert_eq!(manifest["outputs"][1]["path"], "page.html");
    assert_eq!(manifest["losses"][0]["without_fingerprint"], 1);
    let args = ["clean", "in.jsonl", "--list", "-o", "list.tsv", "--unit", "line"];
    dir.run(&[&args[..], &["--manifest", "m.json", "-f", "-q"]].concat(), 0);
    let manifest: Value = serde_json::from_str(&dir.read("m.json")).unwrap();
    assert_eq!(manifest["settings"]["unit"], "line");
    assert_eq!(manifest["outputs"][0]["path"], "list.tsv");
}

#[test]
fn documents_without_fingerprint_are_counted_by_file_and_source() {
    let dir = dir();
    let args = [&ARGS[..], &["--source-field", "lang", "--losses", "l.tsv"]].concat();
    let (_, err) = dir.run(&args, 0);
    assert!(err.contains("1 document without fingerprint is kept unchanged"), "{err}");
    let expected = "all\t\t3\t1\t1\nfile\tin.jsonl\t3\t1\t1\nsource\tde\t0\t0\t1\n\
                    source\ten\t3\t1\t0\n";
    assert_eq!(dir.read("l.tsv"), expected);
}

/// If standard error is not a terminal, progress is printed only with `--progress always`, as
/// lines.
#[test]
fn progress_is_lines_where_standard_error_is_no_terminal() {
    let dir = dir();
    let contamination = ["contamination", "--against", "in.jsonl", "in.jsonl", "--found", "f.tsv"];
    for (args, told) in [(&ARGS[..], "step 2 of 3, join 0 %"), (&contamination, "begun")] {
        let (_, err) = dir.run(&[args, &["-f"]].concat(), 0);
        assert!(!err.contains("progress"), "{err}");
        let (_, err) = dir.run(&[args, &["-f", "--progress", "always"]].concat(), 0);
        assert!(err.contains(&format!("fpstore: progress: {told}\n")), "{err}");
        assert!(!err.contains('\r'), "{err}");
        assert!(err.ends_with('\n'), "{err}");
    }
}

/// The error for `query --file` with several documents names the command that searches for each of
/// them.
#[test]
fn a_query_with_a_file_of_several_documents_says_how_to_ask_with_each() {
    let dir = dir();
    dir.run(&["build", "--docs", "in.jsonl", "-q"], 0);
    let (_, err) = dir.run(&["query", "--file", "in.jsonl"], 2);
    assert!(
        err.contains("to search for each, run: fpstore query --docs --from in.jsonl\n"),
        "{err}"
    );
    assert!(dir.ok(&["query", "--docs", "--from", "in.jsonl"], "").contains("d2"));
    assert!(names_in(dir.folder()).contains(&"store.fps".to_string()));
}
