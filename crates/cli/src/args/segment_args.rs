//! Options of commands that add segments to a store: their label, the kind of ids, and the name of
//! the run.

use clap::{Arg, Args};
use fpstore::IdPolicy;
use fpstore::writer::dated_label;

use super::help_of;
use crate::session::choice::bare_choice;

/// The option for the label of new segments.
#[derive(Args, Debug)]
pub(crate) struct LabelArgs {
    /// Label of new segments, such as 2026-11 or today; see 'expire'
    #[arg(long, value_name = "LABEL", default_value = "", hide_default_value = true)]
    label: String,
}

impl LabelArgs {
    /// The label. The words `today` and `yesterday` are replaced by a date.
    pub(crate) fn label(&self) -> String {
        dated_label(&self.label)
    }

    /// The label as typed, if it is `today` or `yesterday`.
    pub(crate) fn word(&self) -> Option<&str> {
        Some(self.label.as_str()).filter(|label| dated_label(label) != *label)
    }
}

/// The option for the kind of ids in a segment.
#[derive(Args, Debug)]
pub(crate) struct IdTypeArgs {
    /// Kind of ids; auto: u64 if every id is a decimal number without leading zeros, else text
    #[arg(long, alias = "ids", value_parser = bare_choice::<IdPolicy>(), default_value_t,
          hide_short_help = true)]
    pub(crate) id_type: IdPolicy,
}

/// The option for the name of a job, so that a repeated job adds nothing.
#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// Store the NAME of this run; if the store already has it, do nothing
    #[arg(long, value_name = "NAME")]
    pub(crate) run: Option<String>,
}

/// Makes an option valid only with `--add`, and adds this to its help.
pub(crate) fn with_add(arg: Arg) -> Arg {
    let help = help_of(&arg);
    let help = format!("With --add: {}{}", help[..1].to_lowercase(), &help[1..]);
    arg.requires("add").hide_short_help(true).help(help)
}
