//! The options of `fpstore serve`.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use bytesize::ByteSize;
use clap::{Arg, Args};
use fpstore::join::JudgedPairs;
use fpstore::{Warm, WriterOptions};
use fpstore_server::{
    Address, FollowOptions, LineQueue, PageTemplates, ScrubOptions, ServeSettings, Tokens,
    WritingOptions,
};

use super::limits::LimitArgs;
use crate::args::inputs::read_judged;
use crate::args::recipe_files::RecipeFileArgs;
use crate::args::resources::{QuietArgs, rate};
use crate::args::segment_args::LabelArgs;
use crate::args::time::Time;
use crate::args::token::token_of;
use crate::output::text::{line_of_message, print_message};
use crate::session::choice::choice;
use crate::session::command::AccessArgs;
use crate::session::stores::StoresPlace;
use crate::session::wait::{WaitArgs, announcer};

/// The context of the error if the system refuses to start a thread.
pub(super) const THREADS: &str = "cannot start threads";

const LONG_ABOUT: &str = "\
Answer queries over HTTP from a store, or from several (-s A -s B), for crawlers and people. For TLS \
use a reverse proxy.

The server listens on this machine only, unless --listen sets another address, which requires tokens. \
With --writable clients can add records and delete ids; the server is then the only writer of the \
store. Other machines need a token of --write-token-file to write, also with --no-auth. GET / is a \
page for people, /openapi.json describes all routes, docs/serve.md explains them.

Every --refresh-every, on SIGHUP, and on POST /v1/refresh, a newer state is read into memory and used; \
SIGHUP also reads the files of tokens and --pairs again. If the store vanishes or is damaged, the last \
state is used, and /readyz reports this. SIGTERM or an interrupt ends the server in order.

--follow URL copies, verifies and serves each state of another server; /readyz reports a copy older than \
--max-lag. Other commands refuse to write to the store until 'fpstore promote'.";

const AFTER_HELP: &str = "\
Examples:
  fpstore serve -s pages.fps
  fpstore serve -s pages.fps --writable --listen 0.0.0.0:7700 --token-file r --write-token-file w
  fpstore serve -s copy.fps --follow http://192.0.2.7:7700 --max-lag 30s

Exit status: 0 ended by a signal, all answered requests are done; 2 error.";

/// Answer queries over HTTP
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP, mut_args = in_long_help)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) stores: StoresPlace,
    #[command(flatten)]
    access: AccessArgs,
    /// ADDRESS:PORT or unix:PATH to listen at
    ///
    /// Port 0 is any free port; the server prints it.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7700")]
    listen: String,
    /// File mode of the Unix socket
    #[arg(long, value_name = "MODE", default_value = "600", value_parser = file_mode)]
    socket_mode: u32,
    /// Number of threads for requests and short searches; long searches have as many more
    /// [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=256))]
    threads: Option<u64>,
    #[command(flatten)]
    follow: FollowArgs,
    /// Interval of checks for a newer state of the store
    #[arg(long, alias = "refresh", value_name = "TIME",
          default_value_t = Time(ServeSettings::default().refresh))]
    refresh_every: Time,
    /// If all refreshes fail for this time, /readyz reports that the server is not ready
    #[arg(long, value_name = "TIME", default_value_t = Time(ServeSettings::default().stale_after))]
    stale_after: Time,
    /// Interval at which the whole store is read again, to find disk damage early; see /metrics
    #[arg(long, value_name = "TIME")]
    scrub_every: Option<Time>,
    /// Maximum bytes per second for --scrub-every
    #[arg(long, value_name = "RATE", default_value = "20MB/s", requires = "scrub_every",
          value_parser = rate)]
    scrub_rate: u64,
    /// Parts of the store to read into memory before a state is used; queries of other parts wait
    /// for the disk
    #[arg(long, value_parser = choice::<Warm>(), value_name = "WHAT", default_value_t = Warm::All)]
    warm: Warm,
    #[command(flatten)]
    pub(super) tokens: TokenArgs,
    /// Let other machines read without a token
    #[arg(long)]
    no_auth: bool,
    /// Let other machines add and delete without a token
    #[arg(long, requires = "writable")]
    anyone_may_write: bool,
    /// Additional host name of this server, such as the name of a proxy; may be repeated
    ///
    /// A server on a local address that needs no token for reading rejects requests with any Host
    /// other than localhost, a local IP address and these names: a web page in a browser could have
    /// sent them.
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
    #[command(flatten)]
    writing: WritingArgs,
    #[command(flatten)]
    resources: RecipeFileArgs,
    /// Print a line of JSON for each request to standard output
    #[arg(long)]
    access_log: bool,
    /// Log the address in the header X-Forwarded-For of a proxy as the client
    #[arg(long, requires = "access_log")]
    behind_proxy: bool,
    /// Additional address that serves only /metrics, /healthz and /readyz, without a token
    #[arg(long, value_name = "ADDRESS")]
    pub(super) metrics_listen: Option<String>,
    /// Keep accepting connections for TIME after SIGTERM; /readyz reports 'not ready' at once, so
    /// that load balancers stop sending requests
    #[arg(long, value_name = "TIME")]
    drain_delay: Option<Time>,
    #[command(flatten)]
    templates: TemplateArgs,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    pub(crate) quiet: QuietArgs,
}

