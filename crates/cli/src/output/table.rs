//! Writes rows to a Parquet file.

use std::sync::Arc;

use anyhow::bail;
use fpstore::IdRef;
use fpstore::rows::{Cell, Column, Kind};
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use super::sink::Sink;

/// The number of rows in a row group of the file.
const GROUP_COUNT: usize = 1 << 17;

/// The declaration of a column in the syntax of Parquet schemas.
fn field(column: &Column) -> String {
    let name = column.name;
    match column.kind {
        Kind::U64 => format!("required int64 {name} (INTEGER(64, false));"),
        Kind::U32 => format!("required int32 {name} (INTEGER(32, false));"),
        Kind::Bool => format!("required boolean {name};"),
        Kind::Double => format!("required double {name};"),
        Kind::Text => format!("optional binary {name} (STRING);"),
    }
}

/// The buffered values of a column, for the current row group.
enum Values {
    U64(Vec<i64>),
    U32(Vec<i32>),
    Bool(Vec<bool>),
    Double(Vec<f64>),
    /// The texts that are present, and for each row a definition level: 1 if it has a text, else 0.
    Text(Vec<ByteArray>, Vec<i16>),
}

impl Values {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::U64 => Values::U64(Vec::new()),
            Kind::U32 => Values::U32(Vec::new()),
            Kind::Bool => Values::Bool(Vec::new()),
            Kind::Double => Values::Double(Vec::new()),
            Kind::Text => Values::Text(Vec::new(), Vec::new()),
        }
    }

    fn push(&mut self, cell: Cell<'_>) -> anyhow::Result<()> {
        match (self, cell) {
            (Values::U64(values), Cell::Fingerprint(value)) => {
                values.push(value.fingerprint.value().cast_signed());
            }
            (Values::U64(values), Cell::Number(value)) => values.push(value.cast_signed()),
            (Values::U32(values), Cell::Distance(value)) => values.push(value.cast_signed()),
            (Values::Bool(values), Cell::Exact(value)) => values.push(value),
            (Values::Double(values), Cell::Similarity(value)) => values.push(value),
            (Values::Text(texts, levels), cell) => {
                let text = match cell {
                    Cell::Id(Some(IdRef::U64(number))) => Some(number.to_string().into_bytes()),
                    Cell::Id(Some(IdRef::Text(text))) => Some(text.into()),
                    Cell::Text(text) if !text.is_empty() => Some(text.into()),
                    _ => None,
                };
                levels.push(i16::from(text.is_some()));
                texts.extend(text.map(ByteArray::from));
            }
            _ => bail!("a value is not of the kind of its column"),
        }
        Ok(())
    }

    fn write(&mut self, group: &mut SerializedRowGroupWriter<'_, Sink>) -> anyhow::Result<()> {
        match self {
            Values::U64(values) => write_column::<Int64Type>(group, values, None),
            Values::U32(values) => write_column::<Int32Type>(group, values, None),
            Values::Bool(values) => write_column::<BoolType>(group, values, None),
            Values::Double(values) => write_column::<DoubleType>(group, values, None),
            Values::Text(texts, levels) => {
                write_column::<ByteArrayType>(group, texts, Some(levels))?;
                levels.clear();
                Ok(())
            }
        }
    }
}

/// Writes the buffered values as the next column of the row group, and clears the buffer.
fn write_column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Sink>,
    values: &mut Vec<T::T>,
    levels: Option<&[i16]>,
) -> anyhow::Result<()> {
    let Some(mut column) = group.next_column()? else {
        bail!("the schema has fewer columns than a row");
    };
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()?;
    values.clear();
    Ok(())
}

/// A Parquet file being written. It is valid only after [`Table::finish`].
pub(crate) struct Table {
    writer: SerializedFileWriter<Sink>,
    /// A buffer for each column; `None` for omitted columns.
    columns: Vec<Option<Values>>,
    rows: usize,
}

impl Table {
    /// A table with all columns except those in `without`.
    pub(crate) fn new(
        out: Sink,
        name: &str,
        columns: &[Column],
        without: &[&str],
    ) -> anyhow::Result<Self> {
        if out.is_stdout() {
            bail!("Parquet cannot be written to standard output; name a file with -o");
        }
        if out.is_compressed() {
            bail!("Parquet is already compressed; leave .gz or .zst out of the name of the output");
        }
        let is_kept = |column: &&Column| !without.contains(&column.name);
        let fields: String = columns.iter().filter(is_kept).map(field).collect();
        let schema = Arc::new(parse_message_type(&format!("message {name} {{ {fields} }}"))?);
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .build();
        let writer = SerializedFileWriter::new(out, schema, Arc::new(properties))?;
        let values = |column| is_kept(&column).then(|| Values::new(column.kind));
        let columns = columns.iter().map(values).collect();
        Ok(Table { writer, columns, rows: 0 })
    }

    /// Adds a row, with one cell for each column, omitted columns included.
    pub(crate) fn push(&mut self, cells: &[Cell<'_>]) -> anyhow::Result<()> {
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            if let Some(column) = column {
                column.push(*cell)?;
            }
        }
        self.rows += 1;
        if self.rows == GROUP_COUNT { self.write_group() } else { Ok(()) }
    }

    fn write_group(&mut self) -> anyhow::Result<()> {
        self.rows = 0;
        let mut group = self.writer.next_row_group()?;
        for column in self.columns.iter_mut().flatten() {
            column.write(&mut group)?;
        }
        group.close()?;
        Ok(())
    }

    /// Writes the last rows and the footer; then the file gets its name.
    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        if self.rows > 0 {
            self.write_group()?;
        }
        self.writer.into_inner()?.finish()
    }
}
