//! Tests `clean` on files in each format that it can write.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;

use crate::common::documents::Document;
use crate::common::program::TestDir;

/// A format: the bytes before the records, and a function that writes a record.
pub struct Format {
    pub end: &'static str,
    pub head: &'static str,
    record: fn(usize, &Document) -> String,
}

fn json(number: usize, document: &Document) -> String {
    let Document { id, score, .. } = document;
    let (text, score) = (document.text(), score.map_or("null".into(), |score| score.to_string()));
    match number % 3 {
        0 => format!("{{\"id\":\"{id}\",\"text\":\"{text}\",\"score\":{score}}}\n"),
        1 => format!("{{ \"text\" : \"{text}\", \"score\":{score},  \"id\":\"{id}\" }}\r\n"),
        _ => format!("\n{{\"id\":\"{id}\",\"more\":[1,{{}}],\"text\":\"{text}\"}}\n"),
    }
}

fn csv(number: usize, document: &Document) -> String {
    let (id, text) = (&document.id, document.text());
    match number % 3 {
        0 => format!("{id},{text}\r\n"),
        1 => format!("{id},\"{}\"\n", document.words.join("\n")),
        _ => format!("\"{id}\",\"{text}\"\r\n"),
    }
}

pub const JSON_LINES: Format = Format { end: "jsonl", head: "\u{feff}", record: json };
pub const CSV: Format = Format { end: "csv", head: "id,text\r\n", record: csv };
pub const TSV: Format = Format {
    end: "tsv",
    head: "text\tid\n\n",
    record: |_, document| format!("{}\t{}\n", document.text(), document.id),
};

impl Format {
    pub fn file(&self, documents: &[Document], stays: impl Fn(usize) -> bool) -> Vec<u8> {
        let numbered = documents.iter().enumerate().filter(|(at, _)| stays(*at));
        let records: String = numbered.map(|(at, document)| (self.record)(at, document)).collect();
        format!("{}{records}", self.head).into_bytes()
    }
}

pub fn archived(number: usize, document: &Document) -> String {
    let text = document.text();
    if !number.is_multiple_of(2) {
        return record_of("conversion", &document.id, "text/plain", &format!("-\n{text}"));
    }
    let page = format!("<title>-</title><p>{text}</p>");
    let response = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX: y\r\n\r\n{page}");
    record_of("response", &document.id, "application/http; msgtype=response", &response)
}

pub fn record_of(kind: &str, uri: &str, media: &str, block: &str) -> String {
    format!(
        "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {uri}\r\nContent-Type: {media}\r\n\
         Content-Length: {}\r\n\r\n{block}\r\n\r\n",
        block.len()
    )
}

pub fn compressed(name: &str, bytes: &[u8]) -> Vec<u8> {
    match Path::new(name).extension().and_then(|end| end.to_str()) {
        Some("gz") => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Default::default());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        Some("zst") => zstd::encode_all(bytes, 1).unwrap(),
        _ => bytes.to_vec(),
    }
}

pub fn decompressed(dir: &TestDir, name: &str) -> Vec<u8> {
    let bytes = fs::read(dir.path(name)).unwrap();
    match Path::new(name).extension().and_then(|end| end.to_str()) {
        Some("gz") => {
            let mut content = Vec::new();
            flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_end(&mut content).unwrap();
            content
        }
        Some("zst") => zstd::decode_all(&bytes[..]).unwrap(),
        _ => bytes,
    }
}

/// The expected copy of a file. In jsonl, blank lines before a document are kept even if the
/// document is removed.
pub fn expected(format: &Format, documents: &[Document], stays: impl Fn(usize) -> bool) -> Vec<u8> {
    if format.end != "jsonl" {
        return format.file(documents, stays);
    }
    let mut bytes = format.head.to_string();
    for (at, document) in documents.iter().enumerate() {
        let record = json(at, document);
        let (blank, own) = record.split_at(usize::from(record.starts_with('\n')));
        bytes.push_str(blank);
        if stays(at) {
            bytes.push_str(own);
        }
    }
    bytes.into_bytes()
}

