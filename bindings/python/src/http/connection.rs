//! Connections to a server, each with its own runtime.
//!
//! A runtime has no threads of its own: it runs on the thread that waits for the answer of the
//! server.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use fpstore::{Error, IdKind, Recipe};
use fpstore_client::{Client, ClientError, ServerInfo};
use pyo3::prelude::*;
use tokio::runtime::{Builder, Runtime};
use tokio::time::interval;

use super::info::kind_of_ids;
use crate::errors::{Failure, state_error};
use crate::work::{Reporter, Shared, TICK, run, run_change};

/// Facts about a snapshot of the served store that are needed to convert answers.
#[derive(Clone, Debug)]
pub(super) struct Served {
    generation: u64,
    pub(super) ids: IdKind,
    pub(super) recipe: Option<Recipe>,
    /// Whether several stores are served as one.
    pub(super) is_several: bool,
}

impl Served {
    fn of(info: &ServerInfo) -> Self {
        let recipe = info.store.recipe.as_deref().and_then(Recipe::from_text);
        let (generation, ids) = (info.store.generation, kind_of_ids(&info.store));
        Served { generation, ids, recipe, is_several: !info.stores.is_empty() }
    }
}

/// An error of the operating system, such as a thread that could not be started.
pub(super) fn of_system(error: std::io::Error) -> Failure {
    Failure::Python(error.into())
}

fn client_of(url: &str, token: Option<&str>) -> Result<Client, Failure> {
    let client = Client::new(url)?;
    Ok(match token {
        Some(token) => client.token(token),
        None => client,
    })
}

fn closed() -> PyErr {
    state_error("the client is closed")
}

/// A connection to a server, used by one thread at a time.
pub(super) struct Connection {
    runtime: Runtime,
    client: Client,
    served: Option<Served>,
    /// The process that opened the connection. A forked process must not use its sockets.
    process: u32,
}

impl Connection {
    pub(super) fn new(url: &str, token: Option<&str>) -> Result<Self, Failure> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(of_system)?;
        let client = client_of(url, token)?;
        Ok(Connection { runtime, client, served: None, process: std::process::id() })
    }

    /// Sends a request and waits for the answer. Fails early if the call is interrupted.
    pub(super) fn ask<T>(
        &mut self,
        shared: &Shared,
        ask: impl AsyncFnOnce(&mut Client) -> Result<T, ClientError>,
    ) -> Result<T, Failure> {
        let Connection { runtime, client, .. } = self;
        runtime.block_on(async {
            let mut asking = pin!(ask(client));
            let mut ticks = interval(TICK);
            poll_fn(|context| {
                if let Poll::Ready(answer) = asking.as_mut().poll(context) {
                    return Poll::Ready(answer.map_err(Failure::from));
                }
                while ticks.poll_tick(context).is_ready() {
                    if shared.is_stopped() {
                        return Poll::Ready(Err(Error::Interrupted.into()));
                    }
                }
                Poll::Pending
            })
            .await
        })
    }

    /// The facts about the store at this generation; without a generation, at any snapshot.
    pub(super) fn served(
        &mut self,
        shared: &Shared,
        generation: Option<u64>,
    ) -> Result<Served, Failure> {
        let is_new = |known: &&Served| generation.is_none_or(|wanted| known.generation == wanted);
        if let Some(known) = self.served.as_ref().filter(is_new) {
            return Ok(known.clone());
        }
        let info = self.ask(shared, async |client| client.info().await)?;
        Ok(self.served.insert(Served::of(&info)).clone())
    }
}

/// The address of a server, and its idle connections.
pub(crate) struct Connections {
    pub(super) url: String,
    token: Option<String>,
    /// `None` after [`Connections::close`].
    idle: Mutex<Option<Vec<Connection>>>,
}

impl Connections {
    /// Checks the address of the server without connecting.
    pub(super) fn new(url: String, token: Option<String>) -> Result<Self, Failure> {
        let first = Connection::new(&url, token.as_deref())?;
        Ok(Connections { url, token, idle: Mutex::new(Some(vec![first])) })
    }

    /// A client of the Rust crate with its own connection, for work that has its own runtime.
    pub(crate) fn client(&self) -> PyResult<Client> {
        if self.is_closed() {
            return Err(closed());
        }
        Ok(client_of(&self.url, self.token.as_deref())?)
    }

    fn idle(&self) -> MutexGuard<'_, Option<Vec<Connection>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn close(&self) {
        for connection in self.idle().take().into_iter().flatten() {
            forget_of_others(connection);
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.idle().is_none()
    }

    fn take(&self) -> PyResult<Connection> {
        loop {
            let mut idle = self.idle();
            let Some(idle) = idle.as_mut() else { return Err(closed()) };
            match idle.pop() {
                Some(connection) if connection.process == std::process::id() => {
                    return Ok(connection);
                }
                Some(connection) => forget_of_others(connection),
                None => return Ok(Connection::new(&self.url, self.token.as_deref())?),
            }
        }
    }

    fn keep(&self, connection: Connection) {
        if let Some(idle) = self.idle().as_mut() {
            idle.push(connection);
        }
    }

    /// Runs `work` on a connection while the interpreter is released; Ctrl-C interrupts it.
    pub(super) fn run<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Connection, &Shared) -> Result<T, Failure> + Send,
    ) -> PyResult<T> {
        let mut connection = self.take()?;
        let done = run(py, &Reporter::default(), |shared| work(&mut connection, shared));
        self.keep(connection);
        done
    }

    /// Like [`Connections::run`], but for a request that changes the store: if Ctrl-C comes too
    /// late to stop the request, its result is returned.
    pub(super) fn change<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Connection, &Shared) -> Result<T, Failure> + Send,
    ) -> PyResult<T> {
        let mut connection = self.take()?;
        let shared = Default::default();
        let done =
            run_change(py, &Reporter::default(), &shared, |shared| work(&mut connection, shared));
        self.keep(connection);
        done
    }
}

/// Closes a connection if this process opened it. Otherwise leaks it, because the sockets belong to
/// the parent process.
fn forget_of_others(connection: Connection) {
    if connection.process != std::process::id() {
        std::mem::forget(connection);
    }
}

impl Drop for Connections {
    fn drop(&mut self) {
        self.close();
    }
}
