//! Rust: the same as bench.c, with the library itself.

use std::time::Instant;

use fpstore::{Fingerprint, Store, Warm};

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let bytes = std::fs::read(&args[2])?;
    let queries: Vec<Fingerprint> =
        bytes.as_chunks().0.iter().map(|it| Fingerprint::new(u64::from_le_bytes(*it))).collect();
    let store = Store::open(&args[1])?;
    store.warm(Warm::All)?;
    let mut searcher = store.searcher();
    let mut sum = 0;
    let micros = |start: Instant| start.elapsed().as_nanos() as f64 / 1e3;
    for with_ids in [false, true] {
        let mut times = Vec::new();
        for &query in &queries {
            let start = Instant::now();
            for hit in searcher.search(query, 3)?.hits() {
                sum += hit.distance() as usize;
                if with_ids {
                    let ids: fpstore::Result<Vec<String>> =
                        hit.ids().map(|id| Ok(id?.to_string())).collect();
                    sum += ids?.len();
                }
            }
            times.push(micros(start));
        }
        print!("{:.3} ", median(times));
    }
    let mut times = Vec::new();
    for batch in queries.chunks_exact(1000) {
        let start = Instant::now();
        let mut hits = Vec::new();
        for &query in batch {
            let answer = searcher.search(query, 3)?;
            hits.extend(answer.hits().map(|hit| (hit.fingerprint(), hit.distance())));
        }
        sum += hits.iter().map(|hit| hit.1 as usize).sum::<usize>();
        times.push(micros(start));
    }
    println!("{:.1}", times.into_iter().fold(f64::MAX, f64::min));
    eprintln!("{sum}");
    Ok(())
}
