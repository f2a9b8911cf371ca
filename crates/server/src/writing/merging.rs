//! Merges segments in the background, so that thousands of small commits do not slow queries down.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::protocol::failure::chain;
use crate::state::live_store::LiveStore;
use fpstore::writer::{Compaction, Compactor};
use fpstore::{Error, WriterOptions};

/// The pause between two merges. It is short in tests, where many servers end and each waits for
/// it.
const PAUSE: Duration = Duration::from_millis(if cfg!(test) { 20 } else { 1_000 });

/// The thread that merges.
pub(crate) struct Merging {
    sender: SyncSender<Compaction>,
    thread: JoinHandle<()>,
}

impl Merging {
    pub(super) fn start(server: &Arc<LiveStore>, options: &WriterOptions) -> std::io::Result<Self> {
        let (sender, receiver) = sync_channel(1);
        let (server, options) = (Arc::clone(server), options.clone());
        let run = move || run(&server, &options, &receiver);
        let thread = std::thread::Builder::new().name("merging".into()).spawn(run)?;
        Ok(Merging { sender, thread })
    }

    /// Requests a merge, unless another requested merge has not started. Returns whether it was
    /// requested.
    pub(super) fn ask(&self, what: Compaction) -> bool {
        self.sender.try_send(what).is_ok()
    }

    /// Ends the thread after its running merge.
    pub(super) fn end(self) {
        drop(self.sender);
        let _ = self.thread.join();
    }
}

fn run(server: &LiveStore, options: &WriterOptions, receiver: &Receiver<Compaction>) {
    let mut told: Option<String> = None;
    while let Ok(what) = receiver.recv() {
        let merged = Compactor::with_options(&server.path, options.clone())
            .and_then(|mut compactor| compactor.compact(&what));
        match merged {
            Ok(done) => {
                told = None;
                server.metrics.merges.fetch_add(done.made, Relaxed);
                if done.merged > 0 {
                    // Reads the merged segments into memory now, not at the next commit.
                    let _ = server.refresh();
                }
            }
            // Another process is merging, or the server is ending: no fault.
            Err(Error::Compacting { .. } | Error::Interrupted) => {}
            Err(error) => {
                server.metrics.merge_failures.fetch_add(1, Relaxed);
                let why = chain(&error);
                if told.as_ref() != Some(&why) {
                    server.log(format_args!("merging segments failed: {why}"));
                }
                told = Some(why);
            }
        }

        std::thread::sleep(PAUSE);
    }
}
