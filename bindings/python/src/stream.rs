//! Long answers as streams: a thread computes rows, a few batches ahead of the reader, and ends
//! when the stream is closed.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{JoinHandle, ThreadId};
use std::time::Instant;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use fpstore::Error;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyTuple};

use crate::capsule::{export_schema, export_stream};
use crate::errors::{Failure, input_error, state_error};
use crate::rows::Rows;
use crate::work::{Reporter, Shared, TICK, caught};

/// Maximum number of computed batches that wait for the reader.
const BATCHES_AHEAD: usize = 2;

/// The sending end of a stream, on the thread that computes the rows.
pub(crate) struct Sink(SyncSender<RecordBatch>);

impl Sink {
    /// Sends a batch to the reader; waits while the channel is full. Fails if the stream is closed.
    pub(crate) fn send(&mut self, batch: RecordBatch) -> Result<(), Failure> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        self.0.send(batch).map_err(|_| Error::Interrupted.into())
    }
}

/// An open stream: its thread, and the channel from it.
struct Running {
    receiver: Receiver<RecordBatch>,
    thread: Option<JoinHandle<Result<(), Failure>>>,
    shared: Arc<Shared>,
    reporter: Arc<Reporter>,
    /// The process that started the thread: in a forked process the thread does not exist.
    process: u32,
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            // A forked process, in which the thread does not exist: it cannot be joined.
            std::mem::forget(self.thread.take());
            return;
        }
        self.shared.stop();
        // Closes the channel, so that a thread that waits to send gets an error.
        let (_, nobody) = sync_channel(0);
        self.receiver = nobody;
        if let Some(thread) = self.thread.take() {
            // Joining cannot deadlock: the thread never needs the interpreter.
            let _ = thread.join();
        }
    }
}

/// The reason why no batch was received.
enum Waiting {
    NotYet,
    Ended(Result<(), Failure>),
}

impl Running {
    fn next_within_tick(&mut self) -> Result<RecordBatch, Waiting> {
        if self.process != std::process::id() {
            let message = "the stream was made by the parent process, and cannot be read after a \
                           fork";
            return Err(Waiting::Ended(Err(Failure::Input(message.into()))));
        }
        match self.receiver.recv_timeout(TICK) {
            Ok(batch) => Ok(batch),
            Err(RecvTimeoutError::Timeout) => Err(Waiting::NotYet),
            Err(RecvTimeoutError::Disconnected) => {
                let result = match self.thread.take().map(JoinHandle::join) {
                    Some(Ok(result)) => result,
                    Some(Err(_)) => Err(Failure::Panic("a thread ended early".into())),
                    None => Ok(()),
                };
                Err(Waiting::Ended(result))
            }
        }
    }
}

/// A stream of rows: a thread computes them, a few batches ahead of the reader. Closing the stream,
/// leaving its `with` block or dropping it ends the thread.
///
/// Iterating yields `Rows`, `read_all` returns all rows, `to_pandas`, `to_polars` and `to_arrow`
/// return them as a table, and an Arrow library can read the stream once.
///
/// >>> with store.pairs(3) as stream:
/// ...     for rows in stream:
/// ...         print(rows["distance"])
/// [1]
#[pyclass(frozen, module = "fpstore")]
pub(crate) struct RowStream {
    schema: SchemaRef,
    /// `None` once the stream is closed.
    running: Mutex<Option<Running>>,
}

impl RowStream {
    /// Starts a thread that calls `find`, which computes rows and sends them to a [`Sink`].
    pub(crate) fn start(
        schema: SchemaRef,
        reporter: Reporter,
        find: impl FnOnce(&Arc<Shared>, &mut Sink) -> Result<(), Failure> + Send + 'static,
    ) -> PyResult<Self> {
        let (sender, receiver) = sync_channel(BATCHES_AHEAD);
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("fpstore-rows".into()).spawn(move || {
            let mut sink = Sink(sender);
            caught(|| find(&of_thread, &mut sink))
        })?;
        let reporter = Arc::new(reporter);
        let (thread, process) = (Some(thread), std::process::id());
        let running = Running { receiver, thread, shared, reporter, process };
        Ok(RowStream { schema, running: Mutex::new(Some(running)) })
    }

    fn running(&self) -> MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl RowStream {
    fn __reduce__(&self) -> PyResult<()> {
        let message = "a stream of rows is not pickled; the rows of read_all() can be";
        Err(pyo3::exceptions::PyTypeError::new_err(message))
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    pub(crate) fn __next__(&self, py: Python<'_>) -> PyResult<Option<Rows>> {
        loop {
            let next = py.detach(|| {
                let mut running = self.running();
                let running = running.as_mut()?;
                let next = running.next_within_tick();
                Some((next, Arc::clone(&running.shared), Arc::clone(&running.reporter)))
            });
            let Some((next, shared, reporter)) = next else { return Ok(None) };
            if let Err(error) = reporter.look(py, &shared) {
                self.close(py);
                return Err(error);
            }
            match next {
                Ok(batch) => return Ok(Some(Rows::new(self.schema.clone(), vec![batch]))),
                Err(Waiting::NotYet) => {}
                Err(Waiting::Ended(result)) => {
                    self.close(py);
                    result?;
                    return Ok(None);
                }
            }
        }
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_raised))]
    fn __exit__(&self, py: Python<'_>, _raised: &Bound<'_, PyTuple>) {
        self.close(py);
    }

