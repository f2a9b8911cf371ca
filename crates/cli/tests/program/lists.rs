//! Tests files of judged pairs, ids, words, weights, recipes and earlier clusters, with the line
//! ends and byte order marks of any system.

use crate::common::program::TestDir;

const SAME: &str = "{\"id\":\"x1\",\"text\":\"one two three four five six\"}\n\
                    {\"id\":\"x2\",\"text\":\"one two three four five six\"}\n";

/// A list as programs on Windows save it: with CRLF, with a byte order mark, or with both.
fn saved(list: &str) -> [String; 3] {
    [
        list.replace('\n', "\r\n"),
        format!("\u{feff}{list}"),
        format!("\u{feff}{list}").replace('\n', "\r\n"),
    ]
}

#[test]
fn a_list_saved_on_windows_is_read_as_any_other() {
    let dir = TestDir::with("t.jsonl", SAME);
    dir.write("words.jsonl", "{\"id\":\"q\",\"text\":\"the cat and the hat and the mat sat\"}\n");
    let clusters = dir.ok(&["cluster", "--docs", "t.jsonl", "-q"], "");
    let lists: [(&str, &str, &[&str]); 5] = [
        ("pairs", "x1\tx2\t0\n", &["clean", "t.jsonl", "--list", "-q", "--pairs"]),
        ("pairs", "x1\tx2\t0\n", &["cluster", "--docs", "t.jsonl", "-q", "--pairs"]),
        ("stable", &clusters, &["cluster", "--docs", "t.jsonl", "-q", "--stable"]),
        ("words", "the\nand\n", &["fingerprint", "words.jsonl", "-q", "--stop-words"]),
        (
            "weights",
            "the\t5\n",
            &["fingerprint", "words.jsonl", "-q", "--recipe", "simhash", "--weights"],
        ),
    ];
    for (name, list, args) in lists {
        dir.write(name, list);
        let expected = dir.output(&[args, &[name]].concat(), "");
        for bytes in saved(list) {
            dir.write(name, &bytes);
            let found = dir.output(&[args, &[name]].concat(), "");
            assert_eq!(found, expected, "{args:?} {bytes:?}");
        }
    }
    for bytes in saved("x1\nx2\n") {
        dir.ok(&["build", "--docs", "t.jsonl", "-s", "t.fps", "-fq"], "");
        dir.write("ids", bytes);
        let (_, err) = dir.run(&["delete", "--ids", "ids", "-s", "t.fps"], 0);
        assert!(err.contains("2 ids found\n"), "{err}");
        assert_eq!(dir.ok(&["dump", "-s", "t.fps"], ""), "");
    }
}

#[test]
fn masks_and_receipts_saved_on_windows_are_read_as_any_other() {
    let dir = TestDir::with("t.tsv", "f2a74de452e6b430\tx\n");
    let build = ["build", "t.tsv", "-s", "t.fps", "-fq", "--scheme", "masks"];
    let receipt = dir.ok(&["build", "t.tsv", "--segment-file", "0.fps", "-q"], "");
    for bytes in saved("ffffffff00000000\nffffffff\n") {
        dir.write("masks", bytes);
        dir.ok(&build, "");
    }
    for (at, bytes) in saved(&format!("# a night\n{receipt}")).into_iter().enumerate() {
        dir.write("receipts", bytes);
        let store = format!("{at}.store");
        let (_, err) = dir.run(&["commit", "receipts", "-s", &store], 0);
        assert!(err.contains("1 segment added"), "{err}");
    }
}

#[test]
fn comments_and_a_header_are_no_ids() {
    let dir = TestDir::with("t.jsonl", SAME);
    dir.ok(&["build", "--docs", "t.jsonl", "-s", "t.fps", "-q"], "");
    for (list, found) in [
        ("# gone\nid\nx1\n\n", "1 id found\n"),
        ("doc_id\r\nx2\r\n# more\r\nx3\r\n", "1 id found; 1 was not found"),
    ] {
        dir.write("ids", list);
        let (_, err) = dir.run(&["delete", "--ids", "ids", "-s", "t.fps"], 0);
        assert!(err.contains(found) && err.contains("is taken for a header"), "{err}");
    }
    assert_eq!(dir.ok(&["dump", "-s", "t.fps"], ""), "");
    // A single id is not a header.
    dir.write("ids", "name\n");
    let (_, err) = dir.run(&["delete", "--ids", "ids", "-s", "t.fps"], 1);
    assert!(err.contains("1 was not found"), "{err}");
}

#[test]
fn a_list_in_utf_16_is_named_as_such() {
    let dir = TestDir::with("t.jsonl", SAME);
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    dir.ok(&["build", "--docs", "t.jsonl", "-s", "t.fps", "-q"], "");
    dir.write("list", wide("\u{feff}x1\tx2\t0\r\n"));
    for args in [
        &["clean", "t.jsonl", "--list", "--pairs", "list"][..],
        &["cluster", "--docs", "t.jsonl", "--pairs", "list"],
        &["cluster", "--docs", "t.jsonl", "--stable", "list"],
        &["delete", "-s", "t.fps", "--ids", "list"],
        &["fingerprint", "t.jsonl", "--stop-words", "list"],
        &["fingerprint", "t.jsonl", "--weights", "list"],
        &["fingerprint", "t.jsonl", "--recipe", "list"],
    ] {
        let (_, err) = dir.run(args, 2);
        assert!(err.contains("cannot read list: it is UTF-16"), "{args:?}: {err}");
    }
}

#[test]
fn judged_pairs_of_unknown_documents_are_counted() {
    let dir = TestDir::with("t.jsonl", SAME);
    dir.write("pairs", "\"x1\"\t\"x2\"\t0\nx1\tgone\t0\nx1\tx2\t-1\n");
    let clean = ["clean", "t.jsonl", "--list", "--pairs", "pairs"];
    let (_, err) = dir.run(&clean, 0);
    assert!(err.contains("warning: 2 of 2 judged pairs without effect"), "{err}");
    dir.write("pairs", "x1\tx2\t0\n");
    let (_, err) = dir.run(&clean, 0);
    assert!(!err.contains("without effect"), "{err}");
    // The second id of a judged pair may be the id of a stored document.
    dir.write("old.jsonl", SAME.replace("x1", "old1").replace("x2", "old2"));
    dir.ok(&["build", "--docs", "old.jsonl", "-s", "old.fps", "-q"], "");
    dir.write("pairs", "x1\told1\t0\ngone\told1\t0\n");
    let (_, err) = dir.run(&[&clean[..], &["-s", "old.fps", "--within"]].concat(), 0);
    assert!(err.contains("warning: 1 of 2 judged pairs without effect"), "{err}");
}
