//! A search of real fingerprints finds every listed near-duplicate and no other value.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;

use crate::common::real::{extract, full_collection, records, table};
use crate::common::{Record, scheme_named, store_of};
use fpstore::{Fingerprint, Match};

const SCHEMES: &[&str] = &["1", "2", "4", "10", "14"];

/// A needle and its listed matches, within the maximum distance of the list, in answer order.
struct Question {
    needle: u64,
    matches: Vec<Match>,
}

#[test]
fn the_first_tang_poems_are_found_from_the_other_edition_as_listed() {
    assert_tang_answers(&extract());
}

#[test]
fn the_near_pairs_of_malware_digests_are_found_as_listed() {
    assert_pairs(&extract(), "tlsh_malware_w0", 3);
}

#[test]
fn the_near_pairs_of_video_frames_are_found_as_listed() {
    assert_pairs(&extract(), "pdq_video_frames_a", 3);
}

#[test]
fn the_near_pairs_of_emoji_pictures_are_found_as_listed() {
    assert_pairs(&extract(), "noto_emoji_phash64", 6);
}

#[test]
fn the_full_collection_is_answered_as_listed_or_passed_over_without_fpstore_data() {
    let Some(folder) = full_collection() else {
        // The test harness would hide a message printed with `eprintln`.
        let said = b"real_data: FPSTORE_DATA is not set, the full collection is not tested\n";
        io::stderr().write_all(said).unwrap();
        return;
    };
    assert_tang_answers(&folder);
    assert_pairs(&folder, "tlsh_malware_w0", 3);
    assert_pairs(&folder, "pdq_video_frames_a", 3);
    assert_pairs(&folder, "noto_emoji_phash64", 6);
    assert_pairs(&folder, "text_simhash_all", 3);
}

/// Searches a store of the poems of one edition for every poem of the other edition.
fn assert_tang_answers(folder: &Path) {
    let stored = records(&folder.join("tang_store.tsv.zst"));
    let queries = records(&folder.join("tang_queries.tsv.zst"));
    let lines_by_id: HashMap<String, usize> =
        stored.iter().enumerate().map(|(line, record)| (id_of(record), line)).collect();
    assert_eq!(lines_by_id.len(), stored.len(), "an id is stored twice");

    let mut listed: HashMap<String, Vec<(u32, u64, usize)>> = HashMap::new();
    for [query, id, distance] in
        table(&folder.join("tang_answers_le10.tsv.zst"), "query_id\tstore_id\tdistance")
    {
        let line = lines_by_id[&id];
        let row = (distance.parse().unwrap(), stored[line].0, line);
        listed.entry(query).or_default().push(row);
    }
    let ask = |query: &Record| {
        let mut rows = listed.remove(&id_of(query)).unwrap_or_default();
        rows.sort_unstable();
        let matches = rows
            .chunk_by(|a, b| a.1 == b.1)
            .map(|group| {
                let (distance, value, _) = group[0];
                let ids = group.iter().map(|&(.., line)| stored[line].1.clone().unwrap());
                Match { ids: ids.collect(), ..bare_match(distance, value) }
            })
            .collect();
        Question { needle: query.0, matches }
    };
    let questions: Vec<Question> = queries.iter().map(ask).collect();
    assert!(listed.is_empty(), "answers to what is not asked: {:?}", listed.keys());
    assert_answered(&stored, &questions, 10, "tang");
}

/// Builds a store of the values in the file `name` and searches for each of them. The answer must
/// be the value itself and the values paired with it in the list, so each pair is checked from both
/// ends.
fn assert_pairs(folder: &Path, name: &str, k_max: u32) {
    let stored = records(&folder.join(format!("{name}.hex.zst")));
    let mut near: HashMap<u64, Vec<(u32, u64)>> =
        stored.iter().map(|&(value, _)| (value, vec![(0, value)])).collect();
    let list = folder.join(format!("{name}.pairs_le{k_max}.tsv.zst"));
    for [low, high, distance] in table(&list, "hex1\thex2\tdistance") {
        let [low, high] = [low, high].map(|hex| u64::from_str_radix(&hex, 16).unwrap());
        let distance = distance.parse().unwrap();
        for (value, partner) in [(low, high), (high, low)] {
            let rows = near.get_mut(&value).expect("pairs are of values that are stored");
            rows.push((distance, partner));
        }
    }
    let mut questions: Vec<Question> = near
        .into_iter()
        .map(|(needle, mut rows)| {
            rows.sort_unstable();
            let matches = rows.into_iter().map(|(distance, value)| bare_match(distance, value));
            Question { needle, matches: matches.collect() }
        })
        .collect();
    questions.sort_unstable_by_key(|question| question.needle);
    assert_answered(&stored, &questions, k_max, name);
}

/// Fails unless stores with all schemes answer every question as listed, for every `k` to `k_max`.
fn assert_answered(stored: &[Record], questions: &[Question], k_max: u32, case: &str) {
    assert_list_is_sound(questions, k_max, case);
    for &name in SCHEMES {
        let temp = store_of(stored, scheme_named(name));
        let mut searcher = temp.store.searcher();
        for k in 0..=k_max {
            for Question { needle, matches } in questions {
                let within = matches.partition_point(|listed| listed.distance <= k);
                let answer = searcher.search(Fingerprint::new(*needle), k).unwrap();
                let found = answer.to_matches().unwrap();
                assert_eq!(found, matches[..within], "{case}, {name}, k={k}, {needle:016x}");
            }
        }
    }
}

/// Checks the list itself, so that a damaged list is not taken for a fault of the search.
fn assert_list_is_sound(questions: &[Question], k_max: u32, case: &str) {
    let mut farthest = 0;
    for Question { needle, matches } in questions {
        for Match { fingerprint, distance, .. } in matches {
            let real = fingerprint.distance(Fingerprint::new(*needle));
            assert_eq!(*distance, real, "{case}: {needle:016x}, {fingerprint}");
            farthest = farthest.max(*distance);
        }
        let in_order =
            |a: &Match, b: &Match| (a.distance, a.fingerprint) < (b.distance, b.fingerprint);
        assert!(matches.is_sorted_by(in_order), "{case}: {needle:016x} has one answer twice");
    }
    assert_eq!(farthest, k_max, "{case}: the list does not reach as far as it says");
}

fn bare_match(distance: u32, value: u64) -> Match {
    Match { fingerprint: Fingerprint::new(value), distance, ids: Vec::new() }
}

fn id_of(record: &Record) -> String {
    record.1.as_ref().unwrap().to_string()
}
