//! Tests malformed documents: each is read correctly, or rejected with its position and a remedy;
//! none is lost silently, and none exhausts the memory.

use std::io::Write;

use crate::common::program::TestDir;

/// The ids printed by `simhash`.
fn ids(out: &str) -> Vec<&str> {
    out.lines().map(|line| line.split_once('\t').unwrap().1).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(bytes).unwrap();
    gz.finish().unwrap()
}

#[test]
fn an_empty_fingerprint_column_is_an_error_and_not_the_id() {
    let dir = TestDir::new();
    for radix in ["hex", "dec", "sdec"] {
        for line in ["\t102", ",102"] {
            let input = format!("0000000000000017\t101\n{line}\n");
            let (_, err) = dir.run_on(&["build", "-", "--radix", radix], &input, 2);
            assert!(err.contains("line 2: no fingerprint before the first"), "{err}");
        }
    }
    assert!(!dir.path("store.fps").exists());
}

#[test]
fn a_table_with_too_many_fields_or_an_open_quote_is_refused_with_its_line() {
    let dir = TestDir::new();
    dir.write("over.csv", "id,text\n1,The quick, brown fox jumps\n2,two words\n");
    let (out, err) = dir.run(&["fingerprint", "over.csv"], 2);
    assert!(err.contains("over.csv: line 2: 3 fields, expected 2 as in the header"), "{err}");
    assert_eq!(out, "");
    dir.write("over.tsv", "id\ttext\n1\tThe quick\tbrown fox\n");
    let (_, err) = dir.run(&["fingerprint", "over.tsv"], 2);
    assert!(err.contains("over.tsv: line 2: 3 fields"), "{err}");
    let (out, err) = dir.run(&["fingerprint", "over.csv", "--skip-bad"], 0);
    assert_eq!(ids(&out), ["2"]);
    assert!(err.contains("1 bad record skipped"), "{err}");

    let rows: String = (1..1000).map(|n| format!("{n},row {n}\n")).collect();
    dir.write("open.csv", format!("id,text\n0,\"oops unterminated\n{rows}"));
    let (out, err) = dir.run(&["fingerprint", "open.csv"], 2);
    assert!(err.contains("the quote that opens in line 2 is never closed"), "{err}");
    assert!(!err.contains("--skip-bad"), "{err}");
    assert_eq!(out, "");
    dir.write("closed.csv", "id,text\n0,\"oops\n1,\"quoted, too\"\n2,fine words\n");
    let (_, err) = dir.run(&["fingerprint", "closed.csv"], 2);
    assert!(err.contains("the quote opens in line 2"), "{err}");
}

#[test]
fn a_field_that_is_there_twice_is_refused_and_null_is_an_empty_text() {
    let dir = TestDir::new();
    for (field, line) in [
        ("id", "{\"id\":\"a\",\"id\":\"b\",\"text\":\"one fish\"}\n"),
        ("text", "{\"id\":\"a\",\"text\":\"one fish\",\"text\":\"two words\"}\n"),
    ] {
        let (_, err) = dir.run_on(&["fingerprint"], line, 2);
        assert!(err.contains(&format!("line 1: field '{field}' occurs twice")), "{err}");
    }
    let (out, err) = dir.run_on(
        &["fingerprint"],
        "{\"id\":-5,\"text\":\"a b\",\"x\":1,\"x\":2}\n{\"id\":6,\"text\":null}\n",
        0,
    );
    assert_eq!(ids(&out), ["-5"]);
    assert!(err.contains("(no features, or a null): 6"), "{err}");
}

