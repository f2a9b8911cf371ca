//! The ids of a segment build: one list for each fingerprint, merged and encoded in parallel.

use std::io::{Seek, Write};

use crate::base::error::Result;
use crate::format::id_records::IdLayout;
use crate::segment::write::{IdLists, ListSink, SegmentWriter};
use crate::writing::sort::{RecordPart, SortResources, SortedRecords};
use fpstore_base::IdRef;
use fpstore_base::watch::Watch;
use fpstore_disk::ScratchFolder;

/// Writes one list of ids for each key of the records.
pub(super) fn write_lists(
    writer: &mut SegmentWriter<impl Write + Seek>,
    records: &SortedRecords,
    layout: IdLayout,
    resources: &SortResources,
    watch: &Watch,
) -> Result<()> {
    if resources.threads < 2 {
        return writer.ids(|sections| {
            let tick = || Ok(watch.tick(1)?);
            each_list(sections, tick, |each| records.pass_sketched(each))
        });
    }
    let parts = records.parts();
    writer.ids(|sections| {
        parts.in_order(
            |part| encode(part, layout, &resources.folder),
            |part| match part {
                Encoded::Lists { lists, record_count } => {
                    sections.append(&lists)?;
                    Ok(watch.tick(record_count)?)
                }
                Encoded::Long(part) => {
                    let tick = || Ok(watch.tick(1)?);
                    each_list(sections, tick, |each| part.pass_sketched(each))
                }
            },
        )
    })
}

/// The ids of one part of the records.
enum Encoded<'a> {
    Lists {
        lists: Box<IdLists>,
        record_count: u64,
    },
    /// A part with a list that is too long for memory: it is encoded while it is written.
    Long(RecordPart<'a>),
}

fn encode<'a>(
    part: RecordPart<'a>,
    layout: IdLayout,
    folder: &ScratchFolder,
) -> Result<Encoded<'a>> {
    if part.is_long() {
        return Ok(Encoded::Long(part));
    }
    let (mut lists, mut record_count) = (IdLists::new(layout, folder), 0);
    let count = || {
        record_count += 1;
        Ok(())
    };
    each_list(&mut lists, count, |each| part.pass_sketched(each))?;
    Ok(Encoded::Lists { lists: Box::new(lists), record_count })
}

/// Passes `lists` the ids of each key that `pass` yields, and calls `tick` for each record.
fn each_list(
    lists: &mut impl ListSink,
    mut tick: impl FnMut() -> Result<()>,
    pass: impl FnOnce(&mut dyn FnMut(u64, Option<(IdRef<'_>, &[u8])>) -> Result<()>) -> Result<()>,
) -> Result<()> {
    let mut current = None;
    pass(&mut |key, id| {
        if current.is_some_and(|current| current != key) {
            lists.close()?;
        }
        current = Some(key);
        id.map_or(Ok(()), |(id, sketch)| lists.push(id, sketch))?;
        tick()
    })?;
    if current.is_some() { lists.close() } else { Ok(()) }
}
