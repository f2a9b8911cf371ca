//! `fpstore promote`: makes a follower (a copy that follows another store) a store of its own.

use clap::Args;
use fpstore::writer;

use crate::args::resources::QuietArgs;
use crate::session::command::ExitStatus;
use crate::session::stores::StorePlace;

const LONG_ABOUT: &str = "\
Make a follower, made by 'serve --follow' or 'backup --every', a store of its own, which accepts \
changes: for example when the machine of the followed store is lost. End the follower first.

The store gets a new id and the next generation. It never copies a state of the earlier store again, \
and followers of the earlier store never copy its states, so changes of both are never mixed. \
Other followers begin a new folder with 'serve --follow' at the promoted store. Changes that the \
follower had not copied are in the earlier store alone; compare the lines of 'fpstore dump' of both.";

const AFTER_HELP: &str = "\
Example:
  fpstore promote pages.fps && fpstore serve -s pages.fps --writable

Exit status: 0 done; 2 error, the store is unchanged.";

/// Make a follower a store of its own, which accepts changes
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub(crate) struct PromoteArgs {
    #[command(flatten)]
    store: StorePlace,
    #[command(flatten)]
    quiet: QuietArgs,
}

pub(crate) fn run(args: &PromoteArgs) -> anyhow::Result<ExitStatus> {
    let path = args.store.path();
    let generation = writer::promote(path)?;
    if !args.quiet.is_on() {
        message!("{} is now a store of its own, at generation {generation}", path.display());
    }
    Ok(ExitStatus::Done)
}
