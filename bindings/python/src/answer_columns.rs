//! Columns of ids, labels and names of stores, and the columns that several answers share.

use arrow_array::ArrayRef;
use arrow_array::builder::{StringBuilder, UInt8Builder, UInt64Builder};
use arrow_schema::DataType;
use fpstore::{Hit, Id, IdKind, IdRef, Store};
use pyo3::prelude::*;

use crate::columns::{ColumnBuilder, Distances, U32, U64, omitted};
use crate::errors::{Failure, input_error};
use crate::rows::array;

/// A batch ends after this many bytes of text in a column: Arrow's offsets allow 2^31 - 1 bytes.
const TEXT_LEN: usize = 256 << 20;

/// An optional column of labels or store names.
pub(crate) type NameColumn = Option<StringBuilder>;

/// A column of ids; the variant is the id kind of the store.
#[derive(Debug, Default)]
pub(crate) enum IdColumn {
    #[default]
    None,
    Numbers(UInt64Builder),
    Texts(StringBuilder),
}

/// The id kind of a store: texts if any segment has text ids.
pub(crate) fn id_kind(store: &Store) -> IdKind {
    common_id_kind(store.info().segments.iter().map(|segment| segment.id_kind))
}

/// The common kind of several id kinds: texts if any of them is, else numbers if any is.
pub(crate) fn common_id_kind(kinds: impl IntoIterator<Item = IdKind>) -> IdKind {
    kinds.into_iter().fold(IdKind::None, |found, kind| match (found, kind) {
        (IdKind::Text, _) | (_, IdKind::Text) => IdKind::Text,
        (IdKind::U64, _) | (_, IdKind::U64) => IdKind::U64,
        _ => IdKind::None,
    })
}

impl IdColumn {
    pub(crate) fn new(kind: IdKind) -> Self {
        match kind {
            IdKind::U64 => IdColumn::Numbers(UInt64Builder::new()),
            IdKind::Text => IdColumn::Texts(StringBuilder::new()),
            _ => IdColumn::None,
        }
    }

    pub(crate) fn is_there(&self) -> bool {
        !matches!(self, IdColumn::None)
    }
}

/// Calls `each` with each label and id of a hit, one call for each row of the answer.
///
/// A hit without ids, or a call that wants none, gives one row for each segment that contains the
/// hit, or a single row if labels are not wanted. Unwanted labels are passed as empty texts.
pub(crate) fn each_label_and_id(
    hit: &Hit<'_>,
    (labels_wanted, ids_wanted): (bool, bool),
    mut each: impl FnMut(&str, Option<IdRef<'_>>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if !labels_wanted {
        return each_id(hit, ids_wanted, |id| each("", id));
    }
    let mut is_bare = true;
    if ids_wanted {
        let mut ids = hit.ids();
        while let Some(id) = ids.next() {
            is_bare = false;
            each(ids.label(), Some(id?))?;
        }
    }
    if is_bare { hit.labels().try_for_each(|label| each(label, None)) } else { Ok(()) }
}

/// Calls `each` with each id of a hit; once with `None` if it has none or they are not `wanted`.
pub(crate) fn each_id(
    hit: &Hit<'_>,
    wanted: bool,
    mut each: impl FnMut(Option<IdRef<'_>>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut is_bare = true;
    if wanted {
        for id in hit.ids() {
            is_bare = false;
            each(Some(id?))?;
        }
    }
    if is_bare { each(None) } else { Ok(()) }
}

impl ColumnBuilder for IdColumn {
    type Value<'a> = Option<IdRef<'a>>;

    fn kind(&self) -> Option<(DataType, bool)> {
        match self {
            IdColumn::None => None,
            IdColumn::Numbers(_) => Some((DataType::UInt64, true)),
            IdColumn::Texts(_) => Some((DataType::Utf8, true)),
        }
    }

    fn push(&mut self, id: Option<IdRef<'_>>) -> Result<(), Failure> {
        match (self, id) {
            (IdColumn::None, None) => {}
            (IdColumn::Numbers(numbers), None) => numbers.append_null(),
            (IdColumn::Numbers(numbers), Some(IdRef::U64(number))) => numbers.append_value(number),
            (IdColumn::Texts(texts), None) => texts.append_null(),
            (IdColumn::Texts(texts), Some(IdRef::Text(text))) => texts.append_value(text),
            (IdColumn::Texts(texts), Some(IdRef::U64(number))) => {
                texts.append_value(number.to_string());
            }
            // The id kind of the store changed during the call.
            _ => return Err(Failure::Refreshed),
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        match self {
            IdColumn::Texts(texts) => texts.values_slice().len() >= TEXT_LEN,
            _ => false,
        }
    }

    fn take(&mut self) -> ArrayRef {
        match self {
            IdColumn::None => omitted(),
            IdColumn::Numbers(numbers) => array(numbers.finish()),
            IdColumn::Texts(texts) => array(texts.finish()),
        }
    }
}

/// The column names of the answers to many queries. `store` is omitted for a single store, `label`
/// if labels are not wanted.
pub(crate) const ANSWER_NAMES: [&str; 6] =
    ["query", "fingerprint", "distance", "store", "label", "id"];

/// The columns [`ANSWER_NAMES`] under construction.
pub(crate) type AnswerColumns = (U32, U64, Distances, NameColumn, NameColumn, IdColumn);

/// The columns [`ANSWER_NAMES`], with or without names of stores and labels.
pub(crate) fn answer_columns(stores: bool, labels: bool, ids: IdColumn) -> AnswerColumns {
    let [stores, labels] = [stores, labels].map(|is_wanted| is_wanted.then(StringBuilder::new));
    (U32::default(), U64::default(), Distances::default(), stores, labels, ids)
}

/// Refuses more queries than the column `query` can number.
pub(crate) fn check_count(py: Python<'_>, count: usize) -> PyResult<()> {
    if count > u32::MAX as usize {
        let message = format!("{count} queries are too many, one call takes 2**32 - 1");
        return Err(input_error(py, message));
    }
    Ok(())
}

/// The neighbour that makes a record a duplicate: the columns `near`, `near_id` and `distance` of
/// `dedup` and of `Writer.check_and_add`.
pub(crate) struct Near {
    pub(crate) fingerprint: u64,
    pub(crate) distance: u32,
    pub(crate) id: Option<Id>,
}

impl Near {
    /// The cells `near`, `near_id` and `distance` of a row; nulls for a record without a neighbour.
    pub(crate) fn cells(near: Option<&Near>) -> (Option<u64>, Option<IdRef<'_>>, Option<u8>) {
        let id = near.and_then(|near| near.id.as_ref()).map(Id::as_ref);
        // The cast to `u8` keeps the value: a distance is at most 64.
        (near.map(|near| near.fingerprint), id, near.map(|near| near.distance as u8))
    }

    /// Empty columns `near`, `near_id` and `distance`, with ids of the kind `ids`.
    pub(crate) fn columns(ids: IdKind) -> (UInt64Builder, IdColumn, UInt8Builder) {
        (UInt64Builder::new(), IdColumn::new(ids), UInt8Builder::new())
    }
}
