//! Converts the errors of the crates to exceptions of Python.
//!
//! The classes are written in Python (`fpstore/errors.py`), because the stable ABI cannot make a
//! class with two bases. Code that runs without the interpreter returns a [`Failure`], which
//! becomes an exception when the call returns.

use std::ffi::CString;
use std::fmt::{Display, Write as _};
use std::io;
use std::path::Path;

use fpstore::{Fault, IoError};
use pyo3::exceptions::{PyDeprecationWarning, PyFileExistsError, PyKeyboardInterrupt, PyOSError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};

/// The number of the system error for an existing file.
pub(crate) const EEXIST: i32 = 17;

/// The fields of an exception besides its message.
type Fields<'py> = Bound<'py, PyDict>;

static CLASSES: PyOnceLock<Py<PyModule>> = PyOnceLock::new();

/// The reason for a failure, which becomes a Python exception.
#[derive(Debug)]
pub(crate) enum Failure {
    Store(fpstore::Error),
    Text(fpstore_text::Error),
    Documents(fpstore_documents::Error),
    /// An error of work on files of documents.
    Corpus(fpstore_corpus::Error),
    /// An error of a request to a server.
    Client(fpstore_client::ClientError),
    /// A limit of a server cut an answer.
    Cut {
        message: String,
        by: String,
    },
    /// An invalid argument or record, with the complete message.
    Input(String),
    /// The store changed during the call.
    Refreshed,
    /// The message of a panic.
    Panic(String),
    Python(PyErr),
}

/// An exception of a class in `fpstore/errors.py`, with a message and values of its fields.
macro_rules! exception {
    ($py:expr, $class:expr, $message:expr $(, $field:ident = $value:expr)* $(,)?) => {{
        let fields = PyDict::new($py);
        let fill = || -> PyResult<()> {
            $(fields.set_item(stringify!($field), $value)?;)*
            Ok(())
        };
        match fill() {
            Ok(()) => make($py, $class, $message, &fields),
            Err(error) => error,
        }
    }};
}

macro_rules! failures {
    ($($kind:ident: $error:ty),+) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Failure::$kind(error)
            }
        })+
    };
}

failures! {
    Store: fpstore::Error,
    Text: fpstore_text::Error,
    Documents: fpstore_documents::Error,
    Corpus: fpstore_corpus::Error,
    Client: fpstore_client::ClientError,
    Python: PyErr
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        Python::attach(|py| failure.into_py_err(py))
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Store(error) => error.fmt(f),
            Failure::Text(error) => error.fmt(f),
            Failure::Documents(error) => error.fmt(f),
            Failure::Corpus(error) => error.fmt(f),
            Failure::Client(error) => error.fmt(f),
            Failure::Cut { message, .. } => f.write_str(message),
            Failure::Input(message) | Failure::Panic(message) => f.write_str(message),
            Failure::Refreshed => f.write_str("the store was refreshed during the call"),
            Failure::Python(error) => error.fmt(f),
        }
    }
}

impl Failure {
    /// Whether a store was changed before the error.
    pub(crate) fn took_effect(&self) -> bool {
        use fpstore::Error;
        let (Failure::Store(error) | Failure::Corpus(fpstore_corpus::Error::Store(error))) = self
        else {
            return false;
        };
        matches!(error, Error::InEffect { .. } | Error::Unmerged { .. })
    }

    fn into_py_err(self, py: Python<'_>) -> PyErr {
        match self {
            Failure::Store(error) => of_store(py, &error),
            Failure::Text(error) => of_text(py, error),
            Failure::Documents(error) => of_documents(py, &error),
            Failure::Corpus(error) => of_corpus(py, error),
            Failure::Client(error) => of_client(py, &error),
            Failure::Cut { message, by } => exception!(py, "CutAnswerError", message, by = by),
            Failure::Input(message) => input_error(py, message),
            Failure::Refreshed => {
                let message = "the store was refreshed during the call; call again";
                exception!(py, "StaleStoreError", message)
            }
            Failure::Panic(message) => internal_error(py, &message),
            Failure::Python(error) => error,
        }
    }
}

/// An `InputError`, which is a `ValueError`.
pub(crate) fn input_error(py: Python<'_>, message: impl Display) -> PyErr {
    exception!(py, "InputError", message)
}

/// The error of a `from_py_with` conversion that rejects its argument. PyO3 adds the name of the
/// argument in a note, see `fpstore/errors.py`.
pub(crate) fn argument_error(py: Python<'_>, message: impl Display) -> PyErr {
    exception!(py, "InputError", message, argument = "")
}

/// The error of an argument, or an item of an argument, that is a text with a lone surrogate.
pub(crate) fn surrogate_error(given: &Bound<'_, PyAny>) -> PyErr {
    let shown = given.repr().map(|repr| repr.to_string_lossy().into_owned());
    let message = format!(
        "{} has a lone surrogate, which is not a character",
        shown.unwrap_or_else(|_| "the text".into())
    );
    argument_error(given.py(), message)
}

