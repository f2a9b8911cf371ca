//! Compares the contamination check with an exhaustive comparison of all passages of all documents
//! with all items.

use std::collections::BTreeSet;
use std::fs;

use fpstore_documents::DocumentOptions;
use fpstore_text::PlacedWords;

use super::rules::{SHORT_WORDS, ShingleRule, ShingleRules};
use super::settings::ContaminationCheck;
use crate::Error;

/// The words of a text and their byte ranges.
fn words(text: &str) -> (Vec<String>, Vec<std::ops::Range<usize>>) {
    let (mut words, mut places) = (Vec::new(), Vec::new());
    PlacedWords::default().each(text, |word, place| {
        words.push(word.to_string());
        places.push(place);
    });
    (words, places)
}

/// The slow reference: the largest part of an item's shingles in any passage of a document, if it
/// is large enough, and the byte range of that passage (of several, the shortest, then the first).
fn oracle(item: &str, text: &str, rules: &ShingleRules) -> Option<(f64, std::ops::Range<usize>)> {
    let (item, (words, places)) = (words(item).0, words(text));
    if item.len() < rules.words_min {
        return None;
    }
    let ShingleRule { shingle, contained } =
        if item.len() < SHORT_WORDS { rules.short } else { rules.long };
    let len = shingle.min(item.len());
    let own: BTreeSet<&[String]> = item.windows(len).collect();
    let mut best: Option<(usize, std::ops::Range<usize>)> = None;
    for start in 0..words.len() {
        let mut held = BTreeSet::new();
        for end in start + len..=words.len().min(start + item.len() + item.len() / 2) {
            let last = &words[end - len..end];
            if own.contains(last) {
                held.insert(last);
            }
            let is_better = best.as_ref().is_none_or(|(count, range)| {
                held.len() > *count || held.len() == *count && end - start < range.len()
            });
            if !held.is_empty() && is_better {
                best = Some((held.len(), start..end));
            }
        }
    }
    let (count, range) = best?;
    let part = |count: usize| count as f64 / own.len() as f64;
    // Whether a changed word in the middle of the item is permitted; if not, all shingles are
    // required.
    let may_differ =
        item.len() >= SHORT_WORDS || own.len() > shingle && part(own.len() - shingle) >= contained;
    let part = part(count);
    (part >= if may_differ { contained } else { 1.0 })
        .then(|| (part, places[range.start].start..places[range.end - 1].end))
}

struct Random(u64);

impl Random {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % count
    }

    fn text(&mut self, len: usize) -> Vec<String> {
        let separators = [" ", ", ", " ", ". ", "\n"];
        (0..len)
            .map(|_| {
                let word = match self.below(9) {
                    0 => "\u{e9}t\u{e9}".to_string(),
                    1 => "\u{6708}\u{5149}".to_string(),
                    _ => format!("w{}", self.below(60)),
                };
                word + separators[self.below(separators.len())]
            })
            .collect()
    }

    /// Random items, and random documents, some with an edited item.
    fn corpus(&mut self, item_count: usize, count: usize) -> (Vec<String>, Vec<String>) {
        let lens = [2, 5, 6, 7, 12, 30, 49, 50, 51, 80];
        let items: Vec<Vec<String>> =
            (0..item_count).map(|at| self.text(lens[at % lens.len()])).collect();
        let mut documents = Vec::new();
        for _ in 0..count {
            let len = self.below(120);
            let mut text = self.text(len);
            if self.below(3) > 0 {
                let mut own = items[self.below(items.len())].clone();
                for _ in 0..self.below(8) {
                    let at = self.below(own.len());
                    match self.below(3) {
                        0 => own[at] = own[at].to_uppercase(),
                        1 => own[at] = format!("n{} ", self.below(1000)),
                        _ => drop(own.remove(at)),
                    }
                    if own.is_empty() {
                        break;
                    }
                }
                let at = self.below(text.len() + 1);
                text.splice(at..at, own);
            }
            documents.push(text.concat());
        }
        (items.into_iter().map(|item| item.concat()).collect(), documents)
    }
}

fn json_lines(texts: &[String]) -> String {
    let line = |(at, text): (usize, &String)| {
        serde_json::json!({"id": format!("d{at}"), "text": text}).to_string() + "\n"
    };
    texts.iter().enumerate().map(line).collect()
}