/// The options for the files that contain the tokens of clients.
#[derive(Args, Clone, Debug)]
pub(super) struct TokenArgs {
    /// File of tokens for reading, one on each line
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// File of tokens for reading and writing
    #[arg(long, value_name = "FILE")]
    pub(super) write_token_file: Option<PathBuf>,
}

impl TokenArgs {
    pub(super) fn open(&self) -> fpstore::Result<Tokens> {
        Tokens::open(self.token_file.as_deref(), self.write_token_file.as_deref())
    }
}

/// The option for the file of pairs judged by people.
#[derive(Args, Clone, Debug)]
pub(super) struct PairsArg {
    /// Pairs of ids that never count as near, judged by people, one on each line: id, id, 0
    #[arg(long, value_name = "FILE", requires = "writable")]
    pairs: Option<PathBuf>,
}

impl PairsArg {
    /// Reads the judged pairs, if the user gave a file.
    pub(super) fn read(&self) -> anyhow::Result<Option<JudgedPairs>> {
        match &self.pairs {
            Some(file) if file.as_os_str() == "-" => {
                bail!("--pairs is read again on SIGHUP, and standard input cannot be; name a file")
            }
            file => file.as_deref().map(read_judged).transpose(),
        }
    }
}

/// Replaces the help of `--access`, whose default differs for a server, and hides the limits and
/// rarely needed options in the short help.
fn in_long_help(arg: Arg) -> Arg {
    let arg = match arg.get_id().as_str() {
        "access" => arg.help("How to read the store [default: auto]"),
        "quiet" | "access_log" | "drain_delay" | "behind_proxy" | "metrics_listen" => {
            arg.help_heading(None::<&str>)
        }
        _ => arg,
    };
    let rare = [
        "access",
        "threads",
        "warm",
        "host",
        "socket_mode",
        "stale_after",
        "scrub_every",
        "scrub_rate",
        "commit_every",
        "pairs",
        "drain_delay",
        "max_lag",
        "follow_token_file",
        "behind_proxy",
        "metrics_listen",
    ]
    .contains(&arg.get_id().as_str());
    if rare || arg.get_help_heading() == Some("Limits") { arg.hide_short_help(true) } else { arg }
}

