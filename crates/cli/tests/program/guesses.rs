//! Tests that common file formats are read without options, and that a message tells which columns
//! or fields were guessed.

use crate::common::program::TestDir;

const A: &str = "f2a74de452e6b430";
const B: &str = "0c1f789bed2eb9b8";

/// A folder with files of the same two records in many formats.
fn dir() -> TestDir {
    let dir = TestDir::new();
    dir.write("name_first.tsv", format!("a.jpg\t{A}\nb.jpg\t{B}\n"));
    dir.write("header.csv", format!("filename,phash\na.jpg,{A}\n\"b.jpg\",{B}\n"));
    dir.write("semicolons.txt", format!("phash;path\n0x{A};a.jpg\n0x{B};b.jpg\n"));
    dir.write("three.tsv", format!("jpeg\t{A}\ta.jpg\njpeg\t{B}\tb.jpg\n"));
    dir
}

#[test]
fn tables_are_read_without_an_option_and_the_guess_is_said() {
    let dir = dir();
    let expected = format!("{B}\tb.jpg\n{A}\ta.jpg\n");
    for (file, says) in [
        ("name_first.tsv", "column 2 is read as the fingerprint and column 1 as the id"),
        (
            "header.csv",
            "column 2 (phash) is read as the fingerprint and column 1 (filename) as the id",
        ),
        (
            "semicolons.txt",
            "column 1 (phash) is read as the fingerprint and column 2 (path) as the id",
        ),
    ] {
        let (_, err) = dir.run(&["build", file, "-s", "img.fps", "-f", "-q"], 0);
        let lines: Vec<&str> =
            err.lines().filter(|line| line.contains(" is read as the fingerprint")).collect();
        assert!(lines.len() == 1 && lines[0].contains(says), "{file}: {err}");
        assert_eq!(dir.ok(&["dump", "img.fps"], ""), expected, "{file}");
        dir.ok(&["query", "-s", "img.fps", "-k", "0", "--from", file], "");
        let from_pipe = dir.read(file);
        dir.ok(&["build", "-s", "img.fps", "-f", "-q"], &from_pipe);
        assert_eq!(dir.ok(&["dump", "img.fps"], ""), expected, "{file}");
        dir.run(&["pairs", file, "-k", "0"], 1);
        let kept = dir.ok(&["dedup", file, "-q"], "");
        assert_eq!(kept, format!("{A}\ta.jpg\n{B}\tb.jpg\n"), "{file}");
    }
    let at = ["build", "three.tsv", "-s", "img.fps", "-f", "-q"];
    let columns = ["--fingerprint-field", "2", "--id-field", "3"];
    let (_, err) = dir.run(&[&at[..], &columns].concat(), 0);
    assert_eq!(err, "");
    assert_eq!(dir.ok(&["dump", "img.fps"], ""), expected);
    let (_, err) = dir.run(&[&at[..], &columns[..2], &["--id-field", "path"]].concat(), 2);
    assert!(err.contains("must be a number too"), "{err}");
}

