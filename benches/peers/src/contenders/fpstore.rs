//! fpstore, with a memory-mapped file in the page cache.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use fpstore::join::{BatchMode, JoinOptions, search_many};
use fpstore::{
    BuildOptions, Builder, Error, Fingerprint, Limits, SchemeChoice, Searcher, Store, Warm,
};

use super::{Built, Index, Session, timed};
use crate::memory;
use crate::set::Set;

struct Mapped {
    store: Store,
    k: u32,
}

/// Builds a store with a given scheme, or with the planner's choice within the default budget.
///
/// After the opening is timed, the file is evicted from the page cache. `Store::warm` then reads
/// and verifies the file before the first query, as in a freshly started server.
pub fn build(
    name: &'static str,
    scheme: Option<&str>,
    set: &Set,
    k: u32,
    folder: &Path,
) -> Result<Built> {
    let path = folder.join(format!("{name}.fps"));
    let options = match scheme {
        Some(scheme) => BuildOptions::default().scheme(SchemeChoice::named(scheme, k)?),
        None => BuildOptions::default()
            .scheme(SchemeChoice::Auto { k, budget: fpstore::plan::Budget::default() }),
    };
    let options = options.threads(1);
    let ((), building) = timed(|| {
        let mut builder = Builder::with_options(&path, options)?;
        for value in &set.values {
            builder.push_bare(Fingerprint::new(*value))?;
        }
        drop(builder.finish()?);
        Ok(())
    })?;
    let start = Instant::now();
    drop(Store::open(&path)?);
    let open_seconds = start.elapsed().as_secs_f64();
    for segment in std::fs::read_dir(&path)? {
        // Only flushed pages can be evicted from the page cache.
        let file = std::fs::File::open(segment?.path())?;
        let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed);
    }
    let (store, opened) = timed(|| {
        let store = Store::open(&path)?;
        store.warm(Warm::All)?;
        store.plans(k)?;
        Ok(store)
    })?;
    let info = store.info();
    let mapped = info.segments.iter().map(|segment| memory::resident_of(&segment.path));
    let resident = mapped.sum::<Option<u64>>().map(|pages| pages + opened.bytes);
    let bits: Vec<String> =
        info.segments[0].tables.iter().map(|table| table.prefix_bits.to_string()).collect();
    Ok(Built {
        name,
        settings: format!("tables of {} prefix bits, file in memory", bits.join(", ")),
        bytes: info.file_len() + opened.bytes,
        resident_bytes: resident,
        index: Box::new(Mapped { store, k }),
        build_seconds: building.seconds,
        open_seconds: Some(open_seconds),
    })
}

impl Index for Mapped {
    fn session(&self) -> Box<dyn Session + '_> {
        Box::new(Asking { mapped: self, searcher: self.store.searcher() })
    }
}

struct Asking<'a> {
    mapped: &'a Mapped,
    searcher: Searcher,
}

impl Session for Asking<'_> {
    fn ask(&mut self, needle: u64) -> usize {
        let answer = self.searcher.search(Fingerprint::new(needle), self.mapped.k);
        answer.expect("the store was just made and verified").len()
    }

    fn ask_many(&mut self, needles: &[u64]) -> Option<usize> {
        let needles: Vec<Fingerprint> = needles.iter().copied().map(Fingerprint::new).collect();
        let options = JoinOptions::new(self.mapped.k).threads(1);
        let mut count = 0;
        let (store, limits) = (&self.mapped.store, Limits::default());
        search_many(store, &needles, &options, &limits, BatchMode::Auto, |_, answer| {
            count += answer.len();
            Ok::<(), Error>(())
        })
        .expect("the store was just made and verified");
        Some(count)
    }

    fn values(&mut self, needle: u64, found: &mut Vec<u64>) {
        let answer = self.searcher.search(Fingerprint::new(needle), self.mapped.k);
        let answer = answer.expect("the store was just made and verified");
        found.extend(answer.hits().map(|hit| hit.fingerprint().value()));
    }
}
