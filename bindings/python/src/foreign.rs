//! Checks Arrow data that other libraries pass through the C interface, before it is used.
//!
//! The interface passes addresses without the lengths of buffers. The lengths follow from row
//! counts and last offsets, and are trusted. Counts, row counts, null counts, offsets and missing
//! buffers are checked here, the contents of buffers in [`contents`](crate::contents). The
//! interface is specified at <https://arrow.apache.org/docs/format/CDataInterface.html>.
//!
//! For example, an array of three texts has the buffers validity, offsets and bytes. Its four
//! offsets are trusted to exist; a null address of the offsets, or a negative last offset, is
//! refused before any text is read.
#![expect(unsafe_code, reason = "the C interface passes pointers")]

use std::ffi::{CStr, c_char, c_void};
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi_and_data_type};
use arrow_array::{ArrayRef, NullArray, make_array};
use arrow_buffer::bit_chunk_iterator::UnalignedBitChunk;
use arrow_data::layout;
use arrow_schema::DataType;

use crate::contents;
use crate::foreign_fault::Fault;

/// The maximum nesting depth of types.
const LEVELS_MAX: usize = 64;
/// The maximum width in bytes of a value of a fixed-width type, except `FixedSizeBinary`.
const WIDTH_MAX: usize = 32;

/// `struct ArrowSchema` of the interface.
#[repr(C)]
struct RawSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *const *const RawSchema,
    dictionary: *const RawSchema,
    release: Option<unsafe extern "C" fn(*mut RawSchema)>,
    private_data: *mut c_void,
}

/// `struct ArrowArray` of the interface.
#[repr(C)]
struct RawArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *const *const u8,
    children: *const *const RawArray,
    dictionary: *const RawArray,
    release: Option<unsafe extern "C" fn(*mut RawArray)>,
    private_data: *mut c_void,
}

const _: () = assert!(size_of::<RawSchema>() == size_of::<FFI_ArrowSchema>());
const _: () = assert!(size_of::<RawArray>() == size_of::<FFI_ArrowArray>());

fn released() -> Fault {
    Fault::new("this Arrow data was already consumed; create it again")
}

/// The type that a schema describes.
///
/// # Safety
///
/// Each address in the schema is null or valid as the interface specifies.
pub(crate) unsafe fn kind_of(schema: &FFI_ArrowSchema) -> Result<DataType, Fault> {
    if schema.release().is_none() {
        return Err(released());
    }
    // SAFETY: both types have the layout of `struct ArrowSchema`; the caller guarantees its
    // addresses.
    unsafe { check_schema(&*std::ptr::from_ref(schema).cast::<RawSchema>(), LEVELS_MAX)? };
    Ok(DataType::try_from(schema)?)
}

/// Checks an array of the type `kind` and takes it. `rows_before` is the number of rows in earlier
/// arrays of its column.
///
/// # Safety
///
/// Each address in the array is null or valid as the interface specifies. Buffers have the lengths
/// that follow from row counts and last offsets.
pub(crate) unsafe fn array_of(
    array: FFI_ArrowArray,
    kind: &DataType,
    rows_before: usize,
) -> Result<ArrayRef, Fault> {
    if array.is_released() {
        return Err(released());
    }
    // SAFETY: both types have the layout of `struct ArrowArray`; the caller guarantees its
    // addresses.
    unsafe { check_array(&*std::ptr::from_ref(&array).cast::<RawArray>(), kind)? };
    if *kind == DataType::Null {
        // Some libraries add buffers, although arrays of this type have none.
        return Ok(Arc::new(NullArray::new(array.len())));
    }
    // SAFETY: counts and buffers match the type, as checked above; the contents are checked below,
    // before they are read.
    let data = unsafe { from_ffi_and_data_type(array, kind.clone())? };
    contents::check(&data).map_err(|fault| fault.after(rows_before))?;
    Ok(make_array(data))
}