#[test]
fn a_doubt_gets_one_command_that_ends_it_and_never_skip_bad() {
    let dir = dir();
    dir.write("two.csv", format!("file,phash,dhash\na.jpg,{A},{B}\nb.jpg,{B},{A}\n"));
    dir.write("sixteen.csv", "x.jpg,1731234567890123\ny.jpg,1731234567890124\n");
    dir.write("null.csv", format!("p,{A}\nq,{B}\nr,NULL\ns,{A}\nt,{B}\n"));
    let quoted = "a 'b'.tsv";
    dir.write(quoted, dir.read("three.tsv"));
    for (file, command) in [
        ("three.tsv", "fpstore build three.tsv --fingerprint-field 2 --id-field 3"),
        ("two.csv", "fpstore build two.csv --fingerprint-field 2 --id-field 1"),
        ("null.csv", "fpstore build null.csv --fingerprint-field 2 --id-field 1"),
        (quoted, r"fpstore build 'a '\''b'\''.tsv' --fingerprint-field 2 --id-field 3"),
    ] {
        let (_, err) = dir.run(&["build", file], 2);
        assert!(err.contains(&format!("if so, run: {command}\n")), "{file}: {err}");
        assert!(!err.contains("skip-bad") && !dir.path("store.fps").exists());
    }
    let (_, err) = dir.run(&["build", "sixteen.csv"], 2);
    for (kind, radix) in [("decimal", "dec"), ("hex", "hex")] {
        let command = "fpstore build sixteen.csv --fingerprint-field 2 --id-field 1 --radix";
        assert!(err.contains(&format!("if they are {kind}, run: {command} {radix}\n")), "{err}");
    }
    let words: Vec<&str> =
        "build three.tsv --fingerprint-field 2 --id-field 3".split(' ').collect();
    dir.ok(&words, "");
    let long = format!("a.jpg,{}\n", A.repeat(4));
    dir.write("long.csv", long);
    let (_, err) = dir.run(&["build", "long.csv", "-s", "no.fps"], 2);
    assert!(err.contains("256 bits") && !err.contains("skip-bad"), "{err}");
}

#[test]
fn folders_and_files_of_documents_are_known_by_their_names() {
    let dir = TestDir::new();
    let text = "a quick brown fox jumps over the lazy dog, and over the fence";
    let lines: String = ["u/1", "u/2"]
        .map(|url| format!("{{\"url\":\"{url}\",\"content\":\"{text}\",\"ts\":7}}\n"))
        .concat();
    dir.write("corpus/a.jsonl", &lines);
    let (_, err) = dir.run(&["build", "corpus", "-s", "docs.fps"], 0);
    assert!(err.contains("corpus is a folder, so --docs is assumed"), "{err}");
    assert!(err.contains("field 'url' is used as the id, field 'content' as the text"), "{err}");
    let (_, err) = dir.run(&["dedup", "corpus", "-o", "clean"], 0);
    assert!(err.contains("so 'fpstore clean' is assumed"), "{err}");
    assert_eq!(dir.read("clean/a.jsonl").lines().count(), 1);
    let (out, _) = dir.run(&["pairs", "corpus/a.jsonl"], 0);
    assert!(out.contains("u/1\tu/2"), "{out}");
    dir.run(&["cluster", "corpus"], 0);
    let (out, _) = dir.run(&["query", "docs.fps", "--from", "corpus/a.jsonl"], 0);
    assert!(out.contains("u/2"), "{out}");
    dir.write("none.jsonl", "{\"a\":\"short\",\"b\":\"a longer text\",\"id\":1}\n");
    let (_, err) = dir.run(&["build", "none.jsonl", "-s", "no.fps"], 2);
    let command = "if so, run: fpstore build none.jsonl -s no.fps --text-field b\n";
    assert!(err.contains(command), "{err}");
    dir.write("prints.jsonl", format!("{{\"id\":1,\"phash\":\"{A}\"}}\n"));
    let (_, err) = dir.run(&["build", "prints.jsonl", "-s", "no.fps"], 2);
    assert!(err.contains("build prints.jsonl -s no.fps --fingerprint-field phash\n"), "{err}");
    let ready = ["build", "prints.jsonl", "-s", "prints.fps", "--fingerprint-field", "phash"];
    dir.ok(&ready, "");
    // A field that the user names is used even if another would be guessed.
    dir.write("named.csv", format!("url,phash,size\nu,{A},7\n"));
    let named = ["build", "named.csv", "-s", "named.fps", "--fingerprint-field", "phash"];
    let (_, err) = dir.run(&named, 0);
    assert!(err.contains("field 'url' is used as the id"), "{err}");
    assert_eq!(dir.ok(&["dump", "named.fps"], ""), format!("{A}\tu\n"));
}

