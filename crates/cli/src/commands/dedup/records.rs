//! `fpstore dedup` for files: removes near-duplicate records, and prints the kept records in input
//! order.

use std::iter;
use std::path::{Path, PathBuf};

use fpstore::input::InputOptions;
use fpstore::join::{Dedup, dedup};
use fpstore::rows::{Reason, RecordRow, RemovedRow, Side};
use fpstore::{IdRef, Recipe, Store, Width, Writer, WriterOptions};

use crate::args::resources::ResourceArgs;
use crate::output::row_writer::RowWriter;
use crate::output::sink::{OutputArgs, Sink};
use crate::output::text::counted;
use crate::run::adding::{known_run, merged};
use crate::run::join_input::{Ids, Order};
use crate::run::new_records::NewRecords;
use crate::run::removed::RemovedWriter;
use crate::session::command::ExitStatus;
use crate::session::monitor::Monitor;
use crate::session::stores::StoreNames;

/// The records to compare, the criterion, and the outputs.
pub(crate) struct Settings<'a> {
    pub(crate) files: &'a [PathBuf],
    pub(crate) read: InputOptions,
    pub(crate) recipe: Recipe,
    pub(crate) stored: Option<Store>,
    /// The names of the stores, if the records are compared with several.
    pub(crate) stores: Option<StoreNames>,
    pub(crate) within: bool,
    pub(crate) keeps_last: bool,
    pub(crate) k: u32,
    pub(crate) output: &'a OutputArgs,
    pub(crate) removed: Option<&'a Path>,
    /// The path of the store to which the kept records are added, and the options of the writer.
    pub(crate) add: Option<(&'a Path, WriterOptions)>,
    pub(crate) run: Option<&'a str>,
    pub(crate) resources: &'a ResourceArgs,
    pub(crate) quiet: bool,
}

pub(crate) fn run(settings: Settings<'_>, monitor: &Monitor) -> anyhow::Result<ExitStatus> {
    let Settings { files, read, recipe, mut stored, within, k, resources, run, quiet, .. } =
        settings;
    let outputs = || {
        let kept = settings.output.output.as_deref().unwrap_or(Path::new("-"));
        iter::once(kept).chain(settings.removed)
    };
    if let Some(done) = known_run(stored.as_ref(), run, outputs(), quiet) {
        return done;
    }
    let mut out = RowWriter::tsv::<RecordRow<'_>>(settings.output.open()?)?;
    let removed = Sink::open_any(settings.removed, settings.output.force)?;
    // The lock is taken before the store is read, so that no other process can add the same
    // records.
    let mut writer = match settings.add {
        Some((path, options)) => Some(Writer::with_options(path, options)?),
        None => None,
    };
    if let Some(writer) = &writer {
        stored = Some(writer.store().clone());
        // Another process may have finished the same run while this one waited for the lock.
        if let Some(done) = known_run(stored.as_ref(), run, outputs(), quiet) {
            return done;
        }
    }
    let is_added = writer.is_some();
    let order = if settings.keeps_last { Order::Falling } else { Order::Rising };
    // Only the list of removed records needs their ids.
    let ids = match removed {
        Some(_) => Ids::WithPositions(order),
        None => Ids::Positions(order),
    };
    let width = recipe.width();
    let mut records = NewRecords::new(files, read, resources)?;
    let opened = records.make_store(recipe, ids, monitor)?;
    let options = resources.join_options(k, monitor)?;
    let done = dedup(&opened.store, stored.as_ref(), within, &options)?;

    let count = records.count();
    let removed = removed.map(|out| RemovedWriter::new(out, settings.stores)).transpose()?;
    let mut kept = match removed {
        // With a list of removed records, `kept` starts with all positions, and `write_removed`
        // removes some.
        Some(_) => Positions::all(count),
        None => Positions::none(count),
    };
    let removed = match removed {
        Some(rows) => Some(write_removed(&done, (ids, width), rows, &mut kept, monitor)?),
        None => {
            done.for_each_kept(|_, id| -> anyhow::Result<()> {
                kept.insert(id.map_or(0, |id| ids.split(id).0));
                Ok(monitor.check()?)
            })?;
            None
        }
    };
    let kept_count = kept.count();
    write_kept(&mut records, &kept, &mut out, (writer.as_mut(), width), monitor)?;
    out.finish()?;
    removed.map_or(Ok(()), RemovedWriter::finish)?;
    drop((done, opened, stored));
    if let Some(writer) = writer {
        merged(writer.finish(), monitor)?;
    }
    monitor.finish();
    if !quiet {
        message!(
            "{}: {} {}, {} removed",
            counted(count, "new record", "new records"),
            counted(kept_count, "record", "records"),
            if is_added { "kept and added" } else { "kept" },
            counted(count - kept_count, "record", "records"),
        );
    }
    Ok(ExitStatus::Done)
}

/// Prints the records at the positions `kept` in input order, and passes them to the writer.
fn write_kept(
    records: &mut NewRecords<'_>,
    kept: &Positions,
    out: &mut RowWriter,
    (mut writer, width): (Option<&mut Writer>, Width),
    monitor: &Monitor,
) -> anyhow::Result<()> {
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
        out.push(&RecordRow { fingerprint: width.hex(fingerprint), id })
    })
}

/// Writes a line for each removed record, in the format described in the help, and removes the
/// positions of these records from `kept`.
fn write_removed(
    done: &Dedup,
    (ids, width): (Ids, Width),
    mut rows: RemovedWriter,
    kept: &mut Positions,
    monitor: &Monitor,
) -> anyhow::Result<RemovedWriter> {
    done.for_each_dropped(|row| -> anyhow::Result<()> {
        monitor.check()?;
        let (position, id) = row.id.map(|id| ids.split(id)).unwrap_or_default();
        kept.remove(position);
        let other_id = match row.is_stored {
            true => row.other_id,
            false => row.other_id.and_then(|id| ids.split(id).1).map(IdRef::Text),
        };
        rows.push(RemovedRow {
            fingerprint: width.hex(row.pair.first),
            other: width.hex(row.pair.second),
            distance: row.pair.distance(),
            similarity: None,
            id: id.map(IdRef::Text),
            other_id,
            side: if row.is_stored { Side::Stored } else { Side::New },
            reason: Reason::Near,
            other_store: row.other_store,
            other_store_name: None,
        })
    })?;
    Ok(rows)
}

/// A set of positions of records, with one bit per position.
struct Positions(Vec<u64>);

impl Positions {
    /// An empty set for positions below `end`.
    fn none(end: u64) -> Self {
        Positions(vec![0; end.div_ceil(64) as usize])
    }

    /// The set of all positions below `end`.
    fn all(end: u64) -> Self {
        let mut words = vec![u64::MAX; end.div_ceil(64) as usize];
        if let (Some(last), bits @ 1..) = (words.last_mut(), end % 64) {
            *last = (1 << bits) - 1;
        }
        Positions(words)
    }

    fn insert(&mut self, position: u64) {
        self.0[(position / 64) as usize] |= 1 << (position % 64);
    }

    fn remove(&mut self, position: u64) {
        self.0[(position / 64) as usize] &= !(1 << (position % 64));
    }

    fn contains(&self, position: u64) -> bool {
        // Records beyond the end are not kept: the file has grown since the first pass.
        self.0.get((position / 64) as usize).is_some_and(|word| word >> (position % 64) & 1 == 1)
    }

    fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}
