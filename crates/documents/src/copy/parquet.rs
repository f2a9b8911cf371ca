//! Copies Parquet files column by column, without changing their schema.
//!
//! Values, levels and row groups are kept; pages and dictionaries are rebuilt with the codec of the
//! column. Bloom filters and page indexes of the input are dropped.

use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;

use ::parquet::basic::{ConvertedType, LogicalType, Repetition, Type as PhysicalType};
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::{AsBytes, ByteArray, ByteArrayType, DataType, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::{FileMetaData, KeyValue};
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::reader::{FileReader, RowGroupReader};
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use ::parquet::schema::types::{Type, TypePtr};

use super::super::files::DocumentFile;
use super::super::options::Names;
use super::super::parquet_file;
use super::super::parquet_path::witness;
use super::super::raw::digest_of;
use super::cut;
use super::fate::{Decided, Fates, NewField, NewFieldKind, RecordFate};
use crate::error::Result;
use fpstore_base::Id;
use fpstore_base::watch::Watch;

/// The number of rows copied at a time.
const RUN_LEN: usize = 1024;
/// The key of the metadata entry with Arrow's own schema, which does not match a file with new
/// columns.
const ARROW_SCHEMA: &str = "ARROW:schema";

/// A kept row, and the byte ranges cut out of its text.
type Cut = (usize, Vec<Range<usize>>);

pub(super) fn copy(
    from: &DocumentFile<'_>,
    names: Names<'_>,
    new_fields: &[NewField],
    watch: &Watch,
    out: &mut (dyn Write + Send),
    fates: &mut Fates<'_>,
) -> Result<()> {
    let name = from.name();
    let unreadable = |source| from.copy_error(source);
    let broken = |fault: ParquetError| match fault {
        ParquetError::External(cause) if cause.is::<io::Error>() => {
            unreadable(cause.downcast().map_or_else(io::Error::other, |cause| *cause))
        }
        fault => parquet_file::broken(name, fault),
    };
    let reader = parquet_file::open(from.path(), name)?;
    let metadata = reader.metadata().file_metadata();
    let witness = witness(metadata.schema_descr(), &names).map(|(place, _)| place);
    let schema = schema_with(metadata, new_fields).map_err(broken)?;
    let properties = Arc::new(properties(&reader, !new_fields.is_empty()));
    let mut writer = SerializedFileWriter::new(out, schema, properties).map_err(broken)?;
    let mut row = 0;
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group).map_err(broken)?;
        let count = group.metadata().num_rows();
        watch.tick(u64::try_from(group.metadata().compressed_size()).unwrap_or(0))?;
        let (mut kept, mut marks, mut cuts) = (Vec::new(), Vec::new(), Vec::new());
        let (first, mut digests) = (row + 1, Vec::new());
        for at in 0..usize::try_from(count).unwrap_or(0) {
            row += 1;
            let decided = fates.of(row).map_err(unreadable)?;
            if witness.is_none() {
                fates.check(&decided, None).map_err(unreadable)?;
            }
            match decided.fate {
                RecordFate::Drop => continue,
                RecordFate::Keep => {}
                RecordFate::Mark(values) => marks.push(values),
                RecordFate::Cut(cut) => cuts.push((at, cut)),
            }
            digests.extend(decided.digest.map(|digest| (at, digest)));
            add(&mut kept, at);
        }
        if !kept.is_empty() {
            let texts = Texts { name: names.text, cuts };
            let rows = Rows { first, witness, digests, fates };
            let copied = copy_group(&*group, &kept, rows, texts, new_fields, &marks, &mut writer);
            copied.map_err(broken)?;
        }
    }
    writer.close().map_err(broken)?;
    Ok(())
}

/// Appends a row to runs of adjacent rows.
fn add(runs: &mut Vec<Range<usize>>, row: usize) {
    match runs.last_mut() {
        Some(run) if run.end == row && run.len() < RUN_LEN => run.end += 1,
        _ => runs.push(row..row + 1),
    }
}

/// The schema of the copy: the schema of the input, followed by the new columns.
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

/// The properties of the copy: the metadata entries, codecs and sorting columns of the input.
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

/// The name of the column of texts, and the byte ranges to cut out of the texts, by ascending row.
struct Texts<'a> {
    name: &'a str,
    cuts: Vec<Cut>,
}

