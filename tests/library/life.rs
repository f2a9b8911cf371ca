//! A store that changes returns the same answers as a plain map that is scanned, for any order of
//! additions, deletions, expiries, compactions and crashes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use crate::common::{Random, make_empty, oracle, records_of, samples, scheme_named, test_process};
use fpstore::join::{BatchMode, JoinOptions, Share, document_pairs, search_many};
use fpstore::writer::{Compaction, Compactor, Expiry, export};
use fpstore::{
    BuildOptions, Builder, Error, Fingerprint, Id, IdRef, Limits, Store, Writer, WriterOptions,
    verify,
};

/// The model of a segment: the ids of each fingerprint, in stored order.
#[derive(Clone, Debug, Default)]
struct Part {
    label: String,
    ids: BTreeMap<u64, Vec<String>>,
}

/// The model of a store: a list of segment models.
#[derive(Clone, Debug, Default)]
struct Model {
    parts: Vec<Part>,
}

impl Model {
    fn add(&mut self, label: &str, records: &[(u64, Option<Id>)]) {
        let mut part = Part { label: label.into(), ids: BTreeMap::new() };
        for (value, id) in records {
            let ids = part.ids.entry(*value).or_default();
            ids.extend(id.iter().map(Id::to_string));
        }
        self.parts.push(part);
    }

    fn all(&self) -> BTreeMap<u64, Vec<String>> {
        let mut all = BTreeMap::<u64, Vec<String>>::new();
        for (value, ids) in self.parts.iter().flat_map(|part| &part.ids) {
            all.entry(*value).or_default().extend(ids.iter().cloned());
        }
        all
    }

    /// Deletes fingerprints from all parts and returns the number of stored fingerprints deleted.
    fn delete_fingerprints(&mut self, wanted: &[u64]) -> u64 {
        let all = self.all();
        for part in &mut self.parts {
            part.ids.retain(|value, _| !wanted.contains(value));
        }
        wanted.iter().filter(|value| all.contains_key(value)).count() as u64
    }

    /// Deletes ids from all parts and returns the number of stored ids deleted.
    fn delete_ids(&mut self, wanted: &[String]) -> u64 {
        let mut found = vec![false; wanted.len()];
        let mut emptied = BTreeSet::new();
        for part in &mut self.parts {
            part.ids.retain(|value, ids| {
                let before = ids.len();
                ids.retain(|id| match wanted.iter().position(|wanted| wanted == id) {
                    Some(at) => {
                        found[at] = true;
                        false
                    }
                    None => true,
                });
                if ids.is_empty() && before > 0 {
                    emptied.insert((part.label.clone(), *value));
                }
                before == 0 || !ids.is_empty()
            });
        }
        // Deleting the last id of a fingerprint under a label deletes all its records there, even a
        // record that was added without an id: a merge cannot tell it from a record whose id was
        // deleted.
        for (label, value) in emptied {
            let of_label = |part: &&mut Part| part.label == label;
            let mut parts: Vec<&mut Part> = self.parts.iter_mut().filter(of_label).collect();
            if !parts.iter().any(|part| part.ids.get(&value).is_some_and(|ids| !ids.is_empty())) {
                parts.iter_mut().for_each(|part| drop(part.ids.remove(&value)));
            }
        }
        found.iter().filter(|found| **found).count() as u64
    }

    fn expire(&mut self, before: &str) {
        self.parts.retain(|part| part.label.is_empty() || part.label.as_str() >= before);
    }

    /// Joins all parts into one with their greatest label, or without a label if a part has none.
    fn join(&mut self) {
        // Parts without records do not affect the label.
        let labels = self.parts.iter().filter(|part| !part.ids.is_empty()).map(|part| &part.label);
        let unlabelled = labels.clone().any(String::is_empty);
        let label = labels.max().filter(|_| !unlabelled).cloned().unwrap_or_default();
        self.parts = vec![Part { label, ids: self.all() }];
    }

    fn scan(&self, needle: u64, k: u32) -> Vec<(u32, u64, Vec<String>)> {
        let all = self.all();
        let found = oracle::scan(all.keys(), needle, k).into_iter();
        let ids = |value| oracle::once(all[&value].iter().cloned());
        found.map(|(distance, value, _)| (distance, value, ids(value))).collect()
    }
}

type Shown = Vec<(u32, u64, Vec<String>)>;