#[test]
fn what_is_found_is_what_comparing_each_with_each_finds() {
    let folder = tempfile::tempdir().unwrap();
    let (bench, corpus) = (folder.path().join("bench.jsonl"), folder.path().join("all.jsonl"));
    let mut random = Random(41);
    let strict = ShingleRule { shingle: 1, contained: 1.0 };
    let mut found_count = 0;
    for (round, rules) in [
        ShingleRules::default(),
        ShingleRules { long: strict, short: strict, words_min: 1 },
        ShingleRules {
            long: ShingleRule { shingle: 8, contained: 0.3 },
            short: ShingleRule { shingle: 2, contained: 0.6 },
            words_min: 2,
        },
        ShingleRules {
            long: ShingleRule { shingle: 3, contained: 0.001 },
            short: ShingleRule { shingle: 3, contained: 0.001 },
            words_min: 3,
        },
    ]
    .into_iter()
    .enumerate()
    {
        let (items, documents) = random.corpus(40, 150);
        fs::write(&bench, json_lines(&items)).unwrap();
        fs::write(&corpus, json_lines(&documents)).unwrap();
        let mut expected = Vec::new();
        for (at, text) in documents.iter().enumerate() {
            for (number, item) in items.iter().enumerate() {
                if let Some((part, bytes)) = oracle(item, text, &rules) {
                    let chars = |end: usize| text[..end].chars().count() as u64;
                    let place = (chars(bytes.start), chars(bytes.end));
                    let passage = text[bytes].to_string();
                    expected.push((format!("d{at}"), format!("d{number}"), part, place, passage));
                }
            }
        }
        for threads in [1, 3] {
            let options = DocumentOptions::default();
            let check =
                ContaminationCheck::new([&bench], options.clone(), [&corpus], options.clone());
            let check = ContaminationCheck { rules, threads: Some(threads), ..check };
            let mut found = Vec::new();
            let account = check
                .run(|it| -> Result<(), Error> {
                    let row = it.row;
                    let text =
                        documents[row.id.to_string()[1..].parse::<usize>().unwrap()].as_str();
                    assert_eq!(&text[row.byte_start as usize..row.byte_end as usize], it.passage);
                    let (id, item) = (row.id.to_string(), row.item.to_string());
                    let place = (row.start, row.end);
                    found.push((id, item, row.contained, place, it.passage.to_string()));
                    Ok(())
                })
                .unwrap();
            assert_eq!(found, expected, "round {round}");
            let too_short = |text: &&String| words(text).0.len() < rules.words_min;
            let unjudged = items.iter().filter(too_short).count() as u64;
            assert_eq!((account.unjudged_count, account.item_count), (unjudged, 40 - unjudged));
            assert_eq!((account.document_count, account.found_count as usize), (150, found.len()));
        }
        found_count += expected.len();
    }
    assert!(found_count > 200, "{found_count}");
}

/// A phrase that all items share finds no item; the distinct words of an item find the item.
#[test]
fn items_that_share_their_beginnings_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let (bench, corpus) = (folder.path().join("bench.jsonl"), folder.path().join("all.jsonl"));
    let items: Vec<String> = (0..300)
        .map(|at| {
            format!("Which of the following answers is right for number n{at} of m{at} here?")
        })
        .collect();
    fs::write(&bench, json_lines(&items)).unwrap();
    fs::write(&corpus, json_lines(&[items[7].to_uppercase(), "Which of the following".into()]))
        .unwrap();
    let options = DocumentOptions::default();
    let mut found = Vec::new();
    ContaminationCheck::new([&bench], options.clone(), [&corpus], options)
        .run(|it| -> Result<(), Error> {
            found.push((it.row.item.to_string(), it.row.contained));
            Ok(())
        })
        .unwrap();
    assert_eq!(found, [("d7".to_string(), 1.0)]);
}

/// Soft hyphens, zero-width spaces and curly apostrophes in the item, the document, or both.
#[test]
fn a_copy_with_characters_that_nobody_sees_is_found() {
    let plain = "it's the third time he's asked for the long words of this agreement and of that";
    let curly = plain.replace('\'', "\u{2019}");
    let hidden =
        curly.replace("ord", "o\u{ad}r\u{200b}d").replace("agree", "\u{feff}agree\u{2060}");
    let folder = tempfile::tempdir().unwrap();
    let (bench, corpus) = (folder.path().join("bench.jsonl"), folder.path().join("all.jsonl"));
    let texts = [plain, &curly, &hidden];
    for item in texts {
        fs::write(&bench, json_lines(&[item.into()])).unwrap();
        fs::write(
            &corpus,
            json_lines(&texts.map(|text| format!("\u{200b}so\u{ad}: {text}. {text}"))),
        )
        .unwrap();
        let options = DocumentOptions::default();
        let mut found = Vec::new();
        ContaminationCheck::new([&bench], options.clone(), [&corpus], options)
            .run(|it| -> Result<(), Error> {
                found.push((it.row.contained, it.passage.to_string()));
                Ok(())
            })
            .unwrap();
        let place = |text: &str| (1.0, text.to_string());
        assert_eq!(found, texts.map(place));
    }
}

#[test]
fn what_cannot_be_used_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bench.jsonl");
    fs::write(&path, json_lines(&["too short".into()])).unwrap();
    let run = |change: fn(ShingleRules) -> ShingleRules| {
        let options = DocumentOptions::default();
        let check = ContaminationCheck::new([&path], options.clone(), [&path], options);
        let check = ContaminationCheck { rules: change(ShingleRules::default()), ..check };
        let done = check.run(|_| Ok::<(), Error>(()));
        done.unwrap_err().to_string()
    };
    assert!(run(|rules| rules).contains("none of 1 items has 6 words or more"));
    for (change, expected) in [
        (
            (|mut it: ShingleRules| {
                it.long.shingle = 0;
                it
            }) as fn(ShingleRules) -> ShingleRules,
            "shingle is 0, expected 1 to 100 words",
        ),
        (
            |mut it| {
                it.short.contained = 1.5;
                it
            },
            "short_contains is 1.5, expected a share of the shingles of short items",
        ),
        (
            |mut it| {
                it.long.contained = f64::NAN;
                it
            },
            "contains is NaN, expected a share of the shingles of items, above 0",
        ),
        (
            |mut it| {
                it.words_min = 0;
                it
            },
            "min_words is 0, expected 1 or more words",
        ),
    ] {
        let refused = run(change);
        assert!(refused.contains(expected), "{refused}");
    }
}
