//! Arguments that several commands share. For each group of arguments, one function converts the
//! parsed values into settings of the library.

use clap::Arg;

pub(crate) mod documents;
pub(crate) mod fingerprint_arg;
pub(crate) mod format_args;
pub(crate) mod inputs;
pub(crate) mod pictures;
pub(crate) mod reading_args;
pub(crate) mod recipe_args;
pub(crate) mod recipe_files;
pub(crate) mod report_args;
pub(crate) mod resources;
pub(crate) mod scheme_arg;
pub(crate) mod segment_args;
pub(crate) mod share;
pub(crate) mod time;
pub(crate) mod token;

/// The short help text of an option.
pub(crate) fn help_of(arg: &Arg) -> String {
    arg.get_help().map(ToString::to_string).unwrap_or_default()
}

/// Appends `more` to the long help text of an option.
pub(crate) fn with_more(arg: Arg, more: &str) -> Arg {
    let help = help_of(&arg);
    arg.long_help(help + more)
}

/// The first of these options that the user gave.
pub(crate) fn first_given(
    options: impl IntoIterator<Item = (bool, &'static str)>,
) -> Option<&'static str> {
    options.into_iter().find(|(is_given, _)| *is_given).map(|(_, name)| name)
}