/// Converts a count of the interface, which is signed. Fails if it is negative.
fn count_of(what: &str, count: i64) -> Result<usize, Fault> {
    usize::try_from(count)
        .map_err(|_| Fault::new(format!("its {what} is {count}, expected 0 or more")))
}

/// # Safety
///
/// The same as for [`kind_of`].
unsafe fn check_schema(schema: &RawSchema, levels: usize) -> Result<(), Fault> {
    let Some(levels) = levels.checked_sub(1) else {
        let reason = format!("its types are nested deeper than {LEVELS_MAX} levels");
        return Err(Fault::new(reason));
    };
    // SAFETY: the caller guarantees that each address is null or points to a null-terminated text.
    let (format, name) = unsafe { (text_at(schema.format)?, text_at(schema.name)?) };
    let name = name.unwrap_or_default();
    let Some(format) = format else {
        return Err(Fault::new("the format of its type is null").within(name));
    };
    let expected = match format {
        "+l" | "+L" | "+vl" | "+vL" | "+m" => Some(1),
        "+r" => Some(2),
        _ if format.starts_with("+w:") => Some(1),
        _ if format.starts_with('+') => None,
        _ => Some(0),
    };
    let count = count_of("number of columns in the type", schema.n_children)?;
    if let Some(expected) = expected
        && count != expected
    {
        let reason = format!("its type '{format}' has {count} parts, expected {expected}");
        return Err(Fault::new(reason).within(name));
    }
    // SAFETY: the caller guarantees the addresses of the children and of the dictionary.
    unsafe {
        for child in children(schema.children, count)? {
            check_schema(child, levels)?;
        }
        if let Some(values) = schema.dictionary.as_ref() {
            check_schema(values, levels)?;
        }
    }
    Ok(())
}

/// # Safety
///
/// The address is null or points to a null-terminated text that lives as long as `'a`.
unsafe fn text_at<'a>(at: *const c_char) -> Result<Option<&'a str>, Fault> {
    if at.is_null() {
        return Ok(None);
    }
    // SAFETY: the address is not null, so the caller guarantees a null-terminated text.
    let text = unsafe { CStr::from_ptr(at) };
    match text.to_str() {
        Ok(text) => Ok(Some(text)),
        Err(_) => {
            let reason = format!("the name '{}' is not UTF-8", text.to_string_lossy());
            Err(Fault::new(reason))
        }
    }
}

/// The child types of a type, or the child arrays of an array.
///
/// # Safety
///
/// `at` is null or points to `count` addresses, each of them null or the address of a `T`.
unsafe fn children<'a, T>(at: *const *const T, count: usize) -> Result<Vec<&'a T>, Fault> {
    if count > 0 && at.is_null() {
        return Err(Fault::new(format!(
            "it has {count} columns, but the address of its columns is \
                                       null"
        )));
    }
    let child = |number: usize| {
        // SAFETY: `number` is less than `count`, and the caller guarantees `count` addresses.
        unsafe { at.add(number).read_unaligned().as_ref() }
            .ok_or_else(|| Fault::new(format!("the address of its column number {number} is null")))
    };
    (0..count).map(child).collect()
}

/// # Safety
///
/// The same as for [`array_of`].
unsafe fn check_array(array: &RawArray, kind: &DataType) -> Result<(), Fault> {
    if *kind == DataType::Null {
        return count_of("length", array.length).map(drop);
    }
    let (len, end) = check_len(array, kind)?;
    // SAFETY: the caller guarantees the addresses; `len` and `end` are those of the array.
    unsafe {
        check_buffers(array, kind, len, end)?;
        check_children(array, kind, end)?;
        match (kind, array.dictionary.as_ref()) {
            (DataType::Dictionary(_, kind), Some(values)) => {
                check_array(values, kind).map_err(Fault::of_dictionary)
            }
            (DataType::Dictionary(..), None) => {
                Err(Fault::new("its dictionary is null, expected the values of its keys"))
            }
            (_, Some(_)) => {
                Err(Fault::new(format!("it has a dictionary, but its type {kind} allows none")))
            }
            (_, None) => Ok(()),
        }
    }
}

