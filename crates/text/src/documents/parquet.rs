//! Documents that are rows of a Parquet file.

use std::fs::File;
use std::path::Path;

use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::Field;
use ::parquet::schema::types::Type;

use super::inputs::Input;
use crate::error::{Error, Result};
use fpstore_base::{InputPlace, IoError};

/// Gives the rows, numbered from 1, to `take`, until it returns `false`. Only the columns
/// `id_field` and `text_field` are read.
pub(super) fn read(
    input: &Input,
    id_field: &str,
    text_field: &str,
    take: &mut dyn FnMut(u64, Result<(String, String), String>) -> bool,
) -> Result<()> {
    let Input { path, name, .. } = input;
    let bad = |row: u64, reason: String| Error::BadInput {
        name: name.clone(),
        place: InputPlace::Line(row),
        reason,
    };
    if path == Path::new("-") {
        return Err(bad(1, "Parquet is read from its end, so from a file, not from a pipe".into()));
    }
    let broken = |row: u64| move |fault: ParquetError| bad(row, format!("Parquet: {fault}"));
    let file = File::open(path).map_err(IoError::of("open", path))?;
    let reader = SerializedFileReader::new(file).map_err(broken(1))?;
    let schema = reader.metadata().file_metadata().schema();
    let columns = schema.get_fields();
    let column = |wanted: &str| {
        columns.iter().find(|column| column.name() == wanted).cloned().ok_or_else(|| {
            let names: Vec<&str> = columns.iter().map(|column| column.name()).collect();
            bad(1, format!("no column '{wanted}' among {}", names.join(", ")))
        })
    };
    let (id, text) = (column(id_field)?, column(text_field)?);
    let mut wanted = vec![id];
    if id_field != text_field {
        wanted.push(text);
    }
    let projection = Type::group_type_builder(schema.name()).with_fields(wanted).build();
    let rows = reader.get_row_iter(Some(projection.map_err(broken(1))?)).map_err(broken(1))?;
    for (number, row) in (1..).zip(rows) {
        let row = row.map_err(broken(number))?;
        let field = |wanted: &str| {
            let found = row.get_column_iter().find(|(name, _)| *name == wanted);
            found.map_or_else(
                || Err(format!("no column '{wanted}'")),
                |(_, field)| text_of(field, wanted),
            )
        };
        let fields = field(id_field).and_then(|id| Ok((id, field(text_field)?)));
        if !take(number, fields) {
            break;
        }
    }
    Ok(())
}

/// The text in a field, which may be a whole number.
fn text_of(field: &Field, name: &str) -> Result<String, String> {
    match field {
        Field::Str(text) => Ok(text.clone()),
        Field::Bytes(bytes) => super::decode::utf8_line(bytes.data()).map(str::to_string),
        Field::Byte(number) => Ok(number.to_string()),
        Field::Short(number) => Ok(number.to_string()),
        Field::Int(number) => Ok(number.to_string()),
        Field::Long(number) => Ok(number.to_string()),
        Field::UByte(number) => Ok(number.to_string()),
        Field::UShort(number) => Ok(number.to_string()),
        Field::UInt(number) => Ok(number.to_string()),
        Field::ULong(number) => Ok(number.to_string()),
        Field::Null => Err(format!("column '{name}' is null")),
        other => Err(format!("column '{name}' holds {other}, expected a text or a whole number")),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ::parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
    use ::parquet::file::writer::SerializedFileWriter;
    use ::parquet::schema::parser::parse_message_type;

    use super::*;

    #[test]
    fn rows_come_with_their_ids_and_nulls_are_bad() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("docs.parquet");
        let schema =
            "message docs { required int64 id; required double x; optional binary text (UTF8); }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let file = File::create(&path).unwrap();
        let mut writer = SerializedFileWriter::new(file, schema, Default::default()).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(&[7, 8], None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let numbers = [0.5, 1.5];
        column
            .typed::<::parquet::data_type::DoubleType>()
            .write_batch(&numbers, None, None)
            .unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let texts = [ByteArray::from("one two")];
        column.typed::<ByteArrayType>().write_batch(&texts, Some(&[1, 0]), None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();

        let mut rows = Vec::new();
        let mut take = |number, fields| {
            rows.push((number, fields));
            true
        };
        let input = Input { path: path.clone(), name: "docs".into(), len: None };
        read(&input, "id", "text", &mut take).unwrap();
        assert_eq!(rows[0], (1, Ok(("7".into(), "one two".into()))));
        assert_eq!(rows[1], (2, Err("column 'text' is null".into())));
        let error = read(&input, "id", "body", &mut |_, _| true).unwrap_err().to_string();
        assert!(error.contains("no column 'body' among id, x, text"), "{error}");
        std::fs::write(&path, "PAR1 but no more").unwrap();
        assert!(read(&input, "id", "text", &mut |_, _| true).is_err());
    }
}
