//! The life of the server: it starts, follows the store, heeds signals, and ends in order.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use anyhow::Context;
use fpstore::Store;
use tokio::sync::watch;

use super::super::command::ExitStatus;
use super::args::{ServeArgs, Settings};
use super::connections;
use super::server::{Parts, Server};
use super::socket;
use super::writing::Writing;

/// Buffers of this length and more go back to the system when they are freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const GIVEN_BACK_LEN: i32 = 1 << 22;

/// Lets the allocator of the GNU C library give large buffers back, such as those of a merge. By
/// itself it keeps up to twice the largest one that was ever freed, in each thread.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "a function of the C library")]
fn give_memory_back() {
    // SAFETY: it takes two numbers. It is called before there are other threads, and a refusal
    // leaves everything as it was.
    unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, GIVEN_BACK_LEN) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn give_memory_back() {}

pub(super) fn run(args: &ServeArgs) -> anyhow::Result<ExitStatus> {
    give_memory_back();
    let settings = args.settings()?;
    let (store, access) = args.store();
    // The lock comes first: whoever cannot write need not read the store.
    let writing = args.writing().map(|options| Writing::open(&store.store, options)).transpose()?;
    let store_path = store.store.clone();
    // It stays up for long, so that the safest way is the default.
    let store = match access.is_given() {
        true => access.open(&store_path)?,
        false => Store::open(&store_path)?,
    };
    allow_connections(args.limits().max_connections);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(args.threads())
        // Searches, and some for what waits: refreshes, and the end of the writer.
        .max_blocking_threads(args.threads() + 8)
        .thread_name("serve")
        .enable_all()
        .build()
        .context("cannot start threads")?;
    let Settings { address, tokens, hosts } = settings;
    let (listener, address) = {
        let _inside = runtime.enter();
        socket::listen(&address, args.socket_mode())?
    };
    let server = Arc::new(Server::new(Parts {
        store,
        path: store_path,
        limits: args.limits().clone(),
        tokens,
        hosts,
        templates: args.templates().clone(),
        pool: args.threads(),
        writing,
        stale_after: args.stale_after(),
        warm: args.warm(),
        recipe_files: args.recipe_files().clone(),
    }));
    if let Some(writing) = &server.writing {
        writing.start(&server).context("cannot start the thread of the writer")?;
    }
    let stop_refreshing = follow(&server, args.refresh()).context("cannot start a thread")?;
    let (end, ends) = watch::channel(false);
    let is_quiet = args.is_quiet();
    let ended = runtime.block_on(async {
        heed_signals(&server, end)?;
        if !is_quiet {
            message!("serving {} at {address}", server.path.display());
        }
        connections::serve(Arc::clone(&server), listener, ends).await;
        match &server.writing {
            Some(writing) => {
                writing.end().await.map_err(|failure| anyhow::anyhow!(failure.message))
            }
            None => Ok(()),
        }
    });
    socket::remove(&address);
    drop(stop_refreshing);
    // A search that is still under way answers nobody.
    runtime.shutdown_timeout(Duration::from_millis(100));
    ended?;
    if !is_quiet {
        message!("ended");
    }
    Ok(ExitStatus::Done)
}

/// Raises the limit of open files, which is often 1 024, as far as the system allows.
fn allow_connections(connections: u64) {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        // Segments, their locks and temporary files take some too.
        let wanted = connections.saturating_add(1024);
        let mut limit = getrlimit(Resource::Nofile);
        let most = limit.maximum.unwrap_or(u64::MAX).min(wanted);
        if limit.current.is_some_and(|current| current < most) {
            limit.current = Some(most);
            let _ = setrlimit(Resource::Nofile, limit);
        }
    }
    #[cfg(not(unix))]
    let _ = connections;
}

/// Warms the store, and then shows its newest state now and then, until the returned end is dropped.
fn follow(server: &Arc<Server>, every: Duration) -> std::io::Result<Sender<()>> {
    let (end, ends) = channel::<()>();
    let server = Arc::clone(server);
    std::thread::Builder::new().name("refresh".into()).spawn(move || {
        server.warm_up();
        while ends.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
            // A failure is told by the readiness of the server.
            let _ = server.refresh();
        }
    })?;
    Ok(end)
}

/// SIGTERM and an interrupt end the server; SIGHUP makes it look for a newer state.
fn heed_signals(server: &Arc<Server>, end: watch::Sender<bool>) -> anyhow::Result<()> {
    let of = Arc::clone(server);
    let finish = move || {
        of.health().draining.store(true, Relaxed);
        let _ = end.send(true);
    };
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let doing = "cannot listen to signals";
        let mut hang_up = signal(SignalKind::hangup()).context(doing)?;
        let mut terminate = signal(SignalKind::terminate()).context(doing)?;
        let mut interrupt = signal(SignalKind::interrupt()).context(doing)?;
        let finish = Arc::new(finish);
        let again = Arc::clone(&finish);
        tokio::spawn(async move {
            terminate.recv().await;
            finish();
            // Whoever asks twice does not want to wait.
            terminate.recv().await;
            std::process::exit(i32::from(super::super::monitor::INTERRUPTED));
        });
        tokio::spawn(async move {
            interrupt.recv().await;
            again();
            interrupt.recv().await;
            std::process::exit(i32::from(super::super::monitor::INTERRUPTED));
        });
        let server = Arc::clone(server);
        tokio::spawn(async move {
            while hang_up.recv().await.is_some() {
                let server = Arc::clone(&server);
                let _ = tokio::task::spawn_blocking(move || server.refresh()).await;
            }
        });
    }
    #[cfg(not(unix))]
    tokio::spawn(async move {
        let _ = tokio::signal::ctrl_c().await;
        finish();
    });
    Ok(())
}
