//! Checks the contents of arrays of other libraries: offsets, keys of dictionaries, and texts,
//! which must be UTF-8. The caller guarantees that the buffers are as long as their types require.
//!
//! Numbers can have any bits. Values under a null have no meaning and are never read.

use std::fmt::Display;
use std::ops::Range;

use arrow_array::OffsetSizeTrait;
use arrow_data::{ArrayData, ByteView, MAX_INLINE_VIEW_LEN};
use arrow_schema::DataType;

use crate::foreign_fault::Fault;

/// Checks all values that can be read.
pub(crate) fn check(data: &ArrayData) -> Result<(), Fault> {
    if data.is_empty() {
        return Ok(());
    }
    match data.data_type() {
        kind if kind.is_primitive() => Ok(()),
        DataType::Null | DataType::Boolean => Ok(()),
        DataType::Utf8 => check_texts::<i32>(data),
        DataType::LargeUtf8 => check_texts::<i64>(data),
        DataType::Utf8View => check_views(data),
        DataType::Dictionary(..) => {
            data.validate_values()?;
            data.child_data().iter().try_for_each(check).map_err(Fault::of_dictionary)
        }
        DataType::Struct(fields) => {
            let columns = fields.iter().zip(data.child_data());
            for (field, column) in columns {
                let rows = column.slice(data.offset(), data.len());
                check(&rows).map_err(|fault| fault.within(field.name()))?;
            }
            Ok(())
        }
        // fpstore does not use this type, but `make_array` can read its values.
        _ => Ok(data.validate_full()?),
    }
}

/// Checks texts that are stored consecutively, with offsets.
fn check_texts<O: OffsetSizeTrait + Display>(data: &ArrayData) -> Result<(), Fault> {
    // A copy: the other library owns the offsets and may change them during the check.
    let offsets = data.buffer::<O>(0)[..=data.len()].to_vec();
    let bytes = data.buffers()[1].as_slice();
    let is_first_right = offsets[0] >= O::zero();
    // `bytes` got its length from the last offset at import, which may have changed since.
    if !is_first_right || !offsets.is_sorted() || offsets[data.len()].as_usize() > bytes.len() {
        let back = offsets.windows(2).position(|ends| ends[1] < ends[0]);
        let row = if is_first_right { back.unwrap_or_default() } else { 0 };
        let reason = format!(
            "its text is from byte {} to byte {} of {}, expected ascending offsets",
            offsets[row],
            offsets[row + 1],
            bytes.len()
        );
        return Err(Fault::of_row(row, reason));
    }
    let first = offsets[0].as_usize();
    let all = std::str::from_utf8(&bytes[first..offsets[data.len()].as_usize()]);
    let is_whole =
        |offset: &O| all.is_ok_and(|all| all.is_char_boundary(offset.as_usize() - first));
    if offsets.iter().all(is_whole) {
        return Ok(());
    }
    check_each(data, |row| {
        let range: Range<usize> = offsets[row].as_usize()..offsets[row + 1].as_usize();
        Ok(&bytes[range])
    })
}

/// Checks texts that are stored in views, or in buffers to which the views refer.
fn check_views(data: &ArrayData) -> Result<(), Fault> {
    let (views, bytes) = (data.buffer::<u128>(0), data.buffers()[0].as_slice());
    let buffers = &data.buffers()[1..];
    check_each(data, |row| {
        let view = ByteView::from(views[row]);
        if view.length <= MAX_INLINE_VIEW_LEN {
            let start = (data.offset() + row) * size_of::<u128>() + size_of::<u32>();
            return Ok(&bytes[start..start + view.length as usize]);
        }
        let start = view.offset as usize;
        let end = start + view.length as usize;
        let buffer = buffers.get(view.buffer_index as usize);
        buffer.and_then(|buffer| buffer.get(start..end)).ok_or_else(|| {
            let (number, count) = (view.buffer_index, buffers.len());
            let len = buffer.map_or(0, |buffer| buffer.len());
            format!(
                "its text is from byte {start} to byte {end} of buffer {number}, expected one of \
                 {count} buffers, and at most the {len} bytes of this buffer"
            )
        })
    })
}

/// Checks the bytes of each text that is not null.
fn check_each<'a>(
    data: &ArrayData,
    bytes_of: impl Fn(usize) -> Result<&'a [u8], String>,
) -> Result<(), Fault> {
    for row in (0..data.len()).filter(|row| !data.is_null(*row)) {
        let bytes = bytes_of(row).map_err(|reason| Fault::of_row(row, reason))?;
        if let Err(error) = std::str::from_utf8(bytes) {
            let at = error.valid_up_to();
            let reason = format!(
                "byte {at} of its text is 0x{:02x}, which is invalid UTF-8 there; expected texts \
                 in UTF-8: decode them with their own encoding",
                bytes[at]
            );
            return Err(Fault::of_row(row, reason));
        }
    }
    Ok(())
}
