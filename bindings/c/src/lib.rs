//! The C interface of fpstore. `fpstore.h` documents every function; the functions here have the
//! names and the order of the header.
//!
//! Every function that can fail runs in `call`, which catches panics and writes the error text into
//! the caller's buffer.

#![deny(unsafe_op_in_unsafe_fn)]

use std::ffi::{CStr, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use fpstore::{
    Access, Answer, CutBy, Error, Fingerprint, IdRef, Limits, OpenOptions, Searcher, Store, Warm,
};

/// `FPS_ABI` of the header: the number in the name of the shared library.
const ABI: u32 = 0;
/// The status of a success.
const OK: c_int = 0;
const NAMES: [&CStr; 8] = [
    c"FPS_OK",
    c"FPS_USAGE",
    c"FPS_NO_STORE",
    c"FPS_VERSION",
    c"FPS_CORRUPT",
    c"FPS_IO",
    c"FPS_OTHER",
    c"FPS_PANIC",
];

/// `fps_store`.
pub struct FpsStore(Store);

/// `fps_searcher`: a searcher, its store, and the arrays of its last answer.
pub struct FpsSearcher {
    searcher: Searcher,
    store: Store,
    arrays: Arrays,
}

/// The arrays of an answer, which belong to the searcher.
#[derive(Default)]
struct Arrays {
    hits: Vec<FpsHit>,
    ids: Vec<FpsId>,
    hit_ends: Vec<u64>,
    cuts: Vec<u8>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct FpsOpenOptions {
    pub size: usize,
    pub access: u32,
    pub warm: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct FpsInfo {
    pub generation: u64,
    pub fingerprint_count: u64,
    pub id_count: u64,
    pub file_len: u64,
    pub bits: u32,
    pub tuned_k: u32,
    pub segment_count: u32,
    pub sketch_len: u32,
    pub store_id: [u8; 16],
    pub reserved: [u64; 4],
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct FpsQuery {
    pub needle: u64,
    pub k: u32,
    pub max_ids: u32,
    pub limit: u64,
    pub max_compared: u64,
    pub timeout_us: u64,
    pub reserved: [u64; 2],
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FpsHit {
    pub fingerprint: u64,
    pub first_id: u64,
    pub id_count: u32,
    pub distance: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct FpsId {
    pub text: *const c_char,
    pub len: usize,
    pub number: u64,
}

#[repr(C)]
pub struct FpsAnswer {
    pub hits: *const FpsHit,
    pub hit_count: usize,
    pub ids: *const FpsId,
    pub id_count: usize,
    pub generation: u64,
    pub cut: u32,
    pub reserved_word: u32,
    pub reserved: [u64; 2],
}

#[repr(C)]
pub struct FpsBatch {
    pub hit_ends: *const u64,
    pub query_count: usize,
    pub hits: *const FpsHit,
    pub hit_count: usize,
    pub ids: *const FpsId,
    pub id_count: usize,
    pub cuts: *const u8,
    pub cut_count: u64,
    pub generation: u64,
    pub reserved: [u64; 2],
}

/// An error of a call: the status, and the text.
struct Failure(c_int, String);

type Result<T> = std::result::Result<T, Failure>;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let status = match &error {
            Error::InvalidDistance { .. }
            | Error::TooWide { .. }
            | Error::InvalidOptions { .. } => 1,
            Error::NoStore { .. } | Error::NotAStore { .. } => 2,
            Error::UnsupportedVersion { .. } => 3,
            Error::Corrupt { .. } => 4,
            Error::Io(_) => 5,
            _ => 6,
        };
        Failure(status, fpstore_base::chain(&error))
    }
}

fn usage(text: impl Into<String>) -> Failure {
    Failure(1, text.into())
}

fn null(name: &str) -> Failure {
    usage(format!("{name} is NULL"))
}

/// The buffer of the caller for the text of an error.
struct Message(*mut c_char, usize);

impl Message {
    /// Writes as many whole characters of the text as fit into the buffer, and a zero byte.
    fn write(&self, text: &str) {
        let Message(buffer, len) = *self;
        let Some(room) = len.checked_sub(1).filter(|_| !buffer.is_null()) else { return };
        let text = text.replace('\0', "\u{fffd}");
        let mut end = room.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        // SAFETY: `buffer` is valid for writes of `len` bytes, as `fpstore.h` demands; `end < len`.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), buffer.cast(), end);
            *buffer.add(end) = 0;
        }
    }
}

/// Runs the body of a function and writes the text of an error; a panic becomes an error.
fn call(message: Message, act: impl FnOnce() -> Result<()>) -> c_int {
    let done = catch_unwind(AssertUnwindSafe(act)).unwrap_or_else(|_| {
        Err(Failure(7, "internal error of fpstore; please report it with the call".into()))
    });
    match done {
        Ok(()) => {
            message.write("");
            OK
        }
        Err(Failure(status, text)) => {
            message.write(&text);
            status
        }
    }
}

/// The address of an array, or NULL if it is empty: the Go runtime aborts at the invalid address of
/// an empty vector.
fn pointer<T>(of: &[T]) -> *const T {
    if of.is_empty() { std::ptr::null() } else { of.as_ptr() }
}

fn warmth(warm: u32) -> Result<Warm> {
    match warm {
        0 => Ok(Warm::None),
        1 => Ok(Warm::Hot),
        2 => Ok(Warm::All),
        _ => Err(usage(format!("warm is {warm}, expected a value of fps_warmth"))),
    }
}

fn access(access: u32) -> Result<Access> {
    match access {
        0 => Ok(Access::Auto),
        1 => Ok(Access::Map),
        2 => Ok(Access::Memory),
        _ => Err(usage(format!("access is {access}, expected a value of fps_access"))),
    }
}

#[cfg(unix)]
fn path_of(bytes: &[u8]) -> Result<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    Ok(std::ffi::OsStr::from_bytes(bytes).into())
}

#[cfg(not(unix))]
fn path_of(bytes: &[u8]) -> Result<PathBuf> {
    Ok(std::str::from_utf8(bytes).map_err(|_| usage("the path is not UTF-8"))?.into())
}

/// The caller's query, after a check of its fields.
fn checked(query: Option<&FpsQuery>) -> Result<&FpsQuery> {
    match query {
        None => Err(null("query")),
        Some(query) if query.reserved != [0; 2] => {
            Err(usage("reserved fields of fps_query are not 0"))
        }
        Some(query) => Ok(query),
    }
}

impl FpsQuery {
    fn limits(&self) -> Limits {
        let some = |number: u64| (number > 0).then_some(number);
        let limit = some(self.limit).map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
        let timeout = some(self.timeout_us).map(Duration::from_micros);
        // A deadline beyond the range of the clock sets no limit.
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        Limits::default().limit(limit).max_compared(some(self.max_compared)).deadline(deadline)
    }
}

impl Arrays {
    fn clear(&mut self) {
        self.hits.clear();
        self.ids.clear();
        self.hit_ends.clear();
        self.cuts.clear();
    }

    /// Appends the hits of an answer. Texts of ids point into the snapshot, which the searcher holds
    /// until its next call.
    fn take(&mut self, answer: &Answer<'_>, max_ids: u32) -> Result<()> {
        for hit in answer.hits() {
            let first_id = self.ids.len() as u64;
            for id in hit.ids().take(max_ids as usize) {
                self.ids.push(match id? {
                    IdRef::U64(number) => FpsId { text: std::ptr::null(), len: 0, number },
                    IdRef::Text(text) => {
                        FpsId { text: text.as_ptr().cast(), len: text.len(), number: 0 }
                    }
                });
            }
            self.hits.push(FpsHit {
                fingerprint: hit.fingerprint().value(),
                first_id,
                id_count: (self.ids.len() as u64 - first_id) as u32,
                distance: hit.distance(),
            });
        }
        Ok(())
    }

    fn answer(&self, generation: u64, cut: u32) -> FpsAnswer {
        FpsAnswer {
            hits: pointer(&self.hits),
            hit_count: self.hits.len(),
            ids: pointer(&self.ids),
            id_count: self.ids.len(),
            generation,
            cut,
            reserved_word: 0,
            reserved: [0; 2],
        }
    }
}

/// The `fps_cut` of an answer.
fn cut_of(answer: &Answer<'_>) -> u32 {
    match answer.outcome().cut_by {
        None => 0,
        Some(CutBy::Limit) => 1,
        Some(CutBy::MaxCompared) => 2,
        // The cause can only be the deadline: no query of this interface has a stop flag.
        Some(_) => 3,
    }
}

impl FpsSearcher {
    /// Discards the last answer and switches to the current snapshot of the store. Returns the
    /// generation of the snapshot.
    fn begin(&mut self) -> u64 {
        self.arrays.clear();
        self.searcher.follow(&self.store);
        self.searcher.generation()
    }

    /// Searches for one needle: all hits, or with `nearest` this number of nearest hits.
    fn search(&mut self, query: &FpsQuery, nearest: Option<usize>) -> Result<FpsAnswer> {
        let generation = self.begin();
        let FpsSearcher { searcher, arrays, .. } = self;
        let needle = Fingerprint::new(query.needle);
        let answer = match nearest {
            None => searcher.search_with(needle, query.k, &query.limits())?,
            Some(count) => searcher.nearest_with(needle, count, query.k, &query.limits())?,
        };
        arrays.take(&answer, query.max_ids)?;
        let cut = cut_of(&answer);
        Ok(arrays.answer(generation, cut))
    }

    fn search_many(&mut self, needles: &[u64], query: &FpsQuery) -> Result<FpsBatch> {
        let generation = self.begin();
        let FpsSearcher { searcher, arrays, .. } = self;
        for &needle in needles {
            let needle = Fingerprint::new(needle);
            let answer = searcher.search_with(needle, query.k, &query.limits())?;
            arrays.take(&answer, query.max_ids)?;
            arrays.cuts.push(cut_of(&answer) as u8);
            arrays.hit_ends.push(arrays.hits.len() as u64);
        }
        Ok(FpsBatch {
            hit_ends: pointer(&arrays.hit_ends),
            query_count: needles.len(),
            hits: pointer(&arrays.hits),
            hit_count: arrays.hits.len(),
            ids: pointer(&arrays.ids),
            id_count: arrays.ids.len(),
            cuts: pointer(&arrays.cuts),
            cut_count: arrays.cuts.iter().filter(|&&cut| cut != 0).count() as u64,
            generation,
            reserved: [0; 2],
        })
    }

    fn find_id(&mut self, id: &str) -> Result<FpsAnswer> {
        // Pins the snapshot, because another thread may refresh the store during the scan.
        let state = self.store.pinned();
        self.arrays.clear();
        let found = state.find_ids(&[IdRef::Text(id)], None)?;
        self.arrays.hits.extend(found.into_iter().flatten().map(|record| FpsHit {
            fingerprint: record.fingerprint.value(),
            first_id: 0,
            id_count: 0,
            distance: 0,
        }));
        Ok(self.arrays.answer(state.generation(), 0))
    }
}

/// Sets an output to zero, before a call that may fail.
///
/// # Safety
///
/// `out` is NULL or valid for writes, and zero bytes are a valid `T`.
unsafe fn zero<T>(out: *mut T) {
    if !out.is_null() {
        // SAFETY: `out` is not NULL, so it is valid for writes.
        unsafe { out.write_bytes(0, 1) };
    }
}

/// Runs a function of the C interface that computes `out` from `handle`. `handle_name` and
/// `out_name` are the parameter names in the header, for messages.
///
/// # Safety
///
/// `out` is NULL or valid for reads and writes, and zero bytes are a valid `T`.
unsafe fn fill<H, T>(
    (handle, handle_name): (Option<H>, &str),
    (out, out_name): (*mut T, &str),
    message: Message,
    compute: impl FnOnce(H) -> Result<T>,
) -> c_int {
    // SAFETY: the condition on `out` is the same.
    unsafe { zero(out) };
    call(message, || {
        let handle = handle.ok_or_else(|| null(handle_name))?;
        // SAFETY: `out` is NULL, or valid and set to zero, which is a valid `T`.
        let out = unsafe { out.as_mut() }.ok_or_else(|| null(out_name))?;
        *out = compute(handle)?;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn fps_abi() -> u32 {
    ABI
}

#[unsafe(no_mangle)]
pub extern "C" fn fps_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

#[unsafe(no_mangle)]
pub extern "C" fn fps_status_name(status: c_int) -> *const c_char {
    let name = usize::try_from(status).ok().and_then(|status| NAMES.get(status));
    name.copied().unwrap_or(c"unknown").as_ptr()
}

/// # Safety
///
/// The contract of `fpstore.h`: each pointer is NULL, or valid for the access that the header
/// describes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_open(
    path: *const c_char,
    options: *const FpsOpenOptions,
    store: *mut *mut FpsStore,
    message: *mut c_char,
    message_len: usize,
) -> c_int {
    // SAFETY: `store` is NULL or valid for writes; NULL is a valid pointer value.
    unsafe { zero(store) };
    call(Message(message, message_len), || {
        if store.is_null() {
            return Err(null("store"));
        }
        if path.is_null() {
            return Err(null("path"));
        }
        // SAFETY: `path` is not NULL and points to a zero-terminated string.
        let path = path_of(unsafe { CStr::from_ptr(path) }.to_bytes())?;
        // SAFETY: `options` is NULL or points to valid options.
        let given = unsafe { options.as_ref() }.copied();
        let given = given.unwrap_or(FpsOpenOptions {
            size: size_of::<FpsOpenOptions>(),
            access: 0,
            warm: 0,
        });
        if given.size != size_of::<FpsOpenOptions>() {
            return Err(usage(format!(
                "size of fps_open_options is {}, expected {}",
                given.size,
                size_of::<FpsOpenOptions>()
            )));
        }
        let options = OpenOptions::default().access(access(given.access)?);
        let opened = Store::with_options(path, options)?;
        opened.warm(warmth(given.warm)?)?;
        // SAFETY: `store` was checked: it is not NULL, so it is valid for writes.
        unsafe { *store = Box::into_raw(Box::new(FpsStore(opened))) };
        Ok(())
    })
}

/// # Safety
///
/// The contract of `fpstore.h`; `store` is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_close(store: *mut FpsStore) {
    if !store.is_null() {
        // SAFETY: `fps_open` made `store` from a `Box`, and the caller frees it once.
        let store = unsafe { Box::from_raw(store) };
        let _ = catch_unwind(AssertUnwindSafe(|| drop(store)));
    }
}

/// # Safety
///
/// The contract of `fpstore.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_refresh(
    store: *const FpsStore,
    warm: u32,
    is_new: *mut c_int,
    message: *mut c_char,
    message_len: usize,
) -> c_int {
    // SAFETY: `is_new` is NULL or valid for writes; zero is a valid number.
    unsafe { zero(is_new) };
    call(Message(message, message_len), || {
        // SAFETY: `store` is NULL or an open store.
        let store = unsafe { store.as_ref() }.ok_or_else(|| null("store"))?;
        let changed = match warmth(warm)? {
            Warm::None => store.0.refresh()?,
            warm => store.0.refresh_warm(warm)?,
        };
        // SAFETY: `is_new` is NULL or points to a number, set to zero above.
        if let Some(is_new) = unsafe { is_new.as_mut() } {
            *is_new = changed.into();
        }
        Ok(())
    })
}

/// # Safety
///
/// The contract of `fpstore.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_warm(
    store: *const FpsStore,
    warm: u32,
    left_out: *mut u64,
    message: *mut c_char,
    message_len: usize,
) -> c_int {
    // SAFETY: `left_out` is NULL or valid for writes; zero is a valid number.
    unsafe { zero(left_out) };
    call(Message(message, message_len), || {
        // SAFETY: `store` is NULL or an open store.
        let store = unsafe { store.as_ref() }.ok_or_else(|| null("store"))?;
        let warmed = store.0.warm(warmth(warm)?)?;
        // SAFETY: `left_out` is NULL or points to a number, set to zero above.
        if let Some(left_out) = unsafe { left_out.as_mut() } {
            *left_out = warmed.left_out;
        }
        Ok(())
    })
}

/// # Safety
///
/// The contract of `fpstore.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_get_info(
    store: *const FpsStore,
    info: *mut FpsInfo,
    message: *mut c_char,
    message_len: usize,
) -> c_int {
    // SAFETY: `store` is NULL or an open store.
    let (store, message) = (unsafe { store.as_ref() }, Message(message, message_len));
    let compute = |store: &FpsStore| {
        let found = store.0.info();
        Ok(FpsInfo {
            generation: found.generation,
            fingerprint_count: found.fingerprint_count(),
            id_count: found.id_count(),
            file_len: found.file_len(),
            bits: found.width.bits(),
            tuned_k: found.tuned_k,
            segment_count: found.segments.len() as u32,
            sketch_len: found.sketch_len.into(),
            store_id: found.store_id,
            reserved: [0; 4],
        })
    };
    // SAFETY: `info` is NULL or valid for reads and writes, and may be zero.
    unsafe { fill((store, "store"), (info, "info"), message, compute) }
}