/// Checks the row counts of an array. Returns its length, and its offset plus its length.
fn check_len(array: &RawArray, kind: &DataType) -> Result<(usize, usize), Fault> {
    let width = match kind {
        DataType::FixedSizeBinary(width) => count_of("width", i64::from(*width))?,
        DataType::FixedSizeList(_, count) => count_of("number of items", i64::from(*count))?,
        _ => WIDTH_MAX,
    };
    let (len, offset) = (count_of("length", array.length)?, count_of("offset", array.offset)?);
    // The limit keeps all sums and products below within `isize`, also counted in bits.
    let most = isize::MAX as usize / 8 / width.max(WIDTH_MAX);
    let Some(end) = len.checked_add(offset).filter(|end| *end <= most) else {
        let reason =
            format!("its offset {offset} and length {len} exceed the limit of {most} rows");
        return Err(Fault::new(reason));
    };
    if array.null_count < -1 || array.null_count > array.length {
        let reason = format!(
            "its null count is {}, expected 0 to its length of {len}, or -1 for unknown",
            array.null_count
        );
        return Err(Fault::new(reason));
    }
    Ok((len, end))
}

/// # Safety
///
/// The same as for [`array_of`].
unsafe fn check_buffers(
    array: &RawArray,
    kind: &DataType,
    len: usize,
    end: usize,
) -> Result<(), Fault> {
    let layout = layout(kind);
    let first = usize::from(layout.can_contain_null_mask);
    let expected = first + layout.buffers.len();
    let found = count_of("number of buffers", array.n_buffers)?;
    // Arrays of views have any number of data buffers, and then a buffer with the lengths of these.
    let is_right = if layout.variadic { found > expected } else { found == expected };
    if !is_right {
        let more = if layout.variadic { " or more" } else { "" };
        let expected = expected + usize::from(layout.variadic);
        let reason =
            format!("it has {found} buffers, but an array of type {kind} has {expected}{more}");
        return Err(Fault::new(reason));
    }
    if found > 0 && array.buffers.is_null() {
        return Err(Fault::new(format!(
            "it has {found} buffers, but the address of its buffers is \
                                       null"
        )));
    }
    // SAFETY: `buffers` contains `found` addresses, and `number` is less than `found`.
    let buffer = |number: usize| unsafe { array.buffers.add(number).read_unaligned() };
    if layout.can_contain_null_mask {
        // SAFETY: the bitmap is null or has a bit for each of the `end` rows.
        unsafe { check_nulls(array, buffer(0), len, end)? };
    }
    if end > 0 {
        let is_missing = |number: &usize| buffer(*number).is_null();
        let of_values = match kind {
            DataType::Utf8 | DataType::Binary | DataType::LargeUtf8 | DataType::LargeBinary => {
                first..first + 1
            }
            _ => first..expected,
        };
        if let Some(number) = of_values.clone().find(is_missing) {
            let reason = format!("its buffer number {number} is null, expected {end} values");
            return Err(Fault::new(reason));
        }
    }
    match kind {
        // SAFETY: buffer 1 is null or has `end` + 1 offsets; for `end` = 0 it is not read.
        DataType::Utf8 | DataType::Binary if end > 0 => unsafe {
            check_end::<i32>(buffer(1), buffer(2), end)
        },
        // SAFETY: the same, with offsets of 64 bits.
        DataType::LargeUtf8 | DataType::LargeBinary if end > 0 => unsafe {
            check_end::<i64>(buffer(1), buffer(2), end)
        },
        DataType::Utf8View | DataType::BinaryView => {
            let lengths = buffer(found - 1);
            for number in 0..found - expected - 1 {
                // SAFETY: the last buffer is null or contains the length of each data buffer.
                let length: i64 = unsafe { value_at(lengths, number, "lengths")? };
                let length = count_of("length of a buffer", length)?;
                if length > 0 && buffer(expected + number).is_null() {
                    let number = expected + number;
                    let reason =
                        format!("its buffer number {number} is null, expected {length} bytes");
                    return Err(Fault::new(reason));
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// # Safety
///
/// The bitmap is null or has `end` bits; the last `len` of them belong to the rows.
unsafe fn check_nulls(
    array: &RawArray,
    bitmap: *const u8,
    len: usize,
    end: usize,
) -> Result<(), Fault> {
    // An unknown null count (-1) needs no check: the arrow crates count the nulls themselves.
    let Ok(expected) = usize::try_from(array.null_count) else { return Ok(()) };
    let found = if bitmap.is_null() {
        0
    } else {
        // SAFETY: the bitmap is not null, so the caller guarantees `end` bits.
        let bits = unsafe { std::slice::from_raw_parts(bitmap, end.div_ceil(8)) };
        len - UnalignedBitChunk::new(bits, end - len, len).count_ones()
    };
    if found != expected {
        let reason = format!("its null count is {expected}, expected {found} as in its bitmap");
        return Err(Fault::new(reason));
    }
    Ok(())
}

/// Checks the last offset, which is the total length of the texts in bytes.
///
/// # Safety
///
/// `offsets` is null or the address of `end` + 1 offsets.
unsafe fn check_end<T: TryInto<usize> + Copy + std::fmt::Display>(
    offsets: *const u8,
    values: *const u8,
    end: usize,
) -> Result<(), Fault> {
    // SAFETY: the caller guarantees that `offsets` is null or has `end` + 1 values.
    let last: T = unsafe { value_at(offsets, end, "offsets")? };
    let len: usize = last
        .try_into()
        .map_err(|_| Fault::new(format!("its last offset is {last}, expected 0 or more")))?;
    if len > 0 && values.is_null() {
        return Err(Fault::new(format!("its buffer number 2 is null, expected {len} bytes")));
    }
    Ok(())
}

/// Reads the value at index `number` of a buffer. Fails if the address is null or not aligned.
///
/// # Safety
///
/// `at` is null or the address of more than `number` values.
unsafe fn value_at<T: Copy>(at: *const u8, number: usize, what: &str) -> Result<T, Fault> {
    if at.is_null() {
        return Err(Fault::new(format!("the buffer of its {what} is null")));
    }
    let at = at.cast::<T>();
    if !at.is_aligned() {
        let reason = format!(
            "the address of its {what} is not a multiple of {}; copy the column",
            align_of::<T>()
        );
        return Err(Fault::new(reason));
    }
    // SAFETY: the address is aligned and not null, so the caller guarantees more than `number`
    // values.
    Ok(unsafe { *at.add(number) })
}

/// # Safety
///
/// The same as for [`array_of`].
unsafe fn check_children(array: &RawArray, kind: &DataType, end: usize) -> Result<(), Fault> {
    let fields: Vec<_> = match kind {
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => vec![field],
        DataType::Struct(fields) => fields.iter().collect(),
        DataType::Union(fields, _) => fields.iter().map(|(_, field)| field).collect(),
        DataType::RunEndEncoded(ends, values) => vec![ends, values],
        _ => Vec::new(),
    };
    let count = count_of("number of columns", array.n_children)?;
    if count != fields.len() {
        let reason = format!("it has {count} columns, expected {} as in its type", fields.len());
        return Err(Fault::new(reason));
    }
    // SAFETY: the caller guarantees that `children` is null or contains `count` addresses.
    let columns = unsafe { children(array.children, count)? };
    for (field, column) in fields.into_iter().zip(columns) {
        // SAFETY: the caller guarantees the addresses in the column, as in all children.
        let checked = unsafe { check_array(column, field.data_type()) };
        let checked = checked.and_then(|()| {
            let is_table = matches!(kind, DataType::Struct(_));
            if is_table && (column.length as usize) < end {
                let rows = column.length;
                return Err(Fault::new(format!("it has {rows} rows, expected {end} as its table")));
            }
            Ok(())
        });
        checked.map_err(|fault| fault.within(field.name()))?;
    }
    Ok(())
}
