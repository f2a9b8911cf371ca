//! Step 4: lists of the dropped and of the kept documents, and the kept ones into a store.

use std::collections::HashMap;
use std::io::Write;

use fpstore::{Id, Writer};

use super::super::output::IdPrinter;
use super::super::sink::Sink;
use super::Work;
use super::dropped::{Dropped, DroppedList, Other};
use super::spool::Spools;

/// The ids of the documents that are there instead of dropped ones.
#[derive(Default)]
pub(super) struct OtherIds(HashMap<u32, Id>);

impl OtherIds {
    pub(super) fn read(spools: &Spools, dropped: &DroppedList) -> anyhow::Result<Self> {
        let mut ids: HashMap<u32, Id> = HashMap::new();
        let new = |dropped: &Dropped| match dropped.other {
            Other::New(number) => Some(number),
            Other::Stored(_) => None,
        };
        ids.extend(dropped.iter().filter_map(new).map(|number| (number, Id::U64(0))));
        spools.each(|number, entry| {
            if let Some(id) = ids.get_mut(&number) {
                *id = entry.id;
            }
            Ok(())
        })?;
        Ok(OtherIds(ids))
    }

    pub(super) fn get<'a>(&'a self, dropped: &'a Dropped) -> Option<&'a Id> {
        match &dropped.other {
            Other::New(number) => self.0.get(number),
            Other::Stored(id) => id.as_ref(),
        }
    }
}

/// Writes fingerprint and id of each kept document.
pub(super) fn write_list(
    work: &Work<'_>,
    spools: &Spools,
    dropped: &DroppedList,
    mut out: Sink,
) -> anyhow::Result<()> {
    let printer = IdPrinter::new(out.is_terminal());
    spools.each(|number, entry| {
        work.monitor.check()?;
        if dropped.get(number).is_none() {
            writeln!(out, "{}\t{}", entry.fingerprint, printer.show(&entry.id.to_string()))?;
        }
        Ok(())
    })?;
    out.finish()
}

/// Writes a line for each dropped document: its fingerprint, the one of the document that is there
/// instead, their distance and similarity, the ids of both, and whether the other one is stored or
/// new.
pub(super) fn write_removed(
    work: &Work<'_>,
    spools: &Spools,
    dropped: &DroppedList,
    mut out: Sink,
) -> anyhow::Result<()> {
    let others = OtherIds::read(spools, dropped)?;
    let printer = IdPrinter::new(out.is_terminal());
    spools.each(|number, entry| {
        work.monitor.check()?;
        let Some(row) = dropped.get(number) else { return Ok(()) };
        let (own, other) = (entry.fingerprint, row.other_fingerprint);
        let distance = own.distance(other);
        let similarity = row.similarity.map(|is| format!("{is:.4}")).unwrap_or_default();
        let id = entry.id.to_string();
        let other_id = others.get(row).map(ToString::to_string).unwrap_or_default();
        let (id, other_id) = (printer.show_column(&id), printer.show_column(&other_id));
        let side = if matches!(row.other, Other::New(_)) { "new" } else { "stored" };
        writeln!(out, "{own}\t{other}\t{distance}\t{similarity}\t{id}\t{other_id}\t{side}")?;
        Ok(())
    })?;
    out.finish()
}

/// Adds the kept documents to the store, once.
pub(super) fn add(
    work: &Work<'_>,
    run: &str,
    spools: &Spools,
    dropped: &DroppedList,
    mut writer: Writer,
) -> anyhow::Result<()> {
    // An earlier command of this job may have added them, and was stopped then.
    if writer.store().has_run(run) {
        return Ok(());
    }
    spools.each(|number, entry| {
        work.monitor.check()?;
        if dropped.get(number).is_none() {
            writer.push_sketched(entry.fingerprint, entry.id.as_ref(), &entry.sketch)?;
        }
        Ok(())
    })?;
    writer.commit()?;
    writer.finish()?;
    Ok(())
}
