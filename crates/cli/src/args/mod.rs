//! Arguments that several commands have, each with one function that gives plain settings.

pub(crate) mod documents;
pub(crate) mod fingerprint_arg;
pub(crate) mod format_args;
pub(crate) mod help;
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