/// Adds the name of the argument to an error of [`argument_error`] that PyO3 does not see.
pub(crate) fn named(error: PyErr, argument: &str) -> PyErr {
    Python::attach(|py| {
        // The same note as PyO3's. On Python 3.10, exceptions of other classes have no `add_note`,
        // so a failure is ignored.
        let note = format!("while processing '{argument}'");
        let _ = error.value(py).call_method1("add_note", (note,));
    });
    error
}

/// An `InputError` without a wrong argument: the object is closed, in use or has failed.
///
/// No Python code runs before it is raised, so the caller may hold a lock.
pub(crate) fn state_error(message: impl Display) -> PyErr {
    Python::attach(|py| match class_of(py, "InputError") {
        Ok(class) => PyErr::from_type(class, (message.to_string(),)),
        Err(error) => error,
    })
}

/// Whether an error is an `InputError`, and not an exception raised by code of the user.
pub(crate) fn is_input_error(py: Python<'_>, error: &PyErr) -> bool {
    class_of(py, "InputError").is_ok_and(|class| error.is_instance(py, &class))
}

/// Issues a warning of this class of the package. Fails if warnings are errors.
pub(crate) fn warn(py: Python<'_>, class: &str, message: &str) -> PyResult<()> {
    let class = class_of(py, class)?;
    warn_as(&class, message)
}

/// Issues a warning of a class of Python.
fn warn_as(class: &Bound<'_, PyAny>, message: &str) -> PyResult<()> {
    PyErr::warn(class.py(), class, &CString::new(message).unwrap_or_default(), 1)
}

/// Warns about an old name, which the next release removes.
pub(crate) fn warn_of_old(py: Python<'_>, old: &str, new: &str) -> PyResult<()> {
    warn_as(&py.get_type::<PyDeprecationWarning>(), &format!("{old} moved to {new}"))
}

/// Warns if a store is larger than the memory.
pub(crate) fn warn_of_memory(py: Python<'_>, warmed: fpstore::Warmed) -> PyResult<()> {
    if warmed.left_out == 0 {
        return Ok(());
    }
    let fpstore::Warmed { pages, left_out, .. } = warmed;
    let text = format!("the store exceeds the memory: read {pages} pages, left out {left_out}");
    warn_as(&py.get_type::<pyo3::exceptions::PyRuntimeWarning>(), &text)
}

/// A `RecipeError`, which is a `ValueError`.
pub(crate) fn recipe_error(py: Python<'_>, message: impl Display) -> PyErr {
    exception!(py, "RecipeError", message)
}

/// The `InternalError` for a panic with this message.
pub(crate) fn internal_error(py: Python<'_>, message: &str) -> PyErr {
    let message = format!("internal error of fpstore, please report it: {message}");
    exception!(py, "InternalError", message)
}

/// The message of a panic.
pub(crate) fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (_, Some(text)) => text.clone(),
        _ => "a panic without a message".to_owned(),
    }
}

fn class_of<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyType>> {
    let module = CLASSES.get_or_try_init(py, || py.import("fpstore.errors").map(Bound::unbind))?;
    Ok(module.bind(py).getattr(name)?.cast_into()?)
}

fn make(py: Python<'_>, class: &str, message: impl Display, fields: &Fields<'_>) -> PyErr {
    let made =
        class_of(py, class).and_then(|class| class.call((message.to_string(),), Some(fields)));
    made.map_or_else(|error| error, PyErr::from_value)
}

/// The error of a change that took effect; `source`, the error that followed, becomes its cause.
fn in_effect(
    py: Python<'_>,
    class: &str,
    message: &str,
    generation: Option<u64>,
    source: &fpstore::Error,
) -> PyErr {
    let error = exception!(py, class, message, generation = generation);
    error.set_cause(py, Some(of_store(py, source)));
    error
}