fn shown(answer: &fpstore::Answer<'_>) -> Shown {
    let matches = answer.to_matches().unwrap();
    assert_eq!(matches.len(), answer.len());
    let one = |found: fpstore::Match| {
        let ids = found.ids.iter().map(Id::to_string).collect();
        (found.distance, found.fingerprint.value(), ids)
    };
    matches.into_iter().map(one).collect()
}

/// Fails unless every way to read the store agrees with the model.
fn check(store: &Store, model: &Model, random: &mut Random, case: &str) {
    let all = model.all();
    assert_eq!(records_of(store), all, "{case}");
    let info = store.info();
    // A fingerprint in two segments is counted twice until the segments are merged.
    let parts: u64 = model.parts.iter().map(|part| part.ids.len() as u64).sum();
    assert!((all.len() as u64..=parts).contains(&info.fingerprint_count()), "{case}");
    assert_eq!(info.id_count(), all.values().map(|ids| ids.len() as u64).sum::<u64>(), "{case}");
    let values: Vec<u64> = all.keys().copied().collect();
    let mut searcher = store.searcher();
    let mut needles = Vec::new();
    for k in [0, 2, 3, 5, 40] {
        let mut needle = random.next();
        if !values.is_empty() && random.below(4) > 0 {
            needle = values[random.below(values.len() as u64) as usize];
            needle = random.flip(needle, k.min(3));
        }
        needles.push(Fingerprint::new(needle));
        let expected = model.scan(needle, k);
        let answer = searcher.search(Fingerprint::new(needle), k).unwrap();
        assert_eq!(shown(&answer), expected, "{case}: {needle:016x}, k={k}");
        let most = 1 + random.below(3) as usize;
        let limits = Limits::default().limit(most);
        let answer = searcher.search_with(Fingerprint::new(needle), k, &limits).unwrap();
        assert_eq!(answer.outcome().cut, expected.len() > most, "{case}");
        assert_eq!(shown(&answer), expected[..expected.len().min(most)], "{case}");
    }
    if random.below(4) > 0 {
        return;
    }
    let options = JoinOptions::new(3).threads(1);
    let done = search_many(
        store,
        &needles,
        &options,
        &Limits::default(),
        [BatchMode::Probe, BatchMode::Walk, BatchMode::Pass][random.below(3) as usize],
        |at, answer| {
            assert_eq!(shown(&answer), model.scan(needles[at].value(), 3), "{case}, batch");
            Ok::<(), Error>(())
        },
    );
    done.unwrap();
}

/// A store that changes, and its model.
struct Life {
    path: PathBuf,
    model: Model,
    random: Random,
    /// Fingerprints to choose from, so that segments have some in common.
    pool: Vec<u64>,
    next_id: u64,
}

const LABELS: [&str; 5] = ["", "2026-08", "2026-09", "2026-10", "2026-11"];

impl Life {
    fn new(folder: &Path, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut pool: Vec<u64> = (0..60).map(|_| random.next()).collect();
        for at in 0..60 {
            let flips = random.below(5) as u32;
            pool.push(random.flip(pool[at], flips));
        }
        pool.extend([0, u64::MAX]);
        let path = folder.join(format!("{seed}.fps"));
        make_empty(&path, scheme_named("2"));
        let mut model = Model::default();
        model.add("", &[]);
        Life { path, model, random, pool, next_id: 0 }
    }

    fn value(&mut self) -> u64 {
        self.pool[self.random.below(self.pool.len() as u64) as usize]
    }

    fn records(&mut self) -> Vec<(u64, Option<Id>)> {
        let count = self.random.below(30);
        let kind = self.random.below(3);
        (0..count)
            .map(|_| {
                let value = self.value();
                self.next_id += 1;
                let id = self.random.below(self.next_id);
                let id = match (kind, self.random.below(4)) {
                    (0, _) | (_, 0) => None,
                    (1, _) => Some(Id::U64(id)),
                    _ => Some(Id::Text(format!("page {id}").into())),
                };
                (value, id)
            })
            .collect()
    }

    /// Random ids, some of which are stored.
    fn some_ids(&mut self) -> Vec<String> {
        let count = 1 + self.random.below(6);
        let all: Vec<String> = self.model.all().into_values().flatten().collect();
        let mut ids: Vec<String> = (0..count)
            .map(|_| match all.len() as u64 {
                len if len > 0 && self.random.below(4) > 0 => {
                    all[self.random.below(len) as usize].clone()
                }
                _ => format!("absent {}", self.random.below(9)),
            })
            .collect();
        ids.sort();
        ids.dedup();
        ids
    }