/// The record is a few kilobytes on disk, but decompressed it is far larger than the memory.
#[test]
fn a_record_that_is_too_long_is_skipped_without_being_held() {
    const BOMB_LEN: usize = 256 << 20;
    let dir = TestDir::new();
    let bomb = |head: &str, tail: &str| {
        let mut out = zstd::Encoder::new(Vec::new(), 1).unwrap();
        out.write_all(head.as_bytes()).unwrap();
        let piece = vec![b'x'; 1 << 20];
        (0..BOMB_LEN >> 20).for_each(|_| out.write_all(&piece).unwrap());
        out.write_all(tail.as_bytes()).unwrap();
        out.finish().unwrap()
    };
    dir.write(
        "a.jsonl.zst",
        bomb("{\"id\":1,\"text\":\"", "\"}\n{\"id\":2,\"text\":\"one two\"}\n"),
    );
    dir.write("b.csv.zst", bomb("id,text\n1,\"", "\"\n2,one two\n"));
    dir.write("c.tsv.zst", bomb("id\ttext\n1\t", "\n2\tone two\n"));
    dir.write("d.txt.zst", bomb("", ""));
    dir.write("e.html.zst", bomb("<p>", ""));
    for (name, place) in [
        ("a.jsonl.zst", "line 1: a line"),
        ("b.csv.zst", "line 2: a record"),
        ("c.tsv.zst", "line 2: a record"),
        ("d.txt.zst", "d.txt.zst: it"),
        ("e.html.zst", "e.html.zst: it"),
    ] {
        let (_, err) = dir.run(&["build", "--docs", name, "--memory", "64MiB"], 2);
        assert!(err.contains(&format!("{place} is longer than the 8 MiB")), "{err}");
        assert!(err.contains("--max-document"), "{err}");
    }
    dir.write("f.jsonl", "{\"id\":3,\"text\":\"three words here\"}\n");
    let mut args = vec!["build", "--docs", "--memory", "64MiB", "--skip-bad", "--threads", "2"];
    args.extend(["a.jsonl.zst", "b.csv.zst", "c.tsv.zst", "d.txt.zst", "e.html.zst", "f.jsonl"]);
    let (_, err) = dir.run(&args, 0);
    assert!(err.contains("5 bad records skipped") && err.contains("4 records"), "{err}");
    // The report of `build` ends with its peak memory.
    let memory = err.lines().find_map(|line| line.split_once(") , ").or(line.split_once("), ")));
    let memory = memory.unwrap().1.split_once(" of memory").unwrap().0;
    let (number, unit) = memory.split_once(' ').unwrap();
    assert_eq!(unit, "MiB", "{err}");
    assert!(number.parse::<f64>().unwrap() < 128.0, "{err}");
    // A limit set with --max-document.
    let (_, err) = dir.run(&["fingerprint", "f.jsonl", "--max-document", "20"], 2);
    assert!(err.contains("line 1: a line is longer than the 20 bytes"), "{err}");
}

#[test]
fn deep_pages_are_refused_and_wide_ones_are_not() {
    let dir = TestDir::new();
    let page = |n: usize| format!("{}some text{}", "<div>".repeat(n), "</div>".repeat(n));
    dir.write("a/deep.html", page(200_000));
    dir.write("a/flat.html", page(200));
    dir.write("a/wide.html", "<p>one <b>two</b> three".repeat(5000));
    dir.write("a/math.html", "<math><mi>x".repeat(10_000));
    let attributes: String = (0..100_000).map(|n| format!(" a{n}")).collect();
    dir.write("a/tag.html", format!("<p>text</p><p{attributes}>more</p>"));
    let (_, err) = dir.run(&["fingerprint", "a/deep.html"], 2);
    assert!(err.contains("a/deep.html: elements are nested more than 512 deep"), "{err}");
    assert!(!err.contains("--skip-bad"), "{err}");
    let (out, err) = dir.run(&["fingerprint", "a", "--skip-bad"], 0);
    assert_eq!(ids(&out), ["flat.html", "wide.html"]);
    assert!(err.contains("tag.html: a tag or comment has more than"), "{err}");
    assert!(err.contains("3 bad records skipped"), "{err}");
}

