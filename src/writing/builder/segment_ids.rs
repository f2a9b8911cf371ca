//! The ids of a segment build: one list for each fingerprint, encoded on threads.

use std::io::{Seek, Write};

use crate::base::error::Result;
use crate::base::in_order::in_order;
use crate::disk::ScratchFolder;
use crate::format::id_records::IdLayout;
use crate::segment::write::{IdLists, ListSink, SegmentWriter};
use crate::writing::sort::{RecordPart, SortResources, SortedRecords};
use fpstore_base::IdRef;
use fpstore_base::watch::Watch;

/// Writes one list of ids for each key of the records. Threads encode those that are in memory.
pub(super) fn write_lists(
    writer: &mut SegmentWriter<impl Write + Seek>,
    records: &SortedRecords,
    layout: IdLayout,
    resources: &SortResources,
    watch: &Watch,
) -> Result<()> {
    let SortResources { threads, folder, .. } = resources;
    let parts = if *threads > 1 { records.parts() } else { None };
    let Some(mut parts) = parts else {
        return writer.ids(|sections| {
            let tick = || Ok(watch.tick(1)?);
            each_list(sections, tick, |each| records.pass_sketched(each))
        });
    };
    let worker = || |part| encode(part, layout, folder);
    writer.ids(|sections| {
        let source = |give: &mut dyn FnMut(_) -> Result<()>| parts.try_for_each(give);
        in_order(*threads, worker, source, |(part, lists): (RecordPart<'_>, _)| {
            match lists {
                Some(lists) => sections.append(&lists)?,
                None => each_list(sections, || Ok(()), |each| part.pass_sketched(each))?,
            }
            Ok(watch.tick(part.count() as u64)?)
        })
    })
}

/// A part and its lists; without them where one is so long that it is encoded as it is written.
fn encode<'a>(
    part: RecordPart<'a>,
    layout: IdLayout,
    folder: &ScratchFolder,
) -> Result<(RecordPart<'a>, Option<IdLists>)> {
    if part.is_long() {
        return Ok((part, None));
    }
    let mut lists = IdLists::new(layout, folder);
    each_list(&mut lists, || Ok(()), |each| part.pass_sketched(each))?;
    Ok((part, Some(lists)))
}

/// Gives `lists` the ids of each key that `pass` passes on, and calls `tick` for each record.
fn each_list(
    lists: &mut impl ListSink,
    tick: impl Fn() -> Result<()>,
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
