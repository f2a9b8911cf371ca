//! `fpstore dedup` for ready fingerprints: the records that are no near-duplicates, in their order.

use std::io::Write;

use fpstore::join::{Dedup, Fate, dedup};
use fpstore::{Recipe, Store, Writer};

use super::command::ExitStatus;
use super::dedup::DedupArgs;
use super::join_input::Ids;
use super::monitor::Monitor;
use super::new_records::NewRecords;
use super::output::{IdPrinter, counted};
use super::sink::Sink;

/// Where the results go.
pub(super) struct Destinations {
    pub(super) out: Sink,
    pub(super) removed: Option<Sink>,
    pub(super) writer: Option<Writer>,
}

pub(super) fn run(
    args: &DedupArgs,
    recipe: Recipe,
    stored: Option<Store>,
    k: u32,
    to: Destinations,
    monitor: &Monitor,
) -> anyhow::Result<ExitStatus> {
    let Destinations { mut out, removed, mut writer } = to;
    let ids = if args.keeps_last() { Ids::WithFallingPositions } else { Ids::WithPositions };
    let mut records = NewRecords::new(&args.files, &args.read, &args.resources)?;
    let opened = records.make_store(recipe, ids, monitor)?;
    let options = args.resources.join_options(k, monitor)?;
    let done = dedup(&opened.store, stored.as_ref(), args.is_within(), &options)?;

    let mut kept = Positions::default();
    let (mut count, mut kept_count) = (0, 0);
    done.for_each_document(|fate, _, id| -> anyhow::Result<()> {
        monitor.check()?;
        let id = id.map(|id| id.to_string()).unwrap_or_default();
        count += 1;
        if fate == Fate::Keep {
            kept_count += 1;
            kept.insert(ids.split(&id).0);
        }
        Ok(())
    })?;
    if let Some(mut removed) = removed {
        write_removed(&done, ids, &mut removed, monitor)?;
        write_kept(&mut records, &kept, &mut out, writer.as_mut(), monitor)?;
        out.finish()?;
        removed.finish()?;
    } else {
        write_kept(&mut records, &kept, &mut out, writer.as_mut(), monitor)?;
        out.finish()?;
    }
    drop((done, opened, stored));
    if let Some(mut writer) = writer {
        writer.commit()?;
        writer.finish()?;
    }
    monitor.finish();
    if !args.quiet {
        message!(
            "{}: {} {}, {} removed",
            counted(count, "new record", "new records"),
            counted(kept_count, "record", "records"),
            if args.add { "kept and added" } else { "kept" },
            counted(count - kept_count, "record", "records"),
        );
    }
    Ok(ExitStatus::Done)
}

/// Writes the kept records in their order, and gives them to the writer.
fn write_kept(
    records: &mut NewRecords<'_>,
    kept: &Positions,
    out: &mut Sink,
    mut writer: Option<&mut Writer>,
    monitor: &Monitor,
) -> anyhow::Result<()> {
    let printer = IdPrinter::new(out.is_terminal());
    records.read_again(|position, fingerprint, id| {
        monitor.check()?;
        if !kept.contains(position) {
            return Ok(());
        }
        if let Some(writer) = &mut writer {
            match id {
                Some(id) => writer.push(fingerprint, id)?,
                None => writer.push_bare(fingerprint)?,
            }
        }
        match id {
            Some(id) => writeln!(out, "{fingerprint}\t{}", printer.show(&id.to_string()))?,
            None => writeln!(out, "{fingerprint}")?,
        }
        Ok(())
    })
}

/// Writes a line for each removed record; see the help.
fn write_removed(done: &Dedup, ids: Ids, out: &mut Sink, monitor: &Monitor) -> anyhow::Result<()> {
    let printer = IdPrinter::new(out.is_terminal());
    done.for_each_dropped(|row| {
        monitor.check()?;
        let text = |id: Option<fpstore::IdRef<'_>>| id.map(|id| id.to_string()).unwrap_or_default();
        let (id, other_id) = (text(row.id), text(row.other_id));
        let own = |id| ids.split(id).1.unwrap_or_default();
        let (other_id, side) = match row.is_stored {
            true => (other_id.as_str(), "stored"),
            false => (own(&other_id), "new"),
        };
        let (one, other, distance) = (row.pair.first, row.pair.second, row.pair.distance());
        let (id, other_id) = (printer.show_column(own(&id)), printer.show_column(other_id));
        Ok(writeln!(out, "{one}\t{other}\t{distance}\t\t{id}\t{other_id}\t{side}")?)
    })
}

/// A set of positions of records, one bit each.
#[derive(Default)]
struct Positions(Vec<u64>);

impl Positions {
    fn insert(&mut self, position: u64) {
        let word = (position / 64) as usize;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (position % 64);
    }

    fn contains(&self, position: u64) -> bool {
        self.0.get((position / 64) as usize).is_some_and(|word| word >> (position % 64) & 1 == 1)
    }
}