#[test]
fn a_folder_with_bad_files_goes_on_and_names_them() {
    let dir = TestDir::new();
    dir.write("d/a.txt", "one two three");
    dir.write("d/b.csv", "key,body\n1,no such columns\n");
    dir.write("d/c.parquet", "PAR1 and no more");
    let lines: String =
        (0..30_000).map(|n| format!("{{\"id\":{n},\"text\":\"t {n} {n}\"}}\n")).collect();
    let mut cut = gzip(lines.as_bytes());
    cut.truncate(cut.len() * 2 / 3);
    dir.write("d/d.jsonl.gz", &cut);
    dir.write("d/z.txt", "four five six");
    let (_, err) = dir.run(&["fingerprint", "d"], 2);
    assert!(err.contains("b.csv: no field 'id' among key, body"), "{err}");
    assert!(!err.contains("--skip-bad"), "{err}");
    let (out, err) = dir.run(&["fingerprint", "d", "--skip-bad"], 0);
    assert_eq!((ids(&out)[0], *ids(&out).last().unwrap()), ("a.txt", "z.txt"));
    let taken = ids(&out).len() - 2;
    assert!((1..30_000).contains(&taken), "{taken}");
    for part in ["b.csv: no column", "c.parquet: Parquet", "skipped 3 bad files"] {
        assert!(err.contains(part), "{part}: {err}");
    }
    assert!(err.contains("d.jsonl.gz") && err.contains(&format!("the {taken} documents before")));
    // A damaged file that the user names is an error even with --skip-bad.
    dir.run(&["fingerprint", "d/d.jsonl.gz", "--skip-bad"], 2);
    dir.run(&["fingerprint", "d/b.csv", "--skip-bad"], 2);
    let (out, err) = dir.run(&["fingerprint", "d", "--exclude", "*.csv", "--include", "*.txt"], 0);
    assert_eq!((ids(&out), err.contains("bad")), (vec!["a.txt", "z.txt"], false));
    let (_, err) = dir.run(&["fingerprint", "d/a.txt", "--exclude", "*.csv"], 2);
    assert!(err.contains("no folder is given"), "{err}");
}

#[test]
fn hidden_files_are_counted_and_can_be_read() {
    let dir = TestDir::new();
    dir.write("d/a.txt", "one two three");
    dir.write("d/.well-known/b.txt", "four five six");
    dir.write("d/.c.txt", "seven eight nine");
    let (out, err) = dir.run(&["fingerprint", "d"], 0);
    assert_eq!(ids(&out), ["a.txt"]);
    assert!(err.contains("skipped 2 hidden files; to read them, use --hidden"), "{err}");
    let (out, err) = dir.run(&["fingerprint", "d", "--hidden"], 0);
    assert_eq!(ids(&out), [".c.txt", ".well-known/b.txt", "a.txt"]);
    assert!(!err.contains("hidden"), "{err}");
    dir.write("e/.only.txt", "one two");
    let (_, err) = dir.run(&["build", "--docs", "e"], 2);
    assert!(err.contains("e: no file to read: 1 hidden"), "{err}");
    assert!(!dir.path("store.fps").exists());
}

#[test]
fn ids_tell_the_files_of_several_folders_apart() {
    let dir = TestDir::new();
    dir.write("a/x.txt", "one two three");
    dir.write("b/x.txt", "four five six");
    let (out, _) = dir.run(&["fingerprint", "a", "b"], 0);
    assert_eq!(ids(&out), ["a/x.txt", "b/x.txt"]);
    let (out, _) = dir.run(&["fingerprint", "./a/", "b"], 0);
    assert_eq!(ids(&out), ["a/x.txt", "b/x.txt"]);
    let (_, err) = dir.run(&["fingerprint", "a", "./a"], 2);
    assert!(err.contains("two files would get the id 'a/x.txt'"), "{err}");
    dir.write("x.txt", "seven eight nine");
    dir.run(&["fingerprint", "a", "x.txt"], 2);
    // The ids of records come from their fields, not from the names of their files.
    dir.write("p/r.jsonl", "{\"id\":1,\"text\":\"one two\"}\n");
    dir.run(&["fingerprint", "p", "p/r.jsonl"], 0);
}

#[cfg(unix)]
#[test]
fn names_that_are_not_utf_8_never_become_the_same_id() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let dir = TestDir::new();
    dir.write("c/a.txt", "one two three");
    for name in [&b"bad\xff.txt"[..], b"bad\xfe.txt"] {
        std::fs::write(dir.path("c").join(OsStr::from_bytes(name)), "four five six").unwrap();
    }
    let (_, err) = dir.run(&["fingerprint", "c"], 2);
    assert!(err.contains("bad\\xFE.txt\": the name is not UTF-8"), "{err}");
    let (out, err) = dir.run(&["fingerprint", "c", "--skip-bad"], 0);
    assert_eq!(ids(&out), ["a.txt"]);
    assert!(err.contains("skipped 2 bad files"), "{err}");
}

