//! Collects rows in column builders, and returns them as Arrow record batches.

use std::collections::HashMap;

use arrow_array::builder::{BooleanBuilder, GenericByteBuilder, PrimitiveBuilder};
use arrow_array::types::{
    ArrowPrimitiveType, ByteArrayType, Float64Type, UInt8Type, UInt32Type, UInt64Type,
};
use arrow_array::{ArrayRef, PrimitiveArray, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use fpstore::Recipe;
use fpstore::rows::Row;

use crate::capsule::RECIPE_KEY;
use crate::errors::Failure;
use crate::rows::{Rows, array};
use crate::stream::Sink;

/// Maximum number of rows in a batch of a stream.
pub(crate) const BATCH_ROWS: usize = 1 << 16;
/// Maximum number of rows in a batch of an answer in memory.
const ANSWER_ROWS: usize = 1 << 20;
/// A batch ends after this many bytes of texts or payloads in a column.
pub(crate) const PAYLOAD_LEN: usize = 64 << 20;

/// A column under construction.
pub(crate) trait ColumnBuilder {
    type Value<'a>;

    /// The type of the values, and whether they can be null; `None` for an omitted column.
    fn kind(&self) -> Option<(DataType, bool)>;

    fn push(&mut self, value: Self::Value<'_>) -> Result<(), Failure>;

    /// Whether all values together have so many bytes that the batch should end.
    fn is_full(&self) -> bool {
        false
    }

    /// Takes the values and leaves the column empty.
    fn take(&mut self) -> ArrayRef;
}

/// Numbers without nulls.
pub(crate) struct Numbers<T: ArrowPrimitiveType>(Vec<T::Native>);

pub(crate) type U64 = Numbers<UInt64Type>;
pub(crate) type U32 = Numbers<UInt32Type>;
pub(crate) type F64 = Numbers<Float64Type>;
pub(crate) type Bits = BooleanBuilder;

impl<T: ArrowPrimitiveType> Default for Numbers<T> {
    fn default() -> Self {
        Numbers(Vec::new())
    }
}

impl<T: ArrowPrimitiveType> ColumnBuilder for Numbers<T> {
    type Value<'a> = T::Native;

    fn kind(&self) -> Option<(DataType, bool)> {
        Some((T::DATA_TYPE, false))
    }

    fn push(&mut self, value: T::Native) -> Result<(), Failure> {
        self.0.push(value);
        Ok(())
    }

    fn take(&mut self) -> ArrayRef {
        array(PrimitiveArray::<T>::new(std::mem::take(&mut self.0).into(), None))
    }
}

/// Nullable numbers.
impl<T: ArrowPrimitiveType> ColumnBuilder for PrimitiveBuilder<T> {
    type Value<'a> = Option<T::Native>;

    fn kind(&self) -> Option<(DataType, bool)> {
        Some((T::DATA_TYPE, true))
    }

    fn push(&mut self, value: Option<T::Native>) -> Result<(), Failure> {
        self.append_option(value);
        Ok(())
    }

    fn take(&mut self) -> ArrayRef {
        array(self.finish())
    }
}

/// Distances in bits, at most 64.
#[derive(Default)]
pub(crate) struct Distances(Numbers<UInt8Type>);

impl ColumnBuilder for Distances {
    type Value<'a> = u32;

    fn kind(&self) -> Option<(DataType, bool)> {
        self.0.kind()
    }

    fn push(&mut self, distance: u32) -> Result<(), Failure> {
        self.0.push(distance as u8)
    }

    fn take(&mut self) -> ArrayRef {
        self.0.take()
    }
}

impl ColumnBuilder for BooleanBuilder {
    type Value<'a> = bool;

    fn kind(&self) -> Option<(DataType, bool)> {
        Some((DataType::Boolean, false))
    }

    fn push(&mut self, value: bool) -> Result<(), Failure> {
        self.append_value(value);
        Ok(())
    }

    fn take(&mut self) -> ArrayRef {
        array(self.finish())
    }
}

/// Texts or payloads without nulls, each of at most [`PAYLOAD_LEN`] bytes.
impl<T: ByteArrayType<Native: AsRef<T::Native>>> ColumnBuilder for GenericByteBuilder<T> {
    type Value<'a> = &'a T::Native;

    fn kind(&self) -> Option<(DataType, bool)> {
        Some((T::DATA_TYPE, false))
    }

    fn push(&mut self, value: &T::Native) -> Result<(), Failure> {
        self.append_value(value);
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.values_slice().len() >= PAYLOAD_LEN
    }

    fn take(&mut self) -> ArrayRef {
        array(self.finish())
    }
}

/// An optional column: if it is omitted, pushed values are ignored.
impl<C: ColumnBuilder> ColumnBuilder for Option<C> {
    type Value<'a> = C::Value<'a>;

    fn kind(&self) -> Option<(DataType, bool)> {
        self.as_ref().and_then(C::kind)
    }

    fn push(&mut self, value: C::Value<'_>) -> Result<(), Failure> {
        self.as_mut().map_or(Ok(()), |column| column.push(value))
    }

    fn is_full(&self) -> bool {
        self.as_ref().is_some_and(C::is_full)
    }

    fn take(&mut self) -> ArrayRef {
        self.as_mut().map_or_else(omitted, C::take)
    }
}

/// A placeholder for the values of an omitted column; no batch contains it.
pub(crate) fn omitted() -> ArrayRef {
    array(arrow_array::NullArray::new(0))
}

/// The columns of rows: tuples of [`ColumnBuilder`].
pub(crate) trait ColumnBuilders {
    type Row<'a>;

    fn push(&mut self, row: Self::Row<'_>) -> Result<(), Failure>;

    fn is_full(&self) -> bool;

    fn kinds(&self) -> Vec<Option<(DataType, bool)>>;

    /// Takes the values of all columns except omitted ones.
    fn take(&mut self) -> Vec<ArrayRef>;
}

macro_rules! columns {
    ($($column:ident $at:tt),+) => {
        impl<$($column: ColumnBuilder),+> ColumnBuilders for ($($column,)+) {
            type Row<'a> = ($($column::Value<'a>,)+);

            fn push(&mut self, row: Self::Row<'_>) -> Result<(), Failure> {
                $(self.$at.push(row.$at)?;)+
                Ok(())
            }

            fn is_full(&self) -> bool {
                $(self.$at.is_full())||+
            }

            fn kinds(&self) -> Vec<Option<(DataType, bool)>> {
                vec![$(self.$at.kind()),+]
            }

            fn take(&mut self) -> Vec<ArrayRef> {
                let columns = [$(self.$at.kind().map(|_| self.$at.take())),+];
                columns.into_iter().flatten().collect()
            }
        }
    };
}

columns!(A 0, B 1);
columns!(A 0, B 1, C 2);
columns!(A 0, B 1, C 2, D 3);
columns!(A 0, B 1, C 2, D 3, E 4);
columns!(A 0, B 1, C 2, D 3, E 4, F 5);
columns!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
columns!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
columns!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8);

