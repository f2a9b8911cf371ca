//! Tests that copied files contain exactly the kept documents, with unusual line ends, blank lines
//! and damage around them.

use std::fs;

use super::formats::{compressed, decompressed, record_of};
use crate::common::program::TestDir;

/// The maximum length of a document. Lines of the test have more CRs than this before their LF.
const LEN_MAX: &str = "500";

/// Five documents; the third is a copy of the second. `line` formats a document and its line end.
fn lines(line: impl Fn(&str, &str) -> String) -> Vec<String> {
    let text = |name: &str| (0..20).map(|at| format!("{name}w{at} ")).collect::<String>();
    let names = [("evil", "e"), ("a", "a"), ("copy", "a"), ("unique", "u"), ("end", "z")];
    let end = |id: &str| if id == "evil" { "\r".repeat(500) + "\n" } else { "\n".into() };
    names.iter().map(|(id, name)| line(id, &text(name)) + &end(id)).collect()
}

fn json_line(id: &str, text: &str) -> String {
    format!("{{\"id\":\"{id}\",\"text\":\"{text}\"}}")
}

#[test]
fn the_documents_that_were_judged_are_removed_however_many_crs_end_a_line() {
    let plain_line = |_: &str, text: &str| text.to_string();
    for (name, lines, more) in [
        ("c.jsonl", lines(json_line), &[][..]),
        ("c.jsonl.gz", lines(json_line), &[]),
        ("c.jsonl.zst", lines(json_line), &["--line-ids"]),
        ("c.txt", lines(plain_line), &["--docs-format", "lines"]),
    ] {
        let dir = TestDir::new();
        dir.write(&format!("in/{name}"), compressed(name, lines.concat().as_bytes()));
        let args = ["clean", "in", "--max-document", LEN_MAX, "-o", "out/", "-f"];
        let (_, err) = dir.run(&[&args[..], &["--removed", "r.tsv"], more].concat(), 0);
        assert!(err.contains("5 documents: 4 documents kept, 1 document removed"), "{err}");
        let without = |gone: usize| -> String {
            let kept = lines.iter().enumerate().filter(|(at, _)| *at != gone);
            kept.map(|(_, line)| line.as_str()).collect()
        };
        let copy = || String::from_utf8(decompressed(&dir, &format!("out/{name}"))).unwrap();
        assert_eq!(copy(), without(2), "{name}");
        // `contamination` removes only the document that contains the item.
        dir.write("items.txt", &lines[3]);
        let items = ["--against", "items.txt"];
        let args = ["contamination", "--docs", "in", "--max-document", LEN_MAX, "-o", "out/", "-f"];
        dir.run(&[&args[..], &items, more].concat(), 0);
        assert_eq!(copy(), without(3), "{name}");
    }
}

#[test]
fn marks_cuts_and_stores_are_of_the_documents_that_were_judged() {
    let dir = TestDir::new();
    let all = lines(json_line);
    dir.write("c.jsonl", all.concat());
    let args = ["clean", "c.jsonl", "--max-document", LEN_MAX, "-q", "-o"];
    dir.run(&[&args[..], &["marked.jsonl", "--annotate", "of"]].concat(), 0);
    let marked = dir.read("marked.jsonl");
    let of: Vec<&str> = marked.matches("\"of\":\"a\"").collect();
    assert_eq!(of.len(), 1);
    assert!(marked.lines().nth(2).unwrap().contains("\"copy\""));
    assert!(marked.lines().nth(2).unwrap().ends_with(",\"of\":\"a\"}"), "{marked}");
    let passages = ["--unit", "line", "--passages"];
    dir.run(&[&args[..], &["cut.jsonl"], &passages, &["cut"]].concat(), 0);
    assert_eq!(dir.read("cut.jsonl"), [&all[..2], &all[3..]].concat().concat());
    dir.write("other.jsonl", json_line("other", "another text, of other words"));
    dir.run(&["build", "--docs", "other.jsonl", "-q", "-s", "s.fps"], 0);
    let add = ["--within", "--add", "-s", "s.fps"];
    dir.run(&[&args[..], &["added.jsonl"], &add].concat(), 0);
    assert_eq!(dir.read("added.jsonl"), [&all[..2], &all[3..]].concat().concat());
    let stored = dir.ok(&["dump", "-s", "s.fps"], "");
    for (id, is_stored) in [("copy", false), ("unique", true), ("end", true)] {
        assert_eq!(stored.contains(&format!("\t{id}\n")), is_stored, "{stored}");
    }
}