/// Options for a server that writes to its store.
#[derive(Args, Debug)]
#[command(
    next_help_heading = "Writing",
    mut_arg("label", |arg| arg.requires("writable"))
)]
struct WritingArgs {
    /// Let clients add and delete; no other process can write to the store meanwhile
    #[arg(long)]
    writable: bool,
    #[command(flatten)]
    label: LabelArgs,
    /// Maximum time until records answered with "durable": false are durable
    #[arg(
        long,
        value_name = "TIME",
        default_value_t = Time(WritingOptions::default().commit_every),
        requires = "writable"
    )]
    commit_every: Time,
    /// Memory for commits, and as much for merging segments
    #[arg(long, value_name = "SIZE", default_value = "512MiB", requires = "writable")]
    memory: ByteSize,
    /// Merge segments only on request of a client
    #[arg(long, requires = "writable")]
    no_compact: bool,
    #[command(flatten)]
    wait: WaitArgs,
    #[command(flatten)]
    pairs: PairsArg,
}

/// Options for the links and pictures of ids on the server's web page.
#[derive(Args, Debug)]
#[command(next_help_heading = "Page")]
struct TemplateArgs {
    /// Template for the link of an id: https://example.org/{id}, or {id} for URLs
    #[arg(long, value_name = "TEMPLATE", value_parser = template)]
    link: Option<String>,
    /// Template for the picture of an id, such as https://example.org/{id}.jpg
    #[arg(long, value_name = "TEMPLATE", value_parser = template)]
    image: Option<String>,
}

fn template(text: &str) -> Result<String, String> {
    if text.contains("{id}") { Ok(text.into()) } else { Err("expected {id} in it".into()) }
}

/// The queue of messages, which a thread prints: a slow reader of standard error must not block the
/// server.
static MESSAGES: OnceLock<LineQueue> = OnceLock::new();

/// Queues a message for printing, so that the caller does not wait for standard error.
fn print_later(message: std::fmt::Arguments<'_>) {
    match MESSAGES.get() {
        Some(queue) => queue.push(&line_of_message(message)),
        None => print_message(message),
    }
}

/// Waits up to a second until the queued messages are printed.
pub(super) fn flush_messages() {
    if let Some(queue) = MESSAGES.get() {
        queue.flush(Duration::from_secs(1));
    }
}

/// Starts the queue of the access log, which a thread writes to standard output.
fn access_log() -> anyhow::Result<LineQueue> {
    let told = |why: &str| print_later(format_args!("access log: {why}"));
    LineQueue::start(std::io::stdout(), told).context(THREADS)
}

/// Options for a server that follows another one.
#[derive(Args, Debug)]
struct FollowArgs {
    /// Follow 'fpstore serve' at URL: copy each new state to the store
    #[arg(long, value_name = "URL", conflicts_with = "writable")]
    follow: Option<String>,
    /// If the served state is older than this, /readyz reports that the server is not ready
    #[arg(long, value_name = "TIME", default_value_t = Time(FollowOptions::default().max_lag),
          requires = "follow")]
    max_lag: Time,
    /// File with the token for the followed server in its first line [default: $FPSTORE_TOKEN]
    #[arg(long, value_name = "FILE", requires = "follow")]
    follow_token_file: Option<PathBuf>,
}

impl FollowArgs {
    fn options(&self) -> anyhow::Result<Option<FollowOptions>> {
        let Some(url) = self.follow.clone() else { return Ok(None) };
        let token = token_of(self.follow_token_file.as_deref())?;
        Ok(Some(FollowOptions { url, token, max_lag: self.max_lag.0 }))
    }
}

/// Parses a file mode in octal, such as `660`.
fn file_mode(text: &str) -> Result<u32, String> {
    match u32::from_str_radix(text, 8) {
        Ok(mode) if mode <= 0o777 => Ok(mode),
        _ => Err("expected three octal digits, such as 660".into()),
    }
}

