//! A loadable extension for SQLite 3.45.3 or later:
//!
//!     .load ./libfpstore_sqlite
//!     SELECT id, distance FROM fpstore('pages.fps', 'c0f1789bed2eb9b8', 3);
//!     SELECT pages.url, near.id FROM pages, fpstore('pages.fps', pages.fingerprint, 3) AS near;
//!
//! The needle is hexadecimal text or a signed 64-bit integer; an optional fourth argument limits the
//! matches. Each row is an id of a match; `cut` is 1 if there are, or may be, more matches.

use std::borrow::Cow;
use std::ffi::{CStr, c_char, c_int};
use std::sync::{Arc, Mutex};

use fpstore::{Fingerprint, IdRef, Limits, Searcher, Store};
use rusqlite::ffi::{self, SQLITE_ERROR};
use rusqlite::types::{Value, ValueRef};
use rusqlite::vtab::*;
use rusqlite::{Connection, Error, Result};

/// The oldest supported SQLite: rusqlite calls functions that earlier versions lack.
const VERSION_MIN: c_int = 3_045_003;
const COLUMNS: &CStr = c"CREATE TABLE x(fingerprint TEXT, distance INTEGER, id, cut INTEGER, \
    store HIDDEN, needle HIDDEN, k HIDDEN, most HIDDEN)";
/// The position of the first argument among the columns.
const STORE: c_int = 4;

/// The open stores of a connection, with their paths.
type Stores = Arc<Mutex<Vec<(String, Store, Searcher)>>>;

/// Called by SQLite to load the extension.
///
/// # Safety
///
/// The pointers are those that SQLite passes to extensions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sqlite3_extension_init(
    db: *mut ffi::sqlite3,
    error: *mut *mut c_char,
    api: *mut ffi::sqlite3_api_routines,
) -> c_int {
    // SAFETY: SQLite passes its table of functions; these fields are in every version.
    let (version, print) = unsafe { ((*api).libversion_number, (*api).mprintf) };
    // With an old SQLite, rusqlite would report an error through a missing function, and abort.
    if version.map_or(0, |version| unsafe { version() }) < VERSION_MIN {
        if let Some(print) = print.filter(|_| !error.is_null()) {
            // SAFETY: the text has no placeholders; SQLite frees the copy.
            unsafe { *error = print(c"fpstore needs SQLite 3.45.3 or later".as_ptr()) };
        }
        return SQLITE_ERROR;
    }
    let register = |db: Connection| {
        const MODULE: Module<Table> = Module::eponymous_only_module();
        db.create_module(c"fpstore", &MODULE, Some(Stores::default()))?;
        Ok(false)
    };
    // SAFETY: the pointers of SQLite, whose version is new enough.
    unsafe { Connection::extension_init2(db, error, api, register) }
}

#[repr(C)]
struct Table {
    base: sqlite3_vtab,
    stores: Stores,
}

// SAFETY: `base` is the first field.
unsafe impl<'v> VTab<'v> for Table {
    type Aux = Stores;
    type Cursor = Cursor;

    fn connect(
        db: &mut VTabConnection,
        stores: Option<&Stores>,
        _module: &[u8],
        _database: &[u8],
        _table: &[u8],
        _args: &[&[u8]],
    ) -> Result<(Cow<'static, CStr>, Self)> {
        // The function opens files, so the schema of a foreign database must not call it.
        db.config(VTabConfig::DirectOnly)?;
        let stores = stores.cloned().unwrap_or_default();
        Ok((COLUMNS.into(), Table { base: sqlite3_vtab::default(), stores }))
    }

    fn best_index(&self, info: &mut IndexInfo) -> Result<bool> {
        let mut given = 0;
        for (constraint, mut usage) in info.constraints_and_usages() {
            let argument = constraint.column() - STORE;
            if argument < 0 {
                continue;
            }
            if !constraint.is_usable() {
                return Ok(false);
            }
            let is_first = given >> argument & 1 == 0;
            if is_first && constraint.operator() == IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_EQ {
                given |= 1 << argument;
                usage.set_argv_index(argument + 1);
                usage.set_omit(true);
            }
        }
        if given & 0b111 != 0b111 {
            return Err(wrong("expected fpstore(store, needle, k [, most])"));
        }
        info.set_estimated_cost(1.0);
        info.set_estimated_rows(1);
        Ok(true)
    }