    fn writer(&mut self) -> Writer {
        let (masks, bits) =
            [("1", 0), ("2", 0), ("2", 12), ("4", 0)][self.random.below(4) as usize];
        let options = WriterOptions::default()
            .scheme(scheme_named(masks).with_syndromes(bits).unwrap())
            .label(LABELS[self.random.below(5) as usize])
            .compact(self.random.below(2) == 0)
            .threads(1);
        Writer::with_options(&self.path, options).unwrap()
    }

    fn push(writer: &mut Writer, records: &[(u64, Option<Id>)]) {
        for (value, id) in records {
            let value = Fingerprint::new(*value);
            match id {
                Some(id) => writer.push(value, id.as_ref()).unwrap(),
                None => writer.push_bare(value).unwrap(),
            }
        }
    }

    /// Kills a writer in a separate process at a random time. Afterwards the store must contain all
    /// records of that writer, or none.
    fn crash(&mut self) -> String {
        let (records, generation) = (self.records(), Store::open(&self.path).unwrap().generation());
        let label = LABELS[self.random.below(5) as usize];
        let lines: String = records
            .iter()
            .map(|(value, id)| match id {
                None => format!("{value}\n"),
                Some(Id::U64(id)) => format!("{value} number {id}\n"),
                Some(id) => format!("{value} text {id}\n"),
            })
            .collect();
        let mut child = test_process("library::life::a_writer_that_is_killed")
            .env(KILLED, &self.path)
            .env(KILLED_LABEL, label)
            .env(KILLED_RECORDS, lines)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(self.random.below(20_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        let moved = Store::open(&self.path).unwrap().generation() != generation;
        if moved {
            self.model.add(label, &records);
        }
        format!("killed while adding {}: {moved}", records.len())
    }

    /// Makes one random change to the store and to the model. Merges are not in the model, because
    /// they must not change any answer.
    fn step(&mut self, writer: &mut Writer) -> String {
        match self.random.below(12) {
            0..=4 => {
                let records = self.records();
                Life::push(writer, &records);
                let committed = writer.commit().unwrap();
                assert_eq!(committed.report.record_count, records.len() as u64);
                if !records.is_empty() {
                    self.model.add(writer.label(), &records);
                }
                format!("add {}", records.len())
            }
            5 | 6 => {
                let ids = self.some_ids();
                let found = self.model.delete_ids(&ids);
                let deleted = writer.delete_ids(ids.iter().map(|id| IdRef::Text(id))).unwrap();
                assert_eq!((deleted.wanted, deleted.found), (ids.len() as u64, found), "{ids:?}");
                format!("delete ids {ids:?}")
            }
            7 | 8 => {
                let mut values: Vec<u64> = (0..4).map(|_| self.value()).collect();
                values.sort_unstable();
                values.dedup();
                let found = self.model.delete_fingerprints(&values);
                let wanted: Vec<Fingerprint> =
                    values.iter().map(|&v| Fingerprint::new(v)).collect();
                let deleted = writer.delete_fingerprints(&wanted).unwrap();
                assert_eq!((deleted.wanted, deleted.found), (values.len() as u64, found));
                "delete fingerprints".into()
            }
            9 => {
                let before = LABELS[self.random.below(5) as usize];
                self.model.expire(before);
                writer.expire(&Expiry::before(before).all(true)).unwrap();
                format!("expire {before}")
            }
            10 => {
                if self.random.below(2) == 0 {
                    writer.compact(&Compaction::Tier).unwrap();
                    return "tier".into();
                }
                // A compactor merges while the writer is open, without informing it.
                let what = [Compaction::Tier, Compaction::All][self.random.below(2) as usize];
                Compactor::open(&self.path).unwrap().compact(&what).unwrap();
                format!("beside: {what:?}")
            }
            _ => {
                // The merged segments expire together, so the parts of the model are joined, too.
                if self.random.below(4) == 0 {
                    writer.compact(&Compaction::One).unwrap();
                    self.model.join();
                    "one".into()
                } else {
                    writer.compact(&Compaction::All).unwrap();
                    "all".into()
                }
            }
        }
    }
}

/// Environment variables that give the killed process its store, its label and its records.
const KILLED: &str = "FPSTORE_TEST_KILLED";
const KILLED_LABEL: &str = "FPSTORE_TEST_KILLED_LABEL";
const KILLED_RECORDS: &str = "FPSTORE_TEST_KILLED_RECORDS";

/// The killed process runs this test; without the environment variable the test does nothing.
#[test]
fn a_writer_that_is_killed() {
    let Ok(path) = std::env::var(KILLED) else { return };
    let label = std::env::var(KILLED_LABEL).unwrap();
    let options = WriterOptions::default().label(label).compact(false);
    let mut writer = Writer::with_options(path, options).unwrap();
    for line in std::env::var(KILLED_RECORDS).unwrap().lines() {
        let mut words = line.splitn(3, ' ');
        let value = Fingerprint::new(words.next().unwrap().parse().unwrap());
        match (words.next(), words.next()) {
            (Some("number"), Some(id)) => {
                writer.push(value, IdRef::U64(id.parse().unwrap())).unwrap();
            }
            (_, Some(id)) => writer.push(value, IdRef::Text(id)).unwrap(),
            _ => writer.push_bare(value).unwrap(),
        }
    }
    writer.commit().unwrap();
    // The process ends without cleanup.
    std::process::abort();
}

/// The number of steps in each test of a changing store.
fn step_count() -> u64 {
    std::env::var("FPSTORE_TEST_STEPS").map_or(700, |steps| steps.parse().unwrap())
}

fn live(seed: u64) {
    let folder = tempfile::tempdir().unwrap();
    let mut life = Life::new(folder.path(), seed);
    let reader = Store::open(&life.path).unwrap();
    let mut writer = life.writer();
    for step in 0..step_count() {
        if life.random.below(6) == 0 {
            drop(writer);
            writer = life.writer();
        }
        let act = if life.random.below(40) == 0 {
            drop(writer);
            let act = life.crash();
            writer = life.writer();
            act
        } else {
            life.step(&mut writer)
        };
        let case = format!("seed {seed}, step {step}: {act}");
        let store = match life.random.below(3) {
            0 => {
                reader.refresh().unwrap();
                assert!(!reader.refresh().unwrap(), "{case}");
                reader.clone()
            }
            1 => Store::open(&life.path).unwrap(),
            _ => writer.store().clone(),
        };
        check(&store, &life.model, &mut life.random, &case);
        if step % 100 == 99 {
            let report = verify(&life.path, &samples(3)).unwrap();
            assert!(report.is_sound(), "{case}: {:?}", report.faults);
        }
    }
    drop(writer);
    // An exported store contains the same records, and so does a store that imports it.
    reader.refresh().unwrap();
    let shipped = folder.path().join("shipped.fps");
    export(&reader, &shipped, None).unwrap();
    check(&Store::open(&shipped).unwrap(), &life.model, &mut life.random, "shipped");
    let other = Life::new(folder.path(), seed + 100);
    let mut taker = Writer::open(&other.path).unwrap();
    taker.import(std::slice::from_ref(&shipped)).unwrap();
    check(taker.store(), &life.model, &mut life.random, "imported");
    assert!(matches!(taker.import(&[shipped]), Err(Error::InvalidOptions { .. })));
    // When no reader has old files open, the next writer removes all old files.
    drop(reader);
    Writer::open(&life.path).unwrap().compact(&Compaction::One).unwrap();
    assert_eq!(crate::common::names_of(&life.path).len(), 2, "the manifest and one segment");
}

#[test]
fn a_store_that_lives_answers_as_a_map_does() {
    live(1);
}

#[test]
fn a_second_life_answers_as_a_map_does() {
    live(2);
}

#[test]
fn a_third_life_answers_as_a_map_does() {
    live(3);
}

#[test]
fn a_fourth_life_answers_as_a_map_does() {
    live(4);
}

/// Makes a store whose only segment has no records: because it was empty, or all were deleted.
fn make_hollow(path: &Path, label: &str, deleted: bool) {
    let options = BuildOptions::default().scheme(scheme_named("2")).label(label);
    let mut builder = Builder::with_options(path, options).unwrap();
    // Another value for each store, so that no two stores have identical segments.
    let value = Fingerprint::new(path.as_os_str().len() as u64);
    if deleted {
        builder.push(value, 1).unwrap();
    }
    builder.finish().unwrap();
    if deleted {
        writer_of(path, "").delete_fingerprints(&[value]).unwrap();
    }
}

fn writer_of(path: &Path, label: &str) -> Writer {
    Writer::with_options(path, WriterOptions::default().label(label).compact(false)).unwrap()
}

fn add_one(path: &Path, label: &str, value: u64) {
    let mut writer = writer_of(path, label);
    writer.push(Fingerprint::new(value), value).unwrap();
    writer.commit().unwrap();
}

fn labels_of(path: &Path) -> Vec<String> {
    let segments = Store::open(path).unwrap().info().segments;
    segments.into_iter().map(|segment| segment.label).collect()
}

#[test]
fn a_segment_without_records_takes_no_label_off_others() {
    for (hollow, deleted) in [("", false), ("", true), ("2026-01", false), ("2027-01", true)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.fps");
        make_hollow(&path, hollow, deleted);
        add_one(&path, "2026-03", 7);
        add_one(&path, "2026-02", 9);
        let planned = Store::open(&path).unwrap().compacting(&Compaction::One);
        assert_eq!(planned[0].label, "2026-03", "'{hollow}', {deleted}");
        writer_of(&path, "").compact(&Compaction::One).unwrap();
        assert_eq!(labels_of(&path), ["2026-03"], "'{hollow}', {deleted}");
        // The merged segment still expires by its label.
        let expiry = Expiry::before("2026-04").all(true);
        assert_eq!(writer_of(&path, "").expire(&expiry).unwrap().segments.len(), 1);
        assert_eq!(Store::open(&path).unwrap().info().fingerprint_count(), 0);
        // The expiry left a segment without records and label, which is merged or imported without
        // any effect on labels.
        add_one(&path, "2026-05", 7);
        let other = folder.path().join("other.fps");
        make_hollow(&other, "", false);
        let mut writer = writer_of(&other, "");
        writer.import(std::slice::from_ref(&path)).unwrap();
        writer.compact(&Compaction::One).unwrap();
        assert_eq!(labels_of(&other), ["2026-05"]);
    }
}

/// Adjacent segments of one label are merged even if an empty segment is between them.
#[test]
fn a_segment_without_records_keeps_no_neighbours_apart() {
    for what in [Compaction::Tier, Compaction::All] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.fps");
        make_hollow(&path, "", false);
        add_one(&path, "2026-05", 7);
        let planned = Store::open(&path).unwrap().compacting(&what);
        assert_eq!(planned.iter().map(|merge| merge.segments).sum::<u64>(), 1, "{what:?}");
        writer_of(&path, "").compact(&what).unwrap();
        assert_eq!(labels_of(&path), ["2026-05"], "{what:?}");
    }
}

#[test]
fn a_segment_without_records_neither_forbids_labels_nor_stands_for_records() {
    for deleted in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.fps");
        // The label of the empty segment is a date, but labels of other segments need not be dates.
        make_hollow(&path, "2026-01-01", deleted);
        add_one(&path, "crawl-7", 7);
        let other = folder.path().join("another.fps");
        make_hollow(&other, "2026-01-01", deleted);
        let mut writer = writer_of(&other, "");
        writer.import(std::slice::from_ref(&path)).unwrap();
        assert_eq!(writer.store().query(Fingerprint::new(7), 0).unwrap().len(), 1);
        // An empty segment can be imported even if its label is not a date and all labels of the
        // store are.
        let (dates, hollow) = (folder.path().join("dates.fps"), folder.path().join("hollow.fps"));
        make_hollow(&dates, "", false);
        add_one(&dates, "2026-02-01", 9);
        make_hollow(&hollow, "foo", deleted);
        writer_of(&dates, "").import(&[hollow]).unwrap();
        // Empty segments do not count, so this expiry would remove all records of the store, and is
        // refused.
        let expiry = Expiry::before("2026-02-02");
        let refused = writer_of(&dates, "").expire(&expiry).unwrap_err().to_string();
        assert!(refused.contains("the only segment has a label before '2026-02-02'"), "{refused}");
        let expired = writer_of(&dates, "").expire(&expiry.all(true)).unwrap();
        assert_eq!(expired.segments.len(), 1);
        // The error names labels of segments with records only.
        let store = Store::open(&path).unwrap();
        for (bound, says) in [("d7", "label 'crawl-7', which is not"), ("d-8", "the only segment")]
        {
            let refused = store.expiring(&Expiry::before(bound)).unwrap_err().to_string();
            assert!(refused.contains(says), "{refused}");
        }
    }
}

