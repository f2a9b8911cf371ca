//! Copies of Arrow columns of texts. The owner of a column can change its bytes at any time, so the
//! bytes are copied first and the copy is checked.

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, GenericStringArray, LargeStringArray, OffsetSizeTrait, StringViewArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_data::{ByteView, MAX_INLINE_VIEW_LEN};
use arrow_schema::DataType;
use pyo3::prelude::*;

use crate::errors::input_error;

/// A copy of a column of texts, checked after copying, so that the checked bytes cannot change;
/// `None` for columns of other types.
pub(super) fn owned_texts(py: Python<'_>, column: &ArrayRef) -> PyResult<Option<LargeStringArray>> {
    let copied = match column.data_type() {
        DataType::Utf8 => copied_texts(column.as_string::<i32>()),
        DataType::LargeUtf8 => copied_texts(column.as_string::<i64>()),
        DataType::Utf8View => copied_views(column.as_string_view()),
        _ => return Ok(None),
    };
    copied.map(Some).ok_or_else(|| {
        input_error(
            py,
            "the texts were changed while they were read; Arrow data must not be changed",
        )
    })
}

/// A copy of a column of texts, or `None` if its offsets or texts became invalid since the first
/// check. Bytes under a null have no meaning and are omitted.
fn copied_texts<O: OffsetSizeTrait>(column: &GenericStringArray<O>) -> Option<LargeStringArray> {
    let offsets: Vec<O> = column.value_offsets().to_vec();
    let (first, last) = (offsets.first()?.to_usize()?, offsets.last()?.to_usize()?);
    let bytes = column.value_data().get(first..last)?;
    let ends = offsets.iter().map(|offset| offset.to_usize()?.checked_sub(first));
    let ends: Vec<usize> = ends.collect::<Option<_>>()?;
    let Some(nulls) = copied_nulls(column.nulls()) else {
        let ends = ends.into_iter().map(|end| i64::try_from(end).ok());
        return checked(ends.collect::<Option<_>>()?, bytes.to_vec(), None);
    };
    let (mut kept, mut kept_ends) = (Vec::with_capacity(bytes.len()), vec![0]);
    for (row, range) in ends.windows(2).enumerate() {
        if nulls.is_valid(row) {
            kept.extend_from_slice(bytes.get(range[0]..range[1])?);
        }
        kept_ends.push(i64::try_from(kept.len()).ok()?);
    }
    checked(kept_ends, kept, Some(nulls))
}

fn copied_views(column: &StringViewArray) -> Option<LargeStringArray> {
    let nulls = copied_nulls(column.nulls());
    let (mut ends, mut bytes) = (vec![0], Vec::new());
    for (row, view) in column.views().iter().copied().enumerate() {
        if nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)) {
            let ByteView { length, buffer_index, offset, .. } = ByteView::from(view);
            let (start, len) = (offset as usize, length as usize);
            match length <= MAX_INLINE_VIEW_LEN {
                true => bytes.extend_from_slice(view.to_le_bytes().get(4..4 + len)?),
                false => {
                    let buffer = column.data_buffers().get(buffer_index as usize)?;
                    bytes.extend_from_slice(buffer.get(start..start.checked_add(len)?)?);
                }
            }
        }
        ends.push(i64::try_from(bytes.len()).ok()?);
    }
    checked(ends, bytes, nulls)
}

fn copied_nulls(nulls: Option<&NullBuffer>) -> Option<NullBuffer> {
    nulls.map(|nulls| nulls.iter().collect())
}

/// The texts in `bytes` that end at the offsets `ends`, or `None` if offsets or bytes are invalid.
/// Texts under nulls are empty.
fn checked(ends: Vec<i64>, bytes: Vec<u8>, nulls: Option<NullBuffer>) -> Option<LargeStringArray> {
    // Checked first, because `OffsetBuffer::new` panics on descending offsets.
    let ends = ends.is_sorted().then(|| OffsetBuffer::new(ends.into()))?;
    LargeStringArray::try_new(ends, bytes.into(), nulls).ok()
}