#[test]
fn the_store_is_a_plain_argument_of_every_command() {
    let dir = dir();
    dir.ok(&["build", "name_first.tsv", "img.fps", "-q"], "");
    let (out, _) = dir.run(&["query", "img.fps", A, "-k", "0"], 0);
    assert_eq!(out, format!("{A}\t{A}\t0\ta.jpg\n"));
    let (same, _) = dir.run(&["query", A, "img.fps", "-k", "0"], 0);
    assert_eq!(same, out);
    // `query` reads a pipe without an argument.
    assert_eq!(dir.ok(&["query", "-s", "img.fps", "-k", "0"], &format!("{A}\n")), out);
    assert_eq!(dir.ok(&["query", "img.fps", "-k", "0"], &format!("{A}\n")), out);
    dir.write("more.tsv", "00000000000000ff\tc.jpg\n");
    dir.ok(&["add", "more.tsv", "img.fps", "-q", "--label", "2020-01-01"], "");
    assert_eq!(dir.ok(&["dump", "img.fps"], "").lines().count(), 3);
    dir.ok(&["delete", "img.fps", "--id", "a.jpg", "-q"], "");
    dir.ok(&["expire", "img.fps", "--older-than", "30d", "-q"], "");
    assert_eq!(dir.ok(&["dump", "img.fps"], ""), format!("{B}\tb.jpg\n"));
    dir.ok(&["compact", "img.fps", "-q"], "");
    dir.ok(&["export", "img.fps", "-o", "copy.fps", "-q"], "");
    for command in ["info", "stats", "verify"] {
        dir.ok(&[command, "copy.fps"], "");
    }
    // Two stores are an error, because one would be ignored.
    let (_, err) = dir.run(&["query", "img.fps", "-s", "copy.fps", A], 2);
    assert!(err.contains("'img.fps' is not a fingerprint"), "{err}");
}

#[test]
fn a_store_that_is_not_there_is_explained() {
    let dir = dir();
    let (_, err) = dir.run(&["info"], 2);
    assert!(err.contains("default without -s and $FPSTORE") && err.contains("make one"), "{err}");
    dir.ok(&["build", "name_first.tsv", "img.fps", "-q"], "");
    let (_, err) = dir.run(&["info"], 2);
    assert!(err.contains("in the same folder is a store: img.fps"), "{err}");
    let (_, err) = dir.run(&["query", "-s", "imgg.fps", A], 2);
    assert!(err.contains("did you mean img.fps?"), "{err}");
    let mut named = dir.command(&["info"]);
    let output = named.env("FPSTORE", "other.fps").output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.contains("$FPSTORE names it"), "{err}");
}

/// A fingerprint that lacks a digit is reported, because it would find wrong records. An argument
/// that is neither a fingerprint nor a store is an error.
#[test]
fn what_is_no_whole_fingerprint_is_told() {
    let dir = dir();
    dir.ok(&["build", "name_first.tsv", "img.fps", "-q"], "");
    let short = &A[1..];
    let says = format!("fpstore: '{short}' has 15 digits, and was read as 0{short}\n");
    for args in [
        &["query", short, "img.fps", "-k", "0"][..],
        &["delete", "img.fps", "--fingerprint", short],
    ] {
        let (_, err) = dir.run(args, 1);
        assert!(err.starts_with(&says), "{err}");
        let (_, err) = dir.run(&[args, &["-q"]].concat(), 1);
        assert_eq!(err, "");
    }
    let (_, err) = dir.run(&["query", "1", "img.fps", "-k", "0"], 1);
    assert_eq!(err, "");
    let (_, err) = dir.run(&["query", &A.repeat(4), "img.fps"], 2);
    assert!(err.contains("a hash of 256 bits") && err.contains("hash_size=8"), "{err}");
    let (_, err) = dir.run(&["query", A, "imh.fps"], 2);
    assert!(err.contains("no store at imh.fps") && err.contains("did you mean img.fps?"), "{err}");
    let (_, err) = dir.run(&["query", A, "imh"], 2);
    assert!(
        err.contains("'imh' is neither a fingerprint nor a store; did you mean img.fps?"),
        "{err}"
    );
    let (_, err) = dir.run(&["query", "header.csv", "img.fps"], 2);
    assert!(err.contains("to search for the fingerprints in it, use --from header.csv"), "{err}");
    let (_, err) = dir.run(&["query", "--from", "header.csv", "-s", "name_first.tsv"], 2);
    assert!(err.contains("run: fpstore join header.csv name_first.tsv\n"), "{err}");
    let (_, err) = dir.run(&["info", "name_first.tsv"], 2);
    assert!(err.contains("run: fpstore build name_first.tsv -s NAME.fps\n"), "{err}");
    let from = ["query", "-k", "0", "--from", "header.csv", "img.fps"];
    assert_eq!(dir.run(&from, 0).0.lines().count(), 2);
}

