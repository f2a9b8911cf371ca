//! Measures how well near-duplicate HTML pages are found by each part that can serve as their text.
//!
//!     cargo run --release -p fpstore-documents --example measure_html -- DATA [SET]...
//!
//! DATA is the folder of the collection, with `text/SET/docs.jsonl.zst`. Each text becomes two
//! pages of the same site, with different advertisements and comments around it: duplicates. Pages
//! of different texts share the menu, the footer and some comments, and are not duplicates. Two
//! pages count as found if the distance of their fingerprints is at most [`K`]. For each
//! [`HtmlPart`] and each class of text lengths, the table contains the part of the duplicates that
//! was found and the number of wrong pairs.

use std::fs;
use std::io::BufRead;
use std::path::Path;

use fpstore_documents::{Admission, DocumentOptions, HtmlPart, hash_documents};
use fpstore_text::{Fingerprint, TextHasher, TextRecipe};

type Failure = Box<dyn std::error::Error>;

/// Maximum number of texts in each class of text lengths.
const TEXT_COUNT: usize = 150;
const K: u32 = 6;
/// The classes of text lengths in bytes: the least length, and the least length above the class.
const LENGTHS: &[(usize, usize)] =
    &[(30, 100), (100, 300), (300, 1000), (1000, 3000), (3000, 10_000), (10_000, 50_000)];
/// The numbers of comments below an article, each measured separately.
const COMMENT_COUNTS: &[usize] = &[0, 5, 40];

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let data = arguments.next().ok_or("usage: measure_html DATA [SET]...")?;
    let mut sets: Vec<String> = arguments.collect();
    if sets.is_empty() {
        sets = ["tldr_en_zh", "bib_records_a", "bible_en_a_chapters", "license_texts_a"]
            .map(String::from)
            .into();
    }
    let mut texts = Vec::new();
    for set in &sets {
        let path = Path::new(&data).join("text").join(set).join("docs.jsonl.zst");
        let lines = std::io::BufReader::new(zstd::Decoder::new(fs::File::open(path)?)?).lines();
        for line in lines {
            let document: serde_json::Value = serde_json::from_str(&line?)?;
            texts.push(document["text"].as_str().unwrap_or_default().to_string());
        }
    }
    println!("| text, bytes | comments | part | found | wrong pairs | text, share of page |");
    println!("|---|---:|---|---:|---:|---:|");
    let comments: Vec<&String> = texts.iter().filter(|text| text.len() < 400).collect();
    for &(from, to) in LENGTHS {
        let fitting: Vec<&String> =
            texts.iter().filter(|text| (from..to).contains(&text.len())).collect();
        let step = (fitting.len() / TEXT_COUNT).max(1);
        let chosen: Vec<&String> = fitting.into_iter().step_by(step).take(TEXT_COUNT).collect();
        for &comment_count in COMMENT_COUNTS {
            measure(&chosen, &comments, (from, to), comment_count)?;
        }
    }
    Ok(())
}

fn measure(
    texts: &[&String],
    comments: &[&String],
    (from, to): (usize, usize),
    comment_count: usize,
) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let (mut text_len, mut page_len) = (0, 0);
    for (number, text) in texts.iter().enumerate() {
        for version in 0..2 {
            let page = page(text, number * 2 + version, comments, comment_count);
            text_len += text.len();
            page_len += page.len();
            fs::write(folder.path().join(format!("{number:05}-{version}.html")), page)?;
        }
    }
    for (name, part) in
        [("main", HtmlPart::Main), ("full", HtmlPart::Full), ("auto", HtmlPart::Auto)]
    {
        let hasher = TextHasher::new(&TextRecipe::default())?;
        let options = DocumentOptions::default().html(part);
        let mut values: Vec<Option<Fingerprint>> = Vec::new();
        hash_documents(&[folder.path().to_path_buf()], &hasher, &options, |document| {
            values.push(document.fingerprint);
            Ok::<_, fpstore_documents::Error>(Admission::Taken)
        })?;
        let near =
            |a: usize, b: usize| values[a].zip(values[b]).is_some_and(|(a, b)| a.distance(b) <= K);
        let pairs = values.len() / 2;
        let found = (0..pairs).filter(|pair| near(pair * 2, pair * 2 + 1)).count();
        let wrong: usize = (0..values.len())
            .map(|a| (a + 1..values.len()).filter(|&b| a / 2 != b / 2 && near(a, b)).count())
            .sum();
        println!(
            "| {from} to {to} | {comment_count} | {name} | {:.2} | {wrong} | {:.2} |",
            found as f64 / pairs as f64,
            text_len as f64 / page_len as f64,
        );
    }
    Ok(())
}

/// A page of a site: menu, advertisement, article, comments, footer.
fn page(text: &str, number: usize, comments: &[&String], comment_count: usize) -> String {
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
    let menu: String = (0..40)
        .map(|at| format!("<li><a href=\"/{at}\">Section {at} of the site, with news</a></li>\n"))
        .collect();
    let offer: String = comments[number * 7919 % comments.len()].chars().take(60).collect();
    let article: String = text
        .split("\n")
        .filter(|part| !part.trim().is_empty())
        .map(|part| format!("<p>{}</p>\n", escaped(part)))
        .collect();
    let said: String = (0..comment_count)
        .map(|at| {
            // Half of the comments are the same below every article.
            let at = if at % 2 == 0 { at * 31 } else { at * 31 + number * 104_729 };
            let said = escaped(comments[at % comments.len()]);
            format!("<li class=\"comment\"><b>reader {at}</b> <p>{said}</p></li>\n")
        })
        .collect();
    format!(
        "<!doctype html><html><head><title>The site</title><script>var a = {number};</script>\
         </head><body><nav class=\"menu\"><ul>{menu}</ul></nav>\n\
         <div class=\"ad\">Buy now: {}</div>\n<div class=\"content\"><h1>Page</h1>\n{article}</div>\n\
         <ol class=\"comments\">{said}</ol>\n<footer><p>All rights reserved. Contact, imprint and \
         terms of use of this site are found below each page.</p></footer></body></html>",
        escaped(&offer)
    )
}