/// A merge cannot tell a record without an id from a record whose ids were deleted. So deleting the
/// last id of a fingerprint under a label deletes all its records under that label, in any segment,
/// and no records under other labels.
#[test]
fn the_last_id_of_a_fingerprint_takes_its_records_without_id_along() {
    for order in [[true, false], [false, true]] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.fps");
        make_empty(&path, scheme_named("2"));
        for (label, with_id) in
            order.map(|with_id| ("a", with_id)).into_iter().chain([("b", false)])
        {
            let mut writer = writer_of(&path, label);
            match with_id {
                true => [1, 2].map(|id| writer.push(Fingerprint::new(7), id).unwrap()).len(),
                false => [writer.push_bare(Fingerprint::new(7)).unwrap()].len(),
            };
            writer.push(Fingerprint::new(9), 9).unwrap();
            writer.commit().unwrap();
        }
        let deleted = writer_of(&path, "").delete_ids([IdRef::U64(1)]).unwrap();
        assert_eq!((deleted.fingerprints, deleted.ids), (0, 1));
        let deleted = writer_of(&path, "").delete_ids([IdRef::U64(2)]).unwrap();
        assert_eq!((deleted.fingerprints, deleted.ids), (2, 1), "{order:?}");
        let store = Store::open(&path).unwrap();
        let found = |label: &str| store.with_labels(&[label]).unwrap().query(7.into(), 0).unwrap();
        assert_eq!((found("a").len(), found("b").len()), (0, 1), "{order:?}");
    }
}