/// The hint proposes the command that reads documents, not --skip-bad, which would skip all
/// records.
#[test]
fn documents_that_come_as_fingerprints_get_the_command_that_reads_them() {
    let dir = dir();
    dir.ok(&["build", "name_first.tsv", "img.fps", "-q"], "");
    let json = "{\"id\":\"a\",\"text\":\"one two three\"}\n";
    let table = "id,text\n1,\"hello, world\"\n2,another text\n3,plain\n";
    dir.write("docs.csv", table);
    dir.write("docs.jsonl", json);
    for args in [
        &["build", "-s", "x.fps"][..],
        &["dedup", "-"],
        &["pairs", "-"],
        &["cluster", "-"],
        &["add", "-s", "img.fps"],
        &["join", "-", "img.fps"],
        &["query", "-s", "img.fps", "--from", "-"],
    ] {
        let command = if args[0] == "dedup" { "clean" } else { &format!("{} --docs", args[0]) };
        let rest = args[1..].join(" ");
        let (_, err) = dir.run_on(args, json, 2);
        assert!(err.contains(&format!("run: fpstore {command} {rest};")), "{err}");
        let (_, csv) = dir.run_on(args, table, 2);
        assert!(
            csv.contains(&format!("run: fpstore {command} --docs-format csv {rest};")),
            "{csv}"
        );
        assert!(!err.contains("skip-bad") && !csv.contains("skip-bad"), "{err}{csv}");
    }
    let (_, err) = dir.run(&["build", "docs.csv"], 2);
    assert!(err.contains("run: fpstore build --docs docs.csv;"), "{err}");
    dir.ok(&["build", "docs.csv", "--docs", "-q"], "");
    let (_, err) = dir.run_on(&["build", "--docs", "-s", "x.fps"], table, 2);
    assert!(err.contains("--docs-format csv") && !err.contains("skip-bad"), "{err}");
    let (_, err) = dir.run_on(&["query", "-s", "img.fps", "-"], json, 2);
    assert!(err.contains("looks like JSON") && !err.contains("skip-bad"), "{err}");
    dir.ok(&["build", "docs.jsonl", "new.fps", "-q"], "");
    dir.write("one.jsonl", json);
    dir.write("two.jsonl", json);
    let (_, err) = dir.run(&["join", "one.jsonl", "two.jsonl"], 0);
    assert!(err.starts_with("fpstore: one.jsonl is JSON Lines, so --docs is assumed\n"), "{err}");
}

