//! Compares walks with a linear scan. In unit tests a tile has eight blocks and threads look up
//! values early, so that small stores have many tiles and look-ups.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::join::tests::random::Random;
use crate::join::{BatchMode, JoinOptions, search_many};
use crate::{BuildOptions, Builder, Error, Fingerprint, Limits, Scheme, Store, Writer};

/// Values with the distribution number `shape`.
fn values(shape: u64, count: usize, random: &mut Random) -> Vec<u64> {
    let mut values: Vec<u64> = match shape {
        1 => vec![0x0123_4567_89ab_cdef; count],
        2 => vec![0; count],
        3 => vec![u64::MAX; count],
        _ => Vec::new(),
    };
    let centres: Vec<u64> = (0..9).map(|_| random.next()).collect();
    while values.len() < count {
        let value = random.next();
        values.push(match shape {
            // Clusters (4), most values in one block (5), few different high halves (6) or low
            // halves (7).
            4 => {
                let centre = random.pick(&centres);
                let flips = random.below(9) as u32;
                random.flip(centre, flips)
            }
            5 if !value.is_multiple_of(8) => 0x7777 << 48 | value >> 16,
            6 => random.pick(&centres) & !0xffff_ffff | value >> 32,
            7 => random.pick(&centres) & 0xffff_ffff | value << 32,
            _ => value,
        });
    }
    values
}

/// Queries about `k` bits away from stored values, some of them twice, and arbitrary queries.
fn queries(values: &[u64], k: u32, count: usize, random: &mut Random) -> Vec<Fingerprint> {
    let mut queries = vec![0, u64::MAX];
    while queries.len() < count {
        let near = if values.is_empty() { 7 } else { random.pick(values) };
        let flips = (k + random.below(3) as u32).saturating_sub(1);
        queries.push(match random.below(8) {
            0 => random.next(),
            1 => random.pick(&queries.clone()),
            2 => near,
            _ => random.flip(near, flips),
        });
    }
    queries.truncate(count);
    queries.into_iter().map(Fingerprint::new).collect()
}

fn build(path: &Path, scheme: &Scheme, values: &[u64], segments: usize) {
    let options = || BuildOptions::default().scheme(scheme.clone());
    let len = values.len().div_ceil(segments).max(1);
    let parts = if values.is_empty() { vec![values] } else { values.chunks(len).collect() };
    for (number, part) in parts.into_iter().enumerate() {
        let mut builder = match number {
            0 => Builder::with_options(path, options()).unwrap(),
            _ => Builder::append(path, options()).unwrap(),
        };
        for &value in part {
            builder.push(Fingerprint::new(value), value % 1000).unwrap();
        }
        builder.finish().unwrap();
    }
}

type Answers = Vec<(usize, bool, Vec<(u32, u64)>)>;

fn answers(
    store: &Store,
    queries: &[Fingerprint],
    options: &JoinOptions,
    limit: Option<usize>,
    mode: BatchMode,
) -> crate::Result<Answers> {
    let mut answers = Answers::new();
    let limits = Limits::default().limit(limit);
    search_many(store, queries, options, &limits, mode, |at, answer| {
        let hits = answer.hits().map(|hit| (hit.distance(), hit.fingerprint().value())).collect();
        answer.hits().try_for_each(|hit| hit.ids().try_for_each(|id| id.map(drop)))?;
        answers.push((at, answer.outcome().cut, hits));
        Ok::<(), Error>(())
    })?;
    Ok(answers)
}

fn schemes(k: u32) -> Vec<Scheme> {
    let names = ["1", "2", "3", "4", "6", "10", "14", "20", "choose-4-for-2"];
    let whole = names.map(|name| Scheme::named(name, k).unwrap());
    let syndromes = [("2", 6), ("2", 12), ("14", 12), ("20", 11), ("choose-4-for-2", 12)];
    let with =
        syndromes.map(|(name, bits)| Scheme::named(name, k).unwrap().with_syndromes(bits).unwrap());
    whole.into_iter().chain(with).collect()
}

