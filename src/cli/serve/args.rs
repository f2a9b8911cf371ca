//! The options of `fpstore serve`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;
use bytesize::ByteSize;
use clap::{Arg, Args, ValueEnum};
use fpstore::{Warm, WriterOptions};

use super::super::command::{AccessArgs, ExitStatus, Run, StoreArg};
use super::super::recipe_files::RecipeFileArgs;
use super::super::wait::{WaitArgs, announcer};
use super::address::Address;
use super::life;
use super::limits::{Limits, duration};
use super::page::Templates;
use super::socket;
use super::tokens::Tokens;
use super::writing::WritingOptions;

const LONG_ABOUT: &str = "\
Answer queries over HTTP, for crawlers, frontends and people with a browser.

It listens on this machine alone unless --listen says otherwise; then it asks for a token. \
--writable lets clients remember what is new and delete ids; the server is then the one writer of \
the store. GET / is a page for people, /openapi.json describes all routes, docs/serve.md explains \
them.

The newest state of the store is looked for every --refresh, on SIGHUP, and by POST /v1/refresh; it \
is read into memory before it is shown. If the store vanishes or is damaged, the state before is \
still shown, and /readyz says so. SIGTERM and an interrupt end the server in order.

It has no TLS; a reverse proxy before it has.";

const AFTER_HELP: &str = "\
Examples:
  fpstore serve -s pages.fps
  curl 'http://127.0.0.1:7700/v1/query?fingerprint=c0f1789bed2eb9b8'
  fpstore serve -s pages.fps --writable --listen 0.0.0.0:7700 --token-file read --write-token-file write

Exit status: 0 ended by a signal, all that was answered is done; 2 error.";

/// Answer queries over HTTP
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP, mut_args = in_long_help)]
pub(in crate::cli) struct ServeArgs {
    #[command(flatten)]
    store: StoreArg,
    #[command(flatten)]
    access: AccessArgs,
    /// Where to listen: ADDRESS:PORT, with port 0 for a free one, or unix:PATH
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7700")]
    listen: String,
    /// Who may use the Unix socket, as a file mode
    #[arg(long, value_name = "MODE", default_value = "600", value_parser = socket::mode)]
    socket_mode: u32,
    /// Threads that read requests and search; as many again search what takes long [default: one
    /// for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=256))]
    threads: Option<u64>,
    /// How often to look for a newer state of the store
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration)]
    refresh: Duration,
    /// For how long refreshes may fail before /readyz says that the server is not ready
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    stale_after: Duration,
    /// What to read into memory before a state is shown; queries of what was not wait for the disk
    #[arg(long, value_enum, value_name = "WHAT", default_value = "all")]
    warm: WarmArg,
    /// Tokens of those who may read, one on each line
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Tokens of those who may write; they may read too
    #[arg(long, value_name = "FILE")]
    write_token_file: Option<PathBuf>,
    /// Listen to other machines though no token is needed
    #[arg(long)]
    no_auth: bool,
    /// A name of this server, for a proxy that passes it on; may be repeated
    ///
    /// On this machine without a token, only requests to localhost are answered, because a page in a
    /// browser could send others.
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
    #[command(flatten)]
    writing: WritingArgs,
    #[command(flatten)]
    resources: RecipeFileArgs,
    #[command(flatten)]
    templates: Templates,
    #[command(flatten)]
    limits: Limits,
    /// Print only errors
    #[arg(short, long, help_heading = None::<&str>)]
    quiet: bool,
}

/// The help of `--access`, whose default is another one here; and limits and what few
/// need only in the long help.
fn in_long_help(arg: Arg) -> Arg {
    let arg = match arg.get_id().as_str() {
        "access" => arg.help(
            "How to read the store: from a memory map; all of it into memory first; or auto: into \
             memory on a network file system, if it takes at most a quarter of the memory [default: \
             auto]",
        ),
        _ => arg,
    };
    let rare = ["socket_mode", "stale_after", "commit_every"].contains(&arg.get_id().as_str());
    if rare || arg.get_help_heading() == Some("Limits") { arg.hide_short_help(true) } else { arg }
}

