//! The options of commands that add segments to a store: their label, and the name of the job.

use clap::Args;

/// The label of what is added.
#[derive(Args, Debug)]
pub(in crate::cli) struct LabelArgs {
    /// The label of new segments, such as 2026-11; see 'expire'
    #[arg(long, value_name = "LABEL", default_value = "", hide_default_value = true)]
    pub(in crate::cli) label: String,
}

/// The name of a job that may run again.
#[derive(Args, Debug)]
pub(in crate::cli) struct RunArgs {
    /// Remember NAME in the store; if it is there already, do nothing
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) run: Option<String>,
}
