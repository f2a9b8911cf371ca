//! `fpstore serve`: runs the HTTP server of the library, handles signals, prints messages.

mod args;
mod limits;

use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use fpstore::{Error, IoError};
use fpstore_server::{Address, Listener, Server};

pub(crate) use args::ServeArgs;
use args::{PairsArg, TokenArgs};

use crate::output::text::counted;
use crate::session::command::ExitStatus;
use crate::session::monitor::INTERRUPTED;

/// The message printed when the system cannot read a page of a mapped file (SIGBUS).
#[cfg(unix)]
const LOST_PAGE: &[u8] =
    b"fpstore: ended by SIGBUS: a file of the store was cut short while it was mapped, or \
    the disk cannot read it; to find the file, run 'fpstore verify'; to serve from memory, use \
    --access memory\n";

/// Installs a handler for SIGBUS that prints [`LOST_PAGE`] before the process ends.
#[cfg(unix)]
#[expect(unsafe_code, reason = "a handler of a signal")]
fn tell_of_lost_pages() {
    let tell = || {
        // SAFETY: `write` is async-signal-safe; the pointer and the length are of a static slice.
        unsafe { libc::write(libc::STDERR_FILENO, LOST_PAGE.as_ptr().cast(), LOST_PAGE.len()) };
        let _ = signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGBUS);
    };
    // SAFETY: the handler calls only `write` and `emulate_default_handler`, which are
    // async-signal-safe; it neither allocates nor panics, and the second call ends the process.
    // If the handler cannot be installed, SIGBUS ends the process without the message.
    let _ = unsafe { signal_hook::low_level::register(signal_hook::consts::SIGBUS, tell) };
}

pub(crate) fn run(args: &ServeArgs) -> anyhow::Result<ExitStatus> {
    #[cfg(unix)]
    tell_of_lost_pages();
    let (address, settings) = args.settings()?;
    let (threads, log) = (settings.threads, settings.access_log.clone());
    let judged = [settings.pairs.different_count(), settings.pairs.duplicate_count()];
    allow_connections(settings.limits.max_connections);
    let paths = args.stores.paths();
    let server = match paths.as_slice() {
        [path] => Server::open(path, settings)?,
        paths => Server::open_all(paths, settings)?,
    };
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        // One blocking thread for each search, and eight more for tasks such as refreshes and the
        // closing of the writer.
        .max_blocking_threads(threads + 8)
        .thread_name("serve")
        .enable_all()
        .build()
        .context(args::THREADS)?;
    let ended = runtime.block_on(async {
        let listeners = listen(&server, &address)
            .and_then(|listener| Ok((listener, args.listen_for_metrics(&server)?)));
        let (listener, metrics) = match listeners {
            Ok(listeners) => listeners,
            Err(error) => {
                server.close().await?;
                return Err(error);
            }
        };
        heed_signals(&server, &args.tokens, args.pairs())?;
        if !args.quiet.is_on() {
            report_pairs(judged);
            if let Some(metrics) = &metrics {
                message!("metrics at {}", metrics.address());
            }
            message!("serving {} at {}", names.join(", "), listener.address());
        }
        if let Some(metrics) = metrics {
            tokio::spawn(server.clone().run_metrics(metrics));
        }
        Ok(server.run(listener).await?)
    });
    // Does not wait for searches that still run, because no client waits for their results.
    runtime.shutdown_timeout(Duration::from_millis(100));
    args::flush_messages();
    if let Some(log) = log {
        log.flush(Duration::from_secs(1));
    }
    ended?;
    if !args.quiet.is_on() {
        message!("ended");
    }
    Ok(ExitStatus::Done)
}

/// Prints how many judged pairs are used (pairs of different documents), and how many are ignored
/// (duplicates).
fn report_pairs([different, duplicates]: [usize; 2]) {
    if different + duplicates > 0 {
        message!(
            "using {} of different documents; ignored pairs of duplicates: {duplicates}",
            counted(different as u64, "judged pair", "judged pairs"),
        );
    }
}