impl Texts<'_> {
    /// Cuts the texts of `rows`. Each row has one definition level, and a text unless it is null.
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

/// The documents read from a row group: their rows within the group, ascending, each with the
/// digest of its value in the column `witness`.
struct Rows<'a, 'f> {
    /// The number of the first row of the group in the file.
    first: u64,
    witness: Option<usize>,
    digests: Vec<(usize, u64)>,
    fates: &'a Fates<'f>,
}

impl Rows<'_, '_> {
    /// Checks the values of `rows`. Each row has one definition level, and a value unless it is
    /// null.
    fn check<T: AsBytes>(
        &self,
        rows: Range<usize>,
        definitions: &[i16],
        most: i16,
        values: &[T],
    ) -> Result<(), ParquetError> {
        let first = self.digests.partition_point(|(row, _)| *row < rows.start);
        let mut known = self.digests[first..].iter().peekable();
        let mut values = values.iter();
        for (at, row) in rows.enumerate() {
            let is_there = definitions.get(at).is_none_or(|definition| *definition == most);
            let value = if is_there { values.next().map(AsBytes::as_bytes) } else { None };
            if let Some((_, digest)) = known.next_if(|(known, _)| *known == row) {
                let found = digest_of([value.unwrap_or_default()]);
                let record = self.first + row as u64;
                let decided = Decided { record, digest: Some(*digest), fate: RecordFate::Keep };
                let checked = self.fates.check(&decided, Some(found));
                checked.map_err(|fault| ParquetError::External(fault.into()))?;
            }
        }
        Ok(())
    }
}

fn copy_group<W: Write + Send>(
    group: &dyn RowGroupReader,
    kept: &[Range<usize>],
    read: Rows<'_, '_>,
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
        let read = Some(&read).filter(|read| read.witness == Some(column));
        let is_text = !texts.cuts.is_empty() && path == texts.name;
        match from {
            ColumnReader::ByteArrayColumnReader(from) if is_text => {
                copy_changed(from, to, kept, |rows, definitions, most, values| {
                    if let Some(read) = read {
                        read.check(rows.clone(), definitions, most, values)?;
                    }
                    texts.cut(rows, definitions, most, values)
                })?;
            }
            _ if is_text => return Err(ParquetError::General(cut::CHANGED.into())),
            ColumnReader::BoolColumnReader(from) => copy_column(from, to, kept, read)?,
            ColumnReader::Int32ColumnReader(from) => copy_column(from, to, kept, read)?,
            ColumnReader::Int64ColumnReader(from) => copy_column(from, to, kept, read)?,
            ColumnReader::Int96ColumnReader(from) => copy_column(from, to, kept, read)?,
            ColumnReader::FloatColumnReader(from) => copy_column(from, to, kept, read)?,
            ColumnReader::DoubleColumnReader(from) => copy_column(from, to, kept, read)?,
            ColumnReader::ByteArrayColumnReader(from) => copy_column(from, to, kept, read)?,
            ColumnReader::FixedLenByteArrayColumnReader(from) => {
                copy_column(from, to, kept, read)?;
            }
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
                    Id::Text(text) => Err(ParquetError::General(format!("{text} is not a number"))),
                });
                let counts: Vec<i64> = counts.collect::<Result<_, _>>()?;
                to.typed::<Int64Type>().write_batch(&counts, Some(&levels), None)?;
            }
        }
        to.close()?;
    }
    to.close().map(drop)
}

/// Copies the rows `kept` of a column, which are checked if `read` is given.
fn copy_column<T: DataType>(
    from: ColumnReaderImpl<T>,
    to: SerializedColumnWriter<'_>,
    kept: &[Range<usize>],
    read: Option<&Rows<'_, '_>>,
) -> Result<(), ParquetError> {
    copy_changed(from, to, kept, |rows, definitions, most, values| match read {
        Some(read) => read.check(rows, definitions, most, values),
        None => Ok(()),
    })
}

