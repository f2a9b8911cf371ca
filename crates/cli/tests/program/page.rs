//! Tests the pages of `cluster --html` and `compare --html`: they are complete, have a limited
//! size, and are safe with any ids and texts. tools/pages/check_pages.sh tests them in a browser.

use serde_json::Value;

use crate::common::program::TestDir;

const DOCS: &str = r#"{"id":"a","text":"Two such documents differ from each other in a very small portion that displays advertisements"}
{"id":"b","text":"Two such documents differ from each other in a very small portion which displays advertisements"}
{"id":"c","text":"Two such documents differ from each other in a very small portion that displays advertisements!"}
{"id":"d","text":"An engineer has looked at the cracks in the second pillar of the old bridge over the river today"}
{"id":"e","text":"An engineer has looked at the cracks in the second pillar of the old bridge over the river twice"}
{"id":"f","text":"Nothing like any other of these texts was ever written by anybody who had something else to say"}
"#;

fn dir() -> TestDir {
    TestDir::with("docs.jsonl", DOCS)
}

/// Parses the groups in the JSON of a page.
fn groups(page: &str) -> Vec<Value> {
    let (_, data) = page.split_once("<script id=\"data\" type=\"application/json\">").unwrap();
    let (json, _) = data.split_once("</script>").unwrap();
    serde_json::from_str(json).unwrap()
}

/// The ids of the documents of each group.
fn ids(groups: &[Value]) -> Vec<Vec<String>> {
    let of = |group: &Value| {
        let documents = group["documents"].as_array().unwrap().iter();
        documents.map(|each| each["id"].as_str().unwrap_or("-").to_string()).collect()
    };
    groups.iter().map(of).collect()
}

/// Rebuilds the text of a document from its parts and the first text of the group.
fn text(group: &Value, number: usize) -> String {
    let documents = group["documents"].as_array().unwrap();
    if let Some(text) = documents[number]["text"].as_str() {
        return text.into();
    }
    let first = documents.iter().find_map(|each| each["text"].as_str()).unwrap();
    let units: Vec<u16> = first.encode_utf16().collect();
    let mut at = 0;
    let part = |part: &Value| match part.as_i64() {
        None => part.as_str().unwrap().to_string(),
        Some(count) => {
            let start = at;
            at += count.unsigned_abs() as usize;
            let same = String::from_utf16(&units[start..at]).unwrap();
            if count > 0 { same } else { String::new() }
        }
    };
    documents[number]["parts"].as_array().unwrap().iter().map(part).collect()
}