fn of_store(py: Python<'_>, error: &fpstore::Error) -> PyErr {
    use fpstore::Error;
    let message = match error {
        Error::InEffect { .. } | Error::Unmerged { .. } => chained(error),
        Error::Locked { .. } | Error::Compacting { .. } => {
            format!("{error}; to wait until it has finished, give wait=SECONDS")
        }
        _ => error.to_string(),
    };
    let file = |class, path: &Path| exception!(py, class, &message, filename = path.as_os_str());
    match error {
        Error::InEffect { generation, source } => {
            in_effect(py, "InEffectError", &message, Some(*generation), source)
        }
        Error::Unmerged { source } => in_effect(py, "UnmergedError", &message, None, source),
        Error::Io(refused) => os_error(refused),
        Error::NoStore { path } => file("NoStoreError", path),
        Error::StoreExists { path } => {
            let message =
                format!("{message}; a Writer adds to it, and build with replace=True replaces it");
            exception!(py, "StoreExistsError", message, filename = path.as_os_str())
        }
        Error::NotAStore { path, .. } => {
            exception!(py, "NotAStoreError", message, path = path.as_os_str())
        }
        Error::Locked { path, process } | Error::Compacting { path, process } => {
            exception!(py, "LockedError", message, filename = path.as_os_str(), process = process)
        }
        Error::OtherGeneration { path, found, wanted } => {
            let message = format!("{message}, made by backup, or by export with hard_link=True");
            let path = path.as_os_str();
            exception!(
                py,
                "StaleStoreError",
                message,
                path = path,
                expected = wanted,
                found = found
            )
        }
        Error::UnsupportedVersion { path, found, oldest, newest } => {
            exception!(
                py,
                "VersionError",
                message,
                path = path.as_os_str(),
                found = found,
                oldest = oldest,
                newest = newest,
            )
        }
        Error::Corrupt { path, section, offset, fault } => {
            let rule = if let Fault::Rule { rule, .. } = fault { Some(*rule) } else { None };
            exception!(
                py,
                "CorruptError",
                message,
                path = path.as_os_str(),
                section = section.to_string(),
                offset = offset,
                rule = rule,
            )
        }
        Error::RecipeMismatch { .. } => recipe_error(py, message),
        Error::TooManyPairs { most } => exception!(py, "TooManyPairsError", message, most = most),
        Error::NoSpace { path, needed, free } => {
            let path = path.as_os_str();
            exception!(py, "NoSpaceError", message, filename = path, needed = needed, free = free)
        }
        Error::Interrupted => PyKeyboardInterrupt::new_err(()),
        Error::TooLarge { .. } => exception!(py, "FpstoreError", message),
        _ => input_error(py, message),
    }
}

fn of_text(py: Python<'_>, error: fpstore_text::Error) -> PyErr {
    use fpstore_text::Error;
    match &error {
        Error::Io(refused) => os_error(refused),
        Error::BadInput { .. } | Error::NoFeatures { .. } | Error::UselessChange { .. } => {
            input_error(py, chained(&error))
        }
        _ => recipe_error(py, chained(&error)),
    }
}

fn of_documents(py: Python<'_>, error: &fpstore_documents::Error) -> PyErr {
    use fpstore_documents::Error;
    match error {
        Error::Io(refused) => os_error(refused),
        Error::Interrupted => PyKeyboardInterrupt::new_err(()),
        Error::WrongContent { .. } => recipe_error(py, error),
        _ => input_error(py, error),
    }
}

fn of_corpus(py: Python<'_>, error: fpstore_corpus::Error) -> PyErr {
    use fpstore_corpus::Error;
    match error {
        Error::Store(error) => of_store(py, &error),
        Error::Text(error) | Error::Items(error) => of_documents(py, &error),
        Error::Exists { path, adds } => {
            let message = match adds {
                true => {
                    "exists; if an earlier run made it, the store already has its documents, and \
                     replace=True would replace it by an output without them"
                }
                false => "exists; replace=True replaces it once the new one is complete",
            };
            PyFileExistsError::new_err((EEXIST, message, path.display().to_string()))
        }
        Error::Unfinished { .. } => input_error(
            py,
            format!(
                "{error}; finish it with the call that began it, or discard it with replace=True"
            ),
        ),
        Error::KnownRun { ref run, ref store, .. } => {
            let message = format!(
                "{error}. It kept the documents whose ids are in the store; to decide again, \
                 compare with a copy of the store from before that run, or delete these ids and \
                 give another run"
            );
            exception!(py, "KnownRunError", message, path = store.as_os_str(), run = run)
        }
        Error::TooMuchLost { ref loss, limit, ref overview } => {
            exception!(
                py,
                "TooMuchLostError",
                error,
                loss = crate::documents::loss_of(py, loss)?,
                limit = limit.part(),
                overview = crate::documents::overview_of(py, overview)?,
            )
        }
        _ => input_error(py, error),
    }
}

fn of_client(py: Python<'_>, error: &fpstore_client::ClientError) -> PyErr {
    use fpstore_client::ClientError;
    let message = chained(error);
    match error {
        ClientError::Connection { .. } => exception!(py, "UnreachableError", message),
        ClientError::Refused { code, .. } => exception!(py, "RefusedError", message, code = code),
        ClientError::NotAServer { .. } => exception!(py, "NotAServerError", message),
        _ => input_error(py, message),
    }
}

/// The messages of an error and of all its causes.
pub(crate) fn chained(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let _ = write!(text, ": {error}");
        cause = error.source();
    }
    text
}

/// The `OSError` of Python for an error of the operating system.
fn os_error(refused: &IoError) -> PyErr {
    let IoError { doing, path, source } = refused;
    let Some(number) = source.raw_os_error() else {
        if source.kind() == io::ErrorKind::InvalidInput {
            let message = format!("cannot {doing} {:?}: {source}", path.to_string_lossy());
            return Python::attach(|py| input_error(py, message));
        }
        return PyOSError::new_err(format!("cannot {doing} {}: {source}", path.display()));
    };
    let text = source.to_string();
    let text = text.split(" (os error").next().unwrap_or_default().to_owned();
    let cause = refused.plain_cause().map_or_else(String::new, |cause| format!("{cause}: "));
    PyOSError::new_err((
        number,
        format!("cannot {doing}: {cause}{text}"),
        path.display().to_string(),
    ))
}
