//! `fpstore dedup --against --docs --confirm`: documents whose sketches are not alike to those of
//! stored documents, nor, with `--within`, to those of an earlier new document that is kept.

use std::io::Write;

use anyhow::bail;
use fpstore::join::confirm::{Documents as DocumentList, sketch_similarity};
use fpstore::join::{BatchMode, ClusterMethod, search_many};
use fpstore::{Fingerprint, Limits, Store, Writer};

use super::byte_table::ByteTable;
use super::command::ExitStatus;
use super::confirm::candidate_k;
use super::dedup::DedupArgs;
use super::documents::{Documents, report};
use super::inputs::inputs;
use super::monitor::Monitor;
use super::output::{IdPrinter, counted, grouped};
use super::sink::Sink;

/// Where the results go.
pub(super) struct Destinations {
    pub(super) out: Sink,
    pub(super) matches: Option<Sink>,
    pub(super) writer: Option<Writer>,
}

/// The new documents, by number.
struct NewDocuments {
    fingerprints: Vec<Fingerprint>,
    ids: ByteTable,
    sketches: ByteTable,
    is_dropped: Vec<bool>,
}

pub(super) fn run(
    args: &DedupArgs,
    documents: &Documents,
    stored: &Store,
    threshold: f64,
    to: Destinations,
    monitor: &Monitor,
) -> anyhow::Result<ExitStatus> {
    let Destinations { mut out, matches, mut writer } = to;
    let k = candidate_k(stored, threshold, args.k)?;
    let mut new = NewDocuments::read(args, documents, monitor)?;
    let mut lines = Lines { to: matches, count: 0, most: args.max_matches };
    let limits = (threshold, k);
    new.drop_near_stored(args, stored, limits, monitor, |line| lines.write(&line, "stored"))?;
    if args.within {
        new.drop_near_new(args, limits, monitor, |line| lines.write(&line, "new"))?;
    }
    let printer = IdPrinter::new(out.is_terminal());
    let mut kept_count = 0;
    for (number, &fingerprint) in new.fingerprints.iter().enumerate() {
        monitor.check()?;
        if new.is_dropped[number] {
            continue;
        }
        kept_count += 1;
        let id = new.ids.text(number)?;
        if let Some(writer) = &mut writer {
            writer.push_sketched(fingerprint, id.as_str(), &new.sketches.get(number)?)?;
        }
        writeln!(out, "{fingerprint}\t{}", printer.show(&id))?;
    }
    out.finish()?;
    if let Some(matches) = lines.to {
        matches.finish()?;
    }
    let is_added = writer.is_some();
    if let Some(mut writer) = writer {
        writer.commit()?;
        writer.finish()?;
    }
    monitor.finish();
    if !args.quiet {
        let count = new.fingerprints.len() as u64;
        message!(
            "{}: {} {}, {} dropped",
            counted(count, "new document", "new documents"),
            counted(kept_count, "document", "documents"),
            if is_added { "kept and added" } else { "kept" },
            counted(count - kept_count, "document", "documents"),
        );
    }
    Ok(ExitStatus::Done)
}

/// A document that is dropped, and the one that it is alike to.
struct Line<'a> {
    own: Fingerprint,
    other: Fingerprint,
    similarity: f64,
    id: &'a str,
    other_id: &'a str,
}

/// The lines of `--matches`, if they are wanted.
struct Lines {
    to: Option<Sink>,
    count: u64,
    most: u64,
}

impl Lines {
    fn write(&mut self, line: &Line<'_>, side: &str) -> anyhow::Result<()> {
        let Some(to) = &mut self.to else { return Ok(()) };
        let printer = IdPrinter::new(to.is_terminal());
        self.count += 1;
        if self.count > self.most {
            bail!(
                "--matches would have more lines than --max-matches allows ({}); nothing was \
                 written: leave out --matches, or raise --max-matches",
                grouped(self.most),
            );
        }
        let Line { own, other, similarity, id, other_id } = line;
        let (id, other_id) = (printer.show_column(id), printer.show_column(other_id));
        let distance = own.distance(*other);
        Ok(writeln!(to, "{own}\t{other}\t{distance}\t{similarity:.4}\t{id}\t{other_id}\t{side}")?)
    }
}

