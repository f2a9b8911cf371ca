//! Tests `clean --html`: the page has the counts, and a sample of removed documents, each next to
//! its kept document.

use fpstore_text::{TextHasher, TextRecipe};

use super::{documents, removed};
use crate::common::documents::json_lines;
use crate::common::oracle;
use crate::common::program::TestDir;

#[test]
fn each_pair_of_the_page_has_its_exact_similarity() {
    let documents = documents(300, 95);
    let removed = removed(&documents, None, |_, _| 0);
    let dir = TestDir::with("docs.jsonl", &json_lines(&documents));
    let args = ["clean", "docs.jsonl", "-o", "clean.jsonl", "--html", "page.html"];
    dir.run(&[&args[..], &["-k", "7", "-q", "--html-max", "1000"]].concat(), 0);
    let page = dir.read("page.html");
    assert_eq!(page.matches("<article").count(), removed.len());
    // The page has similarities even if documents were compared by fingerprint.
    for (&at, &kept) in &removed {
        let similarity = documents[at].similarity(&documents[kept]);
        let start = page.find(&format!("<bdi class=\"id\">d{at}</bdi></span>")).unwrap();
        let article = &page[page[..start].rfind("<article").unwrap()..];
        let article = &article[..article.find("</article>").unwrap()];
        assert!(article.starts_with(&format!("<article data-similarity=\"{similarity}\">")));
        let bits = oracle::distance(documents[at].fingerprint, documents[kept].fingerprint);
        assert!(article.contains(&format!(">{bits} bit")), "{article}");
        assert!(article.contains(&format!("kept: <bdi class=\"id\">d{kept}</bdi>")));
    }
    // With a smaller --html-max, the page has a sample, which is the same in each run.
    let few = |name: &str| {
        dir.run(&[&args[..5], &[name, "-f", "-q", "--html-max", "10"]].concat(), 0);
        dir.read(name)
    };
    let sample = few("few.html");
    assert_eq!(sample.matches("<article").count(), 10);
    assert!(sample.contains("10 documents, drawn at random from the "));
    assert_eq!(sample, few("again.html"));
}

#[test]
fn a_page_without_texts_has_the_counts_and_is_never_an_input() {
    let documents = documents(60, 96);
    let dir = TestDir::with("docs.jsonl", &json_lines(&documents));
    dir.ok(&["build", "--docs", "docs.jsonl", "-s", "store.fps", "-q"], "");
    let args = ["clean", "docs.jsonl", "-s", "store.fps", "--html", "page.html"];
    dir.run(&[&args[..], &["-o", "clean.jsonl", "-q"]].concat(), 0);
    let page = dir.read("page.html");
    assert!(page.contains("a store, which has no texts") && !page.contains("<article"));
    let (_, err) = dir.run(&[&args[..5], &["docs.jsonl", "-o", "other.jsonl", "-q"]].concat(), 2);
    assert!(err.contains("docs.jsonl"), "{err}");
    assert_eq!(dir.read("docs.jsonl"), json_lines(&documents));
    let err = String::from_utf8(dir.output(&["dedup", "in.tsv", "--html", "page.html"], "").stderr)
        .unwrap();
    assert!(err.contains("'fpstore clean' cleans documents, and has --html"), "{err}");
}

#[test]
fn a_sample_of_passages_has_their_texts() {
    let pages = documents(40, 97);
    let line = |at: usize| {
        let text = format!("{}\\n\\nown words of page {at}", pages[at / 2].text());
        format!("{{\"id\":\"p{at}\",\"text\":\"{text}\"}}\n")
    };
    let dir = TestDir::with("docs.jsonl", &(0..40).map(line).collect::<String>());
    let args = ["clean", "docs.jsonl", "--unit", "paragraph", "--list", "-q"];
    dir.ok(&[&args[..], &["--html", "page.html"]].concat(), "");
    let page = dir.read("page.html");
    assert!(page.contains("<bdi class=\"id\">p1#1</bdi>"));
    let hasher = &mut TextHasher::new(&TextRecipe::default()).unwrap();
    assert!(hasher.fingerprint(&pages[0].text()).is_some() && page.contains(&pages[0].text()));
}