    fn open(&'v mut self) -> Result<Cursor> {
        let (base, stores) = (sqlite3_vtab_cursor::default(), self.stores.clone());
        Ok(Cursor { base, stores, state: None, rows: Vec::new(), at: 0, is_cut: false })
    }
}

/// The rows of one needle in a statement.
#[repr(C)]
struct Cursor {
    base: sqlite3_vtab_cursor,
    stores: Stores,
    /// The searched state, with the position of its store among the open ones.
    state: Option<(usize, Store)>,
    rows: Vec<(Fingerprint, u32, Value)>,
    at: usize,
    is_cut: bool,
}

fn wrong(error: impl std::fmt::Display) -> Error {
    Error::ModuleError(error.to_string())
}

fn value(id: IdRef<'_>) -> Value {
    match id {
        // Larger ids become text, because SQLite has no larger integers.
        IdRef::U64(id) => i64::try_from(id).map_or_else(|_| id.to_string().into(), Value::Integer),
        IdRef::Text(id) => Value::Text(id.into()),
    }
}

// SAFETY: `base` is the first field.
unsafe impl VTabCursor for Cursor {
    fn filter(&mut self, _: c_int, _: Option<&str>, args: &Filters<'_>) -> Result<()> {
        self.rows.clear();
        self.at = 0;
        let needle = match args.iter().nth(1) {
            Some(ValueRef::Integer(number)) => Fingerprint::new(number.cast_unsigned()),
            Some(ValueRef::Text(text)) => {
                std::str::from_utf8(text).map_err(wrong)?.parse().map_err(wrong)?
            }
            // Nothing is near NULL.
            Some(ValueRef::Null) => return Ok(()),
            _ => return Err(wrong("a needle is hexadecimal text or an integer")),
        };
        let (k, most) = (args.get(2)?, if args.len() > 3 { args.get(3)? } else { None });
        let path = args.iter().next().unwrap_or(ValueRef::Null).as_str()?;
        let mut stores = self.stores.lock().map_err(wrong)?;
        let known = stores.iter().position(|(known, ..)| known == path);
        if known.is_none() {
            let store = Store::open(path).map_err(wrong)?;
            let searcher = store.searcher();
            stores.push((path.into(), store, searcher));
        }
        let place = known.unwrap_or(stores.len() - 1);
        let (_, store, searcher) = &mut stores[place];
        // All needles of a statement are searched in one state.
        let state = match self.state.take() {
            Some((of, state)) if of == place => state,
            _ => store.refresh().map(|_| store.pinned()).map_err(wrong)?,
        };
        searcher.follow(&state);
        self.state = Some((place, state));
        let limits = Limits::default().limit(most.map(|most: u32| most as usize));
        let answer = searcher.search_with(needle, k, &limits).map_err(wrong)?;
        self.is_cut = answer.outcome().cut;
        for hit in answer.hits() {
            let before = self.rows.len();
            for id in hit.ids() {
                self.rows.push((hit.fingerprint(), hit.distance(), value(id.map_err(wrong)?)));
            }
            if self.rows.len() == before {
                self.rows.push((hit.fingerprint(), hit.distance(), Value::Null));
            }
        }
        Ok(())
    }

    fn next(&mut self) -> Result<()> {
        self.at += 1;
        Ok(())
    }

    fn eof(&self) -> bool {
        self.at >= self.rows.len()
    }

    fn column(&self, context: &mut Context, column: c_int) -> Result<()> {
        let Some((fingerprint, distance, id)) = self.rows.get(self.at) else { return Ok(()) };
        match column {
            0 => context.set_result(&fingerprint.to_string()),
            1 => context.set_result(distance),
            2 => context.set_result(id),
            3 => context.set_result(&self.is_cut),
            _ => Ok(()),
        }
    }

    fn rowid(&self) -> Result<i64> {
        Ok(self.at as i64)
    }
}
