//! Copying Parquet files, column by column, without changing their schema.
//!
//! Values, levels and row groups stay; pages and dictionaries are made anew with the codec of the
//! column. Bloom filters and page indexes of the input are not kept.

use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;

use ::parquet::basic::{ConvertedType, LogicalType, Repetition, Type as PhysicalType};
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::{FileMetaData, KeyValue};
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::reader::{FileReader, RowGroupReader};
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use ::parquet::schema::types::{Type, TypePtr};

use super::super::files::DocumentFile;
use super::super::parquet_file;
use super::cut;
use super::fate::{DecideFate, NewField, NewFieldKind, RecordFate};
use crate::error::{Error, Result};
use fpstore_base::watch::Watch;
use fpstore_base::{Id, IoError};

/// Rows that are copied at a time.
const RUN_LEN: usize = 1024;
/// The entry in which Arrow keeps its own schema, which would not fit one with a new column.
const ARROW_SCHEMA: &str = "ARROW:schema";

/// A row of those that stay, and what is cut out of its text.
type Cut = (usize, Vec<Range<usize>>);

pub(super) fn copy(
    from: &DocumentFile<'_>,
    text_name: &str,
    new_fields: &[NewField],
    watch: &Watch,
    out: &mut (dyn Write + Send),
    decide: &mut DecideFate<'_>,
) -> Result<()> {
    let name = from.name();
    let unreadable = |source| Error::Io(IoError { doing: "copy", path: name.into(), source });
    let broken = |fault: ParquetError| match fault {
        ParquetError::External(cause) if cause.is::<io::Error>() => {
            unreadable(cause.downcast().map_or_else(io::Error::other, |cause| *cause))
        }
        fault => parquet_file::broken(name, fault),
    };
    let reader = parquet_file::open(from.path(), name)?;
    let metadata = reader.metadata().file_metadata();
    let schema = schema_with(metadata, new_fields).map_err(broken)?;
    let properties = Arc::new(properties(&reader, !new_fields.is_empty()));
    let mut writer = SerializedFileWriter::new(out, schema, properties).map_err(broken)?;
    let mut row = 0;
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group).map_err(broken)?;
        let count = group.metadata().num_rows();
        watch.tick(u64::try_from(group.metadata().compressed_size()).unwrap_or(0))?;
        let (mut kept, mut marks, mut cuts) = (Vec::new(), Vec::new(), Vec::new());
        for at in 0..usize::try_from(count).unwrap_or(0) {
            row += 1;
            match decide(row).map_err(unreadable)? {
                RecordFate::Drop => continue,
                RecordFate::Keep => {}
                RecordFate::Mark(values) => marks.push(values),
                RecordFate::Cut(cut) => cuts.push((at, cut)),
            }
            add(&mut kept, at);
        }
        if !kept.is_empty() {
            let texts = Texts { name: text_name, cuts };
            copy_group(&*group, &kept, texts, new_fields, &marks, &mut writer).map_err(broken)?;
        }
    }
    writer.close().map_err(broken)?;
    Ok(())
}

/// Adds a row to runs of rows.
fn add(runs: &mut Vec<Range<usize>>, row: usize) {
    match runs.last_mut() {
        Some(run) if run.end == row && run.len() < RUN_LEN => run.end += 1,
        _ => runs.push(row..row + 1),
    }
}

/// The schema, with new columns at its end if they are wanted.
fn schema_with(metadata: &FileMetaData, new_fields: &[NewField]) -> Result<TypePtr, ParquetError> {
    let root = metadata.schema_descr().root_schema_ptr();
    if new_fields.is_empty() {
        return Ok(root);
    }
    let mut fields = root.get_fields().to_vec();
    for NewField { name, kind } in new_fields {
        let column = match kind {
            NewFieldKind::Id => Type::primitive_type_builder(name, PhysicalType::BYTE_ARRAY)
                .with_converted_type(ConvertedType::UTF8)
                .with_logical_type(Some(LogicalType::String)),
            NewFieldKind::Count => Type::primitive_type_builder(name, PhysicalType::INT64),
        };
        fields.push(Arc::new(column.with_repetition(Repetition::OPTIONAL).build()?));
    }
    Ok(Arc::new(Type::group_type_builder(root.name()).with_fields(fields).build()?))
}

