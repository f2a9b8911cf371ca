//! Opens Parquet files, which may be hostile.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use ::parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use ::parquet::errors::{ParquetError, Result as ParquetResult};
use ::parquet::file::reader::{ChunkReader, FileReader, Length, SerializedFileReader};
use ::parquet::schema::types::Type;
use bytes::Bytes;

use crate::error::{Error, Result};
use fpstore_base::IoError;

/// Opens a file and reads its metadata.
pub(super) fn open(path: &Path, name: &str) -> Result<SerializedFileReader<ParquetFile>> {
    let file = File::open(path).map_err(IoError::of("open", path))?;
    SerializedFileReader::new(ParquetFile(file)).map_err(|fault| broken(name, fault))
}

/// The error for an invalid Parquet file.
pub(super) fn broken(name: &str, fault: ParquetError) -> Error {
    Error::BadFile { name: name.to_string(), reason: reason(fault) }
}

/// The reason why a file is invalid.
pub(super) fn reason(fault: ParquetError) -> String {
    match fault {
        ParquetError::External(cause) => format!("Parquet: {cause}"),
        fault => format!("Parquet: {fault}"),
    }
}

/// A file that fails on reads past its end.
///
/// The parser of page headers treats each value that it skips past the end as a value of no bytes.
/// So a header of a few bytes that announces a list of 2^31 numbers would take minutes.
pub(super) struct ParquetFile(File);

impl Length for ParquetFile {
    fn len(&self) -> u64 {
        Length::len(&self.0)
    }
}

impl ChunkReader for ParquetFile {
    type T = UntilEnd;

    fn get_read(&self, start: u64) -> ParquetResult<UntilEnd> {
        self.0.get_read(start).map(UntilEnd)
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let left = Length::len(&self.0).saturating_sub(start);
        // Checked first, because `get_bytes` of the file allocates the buffer before it reads.
        if length as u64 > left {
            return Err(ParquetError::EOF(ends_within(&format!("{length} bytes at {start}"))));
        }
        self.0.get_bytes(start, length)
    }
}

/// The bytes up to the end of a file; reading more is an error.
pub(super) struct UntilEnd(BufReader<File>);

impl Read for UntilEnd {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match self.0.read(to)? {
            0 if !to.is_empty() => {
                Err(io::Error::new(io::ErrorKind::UnexpectedEof, ends_within("a page header")))
            }
            count => Ok(count),
        }
    }
}

fn ends_within(expected: &str) -> String {
    format!("the file ends within {expected}")
}

/// A column of a file.
pub(super) struct Column {
    pub(super) name: String,
    /// Whether the column contains texts, and whether it is declared as UTF-8.
    pub(super) is_text: bool,
    pub(super) is_utf8: bool,
    pub(super) is_whole: bool,
    /// The uncompressed length of the texts in the column, or in its inner columns.
    pub(super) len: u64,
}

/// The columns of a file.
pub(super) fn columns(path: &Path) -> Result<Vec<Column>> {
    let reader = open(path, &path.display().to_string())?;
    let metadata = reader.metadata();
    let chunks = || metadata.row_groups().iter().flat_map(|group| group.columns());
    let column = |field: &Arc<Type>| {
        let kind = field.is_primitive().then(|| field.get_physical_type());
        let name = field.name().to_string();
        let of_field = chunks().filter(|chunk| {
            chunk.column_path().parts().first() == Some(&name)
                && chunk.column_type() == Physical::BYTE_ARRAY
        });
        Column {
            is_text: kind == Some(Physical::BYTE_ARRAY),
            is_utf8: field.get_basic_info().converted_type() == ConvertedType::UTF8
                || field.get_basic_info().logical_type_ref() == Some(&LogicalType::String),
            is_whole: matches!(kind, Some(Physical::INT32 | Physical::INT64)),
            len: of_field.map(|chunk| chunk.uncompressed_size().max(0).unsigned_abs()).sum(),
            name,
        }
    };
    Ok(metadata.file_metadata().schema().get_fields().iter().map(column).collect())
}

#[cfg(test)]
mod tests {
    use ::parquet::column::page::PageReader;
    use ::parquet::data_type::Int64Type;
    use ::parquet::file::writer::SerializedFileWriter;
    use ::parquet::schema::parser::parse_message_type;

    use super::*;

    #[test]
    fn a_list_without_end_in_a_page_header_is_refused_at_the_end_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("docs.parquet");
        let schema = parse_message_type("message docs { required int64 id; }").unwrap();
        let file = File::create(&path).unwrap();
        let mut writer =
            SerializedFileWriter::new(file, schema.into(), Default::default()).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(&[1, 2, 3], None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
        // Field 15 is unknown, and is a list of 2^31 - 1 numbers of 8 bytes.
        let header = [0xf9, 0xf7, 0xff, 0xff, 0xff, 0xff, 0x07];
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[4..4 + header.len()].copy_from_slice(&header);
        std::fs::write(&path, bytes).unwrap();
        let reader = open(&path, "docs").unwrap();
        let group = reader.get_row_group(0).unwrap();
        let mut pages: Box<dyn PageReader> = group.get_column_page_reader(0).unwrap();
        let fault = pages.get_next_page().unwrap_err().to_string();
        assert!(fault.contains("the file ends within a page header"), "{fault}");
        let reader = ParquetFile(File::open(&path).unwrap());
        let fault = reader.get_bytes(4, 1 << 40).unwrap_err().to_string();
        assert!(fault.contains("the file ends within 1099511627776 bytes at 4"), "{fault}");
    }
}
