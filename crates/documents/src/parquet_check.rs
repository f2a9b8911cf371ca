//! Checks of a Parquet file before its first row is read.

use ::parquet::basic::Compression;
use ::parquet::column::page::PageReader;
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::ColumnChunkMetaData;
use ::parquet::file::reader::FileReader;

use super::parquet_file::reason;

/// Checks the codecs and numbers of values of the top-level columns `wanted`, in all row groups.
pub(super) fn check(reader: &dyn FileReader, wanted: &[&str]) -> Result<(), String> {
    for at in 0..reader.num_row_groups() {
        let group = reader.get_row_group(at).map_err(reason)?;
        let row_count = u64::try_from(group.metadata().num_rows()).unwrap_or(0);
        for (column, chunk) in group.metadata().columns().iter().enumerate() {
            if !wanted.contains(&top(chunk)) {
                continue;
            }
            check_codec(chunk)?;
            let pages = group.get_column_page_reader(column).map_err(reason)?;
            let held = value_count(pages, row_count).map_err(reason)?;
            // In a column of lists, a row has a value for each list element, and at least one
            // value.
            let is_flat = chunk.column_descr().max_rep_level() == 0;
            if held < row_count || is_flat && held > row_count {
                return Err(format!(
                    "row group {} of {} has {row_count} rows, and its column '{}' {held}; the file \
                     is damaged",
                    at + 1,
                    reader.num_row_groups(),
                    top(chunk)
                ));
            }
        }
    }
    Ok(())
}

fn top(chunk: &ColumnChunkMetaData) -> &str {
    chunk.column_path().parts().first().map_or("", String::as_str)
}

/// Refuses an unsupported codec, before the first read of a page fails.
fn check_codec(chunk: &ColumnChunkMetaData) -> Result<(), String> {
    if chunk.compression() == Compression::LZO {
        return Err(format!(
            "column '{}' is compressed with codec lzo, which is not supported; write the file with \
             another one",
            top(chunk)
        ));
    }
    Ok(())
}

/// The number of values in the pages of a column, nulls included, from the headers of the pages.
/// Pages after the last row are not read.
///
/// The row reader returns missing values of a column as nulls, so a wrong number of rows would
/// yield up to 2^63 invalid texts.
fn value_count(mut pages: Box<dyn PageReader>, row_count: u64) -> Result<u64, ParquetError> {
    let mut count = 0_u64;
    while count < row_count {
        let Some(page) = pages.peek_next_page()? else { break };
        count = count.saturating_add(page.num_levels.unwrap_or(0) as u64);
        pages.skip_next_page()?;
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::path::Path;
    use std::sync::Arc;

    use ::parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
    use ::parquet::file::metadata::{ParquetMetaDataBuilder, ParquetMetaDataWriter};
    use ::parquet::file::properties::{WriterProperties, WriterVersion};
    use ::parquet::file::reader::SerializedFileReader;
    use ::parquet::file::writer::SerializedFileWriter;
    use ::parquet::schema::parser::parse_message_type;

    use super::*;

    const ROW_COUNT: i64 = 250;

    /// A file of one row group with two columns of several pages; each row has two tags.
    fn write(path: &Path, version: WriterVersion) {
        let schema = "message docs {
            optional binary text (UTF8);
            optional group tags (LIST) { repeated group list { required int64 element; } }
        }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let properties = WriterProperties::builder()
            .set_writer_version(version)
            .set_data_page_row_count_limit(100)
            .set_write_batch_size(50);
        let file = File::create(path).unwrap();
        let mut writer =
            SerializedFileWriter::new(file, schema, Arc::new(properties.build())).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let levels: Vec<i16> = (0..ROW_COUNT).map(|row| i16::from(row % 3 > 0)).collect();
        let texts =
            vec![ByteArray::from("text"); levels.iter().filter(|level| **level > 0).count()];
        column.typed::<ByteArrayType>().write_batch(&texts, Some(&levels), None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let tags: Vec<i64> = (0..2 * ROW_COUNT).collect();
        let repeated: Vec<i16> = tags.iter().map(|tag| (tag % 2) as i16).collect();
        let defined = vec![2; tags.len()];
        column.typed::<Int64Type>().write_batch(&tags, Some(&defined), Some(&repeated)).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
    }

    /// Rewrites the file metadata with another number of rows in the row group.
    fn set_row_count(path: &Path, row_count: i64) {
        let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
        let metadata = reader.metadata();
        let group = metadata.row_group(0).clone().into_builder().set_num_rows(row_count);
        let metadata = ParquetMetaDataBuilder::new(metadata.file_metadata().clone())
            .add_row_group(group.build().unwrap())
            .build();
        let mut file = File::options().append(true).open(path).unwrap();
        ParquetMetaDataWriter::new(&mut file, &metadata).finish().unwrap();
    }

    #[test]
    fn a_number_of_rows_that_the_columns_do_not_hold_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("docs.parquet");
        let checked = |wanted: &[&str]| {
            check(&SerializedFileReader::new(File::open(&path).unwrap()).unwrap(), wanted)
        };
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            write(&path, version);
            assert_eq!(checked(&["text", "tags"]), Ok(()));
            for (row_count, wanted, held) in [
                (ROW_COUNT + 1, "text", ROW_COUNT),
                (ROW_COUNT - 1, "text", ROW_COUNT),
                (i64::MAX, "text", ROW_COUNT),
                (2 * ROW_COUNT + 1, "tags", 2 * ROW_COUNT),
                (i64::MAX, "tags", 2 * ROW_COUNT),
            ] {
                set_row_count(&path, row_count);
                let expected = format!("{row_count} rows, and its column '{wanted}' {held};");
                let reason = checked(&[wanted]).unwrap_err();
                assert!(reason.contains(&expected), "{reason}");
            }
            set_row_count(&path, ROW_COUNT);
            assert_eq!(checked(&["text", "tags"]), Ok(()));
        }
    }
}