/// The codecs, the version and the entries of the file.
fn properties(reader: &dyn FileReader, is_marked: bool) -> WriterProperties {
    let metadata = reader.metadata();
    let entries = metadata.file_metadata().key_value_metadata().map(|entries| {
        let stays = |entry: &&KeyValue| !(is_marked && entry.key == ARROW_SCHEMA);
        entries.iter().filter(stays).cloned().collect()
    });
    let mut builder = WriterProperties::builder().set_key_value_metadata(entries);
    if let Some(group) = metadata.row_groups().first() {
        for column in group.columns() {
            let (path, codec) = (column.column_path().clone(), column.compression());
            builder = builder.set_column_compression(path, codec);
        }
        builder = builder.set_sorting_columns(group.sorting_columns().cloned());
    }
    builder.build()
}

/// The column of the texts, and what is cut out of them, by ascending row of the group.
struct Texts<'a> {
    name: &'a str,
    cuts: Vec<Cut>,
}

impl Texts<'_> {
    /// Cuts the texts of some rows. Each row has one level, and a value unless it is null.
    fn cut(
        &self,
        rows: Range<usize>,
        definitions: &[i16],
        most: i16,
        texts: &mut [ByteArray],
    ) -> Result<(), ParquetError> {
        let first = self.cuts.partition_point(|(row, _)| *row < rows.start);
        let fault = |reason: String| ParquetError::General(reason);
        let (mut at, mut value) = (rows.start, 0);
        for (row, cut) in self.cuts[first..].iter().take_while(|(row, _)| *row < rows.end) {
            let is_there = |row: usize| {
                definitions.get(row - rows.start).is_none_or(|definition| *definition == most)
            };
            value += (at..*row).filter(|&row| is_there(row)).count();
            at = *row;
            let text = texts.get_mut(value).filter(|_| is_there(at));
            let text = text.ok_or_else(|| fault(cut::CHANGED.into()))?;
            let whole = text.as_utf8().map_err(|_| fault(cut::CHANGED.into()))?;
            *text = cut::without(whole, cut).map_err(fault)?.as_str().into();
        }
        Ok(())
    }
}

