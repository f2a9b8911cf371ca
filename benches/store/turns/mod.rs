//! Runs contenders in turn over the same queries, and prints the table of their medians.

use std::hint::black_box;
use std::time::Instant;

/// The number of rounds; odd, so that the median is the time of one round.
const ROUNDS: usize = 21;

/// A closure that answers queries and returns a checksum of the matches.
pub type AnswerAll<'a> = Box<dyn FnMut(&[u64]) -> u64 + 'a>;

/// One way to answer the queries of a case.
pub struct Contender<'a> {
    pub name: &'static str,
    /// The length in bytes of the file, or of the tables in memory.
    pub len: u64,
    pub queries: &'a [u64],
    pub run: AnswerAll<'a>,
}

/// The times of all contenders in one case.
pub struct CaseTimes {
    case: String,
    fingerprint_count: u64,
    rows: Vec<Times>,
}

struct Times {
    name: &'static str,
    len: u64,
    /// Nanoseconds per query, by round.
    nanos: Vec<f64>,
}

/// Runs the contenders in turn. Contenders with the same queries must return the same sum.
pub fn take(case: String, fingerprint_count: u64, mut contenders: Vec<Contender<'_>>) -> CaseTimes {
    let mut rows: Vec<Times> = contenders
        .iter()
        .map(|c| Times { name: c.name, len: c.len, nanos: Vec::with_capacity(ROUNDS) })
        .collect();
    let mut told: Option<(usize, u64)> = None;
    for round in 0..ROUNDS {
        for place in 0..contenders.len() {
            // The first contender rotates, so that each contender runs after different
            // predecessors, which leave the cache in different states.
            let number = (round + place) % contenders.len();
            let contender = &mut contenders[number];
            let start = Instant::now();
            let sum = black_box((contender.run)(black_box(contender.queries)));
            let nanos = start.elapsed().as_nanos() as f64 / contender.queries.len() as f64;
            rows[number].nanos.push(nanos);
            match told {
                Some((count, expected)) if count == contender.queries.len() => {
                    assert_eq!(sum, expected, "{case}: {} tells other matches", contender.name);
                }
                None => told = Some((contender.queries.len(), sum)),
                Some(_) => {}
            }
        }
    }
    CaseTimes { case, fingerprint_count, rows }
}

/// Prints medians with quartiles, and ratios to the first contender of each case.
///
/// The ratio is the median of the ratios of single rounds, whose two times were measured within
/// the same second.
pub fn print(cases: &[CaseTimes]) {
    if cases.is_empty() {
        return;
    }
    println!("\nNanoseconds a query, {ROUNDS} rounds in turn; times fpstore: above 1 is slower.\n");
    println!(
        "| case | contender | median | quartiles | times fpstore | bytes | bits a fingerprint |"
    );
    println!("|---|---|---:|---:|---:|---:|---:|");
    for turns in cases {
        let first = &turns.rows[0].nanos;
        for row in &turns.rows {
            let [low, median, high] = [1, 2, 3].map(|quarter| quartile(&row.nanos, quarter));
            let ratios: Vec<f64> = row.nanos.iter().zip(first).map(|(a, b)| a / b).collect();
            let ratio = quartile(&ratios, 2);
            let bits = row.len as f64 * 8.0 / turns.fingerprint_count as f64;
            println!(
                "| {} | {} | {median:.0} | {low:.0} to {high:.0} | {ratio:.2} | {} | {bits:.1} |",
                turns.case, row.name, row.len
            );
        }
    }
    println!();
}

/// The `quarter`-th quartile of the values.
fn quartile(values: &[f64], quarter: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted[(sorted.len() - 1) * quarter / 4]
}