impl ServeArgs {
    /// Opens the listener for `/metrics` at the address of `--metrics-listen`, if it is given.
    fn listen_for_metrics(&self, server: &Server) -> anyhow::Result<Option<Listener>> {
        let Some(address) = &self.metrics_listen else { return Ok(None) };
        let address = address.parse();
        let address: Address = address.map_err(|error| anyhow!("--metrics-listen {error}"))?;
        Ok(Some(server.bind_metrics(&address)?))
    }
}

fn listen(server: &Server, address: &Address) -> anyhow::Result<Listener> {
    server.bind(address).map_err(|error| match (error, address) {
        (Error::Io(IoError { doing, path, source }), Address::Tcp(_)) => anyhow::Error::new(source)
            .context(format!(
                "cannot {doing} {}; choose another address with --listen",
                path.display()
            )),
        (error, _) => error.into(),
    })
}

/// Raises the limit of open files, which is often 1024, so that it suffices for this number of
/// connections, or as far as the system allows.
fn allow_connections(connections: u64) {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        // Segments, their locks and temporary files also need open files.
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

/// Installs the signal handlers: SIGTERM and SIGINT end the server; SIGHUP makes it read the files
/// of tokens and of judged pairs again, and refresh the store.
#[cfg(unix)]
fn heed_signals(server: &Server, tokens: &TokenArgs, pairs: &PairsArg) -> anyhow::Result<()> {
    use fpstore_base::chain;
    use tokio::signal::unix::{SignalKind, signal};

    let doing = "cannot listen to signals";
    let mut terminate = signal(SignalKind::terminate()).context(doing)?;
    let mut interrupt = signal(SignalKind::interrupt()).context(doing)?;
    end_when_asked(server, move |context| {
        let asked = [terminate.poll_recv(context), interrupt.poll_recv(context)];
        asked.iter().any(Poll::is_ready)
    });
    let mut hang_up = signal(SignalKind::hangup()).context(doing)?;
    let (server, tokens, pairs) = (server.clone(), tokens.clone(), pairs.clone());
    tokio::spawn(async move {
        while hang_up.recv().await.is_some() {
            let (server, tokens, pairs) = (server.clone(), tokens.clone(), pairs.clone());
            let _ = tokio::task::spawn_blocking(move || {
                let changed = tokens.open().and_then(|tokens| server.set_tokens(tokens));
                if let Err(error) = changed {
                    message!("the old tokens remain in use: {}", chain(&error));
                }
                match pairs.read() {
                    Ok(Some(pairs)) => server.set_pairs(pairs),
                    Ok(None) => {}
                    Err(error) => message!("the old judged pairs remain in use: {error:#}"),
                }
                // The error is ignored here, because `/readyz` reports a failed refresh.
                let _ = server.refresh();
            })
            .await;
        }
    });
    Ok(())
}

/// Installs handlers for events of the Windows console: Ctrl-C, Ctrl-Break, closing the console and
/// shutting down the system end the server.
#[cfg(not(unix))]
fn heed_signals(server: &Server, _: &TokenArgs, _: &PairsArg) -> anyhow::Result<()> {
    use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close, ctrl_shutdown};

    let doing = "cannot listen to the console";
    let (mut interrupt, mut stop) = (ctrl_c().context(doing)?, ctrl_break().context(doing)?);
    let (mut close, mut shutdown) = (ctrl_close().context(doing)?, ctrl_shutdown().context(doing)?);
    end_when_asked(server, move |context| {
        let asked = [
            interrupt.poll_recv(context),
            stop.poll_recv(context),
            close.poll_recv(context),
            shutdown.poll_recv(context),
        ];
        asked.iter().any(Poll::is_ready)
    });
    Ok(())
}

/// Shuts the server down when `asked` first returns true. When `asked` returns true again, the
/// process exits at once: the user does not want to wait.
fn end_when_asked(
    server: &Server,
    mut asked: impl FnMut(&mut Context<'_>) -> bool + Send + 'static,
) {
    let server = server.clone();
    tokio::spawn(async move {
        let mut come = |context: &mut Context<'_>| {
            if asked(context) { Poll::Ready(()) } else { Poll::Pending }
        };
        poll_fn(&mut come).await;
        server.shutdown();
        poll_fn(&mut come).await;
        std::process::exit(i32::from(INTERRUPTED));
    });
}
