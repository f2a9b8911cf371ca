//! The columns of a Parquet file, to guess which of them has the ids and which the texts.

use std::path::Path;
use std::sync::Arc;

use ::parquet::basic::Type as Physical;
use ::parquet::file::reader::FileReader;
use ::parquet::schema::types::Type;

use crate::error::Result;

/// The columns of a file: the name, whether it holds texts, whether it holds whole numbers.
pub(super) fn columns(path: &Path) -> Result<Vec<(String, bool, bool)>> {
    let reader = super::parquet_file::open(path, &path.display().to_string())?;
    let fields = reader.metadata().file_metadata().schema().get_fields().iter();
    let column = |field: &Arc<Type>| {
        let kind = field.is_primitive().then(|| field.get_physical_type());
        let is_text = kind == Some(Physical::BYTE_ARRAY);
        let is_whole = matches!(kind, Some(Physical::INT32 | Physical::INT64));
        (field.name().to_string(), is_text, is_whole)
    };
    Ok(fields.map(column).collect())
}
