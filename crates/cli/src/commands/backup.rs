//! `fpstore backup`: copies the current snapshot of a store to a folder; files that the folder
//! already contains are not copied again.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use fpstore::Store;
use fpstore::writer::{self, BackedUp, BackupOptions};
use fpstore_client::Client;

use crate::args::resources::{ProgressArgs, QuietArgs, rate};
use crate::args::time::Time;
use crate::args::token::TokenFileArg;
use crate::output::text::{bytes, counted};
use crate::session::command::ExitStatus;
use crate::session::stores::StoreArg;
use crate::session::wait::WaitArgs;

/// The interval between two checks for a signal while waiting for the next copy.
const LISTENING: Duration = Duration::from_millis(100);

const LONG_ABOUT: &str = "\
Copy the state of the store to FOLDER, also while others write to the store. Only missing segments \
are copied; each copy is checked completely. FOLDER is a store with the same id and generation, which \
can be read at any time: it changes in one step, after all files are copied.

Files that the new state does not need are removed from FOLDER, so it contains one state. For several \
states, use several folders; 'query --as-of' and 'log' read them. To restore a store, copy FOLDER. A \
FOLDER with another store, or with a later state, is refused.

--server copies the state of 'fpstore serve' at URL, with the permission to read. --every TIME continues \
and copies each newer state, so that FOLDER follows the store: programs on this machine open FOLDER, \
and refresh. It retries while the store cannot be reached. Other commands then refuse to write to FOLDER \
until 'fpstore promote'. To serve FOLDER, use 'fpstore serve --follow URL' instead, which also reports \
how far it is behind.

An interrupted backup keeps the copied segments, and the next backup continues.";

const AFTER_HELP: &str = "\
Examples:
  fpstore backup /mnt/backup/pages.fps -s pages.fps
  fpstore backup /mnt/backup/pages.fps -s pages.fps --max-rate 50MB/s --verify
  fpstore backup pages.fps --server http://192.0.2.7:7700 --every 10s

Exit status: 0 done; 2 error, FOLDER is unchanged.";

/// Copy the state of the store to a folder; only missing segments are copied
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub(crate) struct BackupArgs {
    /// Directory of the copy; created if it does not exist
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    #[command(flatten)]
    store: StoreArg,
    /// Copy the state of 'fpstore serve' at http://ADDRESS:PORT or unix:PATH
    #[arg(long, value_name = "URL", conflicts_with = "store")]
    server: Option<String>,
    #[command(flatten)]
    token: TokenFileArg,
    /// Keep running, and copy newer states at this interval, such as 10s
    #[arg(long, value_name = "TIME")]
    every: Option<Time>,
    /// Also check the segments in FOLDER, and copy damaged segments again
    #[arg(long)]
    verify: bool,
    /// Copy no faster than this, such as 20MB/s
    #[arg(long, value_name = "RATE", value_parser = rate)]
    max_rate: Option<u64>,
    #[command(flatten)]
    wait: WaitArgs,
    #[command(flatten)]
    progress: ProgressArgs,
    #[command(flatten)]
    quiet: QuietArgs,
}

pub(crate) fn run(args: &BackupArgs) -> anyhow::Result<ExitStatus> {
    let monitor = args.progress.monitor(args.quiet.is_on())?;
    let options = BackupOptions::default()
        .verify(args.verify)
        .max_rate(args.max_rate)
        .wait(args.wait.duration())
        .follows(args.every.is_some().then(|| args.source_name()))
        .observer(monitor.observer());
    let mut source = Source::of(args)?;
    let mut told = None;
    for round in 0.. {
        match source.backup(&args.folder, &options) {
            Ok(done) => {
                if told.take().is_some() {
                    message!("the store can be copied again");
                }
                if !args.quiet.is_on() && (round == 0 || done.is_new) {
                    monitor.suspend(|| report(&done));
                }
            }
            Err(error) if round == 0 || monitor.check().is_err() => return Err(error),
            // With `--every`, the backup is tried again; a repeated error is printed only once.
            Err(error) => {
                let why = format!("{error:#}");
                if told.as_ref() != Some(&why) {
                    monitor.suspend(|| message!("not copied, the last state is kept: {why}"));
                }
                told = Some(why);
            }
        }
        let Some(Time(pause)) = args.every else { break };
        let end = Instant::now() + pause;
        while Instant::now() < end {
            std::thread::sleep(LISTENING.min(end.saturating_duration_since(Instant::now())));
            monitor.check()?;
        }
    }
    monitor.finish();
    Ok(ExitStatus::Done)
}

impl BackupArgs {
    /// The path or URL of the copied store. It is named in the error of programs that try to write
    /// to the copy.
    fn source_name(&self) -> String {
        match &self.server {
            Some(url) => url.clone(),
            None => {
                let path = &self.store.store;
                std::path::absolute(path).unwrap_or_else(|_| path.clone()).display().to_string()
            }
        }
    }
}

/// The store or server whose snapshots are copied.
enum Source {
    Store(Store),
    Server(Client),
}

impl Source {
    fn of(args: &BackupArgs) -> anyhow::Result<Self> {
        if let Some(url) = &args.server {
            return Ok(Source::Server(args.token.client(url)?));
        }
        Ok(Source::Store(args.store.open()?))
    }

    /// Copies the newest snapshot to the folder `to`.
    fn backup(&mut self, to: &Path, options: &BackupOptions) -> anyhow::Result<BackedUp> {
        match self {
            Source::Store(store) => {
                store.refresh()?;
                Ok(writer::backup(store, to, options)?)
            }
            Source::Server(client) => Ok(fpstore_client::backup(client, to, options)?),
        }
    }
}

fn report(done: &BackedUp) {
    message!(
        "{} holds generation {}: {} copied, {}; {} already there",
        done.path.display(),
        done.generation,
        counted(done.copied, "segment", "segments"),
        bytes(done.copied_len),
        done.kept,
    );
}