/// All commands, those for streams included, read the same columns of the same lines.
#[test]
fn every_door_reads_the_same_columns() {
    let dir = TestDir::with("n.tsv", &format!("20\t{A}\n21\t{B}\n"));
    let stored = format!("{B}\t21\n{A}\t20\n");
    dir.ok(&["build", "n.tsv", "-s", "n.fps", "-q"], "");
    assert_eq!(dir.ok(&["dump", "n.fps"], ""), stored);
    let lines = dir.read("n.tsv");
    let (out, _) = dir.run_on(&["query", "-", "-s", "n.fps", "-k", "0"], &lines, 0);
    assert_eq!(out, format!("{A}\t{A}\t0\t20\n{B}\t{B}\t0\t21\n"));
    let (_, err) = dir.run(&["delete", "--fingerprints", "n.tsv", "-s", "n.fps", "--dry-run"], 0);
    assert!(err.contains("2 fingerprints found"), "{err}");
    let (out, _) = dir.run_on(&["dedup", "-s", "n.fps", "--add", "-"], &lines, 0);
    assert_eq!(out, format!("near\t{A}\t20\t{A}\t0\t20\nnear\t{B}\t21\t{B}\t0\t21\n"));
    dir.write("none.tsv", "");
    dir.ok(&["build", "none.tsv", "-s", "new.fps", "-q"], "");
    dir.run_on(&["add", "--follow", "-s", "new.fps", "-q"], &lines, 0);
    assert_eq!(dir.ok(&["dump", "new.fps"], ""), stored);
    // Lines whose columns are unclear in a file are also unclear in a stream.
    let unclear = "9\tkbdYSiJlsfU=\n8\tt7wY9ahpAgw=\n";
    dir.write("unclear.tsv", unclear);
    for args in [
        &["query", "-", "-s", "n.fps"][..],
        &["query", "--from", "unclear.tsv", "-s", "n.fps"],
        &["dedup", "-s", "n.fps", "--add", "-"],
        &["dedup", "unclear.tsv"],
        &["add", "--follow", "-s", "n.fps"],
        &["add", "unclear.tsv", "-s", "n.fps", "--skip-bad"],
        &["build", "unclear.tsv", "-s", "x.fps"],
        &["pairs", "unclear.tsv"],
        &["cluster", "unclear.tsv"],
        &["join", "unclear.tsv", "n.fps"],
        &["stats", "unclear.tsv"],
        &["delete", "--fingerprints", "unclear.tsv", "-s", "n.fps"],
    ] {
        let (_, err) = dir.run_on(args, unclear, 2);
        assert!(err.contains("no column holds fingerprints"), "{args:?}: {err}");
    }
    assert_eq!(dir.ok(&["dump", "n.fps"], ""), stored);
}

/// Numbers of 16 decimal digits could be hex: they are refused if the column is selected by name,
/// by number or by guess.
#[test]
fn decimals_by_name_are_no_hex_in_silence() {
    let rows = [(1, "9007199254740991"), (2, "9007199254740990"), (3, "4503599627370496")];
    let lines = |row: &dyn Fn(i32, &str) -> String| -> String {
        rows.iter().map(|(id, value)| row(*id, value)).collect()
    };
    let dir = TestDir::new();
    dir.write("t.csv", format!("id,h\n{}", lines(&|id, value| format!("{id},{value}\n"))));
    dir.write("t.tsv", format!("id\th\n{}", lines(&|id, value| format!("{id}\t{value}\n"))));
    let json = lines(&|id, value| format!("{{\"id\":\"{id}\",\"h\":\"{value}\"}}\n"));
    dir.write("t.jsonl", json.as_str());
    for file in ["t.csv", "t.tsv", "t.jsonl"] {
        let pairs = ["pairs", file, "--fingerprint-field", "h", "--id-field", "id", "-k", "1"];
        let (_, err) = dir.run(&pairs, 2);
        assert!(err.contains("hex or decimal"), "{err}");
        let (_, ready) = err.split_once("if they are decimal, run: fpstore ").unwrap();
        let ready: Vec<&str> = ready.lines().next().unwrap().split(' ').collect();
        assert_eq!(ready, [&pairs[..], &["--radix", "dec"]].concat());
        let (out, _) = dir.run(&ready, 0);
        assert!(out.contains("\t1\t1\t2\n") || out.contains("\t1\t2\t1\n"), "{out}");
    }
    let follow =
        ["add", "--follow", "-s", "x.fps", "--docs-format", "jsonl", "--fingerprint-field"];
    dir.write("one.tsv", format!("{A}\ta\n"));
    dir.ok(&["build", "one.tsv", "-s", "x.fps", "-q"], "");
    let (_, err) = dir.run_on(&[&follow[..], &["h"]].concat(), &json, 2);
    assert!(err.contains("hex or decimal"), "{err}");
    // If one value has a hex letter, the column is hex.
    dir.write("hex.csv", "id,h\n1,9007199254740991\n2,90071992547409ab\n");
    dir.ok(&["build", "hex.csv", "-s", "hex.fps", "--fingerprint-field", "h", "-q"], "");
}