fn copy_group<W: Write + Send>(
    group: &dyn RowGroupReader,
    kept: &[Range<usize>],
    texts: Texts<'_>,
    new_fields: &[NewField],
    marks: &[Vec<Option<Id>>],
    writer: &mut SerializedFileWriter<W>,
) -> Result<(), ParquetError> {
    let mut to = writer.next_row_group()?;
    for column in 0..group.num_columns() {
        let from = group.get_column_reader(column)?;
        let Some(to) = to.next_column()? else { break };
        let path = group.metadata().column(column).column_path().string();
        let is_text = !texts.cuts.is_empty() && path == texts.name;
        match from {
            ColumnReader::ByteArrayColumnReader(from) if is_text => {
                copy_changed(from, to, kept, |rows, definitions, most, values| {
                    texts.cut(rows, definitions, most, values)
                })?;
            }
            _ if is_text => return Err(ParquetError::General(cut::CHANGED.into())),
            ColumnReader::BoolColumnReader(from) => copy_column(from, to, kept)?,
            ColumnReader::Int32ColumnReader(from) => copy_column(from, to, kept)?,
            ColumnReader::Int64ColumnReader(from) => copy_column(from, to, kept)?,
            ColumnReader::Int96ColumnReader(from) => copy_column(from, to, kept)?,
            ColumnReader::FloatColumnReader(from) => copy_column(from, to, kept)?,
            ColumnReader::DoubleColumnReader(from) => copy_column(from, to, kept)?,
            ColumnReader::ByteArrayColumnReader(from) => copy_column(from, to, kept)?,
            ColumnReader::FixedLenByteArrayColumnReader(from) => copy_column(from, to, kept)?,
        }
    }
    for (place, field) in new_fields.iter().enumerate() {
        let Some(mut to) = to.next_column()? else { break };
        let of_rows = || marks.iter().map(|values| values.get(place).and_then(Option::as_ref));
        let levels: Vec<i16> = of_rows().map(|value| i16::from(value.is_some())).collect();
        match field.kind {
            NewFieldKind::Id => {
                let texts = of_rows().flatten().map(|id| id.to_string().as_str().into());
                let texts: Vec<ByteArray> = texts.collect();
                to.typed::<ByteArrayType>().write_batch(&texts, Some(&levels), None)?;
            }
            NewFieldKind::Count => {
                let counts = of_rows().flatten().map(|id| match id {
                    Id::U64(count) => Ok(count.cast_signed()),
                    Id::Text(text) => Err(ParquetError::General(format!("{text} is no number"))),
                });
                let counts: Vec<i64> = counts.collect::<Result<_, _>>()?;
                to.typed::<Int64Type>().write_batch(&counts, Some(&levels), None)?;
            }
        }
        to.close()?;
    }
    to.close().map(drop)
}

/// Copies the rows `kept` of a column.
fn copy_column<T: DataType>(
    from: ColumnReaderImpl<T>,
    to: SerializedColumnWriter<'_>,
    kept: &[Range<usize>],
) -> Result<(), ParquetError> {
    copy_changed(from, to, kept, |_, _, _, _| Ok(()))
}