/// Rows under construction, in the column builders `C`.
pub(crate) struct RowsBuilder<C> {
    pub(crate) schema: SchemaRef,
    pub(crate) columns: C,
    count: usize,
    /// The full batches of an answer in memory; unused for a stream.
    batches: Vec<RecordBatch>,
}

/// The column names of `R`, a row type of the Rust crates.
pub(crate) fn names_of<R: Row>() -> impl Iterator<Item = &'static str> {
    R::COLUMNS.iter().map(|column| column.name)
}

impl<C: ColumnBuilders> RowsBuilder<C> {
    /// An empty table. `names` includes the names of omitted columns.
    pub(crate) fn new(names: impl IntoIterator<Item = &'static str>, columns: C) -> Self {
        let fields = names.into_iter().zip(columns.kinds()).filter_map(|(name, kind)| {
            let (kind, has_nulls) = kind?;
            Some(Field::new(name, kind, has_nulls))
        });
        let schema = SchemaRef::new(Schema::new(fields.collect::<Vec<Field>>()));
        RowsBuilder { schema, columns, count: 0, batches: Vec::new() }
    }

    /// Writes the recipe, if it is known, to the metadata of the column `fingerprint`.
    pub(crate) fn made_by(self, recipe: Option<Recipe>) -> Self {
        let Some(recipe) = recipe.filter(|recipe| *recipe != Recipe::external()) else {
            return self;
        };
        let metadata = HashMap::from([(RECIPE_KEY.to_owned(), recipe.text().to_owned())]);
        let fields = self.schema.fields().iter().map(|field| match field.name().as_str() {
            "fingerprint" => field.as_ref().clone().with_metadata(metadata.clone()),
            _ => field.as_ref().clone(),
        });
        let schema = SchemaRef::new(Schema::new(fields.collect::<Vec<Field>>()));
        RowsBuilder { schema, ..self }
    }

    /// Adds a row to a stream, and sends a full batch to the sink.
    pub(crate) fn send(&mut self, row: C::Row<'_>, sink: &mut Sink) -> Result<(), Failure> {
        if self.add(row, BATCH_ROWS)? { self.flush(sink) } else { Ok(()) }
    }

    /// Sends the remaining rows of a stream to the sink.
    pub(crate) fn flush(&mut self, sink: &mut Sink) -> Result<(), Failure> {
        sink.send(self.take()?)
    }

    /// Adds a row to an answer in memory.
    pub(crate) fn keep(&mut self, row: C::Row<'_>) -> Result<(), Failure> {
        if self.add(row, ANSWER_ROWS)? {
            let batch = self.take()?;
            self.batches.push(batch);
        }
        Ok(())
    }

    /// Finishes an answer in memory, and returns all its rows.
    pub(crate) fn finish(mut self) -> Result<Rows, Failure> {
        let batch = self.take()?;
        self.batches.push(batch);
        Ok(Rows::new(self.schema, self.batches))
    }

    /// A table of these rows.
    pub(crate) fn of<'a>(
        names: impl IntoIterator<Item = &'static str>,
        columns: C,
        rows: impl IntoIterator<Item = C::Row<'a>>,
    ) -> Result<Rows, Failure> {
        let mut table = RowsBuilder::new(names, columns);
        rows.into_iter().try_for_each(|row| table.keep(row))?;
        table.finish()
    }

    /// Adds a row. Returns whether the batch is full: it has `most` rows or its texts are long.
    fn add(&mut self, row: C::Row<'_>, most: usize) -> Result<bool, Failure> {
        self.columns.push(row)?;
        self.count += 1;
        Ok(self.count >= most || self.columns.is_full())
    }

    fn take(&mut self) -> Result<RecordBatch, Failure> {
        self.count = 0;
        RecordBatch::try_new(SchemaRef::clone(&self.schema), self.columns.take())
            .map_err(|error| Failure::Panic(error.to_string()))
    }
}