impl ServeArgs {
    /// Checks the options, and converts them to the address and the settings of the server.
    pub(crate) fn settings(&self) -> anyhow::Result<(Address, ServeSettings)> {
        if MESSAGES.get().is_none() {
            let _ = MESSAGES.set(LineQueue::start(std::io::stderr(), |_| {}).context(THREADS)?);
        }
        let address: Address = self.listen.parse().map_err(|error| anyhow!("--listen {error}"))?;
        let tokens = self.tokens.open()?;
        self.check(&address, &tokens)?;
        let is_guarded = tokens.guard_reading();
        let hosts = match &address {
            Address::Tcp(_) if address.is_local() && !is_guarded => Some(self.host.clone()),
            _ => None,
        };
        let files = self.resources.clone();
        let defaults = ServeSettings::default();
        let settings = ServeSettings {
            // The default here is the library's, which is safer than a map: a server runs for a
            // long time.
            open: self.access.options().unwrap_or_default(),
            threads: self.threads.map_or(defaults.threads, |it| usize::try_from(it).unwrap_or(1)),
            refresh: self.refresh_every.0,
            stale_after: self.stale_after.0,
            scrub: self
                .scrub_every
                .map(|every| ScrubOptions { every: every.0, max_rate: self.scrub_rate }),
            warm: Some(self.warm).filter(|&warm| warm != Warm::None),
            socket_mode: self.socket_mode,
            tokens,
            anyone_may_write: self.anyone_may_write,
            hosts,
            templates: PageTemplates {
                link: self.templates.link.clone(),
                image: self.templates.image.clone(),
            },
            limits: self.limits.0.clone(),
            pairs: self.pairs().read()?.unwrap_or_default(),
            writing: self.writing.options(),
            hasher_of: Arc::new(move |recipe| {
                files.hasher_of(recipe).map_err(|error| format!("{error:#}"))
            }),
            drain_delay: self.drain_delay.map_or(Duration::ZERO, |delay| delay.0),
            follow: self.follow.options()?,
            access_log: self.access_log.then(access_log).transpose()?,
            behind_proxy: self.behind_proxy,
            log: print_later,
        };
        Ok((address, settings))
    }

    pub(super) fn pairs(&self) -> &PairsArg {
        &self.writing.pairs
    }

    /// Rejects invalid combinations of options, and access from other machines that the user did
    /// not explicitly allow.
    fn check(&self, address: &Address, tokens: &Tokens) -> anyhow::Result<()> {
        if self.writing.writable {
            self.stores.check_one("--writable")?;
        }
        if self.follow.follow.is_some() {
            self.stores.check_one("--follow")?;
        }
        if self.scrub_every.is_some() {
            self.stores.check_one("--scrub-every")?;
        }
        if self.writing.wait.is_given() && !self.writing.writable {
            bail!("--wait is for servers that write; add --writable");
        }
        if let Some(word) = self.writing.label.word() {
            bail!(
                "--label {word} would be the day when the server starts, also on later days; give \
                 a date"
            );
        }
        if self.tokens.write_token_file.is_some() && !self.writing.writable {
            bail!("--write-token-file is for servers that write; add --writable");
        }
        if !address.is_local() {
            if !tokens.guard_reading() && !self.no_auth {
                bail!(
                    "--listen {} lets other machines read: give --token-file with tokens that may \
                     read, or --no-auth if everybody may",
                    self.listen
                );
            }
            if self.writing.writable && !tokens.guard_writing() && !self.anyone_may_write {
                bail!(
                    "--writable at {} lets other machines add and delete: give --write-token-file \
                     with tokens that may write, or listen at 127.0.0.1 or unix:PATH, or give \
                     --anyone-may-write if everybody may",
                    self.listen
                );
            }
        }
        if self.writing.writable && tokens.guard_reading() && !tokens.guard_writing() {
            bail!(
                "with --token-file, --writable needs --write-token-file with tokens that may write"
            );
        }
        Ok(())
    }
}

impl WritingArgs {
    fn options(&self) -> Option<WritingOptions> {
        let WritingArgs { writable, label, commit_every, memory, no_compact, wait, .. } = self;
        let writer = WriterOptions::default()
            .label(label.label())
            .compact(false)
            .memory(memory.as_u64())
            .wait(wait.duration())
            .observer(announcer());
        let (commit_every, merge) = (commit_every.0, !no_compact);
        writable.then_some(WritingOptions { writer, commit_every, merge })
    }
}
