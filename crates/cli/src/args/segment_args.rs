//! Options of commands that add segments to a store: their label, the kind of ids, and the name of
//! the run.

use clap::{Arg, Args};
use fpstore::IdPolicy;
use fpstore::writer::dated_label;

use super::help_of;
use crate::session::choice::bare_choice;

/// The label of new segments.
#[derive(Args, Debug)]
pub(crate) struct LabelArgs {
    /// Label of new segments, such as 2026-11 or today; see 'expire'
    #[arg(long, value_name = "LABEL", default_value = "", hide_default_value = true)]
    label: String,
}

impl LabelArgs {
    /// The label, with a date in place of `today` and `yesterday`.
    pub(crate) fn label(&self) -> String {
        dated_label(&self.label)
    }

    /// The label, if it is a word such as `today` that is replaced by a date.
    pub(crate) fn word(&self) -> Option<&str> {
        Some(self.label.as_str()).filter(|label| dated_label(label) != *label)
    }
}

/// The kind of the ids of a segment.
#[derive(Args, Debug)]
pub(crate) struct IdTypeArgs {
    /// Kind of ids; auto: u64 if every id is a decimal number without leading zeros, else text
    #[arg(long, alias = "ids", value_parser = bare_choice::<IdPolicy>(), default_value_t,
          hide_short_help = true)]
    pub(crate) id_type: IdPolicy,
}

/// The name of a job that may run again.
#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// Store the NAME of this run; if the store already has it, do nothing
    #[arg(long, value_name = "NAME")]
    pub(crate) run: Option<String>,
}

/// Marks an option that is only valid with --add.
pub(crate) fn with_add(arg: Arg) -> Arg {
    let help = help_of(&arg);
    let help = format!("With --add: {}{}", help[..1].to_lowercase(), &help[1..]);
    arg.requires("add").hide_short_help(true).help(help)
}