/// A walk returns the answers of a linear scan, for any scheme, values, segments, deletions, memory
/// and number of threads.
#[test]
fn a_walk_answers_as_a_scan_does() {
    let mut random = Random::new(64);
    let folder = tempfile::tempdir().unwrap();
    let mut walked = 0;
    for shape in 0..8 {
        for count in [0, 1, 2, 300, 6000] {
            let stored = values(shape, count, &mut random);
            let all = schemes(3);
            for turn in 0..if count < 3 { 2 } else { 4 } {
                let scheme = &all[random.below(all.len() as u64) as usize];
                let path = folder.path().join("store.fps");
                let segments = 1 + random.below(3) as usize;
                build(&path, scheme, &stored, segments);
                let mut live: BTreeSet<u64> = stored.iter().copied().collect();
                if turn > 0 && count > 2 {
                    let mut writer = Writer::open(&path).unwrap();
                    let gone: Vec<Fingerprint> =
                        live.iter().step_by(5).map(|&value| value.into()).collect();
                    writer.delete_fingerprints(&gone).unwrap();
                    live.retain(|&value| gone.binary_search(&value.into()).is_err());
                }
                let store = Store::open(&path).unwrap();
                for k in [0, 1, 2, 3, 4] {
                    let asked = random.below(300) as usize;
                    let queries = queries(&stored, k, asked, &mut random);
                    let limit = (random.below(3) == 0).then(|| random.below(4) as usize);
                    let expected = expected(&live, &queries, k, limit);
                    let snapshot = store.snapshot();
                    walked += snapshot
                        .segments()
                        .iter()
                        .filter(|open| {
                            matches!(&open.plan(k).path, crate::plan::AccessPath::Probe { radii }
                            if super::fits(&open.segment, radii))
                        })
                        .count();
                    for (threads, memory) in [(1, 1 << 14), (2, 1 << 16), (1, 1 << 30)] {
                        let options = JoinOptions::new(k).threads(threads).memory(memory);
                        let found = answers(&store, &queries, &options, limit, BatchMode::Walk);
                        let case = format!("shape {shape}, {count}, {scheme:?}, {segments}, k={k}");
                        assert!(found.unwrap() == expected, "{case}, {threads}, {memory}");
                    }
                }
                fs::remove_dir_all(&path).unwrap();
            }
        }
    }
    assert!(walked > 100, "{walked} segments were walked");
}

fn expected(
    live: &BTreeSet<u64>,
    queries: &[Fingerprint],
    k: u32,
    limit: Option<usize>,
) -> Answers {
    let of_query = |(at, query): (usize, &Fingerprint)| {
        let distance = |value: &u64| (value ^ query.value()).count_ones();
        let mut near: Vec<(u32, u64)> =
            live.iter().map(|value| (distance(value), *value)).filter(|it| it.0 <= k).collect();
        near.sort_unstable();
        let most = limit.unwrap_or(usize::MAX).min(near.len());
        (at, most < near.len(), near[..most].to_vec())
    };
    queries.iter().enumerate().map(of_query).collect()
}

