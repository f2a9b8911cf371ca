//! Measuring the unit costs of this machine, and keeping them in a file.
//!
//! It builds small stores and times their queries, so it stands above the builder and the store
//! and not in `plan`, whose costs it measures.

use std::hint::black_box;
use std::io::{Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::base::error::{Error, Result};
use crate::bytes::prefetch::prefetch;
use crate::bytes::scramble::scramble;
use crate::plan::{Plan, PlanPath, UnitCosts};
use crate::scheme::Scheme;
use crate::search::Searcher;
use crate::store::{Store, Warm};
use crate::writing::builder::{BuildOptions, Builder};
use fpstore_base::Fingerprint;
use fpstore_disk::parent_of;
use fpstore_disk::{ScratchDirectory, TemporaryFile};

/// Small enough for the nearest caches, so that steps are timed and not memory.
const FINGERPRINT_COUNT: u64 = 20_000;
/// Schemes and distances whose queries take the steps in different proportions.
const CASES: [(&str, &[u32]); 3] = [("2", &[1, 3, 4]), ("4", &[3, 5]), ("1", &[1, 2])];
/// A distance that a scan answers and at which random fingerprints have next to no match.
const SCANNED_K: u32 = 20;
/// The memory that is touched, as a power of 2 of bytes: more than caches hold.
const TOUCHED_BITS: u32 = 26;
/// The time of a touch, measured in the same way on the machine of the shipped costs.
const TOUCH_NANOS_SHIPPED: f64 = 7.0;
/// Memory that stays in the nearest cache, as a power of 2 of bytes.
const NEAR_BITS: u32 = 14;
/// Cache lines that are prefetched together, as a query does.
const TOUCHED_TOGETHER: usize = 32;
const LINE_LEN: usize = 64;
const ROUNDS: usize = 7;
const ROUND_TIME: Duration = Duration::from_millis(8);

/// The first line of a file of costs. A release with other steps has another line.
const MAGIC: &str = "fpstore unit costs 1, nanoseconds";
/// The greatest length of the file that is read.
const KEPT_LEN_MAX: u64 = 1 << 16;

impl UnitCosts {
    /// The costs that were measured on this machine and are kept in the file at `path`, or the
    /// shipped ones if the file is missing, damaged or of another release.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("unit-costs.txt");
    /// use fpstore::plan::UnitCosts;
    ///
    /// assert_eq!(UnitCosts::of_this_machine(&path), UnitCosts::SHIPPED);
    /// let mut measured = UnitCosts::SHIPPED; // UnitCosts::measure()? takes a second or two.
    /// measured.probe = 6.5;
    /// measured.keep_in(&path)?;
    /// assert_eq!(UnitCosts::of_this_machine(&path), measured);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of_this_machine(path: impl AsRef<Path>) -> UnitCosts {
        let kept = || {
            let mut text = String::new();
            let file = std::fs::File::open(path).ok()?;
            file.take(KEPT_LEN_MAX).read_to_string(&mut text).ok()?;
            read(&text)
        };
        kept().unwrap_or(UnitCosts::SHIPPED)
    }

    /// Keeps the costs in the file at `path`, whose folder must be there, for
    /// [`UnitCosts::of_this_machine`].
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the system refuses. Then the file is as it was.
    pub fn keep_in(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let mut file = TemporaryFile::create(parent_of(path), ".unit-costs-")?;
        let kept = file.write_all(written(self).as_bytes());
        let kept = kept.and_then(|()| file.rename_over(path));
        kept.map_err(Error::io("keep unit costs in", path))
    }

    /// Measures the costs on this machine, in a second or two, with a small store in the
    /// temporary folder of the system.
    ///
    /// One factor is measured for the steps of probes and another for touches of memory. A scan is
    /// timed by itself. The cost of a cold page is the shipped one.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the system refuses the small store.
    pub fn measure() -> Result<UnitCosts> {
        let folder = ScratchDirectory::create(&std::env::temp_dir())?;
        let shipped = UnitCosts::SHIPPED;
        let mut factors = Vec::new();
        let mut scanned = f64::INFINITY;
        for (name, distances) in CASES {
            let store = small_store(&folder.path().join(name), name)?;
            for &k in distances {
                let expected = match store.plans(k)?.first() {
                    Some(Plan { estimate, path: PlanPath::Probe { .. }, .. }) => {
                        shipped.nanos(estimate, 0.0)
                    }
                    _ => continue,
                };
                factors.push(time_queries(&store, k)? / expected);
            }
            if let Some(Plan { path: PlanPath::Scan { .. }, .. }) = store.plans(SCANNED_K)?.first()
            {
                scanned = scanned.min(time_queries(&store, SCANNED_K)? / FINGERPRINT_COUNT as f64);
            }
        }
        factors.sort_unstable_by(f64::total_cmp);
        let factor = factors.get(factors.len() / 2).copied().unwrap_or(1.0);
        let mut costs = shipped.scaled(factor);
        if scanned.is_finite() {
            costs.scanned = scanned;
        }
        let memory = time_memory();
        costs.touch = shipped.touch.map(|nanos| nanos * memory);
        Ok(costs)
    }
}