    /// Ends the thread that computes the rows. Unread rows are lost.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.running().take()));
    }

    /// The names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// All remaining rows, in memory.
    fn read_all(&self, py: Python<'_>) -> PyResult<Rows> {
        if self.running().is_none() {
            let message = "the stream was read to its end, closed or passed on; create a new \
                           stream";
            return Err(state_error(message));
        }
        let mut batches = Vec::new();
        while let Some(rows) = self.__next__(py)? {
            batches.extend(rows.into_batches());
        }
        Ok(Rows::new(self.schema.clone(), batches))
    }

    /// All remaining rows as a pandas `DataFrame`.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.read_all(py)?.to_pandas(py)
    }

    /// All remaining rows as a polars `DataFrame`.
    fn to_polars<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Rows::to_polars(&Bound::new(py, self.read_all(py)?)?)
    }

    /// All remaining rows as a pyarrow `Table`.
    fn to_arrow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Rows::to_arrow(&Bound::new(py, self.read_all(py)?)?)
    }

    /// Refuses `numpy.asarray` and `pandas.DataFrame`, which would convert each batch to a single
    /// cell.
    #[pyo3(signature = (*_args, **_kwargs))]
    fn __array__(
        &self,
        py: Python<'_>,
        _args: &Bound<'_, PyTuple>,
        _kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let message = "a stream cannot become an array: use to_pandas(), or read_all() for numpy";
        Err(input_error(py, message))
    }

    #[pyo3(signature = (requested_schema=None, /))]
    pub(crate) fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let running = self.running().take();
        let Some(running) = running else {
            let message = "the stream is closed, or was already passed on";
            return Err(state_error(message));
        };
        let schema = self.schema.clone();
        let reader = HandedOver { schema, running: Some(running), looked: Instant::now() };
        export_stream(py, Box::new(reader))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        export_schema(py, &self.schema)
    }

    fn __repr__(&self) -> String {
        format!("<fpstore.RowStream of {}>", self.column_names().join(", "))
    }
}

static MAIN_THREAD: OnceLock<ThreadId> = OnceLock::new();

/// Records the thread that imports the package. Streams assume that it is Python's main thread.
pub(crate) fn note_main_thread() {
    let _ = MAIN_THREAD.set(std::thread::current().id());
}

/// A stream that an Arrow library reads, on any thread, with or without the interpreter.
///
/// Only the main thread attaches to the interpreter, to handle signals. Another thread must not:
/// the interpreter can be held by a thread that waits for this one, a deadlock.
struct HandedOver {
    schema: SchemaRef,
    running: Option<Running>,
    /// Time of the last check for signals.
    looked: Instant,
}

impl Iterator for HandedOver {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let running = self.running.as_mut()?;
            // Signals are checked even while batches are ready, because the library may read
            // without a pause.
            if self.looked.elapsed() >= TICK {
                self.looked = Instant::now();
                if let Err(message) = look_on_main_thread(running) {
                    self.running = None;
                    return Some(Err(ArrowError::ExternalError(message.into())));
                }
            }
            match running.next_within_tick() {
                Ok(batch) => return Some(Ok(batch)),
                Err(Waiting::Ended(Ok(()))) => {
                    self.running = None;
                    return None;
                }
                Err(Waiting::Ended(Err(failure))) => {
                    self.running = None;
                    let message = failure.to_string();
                    return Some(Err(ArrowError::ExternalError(message.into())));
                }
                Err(Waiting::NotYet) => {}
            }
        }
    }
}

/// Handles signals on the main thread. A signal handler that raises ends the stream; an interrupt
/// is raised again when the library has returned.
fn look_on_main_thread(running: &Running) -> Result<(), String> {
    if MAIN_THREAD.get() != Some(&std::thread::current().id()) {
        return Ok(());
    }
    let looked = Python::try_attach(|py| {
        running.reporter.look(py, &running.shared).map_err(|error| {
            let is_interrupt = error.is_instance_of::<pyo3::exceptions::PyKeyboardInterrupt>(py);
            if !is_interrupt {
                return error.value(py).to_string();
            }
            // No Python code may run after `interrupt_main`, or the interrupt would be raised and
            // lost here.
            if let Ok(thread) = py.import("_thread") {
                let _ = thread.call_method0("interrupt_main");
            }
            "interrupted".into()
        })
    });
    looked.unwrap_or(Ok(()))
}

impl RecordBatchReader for HandedOver {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