/// # Safety
///
/// The contract of `fpstore.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_expected_nanos(
    store: *const FpsStore,
    k: u32,
    nanos: *mut f64,
    message: *mut c_char,
    message_len: usize,
) -> c_int {
    // SAFETY: `store` is NULL or an open store.
    let (store, message) = (unsafe { store.as_ref() }, Message(message, message_len));
    let compute = |store: &FpsStore| Ok(store.0.expected_nanos(k)?);
    // SAFETY: `nanos` is NULL or valid for reads and writes, and may be zero.
    unsafe { fill((store, "store"), (nanos, "nanos"), message, compute) }
}

/// # Safety
///
/// The contract of `fpstore.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_searcher_new(
    store: *const FpsStore,
    searcher: *mut *mut FpsSearcher,
    message: *mut c_char,
    message_len: usize,
) -> c_int {
    // SAFETY: `store` is NULL or an open store.
    let (store, message) = (unsafe { store.as_ref() }, Message(message, message_len));
    let compute = |FpsStore(store): &FpsStore| {
        let (searcher, store) = (store.searcher(), store.clone());
        Ok(Box::into_raw(Box::new(FpsSearcher { searcher, store, arrays: Arrays::default() })))
    };
    // SAFETY: `searcher` is NULL or valid for reads and writes, and `*searcher` may be NULL.
    unsafe { fill((store, "store"), (searcher, "searcher"), message, compute) }
}