impl NewDocuments {
    fn read(args: &DedupArgs, documents: &Documents, monitor: &Monitor) -> anyhow::Result<Self> {
        let folder = args.resources.temp_dir();
        let mut fingerprints = Vec::new();
        let mut ids = ByteTable::create(&folder)?;
        let mut sketches = ByteTable::create(&folder)?;
        let files = inputs(&args.files)?;
        let summary = documents.each(&files, monitor, |fingerprint, id, sketch| {
            fingerprints.push(fingerprint);
            ids.push(id.to_string().as_bytes())?;
            sketches.push(sketch)
        })?;
        monitor.suspend(|| report(&summary));
        let is_dropped = vec![false; fingerprints.len()];
        Ok(NewDocuments { fingerprints, ids, sketches, is_dropped })
    }

    /// Drops documents that are alike to stored ones; `each` gets every pair.
    fn drop_near_stored(
        &mut self,
        args: &DedupArgs,
        stored: &Store,
        (threshold, k): (f64, u32),
        monitor: &Monitor,
        mut each: impl FnMut(Line<'_>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let NewDocuments { fingerprints, ids, sketches, is_dropped } = self;
        let options = args.resources.join_options(k, monitor)?;
        let (limits, mode) = (Limits::default(), BatchMode::Auto);
        search_many(stored, fingerprints, &options, &limits, mode, |at, answer| {
            if answer.is_empty() {
                return Ok(());
            }
            let (id, sketch) = (ids.text(at)?, sketches.get(at)?);
            for hit in answer.hits() {
                let mut others = hit.ids();
                while let Some(other) = others.next() {
                    let other_id = other?.to_string();
                    let similarity = sketch_similarity(&sketch, others.sketch());
                    if similarity >= threshold {
                        is_dropped[at] = true;
                        let (own, other) = (fingerprints[at], hit.fingerprint());
                        let (id, other_id) = (id.as_str(), other_id.as_str());
                        each(Line { own, other, similarity, id, other_id })?;
                    }
                }
            }
            Ok(())
        })
    }

    /// Drops documents that are alike to an earlier one that is kept; `each` gets both.
    fn drop_near_new(
        &mut self,
        args: &DedupArgs,
        (threshold, k): (f64, u32),
        monitor: &Monitor,
        mut each: impl FnMut(Line<'_>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let NewDocuments { fingerprints, ids, sketches, is_dropped } = self;
        let rest: Vec<usize> =
            (0..fingerprints.len()).filter(|&number| !is_dropped[number]).collect();
        let mut list = DocumentList::of_sketches();
        for &number in &rest {
            list.push_sketch(fingerprints[number], &sketches.get(number)?);
        }
        let mut candidates = list.candidates(&args.resources.join_options(k, monitor)?)?;
        for (document, &number) in (0..).zip(&rest) {
            if candidates.needs(document) {
                candidates.take_sketch(document, &sketches.get(number)?)?;
            }
        }
        let confirmed = candidates.confirm(threshold)?;
        let number_of = |document: u32| rest[document as usize];
        confirmed.clusters(ClusterMethod::Leader)?.for_each(|cluster| {
            let leader = &cluster.members[0];
            let kept = leader.documents[0];
            let other_id = ids.text(number_of(kept))?;
            for member in &cluster.members {
                for &document in member.documents.iter().filter(|document| **document != kept) {
                    let number = number_of(document);
                    is_dropped[number] = true;
                    each(Line {
                        own: member.fingerprint,
                        other: leader.fingerprint,
                        similarity: member.similarity,
                        id: &ids.text(number)?,
                        other_id: &other_id,
                    })?;
                }
            }
            Ok::<(), anyhow::Error>(())
        })
    }
}