/// A repeated `add` stores records again, but answers, pairs and clusters contain each once.
#[test]
fn a_record_that_was_added_twice_is_in_an_answer_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.fps");
    let [one, near, many] = [0xff_u64, 0xfff, 7].map(Fingerprint::new);
    let mut builder = Builder::new(&path).unwrap();
    builder.push(one, "a").unwrap();
    builder.push(one, "b").unwrap();
    builder.push(many, "7").unwrap();
    builder.finish().unwrap();
    let ids_at = |store: &Store, value: Fingerprint| {
        let matches = store.searcher().search(value, 0).unwrap().to_matches().unwrap();
        let ids = matches.into_iter().flat_map(|found| found.ids);
        ids.map(|id| id.to_string()).collect::<Vec<_>>()
    };
    for label in ["", "monday", "tuesday"] {
        let options = WriterOptions::default().label(label).compact(false);
        let mut writer = Writer::with_options(&path, options).unwrap();
        // This segment has number ids, among them the number 7; another segment has the text id
        // "7".
        writer.push(many, 7_u64).unwrap();
        writer.commit().unwrap();
        for id in ["a", "b", "a", "c"] {
            writer.push(one, id).unwrap();
        }
        writer.push(near, "a").unwrap();
        writer.commit().unwrap();
        let store = Store::open(&path).unwrap();
        assert_eq!(ids_at(&store, one), ["a", "b", "c"], "{label}");
        assert_eq!(ids_at(&store, many), ["7"], "{label}");
        let mut counted = Vec::new();
        let count = |hit: fpstore::Hit<'_>| {
            counted.push((hit.fingerprint(), hit.id_count()?, hit.id_labels()?.len()));
            Ok::<(), Error>(())
        };
        store.for_each(count).unwrap();
        counted.sort_unstable();
        assert_eq!(counted, [(many, 1, 1), (one, 3, 3), (near, 1, 1)], "{label}");
        let pairs = document_pairs(&store, &JoinOptions::new(4), false).unwrap();
        let mut found = 0;
        let mut count = |_: fpstore::join::DocumentPair<'_>| {
            found += 1;
            Ok::<(), Error>(())
        };
        pairs.for_each(&mut count).unwrap();
        // Three pairs among a, b and c, and the three pairs of each of them with the near record.
        assert_eq!((found, pairs.len()), (6, 6), "{label}");
        let shares = (1..=3).map(|number| {
            let share = Share { number: number - 1, count: 3 };
            document_pairs(&store, &JoinOptions::new(4).share(share), false).unwrap().len()
        });
        assert_eq!(shares.sum::<u64>(), 6, "{label}");
        assert!(verify(&path, &samples(10)).unwrap().is_sound(), "{label}");
    }
    // A deleted id can be stored again by a later addition.
    let mut writer = Writer::open(&path).unwrap();
    writer.delete_ids([IdRef::from("a")]).unwrap();
    assert_eq!(ids_at(writer.store(), one), ["b", "c"]);
    writer.push(one, "a").unwrap();
    writer.commit().unwrap();
    assert_eq!(ids_at(writer.store(), one), ["b", "c", "a"]);
    writer.compact(&Compaction::One).unwrap();
    assert_eq!(ids_at(writer.store(), one), ["b", "c", "a"]);
}