/// How the server writes.
#[derive(Args, Debug)]
#[command(next_help_heading = "Writing")]
struct WritingArgs {
    /// Let clients add and delete; nobody else can write to the store meanwhile
    #[arg(long)]
    writable: bool,
    /// The label of new segments, such as 2026-11
    #[arg(
        long,
        value_name = "LABEL",
        default_value = "",
        hide_default_value = true,
        requires = "writable"
    )]
    label: String,
    /// The longest time until what was answered with "durable": false is durable
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration, requires = "writable")]
    commit_every: Duration,
    /// Memory for commits, and as much for merging segments
    #[arg(long, value_name = "SIZE", default_value = "512MiB", requires = "writable")]
    memory: ByteSize,
    /// Do not merge segments
    #[arg(long, requires = "writable")]
    no_compact: bool,
    #[command(flatten)]
    wait: WaitArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum WarmArg {
    /// The whole store
    All,
    /// Prefix indexes and heads, for a store that is larger than the memory
    Hot,
    /// Nothing; every query is handed to another thread
    None,
}

impl Run for ServeArgs {
    fn run(&self) -> anyhow::Result<ExitStatus> {
        life::run(self)
    }

    fn after_interruption(&self) -> &'static str {
        "the server did not start"
    }
}

/// What the options say, checked.
pub(super) struct Settings {
    pub(super) address: Address,
    pub(super) tokens: Tokens,
    pub(super) hosts: Option<Vec<String>>,
}

impl ServeArgs {
    /// Checks the options that belong together.
    pub(super) fn settings(&self) -> anyhow::Result<Settings> {
        let address = Address::parse(&self.listen)?;
        let tokens = Tokens::open(self.token_file.as_deref(), self.write_token_file.as_deref())?;
        if self.writing.wait.is_given() && !self.writing.writable {
            bail!("--wait is for servers that write; add --writable");
        }
        if self.write_token_file.is_some() && !self.writing.writable {
            bail!("--write-token-file is for servers that write; add --writable");
        }
        let is_open = !tokens.guard_reading() || self.writing.writable && !tokens.guard_writing();
        if !address.is_local() && !self.no_auth {
            if !tokens.guard_reading() {
                bail!(
                    "--listen {} lets other machines ask: give --token-file with tokens that may \
                     read, or --no-auth if everybody may",
                    self.listen
                );
            }
            if is_open {
                bail!(
                    "--writable at {} needs --write-token-file with tokens that may write",
                    self.listen
                );
            }
        }
        if self.writing.writable && tokens.guard_reading() && !tokens.guard_writing() {
            bail!(
                "with --token-file, --writable needs --write-token-file with tokens that may write"
            );
        }
        let is_guarded = tokens.guard_reading();
        let hosts = match &address {
            Address::Tcp(_) if address.is_local() && !is_guarded => Some(self.host.clone()),
            _ => None,
        };
        Ok(Settings { address, tokens, hosts })
    }

    pub(super) fn store(&self) -> (&StoreArg, &AccessArgs) {
        (&self.store, &self.access)
    }

    pub(super) fn socket_mode(&self) -> u32 {
        self.socket_mode
    }

    pub(super) fn threads(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        self.threads.map_or_else(cores, |threads| usize::try_from(threads).unwrap_or(1))
    }

    pub(super) fn refresh(&self) -> Duration {
        self.refresh
    }

    pub(super) fn stale_after(&self) -> Duration {
        self.stale_after
    }

    pub(super) fn warm(&self) -> Option<Warm> {
        match self.warm {
            WarmArg::All => Some(Warm::All),
            WarmArg::Hot => Some(Warm::Hot),
            WarmArg::None => None,
        }
    }

    /// How the server writes, if it does.
    pub(super) fn writing(&self) -> Option<WritingOptions> {
        let WritingArgs { writable, label, commit_every, memory, no_compact, wait } = &self.writing;
        let writer = WriterOptions::default()
            .label(label)
            .compact(false)
            .memory(memory.as_u64())
            .wait(wait.duration())
            .observer(announcer());
        let (commit_every, merge) = (*commit_every, !no_compact);
        writable.then_some(WritingOptions { writer, commit_every, merge })
    }

    pub(super) fn recipe_files(&self) -> &RecipeFileArgs {
        &self.resources
    }

    pub(super) fn templates(&self) -> &Templates {
        &self.templates
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.quiet
    }
}