/// Other notations of 64-bit values, such as rounded numbers and binary digits, are recognized in
/// the errors of all commands.
#[test]
fn rounded_numbers_and_binary_digits_are_named() {
    let dir = TestDir::new();
    let bits = [A, B].map(|hex| format!("{:064b}", u64::from_str_radix(hex, 16).unwrap()));
    let rounded = ["9.223372036854776e+18", "1.7481278371328172e+19"].map(String::from);
    for (values, part) in [(&bits, "64 binary digits"), (&rounded, "a floating-point number")] {
        let [one, two] = values;
        dir.write("named.csv", format!("id,h\na,{one}\nb,{two}\n"));
        dir.write("last.tsv", format!("a.jpg\t{one}\nb.jpg\t{two}\n"));
        dir.write("first.tsv", format!("{one}\ta.jpg\n{two}\tb.jpg\n"));
        dir.write("alone.txt", format!("{one}\n{two}\n"));
        dir.write("t.jsonl", format!("{{\"id\":1,\"h\":\"{one}\"}}\n"));
        for args in [
            &["named.csv"][..],
            &["named.csv", "--fingerprint-field", "h"],
            &["named.csv", "--fingerprint-field", "2", "--id-field", "1"],
            &["last.tsv"],
            &["first.tsv"],
            &["alone.txt"],
            &["t.jsonl", "--fingerprint-field", "h"],
        ] {
            let (_, err) = dir.run(&[&["build", "-s", "no.fps"], args].concat(), 2);
            assert!(err.contains(part) && !err.contains("256 bits"), "{args:?}: {err}");
            assert!(!err.contains("skip-bad"), "{args:?}: {err}");
        }
    }
}

#[test]
fn a_table_has_the_same_ids_by_every_door() {
    let dir = TestDir::new();
    let names = [" lead", "trail ", "\u{a0}", " ", "a  b"];
    let rows = |separator: &str, quote: &str| -> String {
        let ids = names.iter().chain([&"\"q\""]).enumerate();
        let id = |id: &str| match (quote, id.contains('"')) {
            ("", _) => id.to_string(),
            (_, false) => id.to_string(),
            (_, true) => format!("\"{}\"", id.replace('"', "\"\"")),
        };
        ids.map(|(at, name)| format!("{}{separator}f2a74de452e6b43{at}\n", id(name))).collect()
    };
    let expected: Vec<String> =
        names.iter().map(|name| name.to_string()).chain(["\"q\"".into()]).collect();
    let ids = |args: &[&str]| -> Vec<String> {
        dir.ok(&[&["build", "-s", "t.fps", "-f", "-q"], args].concat(), "");
        let dumped = dir.ok(&["dump", "-s", "t.fps", "--format", "json"], "");
        let of = |line: &str| {
            let record: serde_json::Value = serde_json::from_str(line).unwrap();
            record["id"].as_str().unwrap().to_string()
        };
        dumped.lines().map(of).collect()
    };
    let by_name = ["--fingerprint-field", "hash", "--id-field", "id"];
    let by_number = ["--fingerprint-field", "2", "--id-field", "1"];
    for (file, separator, quote) in [("t.csv", ",", "\""), ("t.tsv", "\t", "")] {
        dir.write(file, format!("id{separator}hash\n{}", rows(separator, quote)));
        for more in [&[][..], &by_name, &by_number] {
            assert_eq!(ids(&[&[file], more].concat()), expected, "{file} {more:?}");
        }
        dir.write(file, rows(separator, quote));
        for more in [&[][..], &by_number] {
            assert_eq!(ids(&[&[file], more].concat()), expected, "{file} {more:?}");
        }
    }
    // A dump in CSV can be read again.
    let csv = dir.ok(&["dump", "-s", "t.fps", "--format", "csv"], "");
    dir.write("dumped.csv", csv);
    assert_eq!(ids(&["dumped.csv"]), expected);
}
