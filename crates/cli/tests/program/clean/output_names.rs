//! Tests the names of outputs: an extension of another format is refused, and the error suggests a
//! name.

use std::fs;

use super::formats::{archived, compressed, decompressed};
use crate::common::documents;
use crate::common::program::{TestDir, names_in};

const LINES: &str = "{\"id\":\"a\",\"text\":\"one two three four five six\"}\n\
                     {\"id\":\"b\",\"text\":\"one two three four five six\"}\n";
const KEPT: &str = "{\"id\":\"a\",\"text\":\"one two three four five six\"}\n";

#[test]
fn the_output_of_one_file_is_compressed_as_its_own_name_says() {
    let dir = TestDir::new();
    for from in ["in.jsonl", "in.jsonl.gz", "in.jsonl.zst"] {
        dir.write(from, compressed(from, LINES.as_bytes()));
        for to in ["out.jsonl", "out.jsonl.gz", "out.ndjson.zst", "out"] {
            dir.run(&["clean", from, "-o", to, "-f"], 0);
            assert_eq!(decompressed(&dir, to), KEPT.as_bytes(), "{from} to {to}");
            // Another command can read the output, because its name shows the format.
            if to != "out" {
                assert_eq!(dir.ok(&["fingerprint", to], "").lines().count(), 1);
            }
        }
    }
    let documents = documents::documents(8, 3, 40, 3);
    let archive: String = (0..8).map(|at| archived(at, &documents[at])).collect();
    dir.write("in.warc", &archive);
    dir.run(&["clean", "in.warc", "--judge", "bytes", "-o", "out.warc.gz"], 0);
    assert!(archive.as_bytes().starts_with(&decompressed(&dir, "out.warc.gz")[..100]));
    // In the copy, each record is a separate member of the archive.
    let bytes = fs::read(dir.path("out.warc.gz")).unwrap();
    let mut first = String::new();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&bytes[..]), &mut first)
        .unwrap();
    assert_eq!(first, archived(0, &documents[0]));
}

#[test]
fn a_name_of_another_format_is_refused_with_one_that_fits() {
    let dir = TestDir::with("in.jsonl", LINES);
    dir.write("in.dat", LINES);
    dir.write("a.txt", "one two three");
    dir.write("b.txt", "one two three");
    let table = "id,text\na,one two three four five six\n";
    dir.write("in.csv", table);
    dir.run(&["build", "--docs", "in.jsonl", "-s", "s.fps", "-q"], 0);
    dir.run(&["dump", "-s", "s.fps", "--format", "parquet", "-o", "in.parquet"], 0);
    let before = names_in(dir.folder());
    let args = |from, to| ["clean", from, "-o", to];
    for (args, told) in [
        (
            &args("in.jsonl", "x.parquet")[..],
            "in.jsonl keeps the format JSON Lines; name the output x.jsonl",
        ),
        (&args("in.jsonl", "x.csv.gz"), "name the output x.jsonl.gz"),
        (&args("in.csv", "x.jsonl"), "in.csv keeps the format CSV; name the output x.csv"),
        (&args("a.txt", "kept.jsonl"), "name the list kept.txt"),
        (&["clean", "a.txt", "b.txt", "-o", "kept.txt.gz"], "a list of the kept files"),
        (
            &["clean", "in.parquet", "--fingerprint-field", "fingerprint", "-o", "x.parquet.gz"],
            "compressed inside, and its copy keeps the format Parquet; name the output x.parquet",
        ),
        (
            &["clean", "in.parquet", "--fingerprint-field", "fingerprint", "-o", "x.jsonl"],
            "name the output x.parquet",
        ),
        (
            &["clean", "in.jsonl", "--unit", "line", "--passages", "annotate", "-o", "x.csv.gz"],
            "are written in the format JSON Lines; name the output x.jsonl.gz",
        ),
    ] {
        let (_, err) = dir.run(args, 2);
        assert!(err.contains(told), "{args:?}: {err}");
        assert_eq!(names_in(dir.folder()), before, "{args:?}");
    }
    // If --docs-format overrides the extension of the input, the output may have that extension,
    // too.
    let format = ["--docs-format", "jsonl"];
    dir.run(&[&args("in.dat", "x.jsonl")[..], &format].concat(), 0);
    dir.write("odd.csv", LINES);
    dir.run(&[&args("odd.csv", "x.csv")[..], &format].concat(), 0);
    assert_eq!([dir.read("x.jsonl"), dir.read("x.csv")], [KEPT, KEPT]);
}

#[test]
fn a_folder_has_no_name_of_a_file_and_standard_output_takes_no_copies() {
    let dir = TestDir::new();
    dir.write("in/a.jsonl", LINES);
    dir.write("in/b.jsonl", "");
    dir.write("items.jsonl", LINES);
    for command in [&["clean"][..], &["contamination", "--against", "items.jsonl"]] {
        for (inputs, to, told) in [
            (&["in"][..], "x.jsonl", "name a folder, such as x/, or x.jsonl/ to use this name"),
            (&["in/a.jsonl", "in/b.jsonl"], "x.gz", "name a folder, such as x/"),
            (&["in/a.jsonl"], "-", "- is standard output"),
            #[cfg(unix)]
            (&["in/a.jsonl"], "/dev/stdout", "/dev/stdout is neither a file nor a folder"),
            #[cfg(unix)]
            (&["in/a.jsonl"], "/dev/null", "/dev/null is neither a file nor a folder"),
        ] {
            let args = [command, inputs, &["-o", to]].concat();
            let (_, err) = dir.run(&args, 2);
            assert!(err.contains(told), "{args:?}: {err}");
        }
        dir.assert_files(&["in", "items.jsonl"]);
    }
    dir.run(&["clean", "in", "-o", "x.jsonl/"], 0);
    assert_eq!(dir.read("x.jsonl/a.jsonl"), KEPT);
    // An existing folder is used as a folder, even if its name has the extension of a file.
    dir.run(&["contamination", "--against", "items.jsonl", "in", "-o", "x.jsonl", "-f"], 0);
}

/// Lists and rows are compressed by the extension of their name, too.
#[test]
fn lists_are_compressed_as_their_names_say() {
    let dir = TestDir::with("in.jsonl", LINES);
    let args = ["clean", "in.jsonl", "-o", "out.jsonl", "--removed"];
    dir.run(&[&args[..], &["r.tsv"]].concat(), 0);
    dir.run(&[&args[..], &["r.tsv.gz", "--losses", "l.tsv.zst", "-f"]].concat(), 0);
    assert_eq!(decompressed(&dir, "r.tsv.gz"), dir.read("r.tsv").as_bytes());
    assert!(decompressed(&dir, "l.tsv.zst").starts_with(b"all"));
    dir.run(&["build", "--docs", "in.jsonl", "-s", "s.fps", "-q"], 0);
    let (_, err) =
        dir.run(&["dump", "-s", "s.fps", "--format", "parquet", "-o", "p.parquet.gz"], 2);
    assert!(err.contains("leave .gz or .zst out of the name"), "{err}");
}