/// Segments that are too small to be probed, with few or many values near the edges of tiles.
#[test]
fn a_walk_of_few_values_finds_what_a_scan_finds() {
    let mut random = Random::new(66);
    let folder = tempfile::tempdir().unwrap();
    let mut walked = 0;
    for count in [1, 2, 3, 30, 300, 1000] {
        for (shape, bits) in [(0, None), (0, Some(6)), (4, None), (4, Some(12)), (3, None)] {
            let scheme = Scheme::named("2", 3).unwrap();
            let scheme = bits.map_or(scheme.clone(), |bits| scheme.with_syndromes(bits).unwrap());
            let stored = values(shape, count, &mut random);
            let path = folder.path().join("store.fps");
            build(&path, &scheme, &stored, 1);
            let snapshot = Store::open(&path).unwrap().snapshot();
            let segment = &*snapshot.segments()[0].segment;
            let radii = [Some(1), Some(1)];
            if super::fits(segment, &radii) {
                walked += 1;
                let queries = queries(&stored, 3, 500, &mut random);
                for (threads, needs_first_rank) in [(1, false), (2, true)] {
                    let (number, k, found_max) = (0, 3, 1 << 20);
                    let report = &|_| Ok(());
                    let radii = &radii;
                    let walk = super::Walk {
                        segment,
                        number,
                        radii,
                        k,
                        threads,
                        found_max,
                        needs_first_rank,
                        report,
                    };
                    let found = walk.find(&queries).unwrap().unwrap();
                    assert!(!needs_first_rank || found.iter().all(|(_, hit)| hit.table.0 == 0));
                    let of = |(query, hit): &(u32, crate::search::snapshot::SegmentHit)| {
                        (*query as usize, hit.distance, hit.fingerprint.value())
                    };
                    let mut found: Vec<(usize, u32, u64)> = found.iter().map(of).collect();
                    found.sort_unstable();
                    let live: BTreeSet<u64> = stored.iter().copied().collect();
                    let mut expected: Vec<(usize, u32, u64)> = Vec::new();
                    for (at, _, hits) in self::expected(&live, &queries, 3, None) {
                        expected.extend(hits.iter().map(|hit| (at, hit.0, hit.1)));
                    }
                    assert_eq!(found, expected, "{count} of shape {shape}, {bits:?}, {threads}");
                    let walk = super::Walk { found_max: expected.len() / 4, ..walk };
                    assert!(expected.len() < 8 || walk.find(&queries).unwrap().is_none());
                }
            }
            fs::remove_dir_all(&path).unwrap();
        }
    }
    assert!(walked > 7, "{walked}");
}

/// For each damaged byte of a table, a walk returns the answers of the undamaged file, or the error
/// that probes return.
#[test]
fn a_walk_names_the_faults_that_probes_name() {
    let mut random = Random::new(65);
    let folder = tempfile::tempdir().unwrap();
    for (number, bits) in [(0, None), (1, Some(12))] {
        let scheme = Scheme::named("2", 3).unwrap();
        let scheme = bits.map_or(scheme.clone(), |bits| scheme.with_syndromes(bits).unwrap());
        let stored = values(4 * number, 3000, &mut random);
        let path = folder.path().join(format!("{number}.fps"));
        build(&path, &scheme, &stored, 1);
        let queries = queries(&stored, 3, 40, &mut random);
        let options = JoinOptions::new(3).threads(1);
        let ask = |mode| answers(&Store::open(&path).unwrap(), &queries, &options, None, mode);
        let sound = ask(BatchMode::Walk).unwrap();
        assert_eq!(sound, ask(BatchMode::Probe).unwrap());
        let file = path.join("segment-0000000000000001.fps");
        let intact = fs::read(&file).unwrap();
        let mut faults = 0;
        for at in (4096..intact.len()).step_by(509) {
            let mut damaged = intact.clone();
            damaged[at] ^= 1 << (at % 8);
            fs::remove_file(&file).unwrap();
            fs::write(&file, damaged).unwrap();
            // Pages of checksums are already verified when the store is opened.
            if Store::open(&path).is_err() {
                continue;
            }
            match (ask(BatchMode::Walk), ask(BatchMode::Probe)) {
                (Ok(walked), Ok(probed)) => assert!(walked == sound && probed == sound, "{at:#x}"),
                (Err(walked), Err(probed)) => {
                    assert_eq!(walked.to_string(), probed.to_string(), "{at:#x}");
                    faults += 1;
                }
                (walked, probed) => panic!("{at:#x}: {:?}, {:?}", walked.err(), probed.err()),
            }
        }
        assert!(faults > 10, "{faults}");
    }
}