#[test]
fn a_page_shows_the_groups_largest_first_with_their_differences() {
    let dir = dir();
    let args = ["cluster", "--docs", "docs.jsonl", "-k", "12", "--html", "page.html"];
    let (out, err) = dir.run(&args, 0);
    assert_eq!(out, "", "rows are not asked for");
    assert!(err.contains("2 clusters of 5 documents within 12 bits"), "{err}");
    assert!(err.contains("wrote page.html with 2 clusters"), "{err}");
    let page = dir.read("page.html");
    let found = groups(&page);
    assert_eq!((&found[0]["size"], &found[1]["size"]), (&3.into(), &2.into()));
    let mut all = ids(&found);
    all.iter_mut().for_each(|ids| ids.sort());
    assert_eq!(all, [vec!["a", "b", "c"], vec!["d", "e"]]);
    for group in &found {
        for (number, document) in group["documents"].as_array().unwrap().iter().enumerate() {
            let line = DOCS.lines().find(|line| line.contains(&format!("{}", document["id"])));
            let record: Value = serde_json::from_str(line.unwrap()).unwrap();
            assert_eq!(text(group, number), record["text"].as_str().unwrap());
        }
    }
    for part in ["<h1>docs.jsonl</h1>", "within 12 bits", "prefers-color-scheme: dark", "viewport"]
    {
        assert!(page.contains(part), "{part}");
    }
    for outside in ["http://", "https://", "src=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    dir.assert_files(&["docs.jsonl", "page.html"]);
}

#[test]
fn rows_come_with_the_page_if_they_are_asked_for() {
    let dir = dir();
    let args = ["cluster", "--docs", "docs.jsonl", "-k", "12", "-q", "--html", "page.html", "-f"];
    let rows = dir.ok(&["cluster", "--docs", "docs.jsonl", "-k", "12", "-q"], "");
    assert_eq!(rows.lines().count(), 5);
    assert_eq!(dir.ok(&[&args[..], &["--format", "tsv"]].concat(), ""), rows);
    assert_eq!(dir.ok(&[&args[..], &["-o", "-"]].concat(), ""), rows);
    dir.ok(&[&args[..], &["-o", "rows.tsv"]].concat(), "");
    assert_eq!(dir.read("rows.tsv"), rows);
    let kept = dir.ok(&[&args[..], &["--keep", "first"]].concat(), "");
    assert_eq!(kept.lines().count(), 3);
    assert_eq!(groups(&dir.read("page.html")).len(), 2);
    // With --confirm the page shows similarities.
    let confirmed = ["cluster", "--docs", "docs.jsonl", "--confirm", "0.5", "-q"];
    dir.ok(&[&confirmed[..], &["--html", "page.html", "-f"]].concat(), "");
    let found = groups(&dir.read("page.html"));
    assert!(found[0]["documents"][1]["similarity"].as_f64().unwrap() > 0.5, "{found:?}");
    assert!(!text(&found[0], 1).is_empty());
}

#[test]
fn texts_of_a_store_or_of_fingerprints_come_from_documents_with_their_ids() {
    let dir = dir();
    dir.run(&["build", "--docs", "docs.jsonl", "-k", "12", "-q"], 0);
    dir.write("prints.tsv", dir.ok(&["fingerprint", "docs.jsonl", "-q"], ""));
    for input in ["store.fps", "prints.tsv"] {
        let args = ["cluster", input, "-k", "12", "-q", "-f", "--html", "page.html"];
        dir.ok(&args, "");
        let page = dir.read("page.html");
        assert_eq!(ids(&groups(&page)).concat().len(), 5);
        assert!(!page.contains("\"text\"") && !page.contains("differing\""), "only ids");
        dir.ok(&[&args[..], &["--texts", "docs.jsonl"]].concat(), "");
        let found = groups(&dir.read("page.html"));
        assert!(text(&found[0], 1).starts_with("Two such documents"));
        // The options for reading documents also apply to the files of --texts.
        dir.write("other.jsonl", DOCS.replace("\"text\"", "\"body\""));
        let other = ["--texts", "other.jsonl", "--text-field", "body"];
        dir.ok(&[&args[..], &other].concat(), "");
        assert!(text(&groups(&dir.read("page.html"))[0], 1).starts_with("Two such documents"));
        let (_, err) = dir.run(&[&args[..], &["--text-field", "body"]].concat(), 2);
        assert!(err.contains("--text-field is for documents"), "{err}");
    }
    // Files of --texts in which some texts are missing and one has changed.
    let changed = DOCS.replace("An engineer", "Some other person of the town");
    let changed: Vec<&str> = changed.lines().skip(1).take(3).collect();
    dir.write("part.jsonl", changed.join("\n"));
    let args = ["cluster", "-k", "12", "-f", "--html", "page.html", "--texts", "part.jsonl"];
    let (_, err) = dir.run(&args, 0);
    assert!(err.contains("no text was found for 2 documents"), "{err}");
    let page = dir.read("page.html");
    assert!(page.contains("For 2\u{a0}documents") || page.contains("For 2 documents"));
    assert_eq!(page.matches("\"doubt\":\"fingerprint\"").count(), 1);
    let output = dir.output(&["cluster", "--texts", "docs.jsonl"], "");
    assert_eq!(output.status.code(), Some(2), "--texts is for a page");
}

#[test]
fn documents_with_one_id_keep_their_own_texts() {
    let dir =
        TestDir::with("docs.jsonl", &DOCS.replace("\"d\"", "\"a\"").replace("\"e\"", "\"a\""));
    let args = ["cluster", "--docs", "docs.jsonl", "-k", "12", "-q", "--html", "page.html"];
    dir.ok(&args, "");
    let found = groups(&dir.read("page.html"));
    let mut texts = [text(&found[1], 0), text(&found[1], 1)];
    texts.sort();
    assert!(texts[0].ends_with("river today") && texts[1].ends_with("river twice"), "{texts:?}");
    // If several documents have the same id, and the input contains only fingerprints, no text can
    // be assigned with certainty, and the page says so.
    dir.write("prints.tsv", dir.ok(&["fingerprint", "docs.jsonl", "-q"], ""));
    let args = ["cluster", "prints.tsv", "-k", "12", "-qf", "--html", "page.html", "--texts"];
    dir.ok(&[&args[..], &["docs.jsonl"]].concat(), "");
    assert!(dir.read("page.html").matches("\"doubt\":\"namesakes\"").count() >= 2);
}

#[cfg_attr(windows, ignore = "no file has such a name there")]
#[test]
fn what_stands_in_ids_and_texts_is_never_markup() {
    let bad = "</script><img src=x onerror=alert(1)><!--<script>&\u{202e}\u{2028}";
    let line = |id: &str, end: &str| {
        let text = format!("{bad} and the same words for both of these documents {end}");
        serde_json::json!({ "id": format!("{id}{bad}"), "text": text }).to_string()
    };
    let docs = [line("a", "here"), line("b", "there")].join("\n");
    let dir = TestDir::with("<img src=x>.jsonl", &docs);
    let link = "https://example.org/\"><script>alert(2)</script>{id}";
    let args = ["cluster", "--docs", "<img src=x>.jsonl", "-k", "20", "-q", "--html", "page.html"];
    dir.ok(&[&args[..], &["--link", link]].concat(), "");
    let page = dir.read("page.html");
    assert_eq!(text(&groups(&page)[0], 1), text(&groups(&page)[0], 0).replace("here", "there"));
    assert!(!page.contains("<img") && !page.contains("<!--"), "{page}");
    assert_eq!(page.matches("<script").count(), 2, "the data and the script");
    assert_eq!(page.matches("</script").count(), 2);
    let args = ["compare", "--literal", bad, "other words", "--html", "two.html"];
    dir.run(&args, 0);
    let page = dir.read("two.html");
    assert!(!page.contains("<img") && !page.contains("<script") && !page.contains("<!--"));
    assert!(page.contains("&lt;/script&gt;&lt;img src=x"));
}

#[test]
fn a_page_is_bounded_and_says_what_it_leaves_out() {
    let dir = TestDir::new();
    // 3000 groups, one of them with 300 documents.
    let fingerprint = |group: u64| group.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut lines = String::new();
    for group in 1..=3000 {
        for document in 0..if group == 77 { 300 } else { 2 } {
            lines += &format!("{:016x}\tid-{group}-{document}\n", fingerprint(group));
        }
    }
    dir.write("prints.tsv", lines);
    let args = ["cluster", "prints.tsv", "-k", "0", "-f", "--html", "page.html"];
    let (_, err) = dir.run(&args, 0);
    assert!(
        err.contains("wrote page.html with 1 000 clusters; 2 000 smaller ones left out"),
        "{err}"
    );
    assert_eq!(groups(&dir.read("page.html")).len(), 1000);
    let args = [&args[..], &["--html-groups", "10000"]].concat();
    let (_, err) = dir.run(&args, 0);
    assert!(err.contains("wrote page.html with 3 000 clusters\n"), "{err}");
    let page = dir.read("page.html");
    let found = groups(&page);
    assert_eq!((found.len(), &found[0]["size"]), (3000, &300.into()));
    assert_eq!(found[0]["documents"].as_array().unwrap().len(), 200);
    assert!(page.contains("Each group is shown with at most 200 documents"));
    let (_, err) = dir.run(&[&args[..], &["--html-max", "100KB"]].concat(), 0);
    assert!(err.contains("left out: raise --html-groups or --html-max"), "{err}");
    let page = dir.read("page.html");
    assert!(page.len() <= 100_000, "{}", page.len());
    let shown = groups(&page).len();
    assert!((100..2000).contains(&shown), "{shown}");
    assert!(page.contains(&format!("This page shows the {shown} largest of 3 000 groups")));
    // Even with a limit that no group fits into, a page is written.
    dir.run(&[&args[..], &["--html-max", "1KB"]].concat(), 0);
    assert_eq!(groups(&dir.read("page.html")).len(), 0);
}

#[test]
fn a_long_text_is_shown_in_part() {
    let words: String = (0..8000).map(|i| format!("w{} ", i * 7 % 5000)).collect();
    let line = |id: &str, end: &str| {
        let text = format!("{words}{end}");
        serde_json::json!({ "id": id, "text": text }).to_string()
    };
    let dir = TestDir::with("docs.jsonl", &[line("a", "x"), line("b", "y")].join("\n"));
    dir.ok(&["cluster", "--docs", "docs.jsonl", "-q", "--html", "page.html"], "");
    let found = groups(&dir.read("page.html"));
    let document = &found[0]["documents"][0];
    assert_eq!(document["text"].as_str().unwrap().chars().count(), 20_000);
    assert!(document["len"].as_u64().unwrap() > 20_000);
}

#[test]
fn no_groups_are_a_page_too_and_bad_pages_are_refused() {
    let dir = dir();
    dir.write("far.jsonl", DOCS.lines().skip(4).collect::<Vec<_>>().join("\n"));
    let args = ["cluster", "--docs", "far.jsonl", "-k", "0", "--html", "page.html"];
    dir.run(&args, 1);
    assert!(dir.read("page.html").contains("There are no groups"));
    let (_, err) = dir.run(&args, 2);
    assert!(err.contains("page.html exists; to replace it once"), "{err}");
    for (page, part) in [
        ("-", "--html needs the name of a file"),
        ("full", "--html-part full"),
        ("none/page.html", "cannot create none/page.html"),
    ] {
        let err = dir.output(&["cluster", "--docs", "docs.jsonl", "--html", page], "").stderr;
        let err = String::from_utf8(err).unwrap();
        assert!(err.contains(part), "{page}: {err}");
    }
    let (_, err) = dir.run_on(&["cluster", "--docs", "-", "--html", "new.html"], DOCS, 2);
    assert!(err.contains("--html reads the documents twice"), "{err}");
    let output = dir.output(&["cluster", "--html", "x.html", "--link", "javascript:{id}"], "");
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && err.contains("the scheme is 'javascript'"), "{err}");
    // Documents given as features have no texts.
    let record = |id| format!("{{\"id\":\"{id}\",\"features\":{{\"x\":1}}}}\n");
    dir.write("features.jsonl", ["a", "b"].map(record).concat());
    let args = ["cluster", "--docs", "features.jsonl", "--docs-format", "features", "-q"];
    dir.ok(&[&args[..], &["--html", "features.html"]].concat(), "");
    assert_eq!(groups(&dir.read("features.html")).len(), 1);
    let files = ["docs.jsonl", "far.jsonl", "features.html", "features.jsonl", "page.html"];
    dir.assert_files(&files);
}

