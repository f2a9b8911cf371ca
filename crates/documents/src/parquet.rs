//! Reads documents that are rows of a Parquet file.

use std::path::Path;

use ::parquet::file::reader::FileReader;
use ::parquet::record::Field;
use ::parquet::schema::types::Type;

use super::capped::TooLong;
use super::inputs::Input;
use super::options::Names;
use super::parquet_path::{self, Column};
use super::raw::RowFields;
use super::ready::ReadyForm;
use super::{parquet_check, parquet_file, paths};
use crate::error::{Error, Result};
use fpstore_base::Width;

/// Calls `take` with the rows, numbered from 1, until `take` returns `false`. Only the named
/// columns are read. A text of more than `len_max` bytes makes its row bad.
pub(super) fn read(
    input: &Input,
    names: Names<'_>,
    len_max: u64,
    take: &mut dyn FnMut(u64, Result<RowFields, String>) -> bool,
) -> Result<()> {
    let Input { path, name, .. } = input;
    let bad = |reason: String| Error::BadFile { name: name.clone(), reason };
    if path == Path::new("-") {
        return Err(bad(
            "Parquet is read from its end, so a pipe cannot be read; write it to a file \
                        first"
                .into(),
        ));
    }
    let broken = |fault| parquet_file::broken(name, fault);
    let reader = parquet_file::open(path, name)?;
    let schema = reader.metadata().file_metadata().schema();
    let columns = schema.get_fields();
    let all: Vec<&str> = columns.iter().map(|column| column.name()).collect();
    super::records::check_new(&all, names).map_err(bad)?;
    let is_ready = names.ready.is_some();
    let find = |name| {
        let found = Column::find(columns, name)?;
        found.ok_or_else(|| super::records::no_column(&all, name, is_ready))
    };
    let single = |name| match find(name) {
        Ok(column) if column.is_list() => Err(paths::not_single(name)),
        found => found,
    };
    let text = if is_ready { single(names.text) } else { find(names.text) }.map_err(bad)?;
    let own_id = names.id.map(single).transpose().map_err(bad)?;
    let others = names.fields.iter().map(|name| single(name));
    let others: Vec<Column<'_>> = others.collect::<Result<_, _>>().map_err(bad)?;
    let found = [text].into_iter().chain(own_id).chain(others.iter().copied());
    let mut places: Vec<usize> = found.map(|column| column.place).collect();
    places.sort_unstable();
    places.dedup();
    let wanted_names: Vec<&str> = places.iter().map(|&place| all[place]).collect();
    parquet_check::check(&reader, &wanted_names).map_err(bad)?;
    let wanted = places.iter().map(|&place| columns[place].clone()).collect();
    let schema_columns = reader.metadata().file_metadata().schema_descr();
    let witness = parquet_path::witness(schema_columns, &names);
    let witness = witness.and_then(|(_, name)| match name == text.name {
        true => Some(text),
        false => own_id,
    });
    let projection = Type::group_type_builder(schema.name()).with_fields(wanted).build();
    let rows = reader.get_row_iter(Some(projection.map_err(broken)?)).map_err(broken)?;
    for (number, row) in (1..).zip(rows) {
        let row = row.map_err(broken)?;
        let field = |column: Column<'_>| {
            let mut fields = row.get_column_iter();
            let found = fields.find(|(name, _)| *name == all[column.place]);
            found.map_or(&Field::Null, |(_, field)| field)
        };
        let id = own_id.map_or(Ok(String::new()), |id| id_of(id.value(field(id)), id.name));
        let fields = id.and_then(|id| {
            let text = match names.ready {
                None if text.is_list() => text.texts(field(text), &|one| text_of(one, text.name)),
                None => text_of(text.value(field(text)), text.name),
                Some(form) => fingerprint_of(text.value(field(text)), text.name, form),
            }?;
            if text.len() as u64 > len_max {
                return Err(format!("the text is {}", TooLong { len_max }));
            }
            let other = |column: &Column<'_>| other_of(column.value(field(*column)), column.name);
            let fields = others.iter().map(other).collect::<Result<_, _>>()?;
            let digest =
                witness.and_then(|column| parquet_path::digest(column.value(field(column))));
            Ok(RowFields { digest, id, text, fields })
        });
        if !take(number, fields) {
            break;
        }
    }
    Ok(())
}

