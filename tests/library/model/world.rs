//! A world: some stores, their readers and their models, all changed by random steps.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::rc::Rc;
use std::slice::from_ref;

use super::check::Check;
use super::damage;
use super::data::{Setting, sketch};
use super::operations::Part;
use super::records::{Index, Records};
use crate::common::{Random, Record};
use fpstore::join::{JoinPlan, PlanReads};
use fpstore::writer::NewRecord;
use fpstore::{BuildOptions, Builder, Fingerprint, Recipe, Searcher, Store, Stores, WriterOptions};
use tempfile::TempDir;

/// The maximum number of join plans that are kept for later steps.
const PLANS_MAX: usize = 6;
/// A store with this many records does not grow any more.
const RECORDS_MAX: usize = 15_000;

/// A store on disk, and its expected contents.
pub struct Kept {
    pub path: PathBuf,
    pub records: Rc<Records>,
    pub runs: BTreeSet<String>,
}

/// An open handle that is used for several steps, and the expected records of its snapshot.
struct Reader {
    /// The positions of its stores in the world.
    of: Vec<usize>,
    shown: Vec<Rc<Records>>,
    store: Store,
    /// The handle, if several stores are opened as one.
    several: Option<Stores>,
    searcher: Searcher,
}

impl Reader {
    /// Moves the reader to the newest snapshot.
    fn refresh(&mut self, kept: &[Kept]) {
        match &self.several {
            Some(stores) => stores.refresh().unwrap(),
            None => self.store.refresh().unwrap(),
        };
        self.searcher.follow(&self.store);
        self.shown = self.of.iter().map(|&at| kept[at].records.clone()).collect();
    }
}

pub struct World {
    pub setting: Setting,
    pub stores: Vec<Kept>,
    /// A description of the current step, for messages.
    pub doing: String,
    /// The number of operations of each kind.
    pub operations: BTreeMap<&'static str, u64>,
    pub compared: u64,
    pub folder: TempDir,
    readers: Vec<Reader>,
    /// Join plans kept for later steps, each with the position of its store.
    plans: Vec<(usize, String)>,
    pub parts: Vec<Part>,
    next_id: u64,
    next_name: u64,
}

impl World {
    pub fn new(random: &mut Random) -> Self {
        let mut world = World {
            setting: Setting::random(random),
            stores: Vec::new(),
            doing: String::new(),
            operations: BTreeMap::new(),
            compared: 0,
            folder: tempfile::tempdir().unwrap(),
            readers: Vec::new(),
            plans: Vec::new(),
            parts: Vec::new(),
            next_id: 0,
            next_name: 0,
        };
        for at in 0..1 + random.below(3) as usize {
            let path = world.folder.path().join(format!("{at}.fps"));
            world.stores.push(Kept { path, records: Rc::default(), runs: BTreeSet::new() });
            world.build(at, random);
            world.open(vec![at], random);
        }
        world.open((0..world.stores.len()).collect(), random);
        world
    }

    fn open(&mut self, of: Vec<usize>, random: &mut Random) {
        let paths: Vec<&PathBuf> = of.iter().map(|&at| &self.stores[at].path).collect();
        let several = (of.len() > 1 || random.below(3) == 0).then(|| Stores::open(&paths).unwrap());
        let store = match &several {
            Some(stores) => stores.as_store().clone(),
            None => Store::open(paths[0]).unwrap(),
        };
        let (searcher, shown) = (store.searcher(), self.shown(&of));
        self.readers.push(Reader { of, shown, store, several, searcher });
    }

    fn shown(&self, of: &[usize]) -> Vec<Rc<Records>> {
        of.iter().map(|&at| self.stores[at].records.clone()).collect()
    }

    pub fn records_mut(&mut self, at: usize) -> &mut Records {
        Rc::make_mut(&mut self.stores[at].records)
    }

