//! The settings of a server.

use std::num::NonZero;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use fpstore_base::Recipe;
use fpstore_text::{TextHasher, TextRecipe};

use super::live_store::Log;
use super::opened::HasherOf;
use super::scrub::ScrubOptions;
use crate::protocol::access_entry::AccessLog;
use crate::protocol::tokens::Tokens;
use crate::writing::WritingOptions;
use fpstore::join::JudgedPairs;
use fpstore::{OpenOptions, Warm, WriterOptions};
use fpstore_client::wire::{PageTemplates, ServeLimits};

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
    /// How the store is opened, now and at each refresh.
    pub open: OpenOptions,
    /// Searches that run at a time on threads for blocking work. The runtime of the caller needs this
    /// number of blocking threads and a few more. As many threads of the server search for what is
    /// costly.
    pub threads: usize,
    /// How often a newer state of the store is looked for.
    pub refresh: Duration,
    /// For how long refreshes may fail before `/readyz` says that the server is not ready.
    pub stale_after: Duration,
    /// How the store is read again to find damage, if it is.
    pub scrub: Option<ScrubOptions>,
    /// What is read into memory before a state is shown. With `None`, each query runs on a thread for
    /// blocking work, because it may wait for the disk.
    pub warm: Option<Warm>,
    /// Who may use a Unix socket, as a file mode.
    pub socket_mode: u32,
    /// Who may read and who may write.
    pub tokens: Tokens,
    /// Whether other machines may add and delete without a token, where the server writes.
    pub anyone_may_write: bool,
    /// Names in the header `Host` that are accepted beside those of this machine; `None` for any. On
    /// a machine with a browser and without tokens, other names let pages of other sites ask.
    pub hosts: Option<Vec<String>>,
    /// How the page for people shows what an id stands for.
    pub templates: PageTemplates,
    /// What a client may ask for, and how long it may take.
    pub limits: ServeLimits,
    /// Pairs that people have judged: an item is not near what is judged different from it, see
    /// [`CheckedWriter::check_and_add_judged`](fpstore::writer::CheckedWriter::check_and_add_judged).
    pub pairs: JudgedPairs,
    /// How the server writes, if it does. It is then the one writer of the store.
    pub writing: Option<WritingOptions>,
    /// Makes the hasher for texts of a recipe, with the lists that the recipe needs.
    pub hasher_of: HasherOf,
    /// For how long the server goes on to answer after [`Server::shutdown`], while `/readyz` says that
    /// it drains: as long as a balancer needs to see that.
    ///
    /// [`Server::shutdown`]: crate::Server::shutdown
    pub drain_delay: Duration,
    /// Takes each request that was answered, if there is one.
    pub access_log: Option<AccessLog>,
    /// Takes lines for the operator: of refreshes, commits and merges that fail, for example.
    pub log: Log,
}

impl Default for ServeSettings {
    /// All of the store is kept in memory, its newest state is looked for each second; nothing is
    /// written; everybody on this machine may ask.
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
            drain_delay: Duration::ZERO,
            access_log: None,
            log: |_| {},
        }
    }
}

/// The hasher of a recipe that needs no lists.
fn hasher_of(recipe: &Recipe) -> Result<TextHasher, String> {
    let hasher = TextRecipe::from_recipe(recipe).and_then(|recipe| TextHasher::new(&recipe));
    hasher.map_err(|error| error.to_string())
}

impl Default for WritingOptions {
    /// Segments are merged beside the writer; what was answered with `"durable": false` is durable
    /// within a second.
    fn default() -> Self {
        let writer = WriterOptions::default().compact(false).memory(512 << 20);
        WritingOptions { writer, commit_every: Duration::from_secs(1), merge: true }
    }
}
