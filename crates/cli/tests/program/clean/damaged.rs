//! Tests `clean` on damaged files next to intact ones, and on texts without words.

use super::documents;
use super::formats::{CSV, JSON_LINES, archived, compressed, decompressed, record_of};
use crate::common::documents::Document;
use crate::common::program::TestDir;

/// The list of kept files must not include an unreadable file.
#[test]
fn a_file_that_cannot_be_read_is_not_among_the_kept_files() {
    let dir = TestDir::new();
    let text = "a text of some words that is long enough to be cut in the middle";
    dir.write("in/whole.txt", text);
    let packed = compressed("x.gz", format!("{text}, and more").as_bytes());
    dir.write("in/cut.txt.gz", &packed[..packed.len() / 2]);
    for output in ["out/", "list.txt"] {
        let (_, err) = dir.run(&["clean", "in", "--skip-bad", "-o", output], 2);
        assert!(err.contains("cut.txt.gz") && err.contains("1 file could not be read"), "{err}");
    }
    assert_eq!(dir.read_names("out/kept-files.txt"), "in/whole.txt\n");
    assert_eq!(dir.read_names("list.txt"), "in/whole.txt\n");
}

/// The only file of a subfolder is left out, so the subfolder has no copy.
#[test]
fn a_folder_whose_files_are_all_left_out_does_not_end_the_work() {
    let dir = TestDir::new();
    let line = "{\"id\":\"a\",\"text\":\"some words of a text\"}\n";
    dir.write("in/a.jsonl", line);
    dir.write("in/b/no-header.tsv", "");
    dir.write("items.jsonl", "{\"id\":1,\"text\":\"six other words of a benchmark\"}\n");
    for args in [&["clean"][..], &["contamination", "--against", "items.jsonl"]] {
        let args = [args, &["--docs", "in", "--skip-bad", "-o", "out/", "-f"]].concat();
        let (_, err) = dir.run(&args, 2);
        assert!(
            err.contains("no-header.tsv") && err.contains("the other files are complete"),
            "{err}"
        );
        assert_eq!(dir.read("out/a.jsonl"), line);
        assert!(!dir.path("out/b").exists());
    }
}

/// Files in UTF-16 can be read, but their lines cannot be copied byte by byte.
#[test]
fn a_file_in_utf_16_is_left_out_of_the_copies_of_a_folder() {
    let dir = TestDir::new();
    let lines = |ids: &[u8]| -> String {
        let line = |id| format!("{{\"id\":{id},\"text\":\"some words of a text\"}}\n");
        ids.iter().map(line).collect()
    };
    dir.write("in/z.jsonl", lines(&[1, 2]));
    let utf16 = format!("\u{feff}{}", lines(&[3, 4, 5]));
    let utf16: Vec<u8> = utf16.encode_utf16().flat_map(u16::to_le_bytes).collect();
    dir.write("in/a.jsonl", utf16);
    let (_, err) = dir.run(&["clean", "in", "--skip-bad", "-o", "out/"], 2);
    assert!(err.contains("a.jsonl: its encoding is UTF-16LE"), "{err}");
    assert!(!dir.path("out/a.jsonl").exists());
    assert_eq!(dir.read("out/z.jsonl"), lines(&[1]));
}

/// `--skip-bad` does not help: the file is intact, but its format cannot be annotated or cut, so
/// the command is refused.
#[test]
fn a_format_that_takes_no_marks_and_no_cuts_is_refused_in_folders() {
    let dir = TestDir::new();
    dir.write("in/a.jsonl", "{\"id\":\"a\",\"text\":\"some words of a text\"}\n");
    let document = &documents(1, 5)[0];
    for (name, content) in
        [("in/b.warc", archived(0, document)), ("in/b.txt", "some words of a text".into())]
    {
        dir.write(name, content);
        for how in [&["--annotate", "of"][..], &["--unit", "line", "--passages", "cut"]] {
            let args = ["clean", "in", "--skip-bad", "-o", "out/"];
            let (_, err) = dir.run(&[&args[..], how].concat(), 2);
            assert!(err.contains(name.trim_start_matches("in/")), "{err}");
            assert!(!dir.path("out/a.jsonl").exists(), "{name} {how:?}");
        }
        std::fs::remove_file(dir.path(name)).unwrap();
    }
}

