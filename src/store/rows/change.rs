//! The row of a change between two states of a store.

use super::row::{Cell, Column, Kind, Row};
use crate::store::log::Change;

impl Row for Change {
    const TABLE: &'static str = "changes";

    const COLUMNS: &'static [Column] = &[
        Column::new("generation", Kind::U64),
        Column::new("since", Kind::Text),
        Column::new("act", Kind::Text),
        Column::new("segments", Kind::Text),
        Column::new("from", Kind::Text),
        Column::new("label", Kind::Text),
        Column::new("fingerprints", Kind::U64),
        Column::new("fingerprints_before", Kind::U64),
        Column::new("ids", Kind::U64),
        Column::new("ids_before", Kind::U64),
        Column::new("records_added", Kind::Text),
        Column::new("records_removed", Kind::Text),
    ];

    fn lines<E>(&self, mut each: impl FnMut(&[Cell<'_>]) -> Result<(), E>) -> Result<(), E> {
        let list =
            |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<String>>().join(",");
        let text = |number: Option<u64>| number.map_or_else(String::new, |it| it.to_string());
        let since = text(self.since);
        let (added, removed) = (text(self.records_added), text(self.records_removed));
        let (segments, from) = (list(&self.segments), list(&self.from));
        each(&[
            Cell::Number(self.generation),
            Cell::Text(&since),
            Cell::Text(self.act.name()),
            Cell::Text(&segments),
            Cell::Text(&from),
            Cell::Text(&self.label),
            Cell::Number(self.fingerprints),
            Cell::Number(self.fingerprints_before),
            Cell::Number(self.ids),
            Cell::Number(self.ids_before),
            Cell::Text(&added),
            Cell::Text(&removed),
        ])
    }
}