#[test]
fn compressed_data_is_read_whatever_its_name() {
    let dir = TestDir::new();
    dir.write("plain.tsv", "00000000000000ff\ta\n");
    let plain = dir.run(&["build", "plain.tsv", "-s", "a.fps", "-q"], 0);
    assert_eq!(plain.1, "");
    dir.write("zipped.tsv", gzip(b"00000000000000ff\ta\n"));
    dir.write(
        "docs.jsonl",
        zstd::encode_all(&b"{\"id\":1,\"text\":\"one two\"}\n"[..], 1).unwrap(),
    );
    dir.run(&["build", "zipped.tsv", "-s", "b.fps", "-q"], 0);
    let dump = |store: &str| dir.run(&["dump", "-s", store], 0).0;
    assert_eq!(dump("a.fps"), dump("b.fps"));
    let (out, _) = dir.run(&["fingerprint", "docs.jsonl"], 0);
    assert_eq!(ids(&out), ["1"]);
}

#[test]
fn the_remedy_fits_the_fault() {
    let dir = TestDir::new();
    for (input, remedy) in [
        ("{\"id\":1,\"text\":\"x\"}\n", "fpstore build --docs"),
        ("1234567890123456789\ta\nx\tb\n", "--radix dec"),
        ("-9000000000000000000\ta\nx\tb\n", "--radix sdec"),
    ] {
        let (_, err) = dir.run_on(&["build", "-"], input, 2);
        assert!(err.contains(remedy) && !err.contains("--skip-bad"), "{err}");
    }
    let (_, err) = dir.run_on(&["build", "-"], "00000000000000ff\txyz\nnot hex\n", 2);
    assert!(err.contains("--skip-bad"), "{err}");
    let (_, err) = dir.run_on(&["fingerprint"], "{\"url\":\"a\",\"body\":\"b\"}\n", 2);
    assert!(err.contains("no field 'id'; other fields: url, body"), "{err}");
    assert!(err.contains("--id-field") && !err.contains("--skip-bad"), "{err}");
    dir.write("enc.txt", b"caf\xe9 and more words");
    let (_, err) = dir.run(&["fingerprint", "enc.txt"], 2);
    assert!(err.contains("enc.txt: byte 3: not UTF-8"), "{err}");
    let (_, err) = dir.run_on(&["fingerprint", "-", "--recipe", "xx"], "", 2);
    assert!(err.contains("there is no recipe 'xx'"), "{err}");
}

#[test]
fn options_without_effect_are_refused() {
    let dir = TestDir::with("a.tsv", "00000000000000ff\ta\n");
    for option in [
        &["--docs-format", "csv"][..],
        &["--id-field", "url"],
        &["--max-document", "1MB"],
        &["--include", "*.html"],
        &["--hidden"],
        &["--shingle", "3"],
        &["--keep-case"],
    ] {
        let (_, err) = dir.run(&[&["build", "a.tsv"], option].concat(), 2);
        assert!(err.contains(option[0]) && err.contains("--docs"), "{err}");
    }
    for option in [["--radix", "dec"], ["--input-format", "u64le"]] {
        let (_, err) = dir.run(&[&["build", "--docs", "a.tsv"], &option[..]].concat(), 2);
        assert!(err.contains(option[0]) && err.contains("--docs"), "{err}");
    }
    let (_, err) = dir.run(&["compare", "--literal", "a", "b", "--encoding", "gbk"], 2);
    assert!(err.contains("--encoding is for files"), "{err}");
    assert!(!dir.path("store.fps").exists());
}

#[test]
fn the_text_that_is_hashed_can_be_seen() {
    let dir = TestDir::new();
    dir.write("p/a.html", "<title>T</title><body><p>Just <b>one</b> line<script>no</script>");
    dir.write("p/b.txt", "two\nlines");
    let (out, _) = dir.run(&["fingerprint", "p", "--show-text"], 0);
    assert!(out.starts_with("{\"id\":\"a.html\",\"text\":\"T\\n"), "{out}");
    assert!(out.ends_with("{\"id\":\"b.txt\",\"text\":\"two\\nlines\"}\n"), "{out}");
    dir.write("texts.jsonl", &out);
    let of_texts = dir.run(&["fingerprint", "texts.jsonl"], 0).0;
    assert_eq!(of_texts, dir.run(&["fingerprint", "p"], 0).0);
    dir.run(&["fingerprint", "p", "--show-text", "--recipe", "code"], 2);
}
