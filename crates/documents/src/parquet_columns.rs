//! The columns of a Parquet file, to guess which of them has the ids and which the texts.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use ::parquet::basic::Type as Physical;
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::schema::types::Type;

use crate::error::{Error, Result};
use fpstore_base::IoError;

/// The columns of a file: the name, whether it holds texts, whether it holds whole numbers.
pub(super) fn columns(path: &Path) -> Result<Vec<(String, bool, bool)>> {
    let bad = |fault: ParquetError| Error::BadFile {
        name: path.display().to_string(),
        reason: format!("Parquet: {fault}"),
    };
    let file = File::open(path).map_err(IoError::of("open", path))?;
    let reader = SerializedFileReader::new(file).map_err(bad)?;
    let fields = reader.metadata().file_metadata().schema().get_fields().iter();
    let column = |field: &Arc<Type>| {
        let kind = field.is_primitive().then(|| field.get_physical_type());
        let is_text = kind == Some(Physical::BYTE_ARRAY);
        let is_whole = matches!(kind, Some(Physical::INT32 | Physical::INT64));
        (field.name().to_string(), is_text, is_whole)
    };
    Ok(fields.map(column).collect())
}