fn id_of(field: &Field, name: &str) -> Result<String, String> {
    if *field == Field::Null {
        return Err(format!("column '{name}' is null, so the row has no id"));
    }
    text_of(field, name)
}

/// The text or number in a field, as text; null means no value.
fn other_of(field: &Field, name: &str) -> Result<Option<String>, String> {
    match field {
        Field::Null => Ok(None),
        Field::Float(number) => Ok(Some(number.to_string())),
        Field::Double(number) => Ok(Some(number.to_string())),
        // Dates are in RFC 3339 format, like dates in files of other formats.
        Field::Date(_) | Field::TimestampMillis(_) | Field::TimestampMicros(_) => {
            Ok(Some(field.to_string()))
        }
        other => text_of(other, name).map(Some),
    }
}

/// The text or whole number in a field, as text; null is an empty text.
fn text_of(field: &Field, name: &str) -> Result<String, String> {
    match field {
        Field::Null => Ok(String::new()),
        Field::Str(text) => Ok(text.clone()),
        Field::Bytes(bytes) => {
            super::decode::utf8_of(bytes.data(), &format!("'{name}'")).map(str::to_string)
        }
        Field::Byte(number) => Ok(number.to_string()),
        Field::Short(number) => Ok(number.to_string()),
        Field::Int(number) => Ok(number.to_string()),
        Field::Long(number) => Ok(number.to_string()),
        Field::UByte(number) => Ok(number.to_string()),
        Field::UShort(number) => Ok(number.to_string()),
        Field::UInt(number) => Ok(number.to_string()),
        Field::ULong(number) => Ok(number.to_string()),
        other => Err(format!("column '{name}' holds {other}, expected a text or a whole number")),
    }
}

