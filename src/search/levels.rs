//! The levels of a search for nearest matches: the distances of its successive searches.

use crate::plan::AccessPath;
use crate::search::snapshot::Snapshot;

/// Minimum ratio of the costs of a level and the level before it.
const RATIO: f64 = 2.0;

/// Maximum costs of the two cheap levels, relative to the cost of the last level.
const FIRST_SHARE: f64 = 1.0 / 4.0;

const SECOND_SHARE: f64 = 1.0 / 16.0;

#[derive(Debug, Default)]
pub(super) struct Levels {
    /// The maximum distance for which the levels were chosen.
    k_max: Option<u32>,
    pub(super) list: Vec<u32>,
}

impl Levels {
    /// Discards the levels, because the snapshot changed.
    pub(super) fn clear(&mut self) {
        self.k_max = None;
    }

    /// Chooses the levels, unless those of the last search are still valid.
    pub(super) fn choose(&mut self, snapshot: &Snapshot, k_max: u32) {
        if self.k_max == Some(k_max) {
            return;
        }
        self.k_max = Some(k_max);
        self.list.clear();
        let segments = snapshot.segments();
        let cost = |k| segments.iter().map(|open| open.plan(k).expected_nanos).sum::<f64>();
        let scans = |k| {
            let is_scan = |path: &AccessPath| matches!(path, AccessPath::Scan { .. });
            segments.iter().all(|open| is_scan(&open.plan(k).path))
        };
        if !segments.is_empty() && scans(k_max) {
            // The last level is a pass over all values. As long as probes are cheaper than the
            // pass, each level costs at least twice the previous one, so all levels cost little
            // more than the last.
            let mut spent = 0.0;
            for k in (0..k_max).take_while(|&k| !scans(k)) {
                let nanos = cost(k);
                if nanos >= spent * RATIO {
                    self.list.push(k);
                    spent = nanos;
                }
            }
        } else if k_max > 0 {
            // Two cheap levels first: enough for needles with near matches, and little extra cost
            // for others.
            let most = cost(k_max);
            if cost(1) <= FIRST_SHARE * most && k_max > 1 {
                self.list.push(1);
            }
            let (mut low, mut high) = (1, k_max);
            while low + 1 < high {
                let middle = (low + high) / 2;
                let is_cheap = cost(middle) <= SECOND_SHARE * most;
                *(if is_cheap { &mut low } else { &mut high }) = middle;
            }
            if low > 1 {
                self.list.push(low);
            }
        }
        self.list.push(k_max);
    }
}
