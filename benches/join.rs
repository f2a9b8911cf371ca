//! All pairs within 3 bits, beside ten permuted and sorted copies: medians of rounds in turn.
#![deny(unsafe_code)]

mod data;
mod pairs_baseline;

use std::time::Instant;

use data::{Spread, count_name};
use fpstore::{Fingerprint, JoinOptions, near_pairs};

const ROUNDS: usize = 7;

fn main() {
    let measuring = std::env::args().any(|argument| argument == "--bench");
    let asked = std::env::var("FPSTORE_BENCH_N").ok().and_then(|n| n.parse().ok());
    let counts = match (measuring, asked) {
        (false, _) => vec![10_000],
        (true, Some(count)) => vec![count],
        (true, None) => vec![1_000_000, 10_000_000],
    };
    println!("| case | contender | seconds, median | least to most | times baseline |");
    println!("|---|---|---:|---:|---:|");
    for count in counts {
        for spread in Spread::ALL {
            compare(spread, count, if measuring { ROUNDS } else { 1 });
        }
    }
}

fn compare(spread: Spread, count: usize, rounds: usize) {
    let mut values = spread.fingerprints(count);
    values.sort_unstable();
    values.dedup();
    let fingerprints: Vec<Fingerprint> = values.iter().copied().map(Fingerprint::new).collect();
    let one = || joined(&fingerprints, 1);
    let two = || joined(&fingerprints, 2);
    let baseline = || {
        let mut sum = Sum::default();
        pairs_baseline::near_pairs(&values, |a, b| sum.add(a, b));
        sum
    };
    type Run<'a> = &'a dyn Fn() -> Sum;
    let contenders: [(&str, Run<'_>); 3] = [
        ("ten sorted copies, 1 thread", &baseline),
        ("fpstore, 1 thread", &one),
        ("fpstore, 2 threads", &two),
    ];
    let mut seconds = vec![Vec::new(); contenders.len()];
    let mut told = None;
    for round in 0..rounds {
        for place in 0..contenders.len() {
            let number = (round + place) % contenders.len();
            let start = Instant::now();
            let sum = contenders[number].1();
            seconds[number].push(start.elapsed().as_secs_f64());
            assert_eq!(*told.get_or_insert(sum), sum, "{} finds others", contenders[number].0);
        }
    }
    let ratios = |number: usize| -> Vec<f64> {
        seconds[number].iter().zip(&seconds[0]).map(|(a, b)| a / b).collect()
    };
    for (number, (name, _)) in contenders.iter().enumerate() {
        let [least, median, most] = quartiles(&seconds[number]);
        let [_, ratio, _] = quartiles(&ratios(number));
        println!(
            "| join/k3/{}/{} | {name} | {median:.3} | {least:.3} to {most:.3} | {ratio:.2} |",
            count_name(count),
            spread.name()
        );
    }
}

fn joined(fingerprints: &[Fingerprint], threads: usize) -> Sum {
    let mut options = JoinOptions::new(3);
    options.threads = Some(threads);
    let mut sum = Sum::default();
    near_pairs(fingerprints, &options, |pairs| {
        pairs.iter().for_each(|pair| sum.add(pair.first.value(), pair.second.value()));
        Ok(())
    })
    .expect("values in memory can be joined");
    sum
}

/// A count of pairs and a number that does not depend on their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum(u64, u64);

impl Sum {
    fn add(&mut self, one: u64, other: u64) {
        self.0 += 1;
        let distance = (one ^ other).count_ones();
        let both = one.wrapping_add(other).wrapping_mul(2 * u64::from(distance) + 1);
        self.1 = self.1.wrapping_add(both);
    }
}

/// Least, median and most.
fn quartiles(values: &[f64]) -> [f64; 3] {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    [0, sorted.len() / 2, sorted.len() - 1].map(|at| sorted[at])
}
