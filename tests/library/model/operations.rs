//! The operations on the stores of a world; each changes the store and its model.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::rc::Rc;

use super::data::AFTER_ALL;
use super::records::{Records, spelled};
use super::world::World;
use crate::common::{Random, Record, records_of};
use fpstore::writer::{
    CommitOptions, Committed, Compaction, Compactor, Expiry, NewRecord, commit, export,
    export_linked,
};
use fpstore::{Builder, Error, Fingerprint, Id, SegmentReceipt, Store, Writer};

/// The maximum number of segment files of tasks that are kept for repeated commits.
const PARTS_MAX: usize = 8;

/// A segment file written by a task.
#[derive(Clone)]
pub struct Part {
    receipt: SegmentReceipt,
    records: Vec<Record>,
}

/// A writer that stays open for several operations, and the records pushed but not committed.
struct Session {
    at: usize,
    writer: Writer,
    pending: Vec<Record>,
    /// Whether each pushed record replaces older records with its id.
    replaces: bool,
}

const COMPACTIONS: [Compaction; 5] =
    [Compaction::Tier, Compaction::All, Compaction::One, Compaction::One, Compaction::Rewrite];

/// The digests of all segments of a store that are not empty.
fn digests(store: &Store) -> BTreeSet<[u8; 16]> {
    let segments = store.info().segments.into_iter().filter(|of| of.fingerprint_count > 0);
    segments.map(|of| SegmentReceipt::of(of.path).unwrap().digest).collect()
}

impl World {
    /// Builds a new store in place of an existing one.
    pub fn build(&mut self, at: usize, random: &mut Random) {
        self.begin("build");
        let records = self.new_records(at, random);
        let label = self.setting.label(random);
        self.doing += &format!(" of {} as '{label}'", records.len());
        let options = self.build_options(random).label(label).replace(true);
        let mut builder = Builder::with_options(&self.stores[at].path, options).unwrap();
        self.push_all(&mut builder, &records);
        builder.finish().unwrap();
        self.stores[at].records = Rc::default();
        self.stores[at].runs.clear();
        self.records_mut(at).add(label, &records);
    }

    pub fn append(&mut self, at: usize, random: &mut Random) {
        self.begin("append");
        let records = self.new_records(at, random);
        let label = self.setting.label(random);
        self.doing += &format!(" {} as '{label}'", records.len());
        let options = self.build_options(random).label(label);
        let mut builder = Builder::append(&self.stores[at].path, options).unwrap();
        self.push_all(&mut builder, &records);
        builder.finish().unwrap();
        self.records_mut(at).add(label, &records);
    }

    /// Runs some operations of one writer.
    pub fn session(&mut self, at: usize, random: &mut Random) {
        let replaces = !self.setting.has_bare_records() && random.below(4) == 0;
        let label = self.setting.label(random);
        let options = self.writer_options(random).label(label).replace(replaces);
        self.doing += &format!(" writer as '{label}', replaces: {replaces};");
        let writer = Writer::with_options(&self.stores[at].path, options).unwrap();
        let mut session = Session { at, writer, pending: Vec::new(), replaces };
        for _ in 0..1 + random.below(4) {
            match random.below(16) {
                0..=4 => self.push(&mut session, random),
                5 | 6 => self.commit_pushed(&mut session),
                7 | 8 => self.delete_values(&mut session, random),
                9 | 10 => self.delete_ids(&mut session, random),
                11 | 12 => self.expire(&mut session, random),
                13 => self.compact(&mut session, random),
                14 if !self.setting.has_bare_records() => self.replace(&mut session, random),
                _ => {
                    let label = self.setting.label(random);
                    self.doing += &format!(" label '{label}';");
                    session.writer.set_label(label).unwrap();
                }
            }
        }
        if random.below(4) == 0 {
            // Records that are not committed are dropped with the writer.
            return self.doing += " dropped";
        }
        if random.below(3) == 0 {
            return self.commit_pushed(&mut session);
        }
        self.begin("finish");
        let Session { writer, pending, .. } = session;
        let label = writer.label().to_string();
        writer.finish().unwrap();
        if replaces {
            self.records_mut(at).replace(&label, &[], &pending);
        } else {
            self.records_mut(at).add(&label, &pending);
        }
    }

    fn push(&mut self, session: &mut Session, random: &mut Random) {
        self.begin("push");
        let records = self.new_records(session.at, random);
        self.doing += &format!(" {};", records.len());
        for record in &records {
            session.writer.push_record(&self.new_record(record)).unwrap();
        }
        session.pending.extend(records);
    }

    fn commit_pushed(&mut self, session: &mut Session) {
        self.begin("add");
        let pending = std::mem::take(&mut session.pending);
        let label = session.writer.label().to_string();
        self.doing += &format!(" as '{label}';");
        let committed = session.writer.commit().unwrap();
        let records = self.records_mut(session.at);
        if session.replaces {
            let expected = records.replace(&label, &[], &pending);
            assert_replaced(&committed, expected);
        } else {
            records.add(&label, &pending);
            assert_eq!(committed.report.record_count, pending.len() as u64);
        }
        assert!(committed.unmerged.is_none(), "{:?}", committed.unmerged);
    }

