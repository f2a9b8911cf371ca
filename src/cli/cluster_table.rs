//! Clusters as a Parquet file, with one row for each document.

use std::sync::Arc;

use anyhow::bail;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use super::cluster_rows::Group;
use super::sink::Sink;

const SCHEMA: &str = "
message clusters {
    required int64 cluster (INTEGER(64, false));
    required int64 size (INTEGER(64, false));
    required int32 diameter (INTEGER(32, false));
    required boolean diameter_is_exact;
    required int32 distance (INTEGER(32, false));
    required int64 fingerprint (INTEGER(64, false));
    optional binary id (STRING);
    SIMILARITY
}";
const SIMILARITY_COLUMN: &str = "required double similarity;";
/// The number of rows in a row group.
const GROUP_COUNT: usize = 1 << 17;

/// A file that is being written; only [`ClusterTable::finish`] makes it valid.
pub(super) struct ClusterTable<'a> {
    writer: SerializedFileWriter<&'a mut Sink>,
    rows: Rows,
    has_similarity: bool,
}

#[derive(Default)]
struct Rows {
    clusters: Vec<i64>,
    sizes: Vec<i64>,
    diameters: Vec<i32>,
    exact: Vec<bool>,
    distances: Vec<i32>,
    fingerprints: Vec<i64>,
    /// Without the rows that have no id.
    ids: Vec<ByteArray>,
    /// 1 for a row with an id, 0 for one without.
    id_levels: Vec<i16>,
    similarities: Vec<f64>,
}

impl<'a> ClusterTable<'a> {
    pub(super) fn new(out: &'a mut Sink, has_similarity: bool) -> anyhow::Result<Self> {
        if out.is_stdout() {
            bail!("a Parquet file cannot go to standard output; name one with -o");
        }
        let column = if has_similarity { SIMILARITY_COLUMN } else { "" };
        let schema = SCHEMA.replace("SIMILARITY", column);
        let schema = Arc::new(parse_message_type(&schema)?);
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .build();
        let writer = SerializedFileWriter::new(out, schema, Arc::new(properties))?;
        Ok(ClusterTable { writer, rows: Rows::default(), has_similarity })
    }

    /// Adds the rows of a cluster.
    pub(super) fn push(&mut self, group: Group) -> anyhow::Result<()> {
        for member in group.members {
            let none = member.ids.is_empty().then_some(None);
            for id in member.ids.into_iter().chain(none) {
                let rows = &mut self.rows;
                rows.clusters.push(group.number.cast_signed());
                rows.sizes.push(group.size.cast_signed());
                rows.diameters.push(group.diameter.cast_signed());
                rows.exact.push(group.diameter_is_exact);
                rows.similarities.push(member.similarity.unwrap_or_default());
                rows.distances.push(member.distance.cast_signed());
                rows.fingerprints.push(member.fingerprint.value().cast_signed());
                rows.id_levels.push(i16::from(id.is_some()));
                rows.ids.extend(id.map(|id| ByteArray::from(id.into_bytes())));
                if rows.clusters.len() == GROUP_COUNT {
                    self.write_group()?;
                }
            }
        }
        Ok(())
    }

    fn write_group(&mut self) -> anyhow::Result<()> {
        let rows = std::mem::take(&mut self.rows);
        let mut group = self.writer.next_row_group()?;
        write_column::<Int64Type>(&mut group, &rows.clusters, None)?;
        write_column::<Int64Type>(&mut group, &rows.sizes, None)?;
        write_column::<Int32Type>(&mut group, &rows.diameters, None)?;
        write_column::<BoolType>(&mut group, &rows.exact, None)?;
        write_column::<Int32Type>(&mut group, &rows.distances, None)?;
        write_column::<Int64Type>(&mut group, &rows.fingerprints, None)?;
        write_column::<ByteArrayType>(&mut group, &rows.ids, Some(&rows.id_levels))?;
        if self.has_similarity {
            write_column::<DoubleType>(&mut group, &rows.similarities, None)?;
        }
        group.close()?;
        Ok(())
    }

    /// Writes the last rows and the end of the file.
    pub(super) fn finish(mut self) -> anyhow::Result<()> {
        if !self.rows.clusters.is_empty() {
            self.write_group()?;
        }
        self.writer.close()?;
        Ok(())
    }
}

fn write_column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, &mut Sink>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> anyhow::Result<()> {
    let Some(mut column) = group.next_column()? else {
        bail!("the schema has fewer columns than a row");
    };
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()?;
    Ok(())
}
