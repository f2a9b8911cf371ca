//! What options say of themselves, to be said with more words.

use clap::Arg;

/// The short help of an option.
pub(crate) fn help_of(arg: &Arg) -> String {
    arg.get_help().map(ToString::to_string).unwrap_or_default()
}

/// An option whose long help has more than its short one.
pub(crate) fn with_more(arg: Arg, more: &str) -> Arg {
    let help = help_of(&arg);
    arg.long_help(help + more)
}