/// An output without records is still a valid compressed file.
#[test]
fn an_archive_of_which_nothing_is_kept_is_still_one() {
    let record = record_of("conversion", "u", "text/plain", "some words of a text, not so few");
    for name in ["b.warc.wet.gz", "b.warc.zst", "b.warc"] {
        let dir = TestDir::new();
        for name in [&format!("a.{name}"), name] {
            dir.write(&format!("in/{name}"), compressed(name, record.as_bytes()));
        }
        dir.run(&["clean", "in", "-o", "out/"], 0);
        let copy = format!("out/{name}");
        assert_eq!(decompressed(&dir, &copy), b"", "{name}");
        assert_eq!(fs::read(dir.path(&copy)).unwrap().is_empty(), name == "b.warc");
        // Another command can read the copies.
        let (_, err) = dir.run(&["build", "--docs", "out", "-s", "s.fps"], 0);
        assert!(err.contains("1 record, "), "{err}");
    }
}

/// A damaged Parquet column that is copied but not read makes the Parquet crate panic.
#[test]
fn a_damaged_column_that_is_only_copied_is_a_fault_of_its_file() {
    use ::parquet::data_type::{ByteArray, ByteArrayType};
    use ::parquet::file::metadata::{ParquetMetaDataBuilder, ParquetMetaDataWriter};
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::file::writer::SerializedFileWriter;
    use ::parquet::schema::parser::parse_message_type;

    let dir = TestDir::new();
    let all = lines(json_line);
    dir.write("in/a.jsonl", &all[0]);
    dir.write("in/c.jsonl", all[3..].concat());
    let path = dir.path("in/b.parquet");
    let schema = "message docs { required binary id (UTF8); required binary text (UTF8);
                  required binary x; }";
    let schema = std::sync::Arc::new(parse_message_type(schema).unwrap());
    let mut writer =
        SerializedFileWriter::new(fs::File::create(&path).unwrap(), schema, Default::default());
    let mut group = writer.as_mut().unwrap().next_row_group().unwrap();
    let text: serde_json::Value = serde_json::from_str(&all[3]).unwrap();
    for value in ["b", text["text"].as_str().unwrap(), "x"] {
        let mut column = group.next_column().unwrap().unwrap();
        let values = [ByteArray::from(value)];
        column.typed::<ByteArrayType>().write_batch(&values, None, None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.unwrap().close().unwrap();
    let run = |status: i32, more: &[&str]| {
        let _ = fs::remove_dir_all(dir.path("out"));
        dir.run(&[more, &["--docs", "in", "-o", "out/"]].concat(), status).1
    };
    let check = ["contamination", "--against", "in/a.jsonl"];
    // The documents of the intact file are kept.
    assert!(run(0, &["clean"]).contains("4 documents: 3 documents kept"));
    run(0, &check);
    let reader = SerializedFileReader::new(fs::File::open(&path).unwrap()).unwrap();
    let group = reader.metadata().row_group(0).clone();
    let mut columns = group.columns().to_vec();
    let damaged = columns.pop().unwrap().into_builder().set_total_compressed_size(-1).build();
    columns.push(damaged.unwrap());
    let group = group.into_builder().set_column_metadata(columns).build().unwrap();
    let metadata = ParquetMetaDataBuilder::new(reader.metadata().file_metadata().clone());
    let metadata = metadata.add_row_group(group).build();
    let mut file = fs::File::options().append(true).open(&path).unwrap();
    ParquetMetaDataWriter::new(&mut file, &metadata).finish().unwrap();
    for command in [&["clean"][..], &check] {
        let err = run(2, command);
        assert!(err.contains("b.parquet: its parser panicked"), "{err}");
        let err = run(2, &[command, &["--skip-bad"]].concat());
        assert!(err.contains("b.parquet: its parser panicked"), "{err}");
        // The damaged file has no copy.
        assert!(!dir.path("out/b.parquet").exists());
        assert_eq!(dir.read("out/c.jsonl"), all[3..].concat());
    }
}