/// Texts without words are compared as a whole: one of several equal texts is kept, and other texts
/// are not removed.
#[test]
fn texts_without_words_are_compared_as_a_whole() {
    let texts =
        ["***", "\u{1f600}", " *** ", "\u{1f600}\u{1f600}", "", "+-+", "", "\u{1f600}", "+ +"];
    let line = |(id, text): (usize, &&str)| format!("{{\"id\":{id},\"text\":\"{text}\"}}\n");
    let lines: Vec<String> = texts.iter().enumerate().map(line).collect();
    let dir = TestDir::with("a.jsonl", &lines.concat());
    for more in [&[][..], &["--confirm", "0.8"]] {
        let args = ["clean", "a.jsonl", "-o", "b.jsonl", "--removed", "r.tsv", "-f"];
        let (_, err) = dir.run(&[&args[..], more].concat(), 0);
        assert!(err.contains("5 documents kept, 2 documents removed"), "{err}");
        assert!(err.contains("2 documents without fingerprint"), "{err}");
        let kept = [0, 1, 3, 4, 5, 6, 8].map(|at: usize| lines[at].as_str()).concat();
        assert_eq!(dir.read("b.jsonl"), kept);
        let removed = dir.read("r.tsv");
        let pairs: Vec<String> = removed
            .lines()
            .map(|line| line.split('\t').skip(4).collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(pairs, ["2 0 new text", "7 1 new bytes"]);
    }
    // Stores contain such texts, too. In a store with an older recipe they have no fingerprint.
    dir.ok(&["build", "--docs", "a.jsonl", "-s", "s.fps", "-q"], "");
    assert!(dir.ok(&["query", "--text", "***", "-s", "s.fps"], "").contains("\t0\t0\n"));
    let info = dir.json(&["info", "-s", "s.fps"]);
    let old = info["recipe"].as_str().unwrap().replace("empty=text", "empty=nothing");
    dir.write("old.recipe", old);
    let args = ["clean", "a.jsonl", "-o", "b.jsonl", "-f", "--recipe", "old.recipe"];
    let (_, err) = dir.run(&args, 0);
    assert!(err.contains("9 documents without fingerprint"), "{err}");
}

/// The bytes of a file with these documents, in the format of the extension of `name`. Each member
/// of `.warc.gz` contains one record.
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

/// A file truncated at three quarters of its length, next to an intact file with the same
/// documents.
#[test]
fn a_cut_file_is_left_out_as_a_whole_or_read_to_where_it_is_sound() {
    // Enough documents that a decompressor returns some before it reaches the truncation.
    let documents = documents(900, 31);
    for name in NAMES.into_iter().filter(|name| !name.contains("warc")) {
        let dir = TestDir::new();
        let whole = file_of(name, &documents);
        let cut = &whole[..whole.len() * 3 / 4];
        dir.write(&format!("in/{name}"), cut);
        dir.write("in/b.jsonl", JSON_LINES.file(&documents, |_| true));
        // If it is the only input, the damaged file is an error that names the file and the
        // position.
        let one = format!("in/{name}");
        let place =
            format!("the compressed data is truncated: the file ends at byte {}", cut.len());
        for args in [&["fingerprint", "in"][..], &["fingerprint", &one, "--skip-bad"]] {
            let (_, err) = dir.run(args, 2);
            assert!(err.contains(name) && err.contains(&place), "{name}: {err}");
        }
        // `fingerprint` reads the part before the damage.
        let (out, err) = dir.run(&["fingerprint", "in", "--skip-bad"], 0);
        let taken =
            err.lines().find_map(|line| line.split_once("; the ")?.1.split_once(" documents"));
        let taken: usize = taken.unwrap_or_else(|| panic!("{name}: {err}")).0.parse().unwrap();
        assert!((300..850).contains(&taken), "{name}: {taken}");
        assert_eq!(out.lines().count(), 900 + taken, "{name}");
        // `clean` leaves out the whole damaged file.
        let args = ["clean", "in", "--skip-bad", "-o", "out", "--removed", "r.tsv"];
        let (_, err) = dir.run(&args, 2);
        assert!(err.contains(&format!("{taken} documents before that were left out")), "{err}");
        assert!(!dir.path("out").join(name).exists());
        let kept = dir.read("out/b.jsonl").matches("\"id\"").count();
        assert_eq!(kept + dir.read("r.tsv").lines().count(), 900, "{name}");
    }
}

/// Copies in whole blocks, such as from tapes, are padded with NUL bytes, which are not an error.
#[test]
fn nul_bytes_behind_gzip_are_no_fault() {
    let documents = documents(40, 32);
    let dir = TestDir::new();
    for name in NAMES.iter().filter(|name| name.ends_with(".gz")) {
        let mut bytes = file_of(name, &documents);
        bytes.extend([0; 10_240]);
        dir.write(&format!("in/{name}"), bytes);
    }
    dir.write(
        "in/page.html.gz",
        [compressed("x.gz", b"<p>a page of its own</p>"), vec![0]].concat(),
    );
    let (_, err) = dir.run(&["build", "--docs", "in"], 0);
    assert!(!err.contains("bad"), "{err}");
    assert_eq!(dir.json(&["info"])["ids"].as_u64(), Some(3 * 40 + 1));
    let (_, err) = dir.run(&["clean", "in", "-o", "out"], 0);
    assert!(err.contains("121 documents"), "{err}");
    // Other bytes after the gzip data are an error, because their meaning is unknown.
    let name = "in/a.jsonl.gz";
    let junk = [file_of(name, &documents), b"\0more".to_vec()].concat();
    let at = junk.len() - 4;
    dir.write(name, junk);
    let (_, err) = dir.run(&["build", "--docs", name, "-f"], 2);
    assert!(err.contains(&format!("byte {at} of the compressed data is 0x6d")), "{err}");
}

/// After a damaged record of a web archive the next record is found, and the copy is a valid
/// archive.
#[test]
fn damaged_records_of_web_archives_are_counted_and_in_no_copy() {
    let texts = ["one text of the first page", "two is another", "three", "and this is the fourth"];
    let records: Vec<String> = (1..)
        .zip(texts)
        .map(|(at, text)| record_of("conversion", &format!("u{at}"), "text/plain", text))
        .collect();
    let members: Vec<Vec<u8>> =
        records.iter().map(|record| compressed("x.gz", record.as_bytes())).collect();
    let mut changed = members[1].clone();
    let at = changed.len() - 12;
    changed[at] ^= 0xff;
    let whole = records.concat();
    let without = |at: usize| {
        let kept = records.iter().enumerate().filter(|(number, _)| *number != at);
        kept.map(|(_, record)| record.as_str()).collect::<String>()
    };
    let no_len = records[1].replace("Content-Length", "Content-Lenght");
    let broken = whole.replace(&records[1], &no_len);
    let gzip = |second: &[u8]| [&members[0], second, &members[2], &members[3]].concat();
    for (name, bytes, lost, told) in [
        ("a.warc", broken.into_bytes(), 1, "record 2: it has no Content-Length"),
        ("a.warc", whole.as_bytes()[..whole.len() - 10].to_vec(), 3, "record 4: it is truncated"),
        ("a.warc.gz", gzip(&changed), 1, "record 2: it cannot be decompressed: "),
        ("a.warc.gz", gzip(&members[1][..30]), 1, "record 2: it cannot be decompressed: "),
        ("a.warc.gz", gzip(&compressed("x.gz", no_len.as_bytes())), 1, "record 2: it has no"),
        (
            "a.warc.gz",
            members.concat()[..members.concat().len() - 9].to_vec(),
            3,
            "record 4: it cannot be decompressed: the compressed data is truncated",
        ),
    ] {
        let dir = TestDir::new();
        dir.write(name, &bytes);
        let out = format!("out.{}", name.strip_prefix("a.").unwrap());
        let args = ["clean", name, "-o", &out];
        dir.run(&args, 2);
        let (_, err) = dir.run(&[&args[..], &["--skip-bad", "--manifest", "m.json"]].concat(), 0);
        assert!(err.contains(told), "{name}: {err}");
        assert!(err.contains("3 documents: 3 documents kept"), "{err}");
        assert!(err.contains("1 damaged record is not in the output"), "{err}");
        assert!(dir.read("m.json").contains("\"damaged_records\": 1"));
        assert_eq!(String::from_utf8(decompressed(&dir, &out)).unwrap(), without(lost), "{told}");
        // `contamination` copies no damaged record either.
        dir.write("items.jsonl", "{\"text\":\"one text of the first page\"}\n");
        let args = ["contamination", "--against", "items.jsonl", name, "-o", &out, "-f"];
        dir.run(&[&args[..], &["--skip-bad"]].concat(), 0);
        let kept = String::from_utf8(decompressed(&dir, &out)).unwrap();
        assert_eq!(kept, without(lost).replace(&records[0], ""));
    }
    // If records share a member of the archive, the number of lost records is unknown.
    let dir = TestDir::new();
    let one = compressed("x.gz", whole.as_bytes());
    dir.write("a.warc.gz", &one[..one.len() - 20]);
    let args = ["clean", "a.warc.gz", "-o", "out.warc.gz", "--skip-bad"];
    let (_, err) = dir.run(&args, 2);
    assert!(err.contains("the compressed data is truncated"), "{err}");
    assert!(err.contains("a damaged file only in"), "{err}");
    dir.assert_files(&["a.warc.gz"]);
}