/// # Safety
///
/// The contract of `fpstore.h`; `searcher` is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_searcher_free(searcher: *mut FpsSearcher) {
    if !searcher.is_null() {
        // SAFETY: `fps_searcher_new` made `searcher` from a `Box`, and the caller frees it once.
        let searcher = unsafe { Box::from_raw(searcher) };
        let _ = catch_unwind(AssertUnwindSafe(|| drop(searcher)));
    }
}

/// # Safety
///
/// The contract of `fpstore.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_search(
    searcher: *mut FpsSearcher,
    query: *const FpsQuery,
    answer: *mut FpsAnswer,
    message: *mut c_char,
    message_len: usize,
) -> c_int {
    // SAFETY: the contract of `search` is the same.
    unsafe { search(searcher, query, None, answer, Message(message, message_len)) }
}

/// # Safety
///
/// The contract of `fpstore.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_nearest(
    searcher: *mut FpsSearcher,
    query: *const FpsQuery,
    count: usize,
    answer: *mut FpsAnswer,
    message: *mut c_char,
    message_len: usize,
) -> c_int {
    // SAFETY: the contract of `search` is the same.
    unsafe { search(searcher, query, Some(count), answer, Message(message, message_len)) }
}

/// # Safety
///
/// The contract of `fpstore.h`.
unsafe fn search(
    searcher: *mut FpsSearcher,
    query: *const FpsQuery,
    nearest: Option<usize>,
    answer: *mut FpsAnswer,
    message: Message,
) -> c_int {
    // SAFETY: `searcher` is NULL or a searcher that no other thread uses; `query` is NULL or valid.
    let (searcher, query) = unsafe { (searcher.as_mut(), query.as_ref()) };
    let compute = |searcher: &mut FpsSearcher| searcher.search(checked(query)?, nearest);
    // SAFETY: `answer` is NULL or valid for reads and writes, and may be zero.
    unsafe { fill((searcher, "searcher"), (answer, "answer"), message, compute) }
}

