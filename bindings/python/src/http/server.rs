//! The class `Server`: a store of this process over HTTP, on threads without the interpreter.

use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use fpstore::{Error, WriterOptions};
use fpstore_server::{Address, ServeSettings, Server as Served, WritingOptions};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use tokio::runtime::Builder;

use super::connection::{Connection, of_system};
use crate::errors::{Failure, input_error};
use crate::input::arguments::{Paths, text};
use crate::input::whole::Whole;
use crate::options::{Limits, wait_of};
use crate::work::{Reporter, Shared, run};

/// Pause between requests that check whether the new server is ready.
const PAUSE: Duration = Duration::from_millis(5);
/// Time limit of running searches when the server ends.
const END_TIME: Duration = Duration::from_millis(100);

/// A server of a store in this process, for tests, notebooks and tools; made by `serve`. Leaving a
/// `with` block ends it. In production, use the command `fpstore serve`: it serves other machines,
/// with tokens.
///
/// >>> with fpstore.serve(store.path) as server:
/// ...     fpstore.Client(server.url).info().store.ids
/// 3
#[pyclass(frozen, module = "fpstore")]
pub(crate) struct Server {
    url: String,
    running: Mutex<Option<Running>>,
}

/// A server of the Rust crate, and the thread that runs it.
struct Running {
    server: Served,
    thread: JoinHandle<Result<(), Error>>,
    /// The process that started the server: in a forked process the threads do not exist.
    process: u32,
}

impl Running {
    /// Opens one store or several, listens, and waits until the server is ready for requests.
    fn start(
        served: Paths,
        address: &Address,
        settings: ServeSettings,
        shared: &Shared,
    ) -> Result<(String, Self), Failure> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(settings.threads)
            // Threads for searches, and 8 more for refreshes and for closing the writer.
            .max_blocking_threads(settings.threads + 8)
            .thread_name("fpstore-serve")
            .enable_all()
            .build()
            .map_err(of_system)?;
        let server = match served {
            Paths::One(path) => Served::open(path, settings)?,
            Paths::Several(paths) => Served::open_all(&paths, settings)?,
        };
        let bound = runtime.block_on(async { server.bind(address) });
        let listener = match bound {
            Ok(listener) => listener,
            Err(error) => {
                runtime.block_on(server.close())?;
                return Err(error.into());
            }
        };
        let url = listener.address().to_string();
        let running = server.clone();
        let thread = std::thread::Builder::new().name("fpstore-serve".into());
        let thread = thread.spawn(move || {
            let ended = runtime.block_on(running.run(listener));
            // Abandons searches after `END_TIME`: nobody waits for their answers.
            runtime.shutdown_timeout(END_TIME);
            ended
        });
        let thread = thread.map_err(of_system)?;
        let running = Running { server, thread, process: std::process::id() };
        match wait_until_ready(&url, shared) {
            Ok(()) => Ok((url, running)),
            Err(error) => {
                running.end()?;
                Err(error)
            }
        }
    }

    /// Ends the server after it has answered the open requests. Does nothing in a forked process.
    fn end(self) -> Result<(), Failure> {
        if self.process != std::process::id() {
            std::mem::forget(self);
            return Ok(());
        }
        self.server.shutdown();
        let ended = self.thread.join();
        Ok(ended.map_err(|_| Failure::Panic("the thread of the server ended early".into()))??)
    }
}

fn wait_until_ready(url: &str, shared: &Shared) -> Result<(), Failure> {
    let mut connection = Connection::new(url, None)?;
    while !connection.ask(shared, async |client| client.ready().await)?.ready {
        shared.check()?;
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

/// Serves a store over HTTP at an address of this machine, on threads of this process. Returns once
/// the store is in memory and the server accepts requests.
///
/// Parameters
/// ----------
/// path : path, or list of paths
///     The directory of the store. Several stores are served as one, which cannot be changed.
/// listen : str, default "127.0.0.1:0"
///     `ADDRESS:PORT`, with port 0 for a free port, or `unix:PATH`. Only local addresses are
///     accepted.
/// writable : bool, default False
///     Whether clients may add and delete. The server is then the only writer of the store.
/// label : str, optional
///     The label of records that clients add.
/// threads : int, optional
///     Threads that read requests and search.
#[doc = parameters!(wait)]
///
/// Returns
/// -------
/// fpstore.types.Server
#[pyfunction]
#[pyo3(signature = (
    path, *, listen="127.0.0.1:0", writable=false, label="", threads=None, wait=0.0
))]
pub(crate) fn serve(
    py: Python<'_>,
    path: Paths,
    #[pyo3(from_py_with = text)] listen: &str,
    writable: bool,
    #[pyo3(from_py_with = text)] label: &str,
    threads: Option<Whole>,
    wait: Option<f64>,
) -> PyResult<Server> {
    let address: Address = listen.parse().map_err(|error| input_error(py, error))?;
    if !address.is_local() {
        let message = format!(
            "other machines can reach {listen}; use the command 'fpstore serve', which supports \
             tokens"
        );
        return Err(input_error(py, message));
    }
    if !writable && !label.is_empty() {
        return Err(input_error(py, "label needs a server that writes; give writable=True"));
    }
    let writer = WriterOptions::default().label(label).wait(wait_of(py, wait)?);
    let written = WritingOptions::default();
    let writing = WritingOptions { writer: writer.compact(false).memory(512 << 20), ..written };
    let settings = ServeSettings {
        threads: Limits::new(py, threads, None, None)?.threads(),
        writing: writable.then_some(writing),
        ..ServeSettings::default()
    };
    let (url, running) = run(py, &Reporter::default(), move |shared| {
        Running::start(path, &address, settings, shared)
    })?;
    Ok(Server { url, running: Mutex::new(Some(running)) })
}

impl Server {
    fn take(&self) -> Option<Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn is_closed(&self) -> bool {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }
}

#[pymethods]
impl Server {
    /// The address of the server, to pass to `Client`.
    #[getter]
    fn url(&self) -> &str {
        &self.url
    }

    /// Whether the server has ended.
    #[getter]
    fn closed(&self) -> bool {
        self.is_closed()
    }

    /// Ends the server: answers the open requests, makes all additions durable, and releases the
    /// writer's lock. Closing again does nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let Some(running) = self.take() else { return Ok(()) };
        run(py, &Reporter::default(), move |_| running.end())
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_raised))]
    fn __exit__(&self, py: Python<'_>, _raised: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("a server cannot be pickled; send its url"))
    }

    fn __repr__(&self) -> String {
        let closed = if self.is_closed() { ", closed" } else { "" };
        format!("<fpstore.Server at {}{closed}>", self.url)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Only signals the end: waiting for the thread here would block the interpreter.
        match self.take() {
            Some(running) if running.process == std::process::id() => running.server.shutdown(),
            Some(running) => std::mem::forget(running),
            None => {}
        }
    }
}
