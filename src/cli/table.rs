//! Results as a Parquet file.

use std::sync::Arc;

use anyhow::bail;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use super::sink::Sink;

/// The number of rows in a row group.
const GROUP_COUNT: usize = 1 << 17;

/// The name of a column and the kind of its values.
pub(super) type ColumnSpec = (&'static str, Kind);

/// The kind of the values of a column.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    U64,
    U32,
    Bool,
    Double,
    /// Texts in UTF-8, which may be missing.
    Text,
}

impl Kind {
    /// The column in the language of Parquet's schemas.
    fn field(self, name: &str) -> String {
        match self {
            Kind::U64 => format!("required int64 {name} (INTEGER(64, false));"),
            Kind::U32 => format!("required int32 {name} (INTEGER(32, false));"),
            Kind::Bool => format!("required boolean {name};"),
            Kind::Double => format!("required double {name};"),
            Kind::Text => format!("optional binary {name} (STRING);"),
        }
    }
}

/// A value of a row, of the kind of its column.
pub(super) enum Cell<'a> {
    U64(u64),
    U32(u32),
    Bool(bool),
    Double(f64),
    Text(Option<&'a str>),
}

/// The values of a column that are not written yet.
enum Values {
    U64(Vec<i64>),
    U32(Vec<i32>),
    Bool(Vec<bool>),
    Double(Vec<f64>),
    /// The texts that are there; and for each row 1 if it has one, else 0.
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
            (Values::U64(values), Cell::U64(value)) => values.push(value.cast_signed()),
            (Values::U32(values), Cell::U32(value)) => values.push(value.cast_signed()),
            (Values::Bool(values), Cell::Bool(value)) => values.push(value),
            (Values::Double(values), Cell::Double(value)) => values.push(value),
            (Values::Text(texts, levels), Cell::Text(text)) => {
                levels.push(i16::from(text.is_some()));
                texts.extend(text.map(|text| ByteArray::from(text.as_bytes().to_vec())));
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

/// Writes the values of the next column, and forgets them.
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

/// A file that is being written; only [`Table::finish`] makes it valid.
pub(super) struct Table {
    writer: SerializedFileWriter<Sink>,
    columns: Vec<Values>,
    rows: usize,
}

impl Table {
    pub(super) fn new(out: Sink, name: &str, columns: &[ColumnSpec]) -> anyhow::Result<Self> {
        if out.is_stdout() {
            bail!("a Parquet file cannot go to standard output; name one with -o");
        }
        let fields: String = columns.iter().map(|(name, kind)| kind.field(name)).collect();
        let schema = Arc::new(parse_message_type(&format!("message {name} {{ {fields} }}"))?);
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .build();
        let writer = SerializedFileWriter::new(out, schema, Arc::new(properties))?;
        let columns = columns.iter().map(|(_, kind)| Values::new(*kind)).collect();
        Ok(Table { writer, columns, rows: 0 })
    }

    /// Adds a row, which has a cell for each column.
    pub(super) fn push<'c>(
        &mut self,
        cells: impl IntoIterator<Item = Cell<'c>>,
    ) -> anyhow::Result<()> {
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            column.push(cell)?;
        }
        self.rows += 1;
        if self.rows == GROUP_COUNT { self.write_group() } else { Ok(()) }
    }

    fn write_group(&mut self) -> anyhow::Result<()> {
        self.rows = 0;
        let mut group = self.writer.next_row_group()?;
        for column in &mut self.columns {
            column.write(&mut group)?;
        }
        group.close()?;
        Ok(())
    }

    /// Writes the last rows and the end of the file, which then gets its name.
    pub(super) fn finish(mut self) -> anyhow::Result<()> {
        if self.rows > 0 {
            self.write_group()?;
        }
        self.writer.into_inner()?.finish()
    }
}