#[test]
fn two_texts_are_compared_on_a_page() {
    let dir =
        TestDir::with("old.txt", "The quick brown fox jumps over the lazy dog in the morning");
    dir.write("new.txt", "The quick red fox jumps over the lazy dog in the morning");
    let without = dir.ok(&["compare", "old.txt", "new.txt"], "");
    let (out, err) = dir.run(&["compare", "old.txt", "new.txt", "--html", "page.html"], 0);
    assert_eq!(out, without);
    assert_eq!(err, "fpstore: wrote page.html\n");
    let page = dir.read("page.html");
    for part in ["<del>brown</del><ins>red</ins> fox jumps", "<bdi>old.txt</bdi>", "quick brown"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let (_, err) = dir.run(&["compare", "old.txt", "new.txt", "--html", "page.html"], 2);
    assert!(err.contains("--force"), "{err}");
    dir.run(&["compare", "old.txt", "old.txt", "-f", "--html", "page.html"], 0);
    assert!(dir.read("page.html").contains("The texts are the same."));
}

#[test]
fn two_records_of_a_store_are_compared() {
    let dir = dir();
    dir.run(&["build", "--docs", "docs.jsonl", "-q"], 0);
    let prints = dir.ok(&["fingerprint", "docs.jsonl", "-q"], "");
    let of = |line: usize| prints.lines().nth(line).unwrap().split('\t').next().unwrap();
    let (a, b) = (of(0), of(1));
    let xor = u64::from_str_radix(a, 16).unwrap() ^ u64::from_str_radix(b, 16).unwrap();
    let bits: Vec<u32> = (0..64).rev().filter(|bit| xor >> bit & 1 == 1).collect();
    let listed: Vec<String> = bits.iter().map(u32::to_string).collect();
    let head =
        format!("{a}\ta\n{b}\tb\ndistance\t{}\nbits\t{}\n", xor.count_ones(), listed.join(" "));
    for (one, other) in [("a", "b"), (a, b), (a, "b")] {
        let out = dir.ok(&["compare", "-s", "store.fps", one, other], "");
        assert!(out.starts_with(&head) && out.contains("estimate"), "{out}");
    }
    let report = dir.json(&["compare", "-s", "store.fps", "a", b]);
    assert_eq!((&report["second_id"], &report["second_name"]), (&"b".into(), &b.into()));
    assert_eq!(report["differing_bits"], serde_json::json!(bits));
    // `compare` also accepts a fingerprint that is not in the store.
    let out = dir.ok(&["compare", "-s", "store.fps", "a", "0"], "");
    assert!(out.contains("0000000000000000\t\n"), "{out}");
    // With --texts, features are compared, as for documents.
    dir.write(
        "a.txt",
        serde_json::from_str::<Value>(DOCS.lines().next().unwrap()).unwrap()["text"]
            .as_str()
            .unwrap(),
    );
    dir.write(
        "b.txt",
        serde_json::from_str::<Value>(DOCS.lines().nth(1).unwrap()).unwrap()["text"]
            .as_str()
            .unwrap(),
    );
    let of_files = dir.ok(&["compare", "a.txt", "b.txt"], "");
    let (_, features) = of_files.split_once("jaccard").unwrap();
    let args = ["compare", "-s", "store.fps", "a", "b", "--texts", "docs.jsonl"];
    let (out, _) = dir.run(&[&args[..], &["--html", "page.html"]].concat(), 0);
    assert!(out.ends_with(&format!("jaccard{features}")), "{out}");
    let page = dir.read("page.html");
    assert!(page.contains("<del>that</del><ins>which</ins>"), "{page}");
    let sentence = format!("Bits {} differ", listed.join(", "));
    assert!(page.contains(&sentence), "{sentence}");
}

#[test]
fn records_that_cannot_be_compared_are_named() {
    let dir = dir();
    dir.run(&["build", "--docs", "docs.jsonl", "-q"], 0);
    let compare = |args: &[&str], status: i32| {
        dir.run(&[&["compare", "-s", "store.fps"], args].concat(), status).1
    };
    let err = compare(&["a", "zzz"], 1);
    assert!(
        err.contains("no record of store.fps has the id 'zzz', and it is not a finger"),
        "{err}"
    );
    dir.write("more.tsv", "0123456789abcdef\ttwice\nfedcba9876543210\ttwice\n");
    dir.run(&["build", "more.tsv", "-qf"], 0);
    let err = compare(&["twice", "0123456789abcdef"], 2);
    assert!(err.contains("2 records have the id 'twice'"), "{err}");
    assert!(err.contains("0123456789abcdef, fedcba9876543210"), "{err}");
    let (out, _) = dir.run(&["compare", "-s", "store.fps", "0123456789abcdef", "1"], 0);
    assert!(!out.contains("estimate"), "nobody knows the recipe: {out}");
    let err = compare(&["1", "2", "--text-field", "body"], 2);
    assert!(err.contains("give the documents by --texts"), "{err}");
    let err = compare(&["1", "2", "--limit", "3"], 2);
    assert!(err.contains("--limit limits the printed features"), "{err}");
    let err = compare(&["1", "2", "--recipe", "minhash"], 2);
    assert!(err.contains("leave out --recipe"), "{err}");
    let err = compare(&["1", "2", "--shingle", "3"], 2);
    assert!(err.contains("--shingle is for texts"), "{err}");
    let err = compare(&["1", "2", "--texts", "docs.jsonl"], 2);
    assert!(err.contains("0000000000000001 has no id in the store"), "{err}");
    let ids = ["0123456789abcdef", "fedcba9876543210", "--texts", "docs.jsonl"];
    let err = compare(&ids, 2);
    assert!(err.contains("no document of docs.jsonl has the id 'twice'"), "{err}");
}