/// Files that have the extension of JSON Lines and other contents: the message names the format.
#[test]
fn files_that_are_something_else_are_named() {
    let dir = TestDir::new();
    fs::create_dir(dir.path("in")).unwrap();
    dir.write("in/a.jsonl", "{\"id\":\"a\",\"text\":\"one two three\"}\n");
    dir.write("in/b.json", "[\n {\"id\":\"b\",\"text\":\"x y\"}\n]\n");
    dir.write("in/c.jsonl", "{\"id\":\"c\",\"text\":\"half \\ud800 a pair\"}\n");
    dir.write("in/d.jsonl", vec![0; 4096]);
    dir.write(
        "in/e.jsonl",
        format!("{{\"id\":\"e\",\"text\":[\"{}\"]}}\n", "word ".repeat(10_000)),
    );
    let (_, err) = dir.run(&["clean", "in", "--skip-bad", "-o", "out"], 2);
    for told in [
        "b.json: line 1: an array, expected one object per line; jq -c '.[]' FILE > NEW.jsonl",
        "c.jsonl: line 1: a \\u escape for half of a character (a lone surrogate) at column",
        "d.jsonl: byte 0 is not a text: it holds NUL bytes",
        "e.jsonl: line 1: ",
        "1 file could not be read to the end",
    ] {
        assert!(err.contains(told), "{told}: {err}");
    }
    assert!(err.lines().all(|line| line.len() < 1000), "{err}");
    // These files are copied with their bad records; the binary file is not copied.
    for name in ["a.jsonl", "b.json", "c.jsonl", "e.jsonl"] {
        let name = format!("/{name}");
        assert_eq!(dir.read(&format!("out{name}")), dir.read(&format!("in{name}")));
    }
    assert!(!dir.path("out/d.jsonl").exists());
    // An error, because with a field that no document has, the kept documents would be arbitrary.
    let args = ["clean", "in/a.jsonl", "--keep", "newest:nope", "-o", "o.jsonl"];
    let (_, err) = dir.run(&args, 2);
    assert!(
        err.contains("no document has the field 'nope', which the rule 'newest:nope' needs"),
        "{err}"
    );
}

/// The text of a document is in an array, such as the messages of a chat.
#[test]
fn texts_in_arrays_are_compared_and_their_documents_copied() {
    let line = |id: usize, question: &str, answer: &str| {
        format!(
            "{{\"meta\":{{\"url\":\"u{id}\"}},\"messages\":[{{\"role\":\"user\",\"content\":\
             \"{question}\"}},{{\"role\":\"assistant\",\"content\":\"{answer}\"}}]}}\n"
        )
    };
    let lines = [
        line(0, "what is the height of the tower", "three hundred metres and some more"),
        line(1, "what is the height of the tower", "nobody has measured it in recent years"),
        line(2, "what is the height of the tower", "three hundred metres and some more"),
    ];
    let dir = TestDir::with("chat.jsonl", &lines.concat());
    let args = ["clean", "chat.jsonl", "--id-field", "meta.url", "-o", "out.jsonl"];
    let named = ["--text-field", "messages[].content", "--removed", "r.tsv"];
    dir.run(&[&args[..], &named].concat(), 0);
    assert_eq!(dir.read("out.jsonl"), lines[..2].concat());
    assert!(dir.read("r.tsv").ends_with("\tu2\tu0\tnew\tbytes\n"), "{}", dir.read("r.tsv"));
    for (field, told) in [
        ("messages", "'messages' is an array, expected a text; 'messages[]' names the texts in it"),
        ("messages[].text", "no field 'messages[].text'; other fields: meta, messages"),
    ] {
        let (_, err) = dir.run(&[&args[..], &["--text-field", field, "-f"]].concat(), 2);
        assert!(err.contains("line 1: ") && err.contains(told), "{err}");
    }
}

/// Repeated ids are not an error, but they are reported, because lists by id become ambiguous.
#[test]
fn documents_that_share_an_id_are_told() {
    let line = |id: &str, text: &str| format!("{{\"id\":{id},\"text\":\"{text}\"}}\n");
    let [one, two] = ["one text of some words", "another text that differs"];
    let dir = TestDir::new();
    dir.write("in/a.jsonl", line("\"a\"", one) + &line("\"b\"", two) + &line("\"a\"", one));
    dir.write("in/b.jsonl", line("\"b\"", one) + &line("7", two));
    let told = "2 documents have the id of an earlier one, such as 'a'";
    for args in [
        &["clean", "in", "-o", "out"][..],
        &["clean", "in", "--list", "-o", "list"],
        &["build", "--docs", "in"],
        &["fingerprint", "in", "-o", "prints"],
    ] {
        let (_, err) = dir.run(args, 0);
        assert_eq!(err.matches(told).count(), 1, "{args:?}: {err}");
    }
    let (_, err) = dir.run(&["build", "--docs", "in/b.jsonl", "-f"], 0);
    assert!(!err.contains("earlier one"), "{err}");
}