    fn replace(&mut self, session: &mut Session, random: &mut Random) {
        self.begin("replace");
        let records = self.new_records(session.at, random);
        let label = session.writer.label().to_string();
        self.doing += &format!(" {} as '{label}';", records.len());
        let new: Vec<NewRecord> = records.iter().map(|record| self.new_record(record)).collect();
        let committed = session.writer.replace(&new).unwrap();
        let pending = std::mem::take(&mut session.pending);
        let (before, records) = match session.replaces {
            true => (Vec::new(), [pending, records].concat()),
            false => (pending, records),
        };
        let expected = self.records_mut(session.at).replace(&label, &before, &records);
        if before.is_empty() {
            assert_replaced(&committed, expected);
        }
    }

    fn delete_values(&mut self, session: &mut Session, random: &mut Random) {
        self.begin("delete");
        let stored = &self.stores[session.at].records.0;
        let mut wanted = BTreeSet::from([random.next() & self.setting.width.max().value()]);
        let most = [3, 3, stored.len() as u64 / 2][random.below(3) as usize];
        for _ in 0..random.below(most + 1).min(stored.len() as u64) {
            wanted.insert(stored[random.below(stored.len() as u64) as usize].value);
        }
        self.doing += &format!(" {} values;", wanted.len());
        let list: Vec<Fingerprint> = wanted.iter().copied().map(Fingerprint::new).collect();
        let would = session.writer.would_delete_fingerprints(&list).unwrap();
        let deleted = session.writer.delete_fingerprints(&list).unwrap();
        assert_eq!(would, deleted);
        let found = self.records_mut(session.at).delete_values(&wanted);
        assert_eq!((deleted.wanted, deleted.found), (wanted.len() as u64, found), "deleted");
    }

    fn delete_ids(&mut self, session: &mut Session, random: &mut Random) {
        self.begin("delete ids");
        let stored = &self.stores[session.at].records.0;
        let mut wanted = BTreeSet::<Rc<str>>::from(["none such".into()]);
        let most = [3, 3, stored.len() as u64 / 2][random.below(3) as usize];
        for _ in 0..random.below(most + 1).min(stored.len() as u64) {
            wanted.extend(stored[random.below(stored.len() as u64) as usize].id.clone());
        }
        self.doing += &format!(" {};", wanted.len());
        let ids: Vec<Id> = wanted.iter().map(|id| spelled(id, random.below(2) == 0)).collect();
        let deleted = session.writer.delete_ids(ids.iter().map(Id::as_ref)).unwrap();
        let found = self.records_mut(session.at).delete_ids(&wanted);
        assert_eq!((deleted.wanted, deleted.found), (wanted.len() as u64, found), "deleted ids");
    }

    fn expire(&mut self, session: &mut Session, random: &mut Random) {
        self.begin("expire");
        let label = [self.setting.label(random), AFTER_ALL][random.below(2) as usize];
        let before = if label.is_empty() { AFTER_ALL } else { label };
        let all = random.below(4) > 0;
        self.doing += &format!(" before '{before}', all: {all};");
        let records = &self.stores[session.at].records.0;
        let mut stay = records.iter().filter(|of| of.label.is_empty() || *of.label >= *before);
        let is_refused = !all && !records.is_empty() && stay.next().is_none();
        match session.writer.expire(&Expiry::before(before).all(all)) {
            Err(Error::InvalidOptions { .. }) if is_refused => {}
            done => {
                done.unwrap();
                assert!(!is_refused, "everything expired");
                self.records_mut(session.at).expire(before);
            }
        }
    }

    fn compact(&mut self, session: &mut Session, random: &mut Random) {
        self.begin("compact");
        let what = COMPACTIONS[random.below(5) as usize];
        self.doing += &format!(" {what:?};");
        session.writer.compact(&what).unwrap();
        self.note_compaction(session.at, what);
    }

    /// Runs a compactor on a store while a writer has it open, without informing the writer.
    pub fn compact_beside(&mut self, at: usize, random: &mut Random) {
        self.begin("compact beside");
        let path = self.stores[at].path.clone();
        let label = self.setting.label(random);
        let options = self.writer_options(random).label(label);
        let writer = Writer::with_options(&path, options).unwrap();
        let mut session = Session { at, writer, pending: Vec::new(), replaces: false };
        self.push(&mut session, random);
        let what = COMPACTIONS[random.below(5) as usize];
        self.doing += &format!(" {what:?};");
        let options = self.writer_options(random);
        Compactor::with_options(&path, options).unwrap().compact(&what).unwrap();
        self.note_compaction(at, what);
        self.commit_pushed(&mut session);
    }

    fn note_compaction(&mut self, at: usize, what: Compaction) {
        if what == Compaction::One {
            self.records_mut(at).become_one();
        }
    }