/// Copies the rows `kept` of a column. `change` takes rows, their definition levels, the largest
/// such level, and their values.
fn copy_changed<T: DataType>(
    mut from: ColumnReaderImpl<T>,
    mut to: SerializedColumnWriter<'_>,
    kept: &[Range<usize>],
    mut change: impl FnMut(Range<usize>, &[i16], i16, &mut [T::T]) -> Result<(), ParquetError>,
) -> Result<(), ParquetError> {
    let (mut values, mut definitions, mut repetitions) = (Vec::new(), Vec::new(), Vec::new());
    let descriptor = to.typed::<T>().get_descriptor().clone();
    let has_definitions = descriptor.max_def_level() > 0;
    let has_repetitions = descriptor.max_rep_level() > 0;
    let mut row = 0;
    let short = || ParquetError::General("a column has fewer rows than its row group".into());
    for run in kept {
        let gap = run.start - row;
        if gap > 0 && from.skip_records(gap)? != gap {
            return Err(short());
        }
        row = run.end;
        values.clear();
        definitions.clear();
        repetitions.clear();
        let mut read = 0;
        // One call may end with a page.
        while read < run.len() {
            let (records, _, levels) = from.read_records(
                run.len() - read,
                has_definitions.then_some(&mut definitions),
                has_repetitions.then_some(&mut repetitions),
                &mut values,
            )?;
            if records == 0 && levels == 0 {
                return Err(short());
            }
            read += records;
        }
        change(run.clone(), &definitions, descriptor.max_def_level(), &mut values)?;
        to.typed::<T>().write_batch(
            &values,
            has_definitions.then_some(&definitions),
            has_repetitions.then_some(&repetitions),
        )?;
    }
    to.close()
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use ::parquet::basic::Compression;
    use ::parquet::data_type::{Int96, Int96Type};
    use ::parquet::file::reader::SerializedFileReader;
    use ::parquet::record::Row;
    use ::parquet::schema::parser::parse_message_type;

    use super::super::super::{DocumentFiles, DocumentOptions};
    use super::*;
    use fpstore_base::watch::Phase;

    const GROUP_LEN: i64 = 3000;

    /// A file of two row groups with a required, an optional, a repeated and an old column.
    fn file() -> Vec<u8> {
        let schema = "message docs { required int64 id; optional binary text (UTF8); \
                      optional group tags (LIST) { repeated group list { optional int64 element; } } \
                      optional int96 seen; }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let entry = |key: &str| KeyValue::new(key.to_string(), "value".to_string());
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_data_page_row_count_limit(100)
            .set_write_batch_size(50)
            .set_key_value_metadata(Some(vec![entry("own"), entry(ARROW_SCHEMA)]));
        let mut bytes = Vec::new();
        let mut writer =
            SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties.build())).unwrap();
        for group in 0..2 {
            let rows = group * GROUP_LEN..(group + 1) * GROUP_LEN;
            let mut group = writer.next_row_group().unwrap();
            let mut column = group.next_column().unwrap().unwrap();
            let ids: Vec<i64> = rows.clone().collect();
            column.typed::<Int64Type>().write_batch(&ids, None, None).unwrap();
            column.close().unwrap();
            let mut column = group.next_column().unwrap().unwrap();
            let texts: Vec<ByteArray> = rows
                .clone()
                .filter(|row| row % 3 > 0)
                .map(|row| format!("text {row}").as_str().into())
                .collect();
            let levels: Vec<i16> = rows.clone().map(|row| i16::from(row % 3 > 0)).collect();
            column.typed::<ByteArrayType>().write_batch(&texts, Some(&levels), None).unwrap();
            column.close().unwrap();
            // No list, an empty one, one with a null, and one of three.
            let mut column = group.next_column().unwrap().unwrap();
            let (mut values, mut defs, mut reps) = (Vec::new(), Vec::new(), Vec::new());
            for row in rows.clone() {
                match row % 4 {
                    0 | 1 => (defs.push((row % 4) as i16), reps.push(0)),
                    2 => (defs.push(2), reps.push(0)),
                    _ => {
                        values.extend([row, row + 1, row + 2]);
                        (defs.extend([3; 3]), reps.extend([0, 1, 1]))
                    }
                };
            }
            let column_writer = column.typed::<Int64Type>();
            column_writer.write_batch(&values, Some(&defs), Some(&reps)).unwrap();
            column.close().unwrap();
            let mut column = group.next_column().unwrap().unwrap();
            let times = vec![Int96::from(vec![1, 2, 2_450_000]); rows.count()];
            let levels = vec![1; times.len()];
            column.typed::<Int96Type>().write_batch(&times, Some(&levels), None).unwrap();
            column.close().unwrap();
            group.close().unwrap();
        }
        writer.close().unwrap();
        bytes
    }

    fn copied(
        new_fields: &[NewField],
        decide: &mut DecideFate<'_>,
    ) -> (SerializedFileReader<File>, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("docs.parquet");
        std::fs::write(&path, file()).unwrap();
        let options = DocumentOptions::default();
        let files = DocumentFiles::find(&[path], &options).unwrap();
        let mut out = Vec::new();
        let watch = Watch::new(None, Phase::Copy, None);
        let from = files.get(0, &options).unwrap();
        from.copy_records(&options, new_fields, &watch, &mut out, decide).unwrap();
        let path = folder.path().join("copy.parquet");
        std::fs::write(&path, out).unwrap();
        (SerializedFileReader::new(File::open(path).unwrap()).unwrap(), folder)
    }

    fn rows(reader: &SerializedFileReader<File>) -> Vec<Row> {
        reader.get_row_iter(None).unwrap().map(Result::unwrap).collect()
    }

    #[test]
    fn rows_that_stay_are_the_same_and_so_are_schema_codecs_and_entries() {
        let (whole, _folder) = copied(&[], &mut |_| Ok(RecordFate::Keep));
        let all = rows(&whole);
        assert_eq!(all.len() as i64, 2 * GROUP_LEN);
        assert!(all[3].to_string().contains("tags: [3, 4, 5]"), "{}", all[3]);
        let is_kept = |row: u64| row % 7 > 1 && !(4000..4500).contains(&row);
        let (some, _folder) = copied(&[], &mut |row| match is_kept(row) {
            true => Ok(RecordFate::Keep),
            false => Ok(RecordFate::Drop),
        });
        let expected: Vec<&Row> =
            (1..).zip(&all).filter(|(at, _)| is_kept(*at)).map(|it| it.1).collect();
        assert_eq!(rows(&some).iter().collect::<Vec<_>>(), expected);
        let metadata = some.metadata();
        assert_eq!(metadata.num_row_groups(), 2);
        assert_eq!(metadata.row_group(0).column(1).compression(), Compression::SNAPPY);
        let schema =
            |of: &SerializedFileReader<File>| of.metadata().file_metadata().schema().clone();
        assert_eq!(schema(&some), schema(&whole));
        let entries = metadata.file_metadata().key_value_metadata().unwrap();
        assert!(entries.iter().any(|entry| entry.key == "own"));
        // A row group without rows goes.
        let (few, _folder) = copied(&[], &mut |row| match row {
            5000 => Ok(RecordFate::Keep),
            _ => Ok(RecordFate::Drop),
        });
        assert_eq!(few.metadata().num_row_groups(), 1);
        assert_eq!(rows(&few), [all[4999].clone()]);
        let (none, _folder) = copied(&[], &mut |_| Ok(RecordFate::Drop));
        assert_eq!(rows(&none), []);
    }

    #[test]
    fn parts_of_texts_are_cut_out_of_their_column_alone() {
        let (whole, _folder) = copied(&[], &mut |_| Ok(RecordFate::Keep));
        // Rows are counted from 1 and their texts from 0; of each third there is none.
        let is_cut = |row: u64| row % 3 != 1 && row.is_multiple_of(5);
        let (some, _folder) = copied(&[], &mut |row| match row {
            _ if row.is_multiple_of(11) => Ok(RecordFate::Drop),
            _ if is_cut(row) => Ok(RecordFate::Cut(vec![0..2, 3..5])),
            _ => Ok(RecordFate::Keep),
        });
        let expected: Vec<String> = (1..)
            .zip(rows(&whole))
            .filter(|(row, _)| row % 11 > 0)
            .map(|(row, kept)| match is_cut(row) {
                true => kept.to_string().replacen("text: \"text ", "text: \"x", 1),
                false => kept.to_string(),
            })
            .collect();
        let found: Vec<String> = rows(&some).iter().map(Row::to_string).collect();
        assert_eq!(found, expected);
        assert!(found[4].contains("text: \"x4\""), "{}", found[4]);
    }

    #[test]
    fn marks_are_the_last_columns() {
        let mut mark = |row: u64| {
            let id = row.is_multiple_of(2).then(|| Id::Text(format!("of {row}").into()));
            Ok(RecordFate::Mark(vec![id, row.is_multiple_of(3).then_some(Id::U64(row))]))
        };
        let of = NewField { name: "of".into(), kind: NewFieldKind::Id };
        let count = NewField { name: "count".into(), kind: NewFieldKind::Count };
        let (marked, _folder) = copied(&[of, count], &mut mark);
        let all = rows(&marked);
        assert_eq!(all.len() as i64, 2 * GROUP_LEN);
        assert!(all[3999].to_string().ends_with("of: \"of 4000\", count: null}"), "{}", all[3999]);
        assert!(all[4000].to_string().ends_with("of: null, count: null}"), "{}", all[4000]);
        assert!(all[5].to_string().ends_with("of: \"of 6\", count: 6}"), "{}", all[5]);
        let entries = marked.metadata().file_metadata().key_value_metadata().unwrap();
        assert!(entries.iter().all(|entry| entry.key != ARROW_SCHEMA));
    }
}