/// Copies the rows `kept` of a column. `change` may change the values: it receives a range of rows,
/// their definition levels, the maximum level of the column, and the values.
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
        // A call may read fewer rows and end at a page boundary.
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
    use ::parquet::data_type::{DoubleType, Int96, Int96Type};
    use ::parquet::file::reader::SerializedFileReader;
    use ::parquet::record::Row;
    use ::parquet::schema::parser::parse_message_type;

    use super::super::super::{DocumentFiles, DocumentOptions, DocumentPlace, RecordDecisions};
    use super::*;
    use crate::error::Error;
    use fpstore_base::watch::Phase;

    const GROUP_LEN: i64 = 3000;

    /// A file of two row groups with a required, an optional, a repeated and an INT96 column.
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
            // No list, an empty list, a list with a null, and a list of three.
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
        fate: impl Fn(u64) -> RecordFate,
    ) -> (SerializedFileReader<File>, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("docs.parquet");
        std::fs::write(&path, file()).unwrap();
        let options = DocumentOptions::default();
        let files = DocumentFiles::find(&[path], &options).unwrap();
        let mut out = Vec::new();
        let watch = Watch::new(None, Phase::Copy, None);
        let from = files.get(0, &options).unwrap();
        let decided = |record| Ok(Decided { record, digest: None, fate: fate(record) });
        let mut decisions = (1..=2 * GROUP_LEN as u64).map(decided);
        let fates = (&mut decisions as &mut RecordDecisions<'_>, &RecordFate::Drop);
        from.copy_records(&options, new_fields, &watch, &mut out, fates).unwrap();
        let path = folder.path().join("copy.parquet");
        std::fs::write(&path, out).unwrap();
        (SerializedFileReader::new(File::open(path).unwrap()).unwrap(), folder)
    }

    fn rows(reader: &SerializedFileReader<File>) -> Vec<Row> {
        reader.get_row_iter(None).unwrap().map(Result::unwrap).collect()
    }

    #[test]
    fn rows_that_stay_are_the_same_and_so_are_schema_codecs_and_entries() {
        let (whole, _folder) = copied(&[], |_| RecordFate::Keep);
        let all = rows(&whole);
        assert_eq!(all.len() as i64, 2 * GROUP_LEN);
        assert!(all[3].to_string().contains("tags: [3, 4, 5]"), "{}", all[3]);
        let is_kept = |row: u64| row % 7 > 1 && !(4000..4500).contains(&row);
        let (some, _folder) = copied(&[], |row| match is_kept(row) {
            true => RecordFate::Keep,
            false => RecordFate::Drop,
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
        // A row group without kept rows is omitted.
        let (few, _folder) = copied(&[], |row| match row {
            5000 => RecordFate::Keep,
            _ => RecordFate::Drop,
        });
        assert_eq!(few.metadata().num_row_groups(), 1);
        assert_eq!(rows(&few), [all[4999].clone()]);
        let (none, _folder) = copied(&[], |_| RecordFate::Drop);
        assert_eq!(rows(&none), []);
    }

    #[test]
    fn parts_of_texts_are_cut_out_of_their_column_alone() {
        let (whole, _folder) = copied(&[], |_| RecordFate::Keep);
        // Rows are counted from 1 and their texts from 0; every third row is null.
        let is_cut = |row: u64| row % 3 != 1 && row.is_multiple_of(5);
        let (some, _folder) = copied(&[], |row| match row {
            _ if row.is_multiple_of(11) => RecordFate::Drop,
            _ if is_cut(row) => RecordFate::Cut(vec![0..2, 3..5]),
            _ => RecordFate::Keep,
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
        let mark = |row: u64| {
            let id = row.is_multiple_of(2).then(|| Id::Text(format!("of {row}").into()));
            RecordFate::Mark(vec![id, row.is_multiple_of(3).then_some(Id::U64(row))])
        };
        let of = NewField { name: "of".into(), kind: NewFieldKind::Id };
        let count = NewField { name: "count".into(), kind: NewFieldKind::Count };
        let (marked, _folder) = copied(&[of, count], mark);
        let all = rows(&marked);
        assert_eq!(all.len() as i64, 2 * GROUP_LEN);
        assert!(all[3999].to_string().ends_with("of: \"of 4000\", count: null}"), "{}", all[3999]);
        assert!(all[4000].to_string().ends_with("of: null, count: null}"), "{}", all[4000]);
        assert!(all[5].to_string().ends_with("of: \"of 6\", count: 6}"), "{}", all[5]);
        let entries = marked.metadata().file_metadata().key_value_metadata().unwrap();
        assert!(entries.iter().all(|entry| entry.key != ARROW_SCHEMA));
    }

    /// The places of the rows of a file with the contents `bytes`, and the result of copying the
    /// file with decisions for the rows at the places `shown`.
    fn checked(bytes: &[u8], shown: &[DocumentPlace]) -> (Vec<DocumentPlace>, Result<Vec<u8>>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("docs.parquet");
        std::fs::write(&path, bytes).unwrap();
        // The fields are named: a guess would refuse a file with a changed column name before it is
        // read.
        let options = DocumentOptions::default().id_field("id").text_field("text").skip_bad(true);
        let files = DocumentFiles::find(&[path], &options).unwrap();
        let mut places = Vec::new();
        let take = |place, _: fpstore_base::IdRef<'_>, _: &str| {
            places.push(place);
            Ok::<_, Error>(())
        };
        let _ = files.read_texts(&options, None, take);
        let decided = |place: &DocumentPlace| {
            let (record, digest) = (place.record(), place.digest);
            Ok(Decided { record, digest, fate: RecordFate::Keep })
        };
        let mut decisions = shown.iter().map(decided);
        let fates = (&mut decisions as &mut RecordDecisions<'_>, &RecordFate::Drop);
        let (mut out, watch) = (Vec::new(), Watch::new(None, Phase::Copy, None));
        let from = files.get(0, &options).unwrap();
        let copied = from.copy_records(&options, &[], &watch, &mut out, fates);
        (places, copied.map(|()| out))
    }

    #[test]
    fn rows_are_recognised_by_their_texts() {
        let bytes = file();
        let (places, _) = checked(&bytes, &[]);
        assert_eq!(places.len(), 2 * GROUP_LEN as usize);
        assert!(places.iter().all(|place| place.digest.is_some()));
        assert!(checked(&bytes, &places).1.is_ok());
        let mut other = places.clone();
        other[4000].digest = places[4001].digest;
        let error = checked(&bytes, &other).1.unwrap_err();
        let told = fpstore_base::chain(&error);
        assert!(told.contains("row 4001 differs from the record read before"), "{told}");
        other.push(DocumentPlace { at: Some(fpstore_base::InputPlace::Row(6001)), ..places[0] });
        other[4000] = places[4000];
        let told = fpstore_base::chain(&checked(&bytes, &other).1.unwrap_err());
        assert!(told.contains("row 6001 differs from the record read before"), "{told}");
    }

    /// The parser panics on some invalid bytes, also in columns that only copying reads.
    #[test]
    fn a_file_with_changed_bytes_is_copied_or_refused_and_never_ends_the_program() {
        let schema = "message docs { required int64 id; required binary text (UTF8); \
                      optional double x; }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let mut intact = Vec::new();
        let mut writer =
            SerializedFileWriter::new(&mut intact, schema, Default::default()).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(&[1, 2], None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let texts = ["one", "two"].map(ByteArray::from);
        column.typed::<ByteArrayType>().write_batch(&texts, None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<DoubleType>().write_batch(&[0.5], Some(&[1, 0]), None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
        let (places, copied) = checked(&intact, &[]);
        assert!(places.len() == 2 && copied.is_ok());
        let (mut panic_count, mut other_count) = (0, 0);
        for at in 0..intact.len() {
            for new in [intact[at] ^ 1, intact[at] ^ 0x80, intact[at].wrapping_add(3), 0xff] {
                let mut bytes = intact.clone();
                bytes[at] = new;
                let (found, copied) = checked(&bytes, &places);
                // The copy fails if any text is read differently; columns rejected by the reader
                // can still be copied.
                let is_other = found.iter().any(|other| {
                    let known = places.iter().find(|place| place.record() == other.record());
                    known.is_none_or(|known| known.digest != other.digest)
                });
                assert!(!is_other || copied.is_err(), "{at} {new}");
                other_count += usize::from(is_other);
                let reason = copied.err().map(|error| error.to_string()).unwrap_or_default();
                panic_count += usize::from(!is_other && reason.contains("its parser panicked"));
            }
        }
        assert!(panic_count > 0, "the test no longer shows that panics are caught");
        assert!(other_count > 0);
    }
}
