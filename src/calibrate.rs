//! Measuring the unit costs of this machine.
//!
//! It builds small stores and times their queries, so it stands above the builder and the store
//! and not in `plan`, whose costs it measures.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::bits::prefetch::prefetch;
use crate::bits::scramble::scramble;
use crate::builder::{BuildOptions, Builder};
use crate::error::{Error, Result};
use crate::plan::{Plan, UnitCosts};
use crate::scheme::Scheme;
use crate::search::Searcher;
use crate::store::{Store, Warm};
use fpstore_base::Fingerprint;

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

impl UnitCosts {
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
        let folder = tempfile::tempdir().map_err(Error::io("write to", std::env::temp_dir()))?;
        let shipped = UnitCosts::SHIPPED;
        let mut factors = Vec::new();
        let mut scanned = f64::INFINITY;
        for (name, distances) in CASES {
            let store = small_store(&folder.path().join(name), name)?;
            for &k in distances {
                let expected = match store.plans(k)?.first() {
                    Some(Plan::Probe { estimate, .. }) => shipped.nanos(estimate, 0.0),
                    _ => continue,
                };
                factors.push(time_queries(&store, k)? / expected);
            }
            if let Some(Plan::Scan { .. }) = store.plans(SCANNED_K)?.first() {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_costs_are_usable() {
        let costs = UnitCosts::measure().unwrap();
        assert_eq!(UnitCosts::from_entries(&costs.entries()), Some(costs));
        assert!(costs.probe > 0.0 && costs.scanned > 0.0 && costs.cold_page > 0.0);
        assert!(costs.touch.is_sorted());
    }
}
