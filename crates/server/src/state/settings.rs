//! The settings of a server.

use std::num::NonZero;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use fpstore_base::Recipe;
use fpstore_text::{TextHasher, TextRecipe};

use super::following::FollowOptions;
use super::live_store::Log;
use super::opened::HasherOf;
use super::scrub::ScrubOptions;
use crate::protocol::line_queue::LineQueue;
use crate::protocol::tokens::Tokens;
use crate::writing::WritingOptions;
use fpstore::join::JudgedPairs;
use fpstore::{OpenOptions, Warm, WriterOptions};
use fpstore_client::PageTemplates;
use fpstore_client::limits::ServeLimits;

/// The settings of [`Server::open`](crate::Server::open).
///
/// # Examples
///
/// ```
/// use fpstore_server::{ServeLimits, ServeSettings, WritingOptions};
///
/// let settings = ServeSettings {
///     limits: ServeLimits { max_k: 8, ..ServeLimits::default() },
///     writing: Some(WritingOptions::default()),
///     log: |line| eprintln!("{line}"),
///     ..ServeSettings::default()
/// };
/// ```
#[derive(Clone)]
pub struct ServeSettings {
    /// The options for opening the store, at the start and at each refresh.
    pub open: OpenOptions,
    /// The largest number of concurrent searches on threads for blocking work. The runtime of the
    /// caller needs this number of blocking threads and a few more. For costly searches, the server
    /// starts the same number of threads itself.
    pub threads: usize,
    /// The time between two refreshes.
    pub refresh: Duration,
    /// How long refreshes must fail before `/readyz` reports that the server is not ready.
    pub stale_after: Duration,
    /// The rate of scrubbing; `None` for no scrubbing.
    pub scrub: Option<ScrubOptions>,
    /// The part of the store that is read into memory before a snapshot is used. With `None`, each
    /// query runs on a thread for blocking work, because it may wait for the disk.
    pub warm: Option<Warm>,
    /// The file mode of a Unix socket.
    pub socket_mode: u32,
    /// The tokens for reading and writing.
    pub tokens: Tokens,
    /// Whether other machines may add and delete without a token, if the server writes.
    pub anyone_may_write: bool,
    /// Accepted names in the header `Host`, in addition to the names of this machine; `None`
    /// accepts any. On a machine with a browser and without tokens, other names allow requests of
    /// foreign web pages.
    pub hosts: Option<Vec<String>>,
    /// The links and pictures of ids on the page.
    pub templates: PageTemplates,
    /// The limits on requests and on their duration.
    pub limits: ServeLimits,
    /// Pairs that people have judged: an item is not near a record judged different from it, see
    /// [`CheckedWriter::check_and_add_judged`](fpstore::writer::CheckedWriter::check_and_add_judged).
    pub pairs: JudgedPairs,
    /// The options for writing; `None` for a read-only server. A writing server is the only writer
    /// of the store.
    pub writing: Option<WritingOptions>,
    /// Makes the hasher for texts of a recipe, with the lists and tables that the recipe needs.
    pub hasher_of: HasherOf,
    /// The followed server; `None` for a store that others change. A follower is read-only.
    pub follow: Option<FollowOptions>,
    /// The time for which the server continues to answer after [`Server::shutdown`], while
    /// `/readyz` reports that it drains: the time that a load balancer needs to notice it.
    ///
    /// [`Server::shutdown`]: crate::Server::shutdown
    pub drain_delay: Duration,
    /// Receives a line of JSON for each answered request.
    pub access_log: Option<LineQueue>,
    /// Whether requests come through a proxy, which adds the address of its client as the last one
    /// of `X-Forwarded-For`. The address is logged only.
    pub behind_proxy: bool,
    /// Receives log lines for the operator, for example about failing refreshes, commits and
    /// merges.
    pub log: Log,
}

impl Default for ServeSettings {
    /// The whole store is kept in memory and refreshed each second; the server is read-only;
    /// everybody on this machine may query it.
    fn default() -> Self {
        ServeSettings {
            open: OpenOptions::default(),
            threads: available_parallelism().map_or(1, NonZero::get),
            refresh: Duration::from_secs(1),
            stale_after: Duration::from_secs(60),
            scrub: None,
            warm: Some(Warm::All),
            socket_mode: 0o600,
            tokens: Tokens::default(),
            anyone_may_write: false,
            hosts: Some(Vec::new()),
            templates: PageTemplates::default(),
            limits: ServeLimits::default(),
            pairs: JudgedPairs::default(),
            writing: None,
            hasher_of: Arc::new(hasher_of),
            follow: None,
            drain_delay: Duration::ZERO,
            access_log: None,
            behind_proxy: false,
            log: |_| {},
        }
    }
}

/// The hasher of a recipe that needs no lists or tables.
fn hasher_of(recipe: &Recipe) -> Result<TextHasher, String> {
    let hasher = TextRecipe::from_recipe(recipe).and_then(|recipe| TextHasher::new(&recipe));
    hasher.map_err(|error| error.to_string())
}

impl Default for WritingOptions {
    /// Segments are merged in the background; additions with `"durable": false` become durable
    /// within a second.
    fn default() -> Self {
        let writer = WriterOptions::default().compact(false).memory(512 << 20);
        WritingOptions { writer, commit_every: Duration::from_secs(1), merge: true }
    }
}
