//! Texts about bits, lists and statistics, for the report and the page of the doctor.

use fpstore::profile::{NearestDistances, Statistics, TableStatistics};
use fpstore_plot::numbers::{grouped, percent, rounded};

/// Nearest-neighbour distances are always shown up to this one.
const SHOWN_MIN: u32 = 12;

/// Names bits, given in descending order, with runs combined: `bits 63-44, 7 and 0`.
pub(super) fn bits(bits: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &bit in bits {
        match runs.last_mut() {
            Some((_, low)) if *low == bit + 1 => *low = bit,
            _ => runs.push((bit, bit)),
        }
    }
    let named: Vec<String> = runs
        .iter()
        .map(|&(high, low)| if high == low { high.to_string() } else { format!("{high}-{low}") })
        .collect();
    let noun = if bits.len() == 1 { "bit" } else { "bits" };
    format!("{noun} {}", listed(&named))
}

/// A list in words: `a`, `a and b`, `a, b and c`.
pub(super) fn listed(things: &[String]) -> String {
    match things {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The name of a table: its number, and its segment if there are several.
pub(super) fn name_of(statistics: &Statistics, table: &TableStatistics) -> String {
    let several = statistics.tables.iter().any(|other| other.segment != table.segment);
    match table.segment {
        Some(segment) if several => format!("table {} of segment {segment}", table.table.0),
        _ => format!("table {}", table.table.0),
    }
}

/// The number of distinct fingerprints in the statistics of bits: all, or those of the sample.
pub(super) fn counted_distinct(statistics: &Statistics) -> u64 {
    statistics.sampling.map_or(statistics.fingerprint_count, |sampling| sampling.fingerprint_count)
}

/// The message if the statistics show no findings.
pub(super) fn all_clear(statistics: &Statistics) -> &'static str {
    match counted_distinct(statistics) {
        0..32 => "nothing to report, but there are too few fingerprints for most findings",
        _ => "nothing to report: no bit, table or fingerprint stands out",
    }
}

/// A sentence about the matches that a random query finds by chance.
pub(super) fn chance_sentence(statistics: &Statistics) -> String {
    // The smallest distance with a tenth of a match by chance or more.
    let seen = statistics.by_chance.iter().find(|at| at.random >= 0.1);
    let seen = seen.map(|at| {
        let found = rounded(at.random);
        let n = grouped(statistics.fingerprint_count);
        format!("at k = {} and {n} fingerprints a random query finds {found} by chance", at.k)
    });
    let safe = statistics.distance_without_chance().map(|k| {
        format!(
            "up to k = {k}, fewer than one in a thousand random queries find anything by chance"
        )
    });
    seen.into_iter().chain(safe).collect::<Vec<_>>().join("; ")
}

/// The greatest nearest-neighbour distance in the statistics.
fn distance_max(distances: &NearestDistances) -> u32 {
    distances.counts.len().saturating_sub(1) as u32
}

/// The share of fingerprints that would have a neighbour within `k` bits by chance.
pub(super) fn chance_within(distances: &NearestDistances, k: u32) -> f64 {
    distances.by_chance.get(k as usize).copied().unwrap_or_default()
}

/// The greatest nearest-neighbour distance to show: a little beyond the proposed k.
pub(super) fn last_shown(distances: &NearestDistances) -> u32 {
    let proposed = distances.proposed_k.map_or(0, |k| k + 4);
    proposed.clamp(SHOWN_MIN, distance_max(distances))
}

/// A sentence that proposes a distance k, from the distances to nearest neighbours.
pub(super) fn proposal_sentence(distances: &NearestDistances) -> String {
    match distances.proposed_k {
        Some(k) => {
            let near = percent(distances.share_within(k));
            format!(
                "proposed: -k {k}; {near} of the fingerprints have another within {k} bits, {} by \
                 chance, and few have one just beyond",
                percent(chance_within(distances, k))
            )
        }
        None if distances.share_within(distance_max(distances)) == 0.0 => format!(
            "no k is proposed: no two of {} fingerprints are within {} bits",
            grouped(distances.fingerprint_count),
            distance_max(distances)
        ),
        None => {
            "no k is proposed: no gap separates near fingerprints from the others; judge pairs \
                 of each distance"
                .into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fpstore::Scheme;
    use fpstore::profile::{Collector, random_matches};

    fn of_random(fingerprint_count: u64) -> Statistics {
        let mut statistics = Collector::new().finish(&Scheme::named("2", 3).unwrap());
        statistics.fingerprint_count = fingerprint_count;
        for expected in &mut statistics.by_chance {
            expected.random = random_matches(fingerprint_count, expected.k);
            expected.alike = expected.random;
        }
        statistics
    }

    #[test]
    fn matches_by_chance_are_put_into_a_sentence() {
        assert_eq!(
            chance_sentence(&of_random(1_000_000_000)),
            "at k = 8 and 1 000 000 000 fingerprints a random query finds 0.28 by chance; up to \
             k = 5, fewer than one in a thousand random queries find anything by chance"
        );
        assert!(chance_sentence(&of_random(1)).contains("up to k = 19"));
    }

    #[test]
    fn runs_of_bits_are_drawn_together() {
        assert_eq!(bits(&[63, 62, 61, 7, 1, 0]), "bits 63-61, 7 and 1-0");
        assert_eq!(bits(&[5]), "bit 5");
    }
}
