//! The ids of the documents that are there instead of dropped ones.

use std::collections::HashMap;

use super::dropped::{Dropped, DroppedList, Other};
use super::error::Result;
use super::number::Number;
use super::spool::Spools;
use fpstore_base::Id;

/// The ids by which dropped documents are explained: those of kept ones by number, those of stored ones
/// as they are.
#[derive(Default)]
pub(super) struct OtherIds(HashMap<Number, Id>);

impl OtherIds {
    pub(super) fn read(spools: &Spools, dropped: &DroppedList) -> Result<Self> {
        let mut ids: HashMap<Number, Id> = HashMap::new();
        let new = |dropped: &Dropped| match dropped.other {
            Other::New(number) => Some(number),
            Other::Stored(..) => None,
        };
        ids.extend(dropped.iter().filter_map(new).map(|number| (number, Id::U64(0))));
        spools.each(|number, entry| {
            if let Some(id) = ids.get_mut(&number) {
                *id = entry.id.to_id();
            }
            Ok(())
        })?;
        Ok(OtherIds(ids))
    }

    pub(super) fn get<'a>(&'a self, dropped: &'a Dropped) -> Option<&'a Id> {
        match &dropped.other {
            Other::New(number) => self.0.get(number),
            Other::Stored(id, _) => id.as_ref(),
        }
    }
}