    /// A new path in the folder of the world.
    pub fn new_path(&mut self, name: &str) -> PathBuf {
        self.next_name += 1;
        self.folder.path().join(format!("{name}-{}", self.next_name))
    }

    /// New records for a store; none if the store already has very many records.
    pub fn new_records(&mut self, at: usize, random: &mut Random) -> Vec<Record> {
        let stored = &self.stores[random.below(self.stores.len() as u64) as usize].records.0;
        let known: Vec<u64> = match stored.len() as u64 {
            0 => Vec::new(),
            len => (0..30).map(|_| stored[random.below(len) as usize].value).collect(),
        };
        let is_full = self.stores[at].records.0.len() > RECORDS_MAX;
        let count = if is_full { 0 } else { self.setting.record_count(random) };
        self.setting.records(count, &known, &mut self.next_id, random)
    }

    pub fn build_options(&self, random: &mut Random) -> BuildOptions {
        let threads = 1 + random.below(2) as usize;
        let least = (random.below(3) == 0).then(|| BuildOptions::memory_min(threads));
        BuildOptions::default()
            .scheme(self.setting.choice(random))
            .recipe(Recipe::external_of(self.setting.width))
            .sketch_len(self.setting.sketch_len)
            .threads(threads)
            .memory(least)
    }

    pub fn writer_options(&self, random: &mut Random) -> WriterOptions {
        let threads = 1 + random.below(2) as usize;
        let least = (random.below(3) == 0).then(|| 2 * BuildOptions::memory_min(threads));
        let options =
            WriterOptions::default().compact(random.below(2) == 0).threads(threads).memory(least);
        match random.below(6) {
            0 => options,
            _ => options.scheme(self.setting.choice(random)),
        }
    }

    /// A record as the writer takes it, with its sketch.
    pub fn new_record(&self, (value, id): &Record) -> NewRecord {
        let mut record = NewRecord::new(Fingerprint::new(*value), id.clone());
        if let Some(id) = id {
            record.sketch = sketch(*value, &id.to_string(), self.setting.sketch_len).into();
        }
        record
    }

    pub fn push_all(&self, builder: &mut Builder, records: &[Record]) {
        for record in records.iter().map(|record| self.new_record(record)) {
            match &record.id {
                Some(id) => {
                    builder.push_sketched(record.fingerprint, id.as_ref(), &record.sketch).unwrap();
                }
                None => builder.push_bare(record.fingerprint).unwrap(),
            }
        }
    }

    /// Makes one random change to the stores or the readers, and then all comparisons.
    pub fn step(&mut self, random: &mut Random) {
        let at = random.below(self.stores.len() as u64) as usize;
        self.doing = format!("store {at}:");
        match random.below(40) {
            0 => self.build(at, random),
            1..=3 => self.append(at, random),
            4..=19 => self.session(at, random),
            20 | 21 => self.compact_beside(at, random),
            22..=24 => self.import(at, random),
            25..=28 => self.commit(at, random),
            29 | 30 => damage::damage(self, at, random),
            31..=33 => self.burst(random),
            34..=37 => self.plan(at, random),
            _ => self.open_again(random),
        }
        self.check_store(at, random);
        self.check_readers(random);
        self.follow_plan(random);
    }

    /// Opens a store anew and compares it with its model.
    fn check_store(&mut self, at: usize, random: &mut Random) {
        let kept = &self.stores[at];
        let index = Index::of(from_ref(&kept.records));
        let store = Store::open(&kept.path).unwrap();
        let k = random.below(self.setting.ks.len() as u64) as usize;
        let mut check = Check {
            store: &store,
            index: &index,
            setting: &self.setting,
            ks: &self.setting.ks[k..=k],
            random,
            case: "a new handle",
            compared: &mut self.compared,
        };
        check.contents(&kept.records);
        check.soundness();
        check.searches(&mut store.searcher(), 8);
        check.batch();
        check.pairs();
        check.documents();
        check.ids();
        assert!(kept.runs.iter().all(|run| store.has_run(run)), "a run is forgotten");
    }

