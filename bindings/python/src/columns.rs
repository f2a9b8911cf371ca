//! Columns under construction: ids of either kind, and tables that are cut into batches.

use arrow_array::builder::{StringBuilder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use fpstore::{IdKind, IdRef, Store};

use crate::errors::Failure;
use crate::rows::array;

/// Rows of one batch of a stream.
pub(crate) const BATCH_ROWS: usize = 1 << 16;
/// Bytes of texts after which a batch ends; Arrow counts them in 31 bits.
const TEXT_LEN: usize = 256 << 20;

/// A column of ids, of the kind that the store keeps.
#[derive(Debug)]
pub(crate) enum IdColumn {
    None,
    Numbers(UInt64Builder),
    Texts(StringBuilder),
}

/// The kind of the ids of a store: texts if any segment has texts.
pub(crate) fn id_kind(store: &Store) -> IdKind {
    let kinds = store.info().segments;
    let has = |kind| kinds.iter().any(|segment| segment.id_kind == kind);
    match (has(IdKind::Text), has(IdKind::U64)) {
        (true, _) => IdKind::Text,
        (false, true) => IdKind::U64,
        _ => IdKind::None,
    }
}

impl IdColumn {
    pub(crate) fn new(kind: IdKind) -> Self {
        match kind {
            IdKind::U64 => IdColumn::Numbers(UInt64Builder::new()),
            IdKind::Text => IdColumn::Texts(StringBuilder::new()),
            _ => IdColumn::None,
        }
    }

    /// The field of the column, if there is one.
    pub(crate) fn field(&self, name: &str) -> Option<Field> {
        let kind = match self {
            IdColumn::None => return None,
            IdColumn::Numbers(_) => DataType::UInt64,
            IdColumn::Texts(_) => DataType::Utf8,
        };
        Some(Field::new(name, kind, true))
    }

    /// Adds an id, or a null for a document without one.
    pub(crate) fn push(&mut self, id: Option<IdRef<'_>>) -> Result<(), Failure> {
        match (self, id) {
            (IdColumn::None, None) => {}
            (IdColumn::Numbers(numbers), None) => numbers.append_null(),
            (IdColumn::Numbers(numbers), Some(IdRef::U64(number))) => numbers.append_value(number),
            (IdColumn::Texts(texts), None) => texts.append_null(),
            (IdColumn::Texts(texts), Some(IdRef::Text(text))) => texts.append_value(text),
            (IdColumn::Texts(texts), Some(IdRef::U64(number))) => {
                texts.append_value(number.to_string());
            }
            // Another kind than the store had when the work began.
            _ => return Err(Failure::Refreshed),
        }
        Ok(())
    }

    /// Whether the texts are so long that the batch should end.
    pub(crate) fn is_full(&self) -> bool {
        match self {
            IdColumn::Texts(texts) => texts.values_slice().len() >= TEXT_LEN,
            _ => false,
        }
    }

    /// The column, and an empty one from now on.
    pub(crate) fn take(&mut self) -> Option<ArrayRef> {
        match self {
            IdColumn::None => None,
            IdColumn::Numbers(numbers) => Some(array(numbers.finish())),
            IdColumn::Texts(texts) => Some(array(texts.finish())),
        }
    }
}

/// A schema of these fields; those that are missing are left out.
pub(crate) fn schema_of(fields: impl IntoIterator<Item = Option<Field>>) -> SchemaRef {
    let fields: Vec<Field> = fields.into_iter().flatten().collect();
    SchemaRef::new(Schema::new(fields))
}

/// A field without nulls.
pub(crate) fn plain(name: &str, kind: DataType) -> Option<Field> {
    Some(Field::new(name, kind, false))
}

/// A batch of these columns; those that are missing are left out.
pub(crate) fn batch_of(
    schema: &SchemaRef,
    columns: impl IntoIterator<Item = Option<ArrayRef>>,
) -> Result<RecordBatch, Failure> {
    let columns = columns.into_iter().flatten().collect();
    RecordBatch::try_new(SchemaRef::clone(schema), columns)
        .map_err(|error| Failure::Panic(error.to_string()))
}