/// The digits of the fingerprint in a field, which is a text, or a number of at least as many bits
/// as the width: a smaller number type would have lost the upper bits of a fingerprint.
fn fingerprint_of(field: &Field, name: &str, form: ReadyForm) -> Result<String, String> {
    let width = form.width.bits();
    match field {
        Field::Long(number) => form.digits_of_signed(*number),
        Field::ULong(number) => form.digits_of_number(*number),
        Field::Int(number) if width <= 32 => form.digits_of_signed((*number).into()),
        Field::UInt(number) if width <= 32 => form.digits_of_number((*number).into()),
        Field::Short(number) if width <= 16 => form.digits_of_signed((*number).into()),
        Field::UShort(number) if width <= 16 => form.digits_of_number((*number).into()),
        Field::Byte(number) if width <= 8 => form.digits_of_signed((*number).into()),
        Field::UByte(number) if width <= 8 => form.digits_of_number((*number).into()),
        Field::Bytes(bytes) if str::from_utf8(bytes.data()).is_err() => Err(format!(
            "column '{name}' holds bytes, expected fingerprints as numbers of {width} bits or as \
             texts, such as value.hex() of Python"
        )),
        Field::Null | Field::Str(_) | Field::Bytes(_) => {
            form.digits_of_text(&text_of(field, name)?)
        }
        Field::Int(_) | Field::UInt(_) if form.width == Width::FULL => Err(format!(
            "column '{name}' holds numbers of 32 bits, expected fingerprints of 64; to make a \
             store of 32 bits, use --bits 32"
        )),
        other => Err(format!(
            "column '{name}' holds {other}, expected fingerprints as numbers of {width} bits or as \
             texts"
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::sync::Arc;

    use ::parquet::basic::Compression;
    use ::parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
    use ::parquet::file::properties::WriterProperties;
    use ::parquet::file::writer::SerializedFileWriter;
    use ::parquet::schema::parser::parse_message_type;

    use super::super::guard::guarded;
    use super::*;

    const NAMES: Names<'static> =
        Names { id: Some("id"), text: "text", ready: None, fields: &[], new: &[] };

    fn row(id: &str, text: &str) -> RowFields {
        let digest = Some(super::super::raw::digest_of([text]));
        RowFields { digest, id: id.into(), text: text.into(), fields: Vec::new() }
    }

    /// A file with two rows in columns `id`, `x` and `text`; the second text is null.
    fn write_file(path: &Path, compression: Compression) {
        let schema =
            "message docs { required int64 id; required double x; optional binary text (UTF8); }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let file = File::create(path).unwrap();
        let properties = WriterProperties::builder().set_compression(compression).build();
        let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(&[-7, 8], None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<DoubleType>().write_batch(&[0.5, 1.5], None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let texts = [ByteArray::from("one two")];
        column.typed::<ByteArrayType>().write_batch(&texts, Some(&[1, 0]), None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
    }

    /// Three rows: the first row has all values, some values of the second are null or empty, and
    /// all values of the third are null.
    fn write_nested(path: &Path) {
        let schema = "message docs {
            required int64 id;
            optional group meta { optional binary url (UTF8); }
            optional group messages (LIST) {
                repeated group list {
                    optional group element { optional binary content (UTF8); }
                }
            }
            optional group tags (LIST) { repeated group list { optional binary element (UTF8); } }
        }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let file = File::create(path).unwrap();
        let mut writer = SerializedFileWriter::new(file, schema, Default::default()).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(&[1, 2, 3], None, None).unwrap();
        column.close().unwrap();
        for (texts, defined, repeated) in [
            (&["a url"][..], &[2, 0, 1][..], None),
            (&["one", "two"], &[4, 4, 3, 0], Some(&[0, 1, 0, 0][..])),
            (&["x", "y"], &[3, 3, 1, 0], Some(&[0, 1, 0, 0])),
        ] {
            let texts: Vec<ByteArray> = texts.iter().map(|text| ByteArray::from(*text)).collect();
            let mut column = group.next_column().unwrap().unwrap();
            let typed = column.typed::<ByteArrayType>();
            typed.write_batch(&texts, Some(defined), repeated).unwrap();
            column.close().unwrap();
        }
        group.close().unwrap();
        writer.close().unwrap();
    }

    #[test]
    fn fingerprints_as_bytes_are_refused() {
        let of = |bytes: &[u8]| {
            fingerprint_of(&Field::Bytes(bytes.to_vec().into()), "h", ReadyForm::default())
        };
        let refused = of(&[0xf2, 0xa7, 0x4d, 0xe4, 0x52, 0xe6, 0xb4, 0x30]).unwrap_err();
        assert!(refused.starts_with("column 'h' holds bytes, expected fingerprints"), "{refused}");
        assert_eq!(of(b"f2a74de452e6b430").unwrap(), "hf2a74de452e6b430");
    }

    #[test]
    fn names_lead_into_structs_and_lists() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("docs.parquet");
        write_nested(&path);
        let input = Input::named(path);
        let rows = |names: Names<'_>| {
            let mut rows = Vec::new();
            let done = read(&input, names, 100, &mut |_, fields| {
                rows.push(fields.map(|fields| (fields.id, fields.text, fields.fields)));
                true
            });
            done.map(|()| rows).map_err(|error| error.to_string())
        };
        let texts = |text| {
            let rows = rows(Names { text, ..NAMES }).unwrap();
            rows.into_iter().map(|row| row.unwrap().1).collect::<Vec<_>>()
        };
        assert_eq!(texts("meta.url"), ["a url", "", ""]);
        assert_eq!(texts("messages[].content"), ["one\ntwo", "", ""]);
        assert_eq!(texts("tags[]"), ["x\ny", "", ""]);
        // The id and other fields may be in structs, also in the struct of the text.
        let fields = ["meta.url", "id"].map(String::from);
        let names = Names { id: Some("meta.url"), text: "tags[]", fields: &fields, ..NAMES };
        let found = rows(names).unwrap();
        let others = vec![Some("a url".into()), Some("1".into())];
        assert_eq!(found[0], Ok(("a url".into(), "x\ny".into(), others)));
        assert!(found[1].as_ref().unwrap_err().contains("column 'meta.url' is null"));
        for (id, text, part) in [
            ("id", "tags", "column 'tags' is an array, expected a text; 'tags[]' names"),
            ("id", "messages[].text", "no field 'text' in column 'messages[]', only content"),
            ("id", "meta", "column 'meta' is an object"),
            ("id", "body", "no column 'body' among id, meta, messages, tags"),
            ("tags[]", "meta.url", "'tags[]' names the values of an array"),
        ] {
            let reason = rows(Names { id: Some(id), text, ..NAMES }).unwrap_err();
            assert!(reason.contains(part), "{reason}");
        }
    }

    /// The Parquet reader panics on some invalid bytes. Changes every byte of a small file in turn,
    /// in several ways; each file is read, or rejected with an error.
    #[test]
    fn a_file_with_any_byte_changed_is_read_or_refused_and_never_ends_the_program() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("docs.parquet");
        write_file(&path, Compression::SNAPPY);
        let intact = std::fs::read(&path).unwrap();
        let input = Input::named(path.clone());
        let mut panics = 0;
        for at in 0..intact.len() {
            for new in [intact[at] ^ 1, intact[at] ^ 0x80, intact[at].wrapping_add(3), 0xff] {
                let mut bytes = intact.clone();
                bytes[at] = new;
                std::fs::write(&path, bytes).unwrap();
                let read = guarded(|| read(&input, NAMES, 1000, &mut |_, _| true).is_ok());
                panics += usize::from(read.is_err());
            }
        }
        assert!(panics > 0, "the test no longer shows that panics are caught");
    }

    #[test]
    fn every_codec_that_is_in_use_is_read() {
        for codec in [
            Compression::UNCOMPRESSED,
            Compression::ZSTD(Default::default()),
            Compression::SNAPPY,
            Compression::GZIP(Default::default()),
            Compression::BROTLI(Default::default()),
            Compression::LZ4,
            Compression::LZ4_RAW,
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("docs.parquet");
            write_file(&path, codec);
            let mut texts = Vec::new();
            read(&Input::named(path), NAMES, 100, &mut |_, fields| {
                texts.push(fields.unwrap().text);
                true
            })
            .unwrap();
            assert_eq!(texts, ["one two", ""], "{codec}");
        }
    }

    #[test]
    fn fingerprints_are_numbers_of_64_bits_or_texts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("prints.parquet");
        write_file(&path, Compression::UNCOMPRESSED);
        let input = Input::named(path);
        let read_column = |text| {
            let mut rows = Vec::new();
            let names = Names { text, ready: Some(ReadyForm::default()), ..NAMES };
            read(&input, names, 100, &mut |_, fields| {
                rows.push(fields.map(|fields| fields.text));
                true
            })
            .unwrap();
            rows
        };
        let numbers = ["fffffffffffffff9", "0000000000000008"].map(|digits| Ok(digits.into()));
        assert_eq!(read_column("id"), numbers);
        let [refused, _] = read_column("x").try_into().unwrap();
        assert!(refused.unwrap_err().contains("column 'x' holds 0.5, expected fingerprints"));
        let [refused, null] = read_column("text").try_into().unwrap();
        assert!(refused.unwrap_err().contains("'one two' is not a fingerprint"));
        assert_eq!(null, Ok(String::new()));
    }

    #[test]
    fn rows_come_with_their_ids_and_a_null_is_an_empty_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("docs.parquet");
        write_file(&path, Compression::UNCOMPRESSED);
        let mut rows = Vec::new();
        let mut take = |number, fields| {
            rows.push((number, fields));
            true
        };
        let input = Input::named(path.clone());
        read(&input, NAMES, 100, &mut take).unwrap();
        assert_eq!(rows[0], (1, Ok(row("-7", "one two"))));
        assert_eq!(rows[1], (2, Ok(row("8", ""))));
        rows.clear();
        let mut take = |number, fields: Result<_, String>| {
            rows.push((number, fields));
            true
        };
        read(&input, NAMES, 6, &mut take).unwrap();
        assert!(rows[0].1.as_ref().unwrap_err().starts_with("the text is longer than the 6 bytes"));
        let error = read(&input, Names { text: "body", ..NAMES }, 100, &mut |_, _| true)
            .unwrap_err()
            .to_string();
        assert!(error.contains("no column 'body' among id, x, text"), "{error}");
        std::fs::write(&path, "PAR1 but no more").unwrap();
        assert!(read(&input, NAMES, 100, &mut |_, _| true).is_err());
    }
}