    /// Compares the snapshot of each reader, some after a refresh.
    fn check_readers(&mut self, random: &mut Random) {
        let other = random.below(self.stores.len() as u64) as usize;
        for reader in &mut self.readers {
            let is_new = random.below(3) == 0;
            if is_new {
                reader.refresh(&self.stores);
            }
            let index = Index::of(&reader.shown);
            let mut check = Check {
                store: &reader.store,
                index: &index,
                setting: &self.setting,
                ks: &self.setting.ks,
                random,
                case: &format!("reader of {:?}, refreshed: {is_new}", reader.of),
                compared: &mut self.compared,
            };
            check.searches(&mut reader.searcher, 4);
            match check.random.below(8) {
                0 => check.batch(),
                1 => check.pairs(),
                2 => check.documents(),
                3 => check.ids(),
                4 => {
                    let other = &self.stores[other];
                    let store = Store::open(&other.path).unwrap();
                    check.across(&store, &Index::of(from_ref(&other.records)));
                }
                _ => {}
            }
        }
    }

    /// Compares the shares of an older join plan.
    fn follow_plan(&mut self, random: &mut Random) {
        if self.plans.is_empty() || random.below(2) == 0 {
            return;
        }
        let (at, plan) = &self.plans[random.below(self.plans.len() as u64) as usize];
        let kept = &self.stores[*at];
        let mut check = Check {
            store: &Store::open(&kept.path).unwrap(),
            index: &Index::of(from_ref(&kept.records)),
            setting: &self.setting,
            ks: &self.setting.ks,
            random,
            case: &format!("store {at}, plan '{plan}'"),
            compared: &mut self.compared,
        };
        check.stale_shares(plan);
    }

    /// Keeps a join plan for a later step, if possible a plan whose shares read ranges.
    fn plan(&mut self, at: usize, random: &mut Random) {
        self.begin("plan");
        let store = Store::open(&self.stores[at].path).unwrap();
        let plans = (1..=4).map(|k| JoinPlan::of(&store, k).unwrap());
        let (ranges, everything): (Vec<_>, Vec<_>) =
            plans.partition(|plan| plan.reads() == PlanReads::Ranges);
        let plans = if ranges.is_empty() { everything } else { ranges };
        let plan = plans[random.below(plans.len() as u64) as usize].to_string();
        self.doing += &format!(" '{plan}'");
        if self.plans.len() == PLANS_MAX {
            self.plans.swap_remove(random.below(PLANS_MAX as u64) as usize);
        }
        self.plans.push((at, plan));
    }

    /// Lets a reader search so often that its searcher gathers small segments in memory.
    fn burst(&mut self, random: &mut Random) {
        self.begin("burst");
        let reader = random.below(self.readers.len() as u64) as usize;
        let reader = &mut self.readers[reader];
        self.doing += &format!(" of the reader of {:?}", reader.of);
        if random.below(2) == 0 {
            reader.refresh(&self.stores);
        }
        let index = Index::of(&reader.shown);
        let mut check = Check {
            store: &reader.store,
            index: &index,
            setting: &self.setting,
            ks: &self.setting.ks,
            random,
            case: "burst",
            compared: &mut self.compared,
        };
        let count = if index.values.len() > 1000 { 70 } else { 200 };
        check.searches(&mut reader.searcher, count);
    }

    /// Closes a random reader and opens another in its place.
    fn open_again(&mut self, random: &mut Random) {
        self.begin("open");
        let reader = random.below(self.readers.len() as u64) as usize;
        let reader = self.readers.swap_remove(reader);
        self.open(reader.of, random);
    }

    /// Counts a step of this kind and adds the kind to its description.
    pub fn begin(&mut self, kind: &'static str) {
        *self.operations.entry(kind).or_default() += 1;
        self.doing += " ";
        self.doing += kind;
    }
}
