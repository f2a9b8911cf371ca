//! Files that are damaged, whole or in part, beside healthy ones, and texts without words.

use super::documents;
use super::formats::{CSV, JSON_LINES, archived, compressed};
use crate::common::documents::Document;
use crate::common::program::Desk;

/// A file that is one document, and cannot be read, is named as left out; the list of the kept files
/// must not say that it was compared and kept.
#[test]
fn a_file_that_cannot_be_read_is_not_among_the_kept_files() {
    let desk = Desk::new();
    let text = "a text of some words that is long enough to be cut in the middle";
    desk.write("in/whole.txt", text);
    let packed = compressed("x.gz", format!("{text}, and more").as_bytes());
    desk.write("in/cut.txt.gz", &packed[..packed.len() / 2]);
    for output in ["out/", "list.txt"] {
        let (_, err) = desk.run(&["dedup", "--docs", "in", "--skip-bad", "-o", output], 2);
        assert!(err.contains("cut.txt.gz") && err.contains("1 file could not be read"), "{err}");
    }
    assert_eq!(desk.read("out/kept-files.txt"), "in/whole.txt\n");
    assert_eq!(desk.read("list.txt"), "in/whole.txt\n");
}

/// Texts without a word are compared as a whole: of equal ones one is kept, and no other is removed.
#[test]
fn texts_without_words_are_compared_as_a_whole() {
    let texts =
        ["***", "\u{1f600}", " *** ", "\u{1f600}\u{1f600}", "", "+-+", "", "\u{1f600}", "+ +"];
    let line = |(id, text): (usize, &&str)| format!("{{\"id\":{id},\"text\":\"{text}\"}}\n");
    let lines: Vec<String> = texts.iter().enumerate().map(line).collect();
    let desk = Desk::with("a.jsonl", &lines.concat());
    for more in [&[][..], &["--confirm", "0.8"]] {
        let args = ["dedup", "--docs", "a.jsonl", "-o", "b.jsonl", "--removed", "r.tsv", "-f"];
        let (_, err) = desk.run(&[&args[..], more].concat(), 0);
        assert!(err.contains("5 documents kept, 2 documents removed"), "{err}");
        assert!(err.contains("2 documents without fingerprint"), "{err}");
        let kept = [0, 1, 3, 4, 5, 6, 8].map(|at: usize| lines[at].as_str()).concat();
        assert_eq!(desk.read("b.jsonl"), kept);
        let removed = desk.read("r.tsv");
        let pairs: Vec<String> = removed
            .lines()
            .map(|line| line.split('\t').skip(4).collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(pairs, ["2 0 new text", "7 1 new bytes"]);
    }
    // A store finds them, too, and a store of an older recipe goes on without them.
    desk.ok(&["build", "--docs", "a.jsonl", "-s", "s.fps", "-q"], "");
    assert!(desk.ok(&["query", "--text", "***", "-s", "s.fps"], "").contains("\t0\t0\n"));
    let info = desk.json(&["info", "-s", "s.fps"]);
    let old = info["recipe"].as_str().unwrap().replace("empty=text", "empty=nothing");
    desk.write("old.recipe", old);
    let args = ["dedup", "--docs", "a.jsonl", "-o", "b.jsonl", "-f", "--recipe", "old.recipe"];
    let (_, err) = desk.run(&args, 0);
    assert!(err.contains("9 documents without fingerprint"), "{err}");
}

/// A file of the documents, by the end of its name; members of `.warc.gz` hold one record each.
fn file_of(name: &str, documents: &[Document]) -> Vec<u8> {
    let records = || documents.iter().enumerate().map(|(at, document)| archived(at, document));
    let plain = match name.split('.').nth(1).unwrap() {
        "jsonl" => JSON_LINES.file(documents, |_| true),
        "csv" => CSV.file(documents, |_| true),
        "warc" if name.ends_with(".gz") => {
            return records().flat_map(|record| compressed("x.gz", record.as_bytes())).collect();
        }
        _ => records().collect::<String>().into_bytes(),
    };
    compressed(name, &plain)
}

const NAMES: [&str; 6] =
    ["a.jsonl.gz", "a.jsonl.zst", "a.csv.gz", "a.csv.zst", "a.warc", "a.warc.gz"];

/// A file is cut at its third quarter. Beside it lies a healthy one with the same documents.
#[test]
fn a_cut_file_is_left_out_as_a_whole_or_read_to_where_it_is_sound() {
    // Long enough that a decompressor gives much before the cut.
    let documents = documents(900, 31);
    for name in NAMES {
        let desk = Desk::new();
        let whole = file_of(name, &documents);
        let cut = &whole[..whole.len() * 3 / 4];
        desk.write(&format!("in/{name}"), cut);
        desk.write("in/b.jsonl", JSON_LINES.file(&documents, |_| true));
        // By itself it is an error, which names file and place.
        let one = format!("in/{name}");
        let place = match name {
            "a.warc" => ": it is cut".into(),
            _ => format!("the compressed data is cut: it ends at byte {}", cut.len()),
        };
        for args in [&["fingerprint", "in"][..], &["fingerprint", &one, "--skip-bad"]] {
            let (_, err) = desk.run(args, 2);
            assert!(err.contains(name) && err.contains(&place), "{name}: {err}");
        }
        // Fingerprints are made of what is sound.
        let (out, err) = desk.run(&["fingerprint", "in", "--skip-bad"], 0);
        let taken =
            err.lines().find_map(|line| line.split_once("; the ")?.1.split_once(" documents"));
        let taken: usize = taken.unwrap_or_else(|| panic!("{name}: {err}")).0.parse().unwrap();
        assert!((300..850).contains(&taken), "{name}: {taken}");
        assert_eq!(out.lines().count(), 900 + taken, "{name}");
        // A corpus is cleaned without any of it.
        let args = ["dedup", "--docs", "in", "--skip-bad", "-o", "out", "--removed", "r.tsv"];
        let (_, err) = desk.run(&args, 2);
        assert!(err.contains(&format!("{taken} documents before that were left out")), "{err}");
        assert!(!desk.path("out").join(name).exists());
        let kept = desk.read("out/b.jsonl").matches("\"id\"").count();
        assert_eq!(kept + desk.read("r.tsv").lines().count(), 900, "{name}");
    }
}

/// Copies in whole blocks are filled up with NUL bytes, as tapes were.
#[test]
fn nul_bytes_behind_gzip_are_no_fault() {
    let documents = documents(40, 32);
    let desk = Desk::new();
    for name in NAMES.iter().filter(|name| name.ends_with(".gz")) {
        let mut bytes = file_of(name, &documents);
        bytes.extend([0; 10_240]);
        desk.write(&format!("in/{name}"), bytes);
    }
    desk.write(
        "in/page.html.gz",
        [compressed("x.gz", b"<p>a page of its own</p>"), vec![0]].concat(),
    );
    let (_, err) = desk.run(&["build", "--docs", "in"], 0);
    assert!(!err.contains("bad"), "{err}");
    assert_eq!(desk.json(&["info"])["ids"].as_u64(), Some(3 * 40 + 1));
    let (_, err) = desk.run(&["dedup", "--docs", "in", "-o", "out"], 0);
    assert!(err.contains("121 documents"), "{err}");
    // Other bytes are one: nobody knows what they were to be.
    let name = "in/a.jsonl.gz";
    let junk = [file_of(name, &documents), b"\0more".to_vec()].concat();
    let at = junk.len() - 4;
    desk.write(name, junk);
    let (_, err) = desk.run(&["build", "--docs", name, "-f"], 2);
    assert!(err.contains(&format!("byte {at} of the compressed data is 0x6d")), "{err}");
}