/// # Safety
///
/// The contract of `fpstore.h`; `needles` points to `count` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_search_many(
    searcher: *mut FpsSearcher,
    needles: *const u64,
    count: usize,
    query: *const FpsQuery,
    batch: *mut FpsBatch,
    message: *mut c_char,
    message_len: usize,
) -> c_int {
    // SAFETY: `searcher` is NULL or a searcher that no other thread uses; `query` is NULL or valid.
    let (searcher, query) = unsafe { (searcher.as_mut(), query.as_ref()) };
    let compute = |searcher: &mut FpsSearcher| {
        let query = checked(query)?;
        let needles = match count {
            0 => &[],
            _ if needles.is_null() => return Err(null("needles")),
            // SAFETY: `needles` is not NULL and points to `count` numbers.
            _ => unsafe { std::slice::from_raw_parts(needles, count) },
        };
        searcher.search_many(needles, query)
    };
    // SAFETY: `batch` is NULL or valid for reads and writes, and may be zero.
    unsafe {
        fill((searcher, "searcher"), (batch, "batch"), Message(message, message_len), compute)
    }
}

/// # Safety
///
/// The contract of `fpstore.h`; `id` points to `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_find_id(
    searcher: *mut FpsSearcher,
    id: *const c_char,
    len: usize,
    answer: *mut FpsAnswer,
    message: *mut c_char,
    message_len: usize,
) -> c_int {
    // SAFETY: `searcher` is NULL or a searcher that no other thread uses.
    let searcher = unsafe { searcher.as_mut() };
    let compute = |searcher: &mut FpsSearcher| {
        if id.is_null() {
            return Err(null("id"));
        }
        // SAFETY: `id` is not NULL and points to `len` bytes.
        let id = unsafe { std::slice::from_raw_parts(id.cast(), len) };
        let id = std::str::from_utf8(id).map_err(|_| usage("the id is not UTF-8"))?;
        searcher.find_id(id)
    };
    // SAFETY: `answer` is NULL or valid for reads and writes, and may be zero.
    unsafe {
        fill((searcher, "searcher"), (answer, "answer"), Message(message, message_len), compute)
    }
}