    /// Imports another store, a copy of it, or one of its segments.
    pub fn import(&mut self, at: usize, random: &mut Random) {
        self.begin("import");
        let label = if random.below(3) == 0 { self.setting.label(random) } else { "" };
        let (mut sources, mut known) = (Vec::<PathBuf>::new(), BTreeMap::new());
        let path = self.stores[at].path.clone();
        known.extend(digests(&Store::open(&path).unwrap()).into_iter().map(|of| (of, usize::MAX)));
        let (mut is_refused, mut all) = (false, Records::default());
        for source in 0..1 + random.below(2) as usize {
            let from = random.below(self.stores.len() as u64) as usize;
            let store = Store::open(&self.stores[from].path).unwrap();
            let segments = store.info().segments;
            let segment = segments.get(random.below(2 * segments.len() as u64) as usize);
            let how = random.below(3);
            let (path, part, records) = match segment {
                None if how == 0 => {
                    (self.stores[from].path.clone(), store, (*self.stores[from].records).clone())
                }
                _ => {
                    let (to, number) = (self.new_path("copy"), segment.map(|of| of.number));
                    let exported = if how == 1 {
                        export(&store, &to, number)
                    } else {
                        export_linked(&store, &to, number)
                    };
                    exported.unwrap();
                    let copy = Store::open(&to).unwrap();
                    let records = match segment {
                        None => (*self.stores[from].records).clone(),
                        Some(of) => of_segment(&store.segment(of.number).unwrap(), &of.label),
                    };
                    (to, copy, records)
                }
            };
            self.doing += &format!(" {} of store {from},", records.0.len());
            for digest in digests(&part) {
                is_refused |= *known.entry(digest).or_insert(source) != source;
            }
            sources.push(path);
            all.0.extend(records.0);
        }
        self.doing += &format!(" as '{label}'");
        let options = self.writer_options(random).label(label);
        let mut writer = Writer::with_options(&path, options).unwrap();
        match writer.import(&sources) {
            Err(Error::InvalidOptions { reason })
                if reason.contains("has the same contents as") =>
            {
                assert!(is_refused, "{reason}");
            }
            done => {
                done.unwrap();
                assert!(!is_refused, "a segment is imported twice");
                if !label.is_empty() {
                    all.0.iter_mut().for_each(|of| of.label = label.into());
                }
                self.records_mut(at).0.extend(all.0);
            }
        }
    }

    /// Commits new segment files of tasks, and occasionally repeats an earlier commit.
    pub fn commit(&mut self, at: usize, random: &mut Random) {
        self.begin("commit");
        let mut parts = Vec::new();
        for _ in 0..random.below(3) {
            let records = self.new_records(at, random);
            let path = self.new_path("part");
            let mut builder = Builder::segment_file(path, self.build_options(random)).unwrap();
            self.push_all(&mut builder, &records);
            parts.push(Part { receipt: builder.finish_segment().unwrap(), records });
        }
        for _ in 0..random.below(3).min(self.parts.len() as u64) {
            parts.push(self.parts[random.below(self.parts.len() as u64) as usize].clone());
        }
        if parts.is_empty() {
            return;
        }
        let label = self.setting.label(random);
        let run = (random.below(3) == 0).then(|| format!("run {}", random.below(4)));
        let remove = random.below(3) == 0;
        self.doing += &format!(" {} files as '{label}', {run:?}, remove: {remove}", parts.len());
        let receipts: Vec<SegmentReceipt> = parts.iter().map(|of| of.receipt.clone()).collect();
        let options = CommitOptions::default().label(label).run(run.clone()).remove(remove);
        let kept = &self.stores[at];
        let mut known = digests(&Store::open(&kept.path).unwrap());
        let done = commit(&kept.path, &receipts, &options).unwrap();
        let is_known = run.as_ref().is_some_and(|run| kept.runs.contains(run));
        assert_eq!(done.known_run, is_known, "{run:?}");
        if is_known {
            assert_eq!(done.added, 0);
            return;
        }
        parts.sort_by(|one, other| one.receipt.path.cmp(&other.receipt.path));
        let mut added = 0;
        for part in &parts {
            if !part.records.is_empty() && known.insert(part.receipt.digest) {
                added += 1;
                self.records_mut(at).add(label, &part.records);
            }
        }
        assert_eq!(done.added, added, "files that were added");
        if added > 0 {
            self.stores[at].runs.extend(run);
        }
        for part in parts {
            if remove {
                self.parts.retain(|of| of.receipt.path != part.receipt.path);
            } else if self.parts.iter().all(|of| of.receipt.path != part.receipt.path) {
                self.parts.push(part);
            }
        }
        let excess = self.parts.len().saturating_sub(PARTS_MAX);
        self.parts.drain(..excess);
    }
}

/// The records of one segment, given as a store; their label is `label`.
fn of_segment(segment: &Store, label: &str) -> Records {
    let mut records = Records::default();
    for (value, ids) in records_of(segment) {
        let ids: Vec<Record> = match ids.is_empty() {
            true => vec![(value, None)],
            false => ids.into_iter().map(|id| (value, Some(Id::Text(id.into())))).collect(),
        };
        records.add(label, &ids);
    }
    records
}

fn assert_replaced(committed: &Committed, (found, count): (u64, u64)) {
    let replaced = &committed.replaced;
    let expected = (count, count, found);
    assert_eq!((committed.report.record_count, replaced.wanted, replaced.found), expected);
}