fn small_store(path: &std::path::Path, name: &str) -> Result<Store> {
    let scheme = Scheme::named(name, 3)?;
    let mut builder = Builder::with_options(path, BuildOptions::default().scheme(scheme))?;
    (0..FINGERPRINT_COUNT).try_for_each(|i| builder.push_bare(Fingerprint::new(scatter(i))))?;
    let store = builder.finish()?;
    store.warm(Warm::All)?;
    Ok(store)
}

/// The numbers of splitmix64 from state 0.
fn scatter(number: u64) -> u64 {
    scramble(number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Nanoseconds per query for stored fingerprints: the minimum of several rounds, since other work
/// of the machine only adds time.
fn time_queries(store: &Store, k: u32) -> Result<f64> {
    let mut searcher: Searcher = store.searcher();
    let mut least = f64::INFINITY;
    let mut next = 0;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let mut done = 0_u32;
        while done == 0 || start.elapsed() < ROUND_TIME {
            for _ in 0..16 {
                let needle = Fingerprint::new(scatter(next * 7 % FINGERPRINT_COUNT));
                black_box(searcher.search(needle, k)?.len());
                next += 1;
                done += 1;
                if start.elapsed() > ROUND_TIME {
                    break;
                }
            }
        }
        least = least.min(start.elapsed().as_nanos() as f64 / f64::from(done));
    }
    Ok(least)
}

/// The time of a touch of memory, as a multiple of that on the machine of the shipped costs.
fn time_memory() -> f64 {
    let memory = vec![1_u8; 1 << TOUCHED_BITS];
    let touch = time_touch(&memory, TOUCHED_BITS) - time_touch(&memory, NEAR_BITS);
    (touch / TOUCH_NANOS_SHIPPED).clamp(0.25, 8.0)
}

/// Nanoseconds to prefetch and read a line of the first 2^`bits` bytes, in random order.
fn time_touch(memory: &[u8], bits: u32) -> f64 {
    let lines = (1_usize << bits) / LINE_LEN;
    let mut least = f64::INFINITY;
    let mut state = 1_u64;
    let mut sum = 0_u64;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let mut touched = 0_u32;
        while start.elapsed() < ROUND_TIME {
            for _ in 0..64 {
                let mut places = [0; TOUCHED_TOGETHER];
                for place in &mut places {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    *place = (state >> 33) as usize % lines * LINE_LEN;
                    prefetch(memory, *place);
                }
                sum += places.iter().map(|&place| u64::from(memory[place])).sum::<u64>();
                touched += TOUCHED_TOGETHER as u32;
            }
        }
        least = least.min(start.elapsed().as_nanos() as f64 / f64::from(touched));
    }
    black_box(sum);
    least
}

fn written(costs: &UnitCosts) -> String {
    let lines = costs.entries().into_iter().map(|(name, value)| format!("{name} {value}\n"));
    format!("{MAGIC}\n{}", lines.collect::<String>())
}

fn read(text: &str) -> Option<UnitCosts> {
    let mut lines = text.lines();
    if lines.next()? != MAGIC {
        return None;
    }
    let entry = |line: &str| {
        let (name, value) = line.split_once(' ')?;
        Some((name.to_owned(), value.parse().ok()?))
    };
    UnitCosts::from_entries(&lines.map(entry).collect::<Option<Vec<_>>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_read_back_and_a_damaged_file_counts_as_none() {
        let mut costs = UnitCosts::SHIPPED;
        costs.probe = 12.345_678;
        let text = written(&costs);
        assert_eq!(read(&text), Some(costs));
        for (at, _) in text.char_indices() {
            // A shorter last number is still a number; anything else is refused.
            if let Some(found) = read(&text[..at]) {
                assert!(text[at..].lines().count() == 1 && found.touch[0] == costs.touch[0]);
            }
        }
        for damaged in [
            text.replace("probe", "prove"),
            text.replace("12.345678", "-1"),
            text.replace("12.345678", "nan"),
            text.replace("costs 1", "costs 2"),
            format!("{text}probe 1\n"),
            "\0\x01".into(),
        ] {
            assert_eq!(read(&damaged), None, "{damaged}");
        }
    }

    #[test]
    fn measured_costs_are_usable() {
        let costs = UnitCosts::measure().unwrap();
        assert_eq!(UnitCosts::from_entries(&costs.entries()), Some(costs));
        assert!(costs.probe > 0.0 && costs.scanned > 0.0 && costs.cold_page > 0.0);
        assert!(costs.touch.is_sorted());
    }
}
