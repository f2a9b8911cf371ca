//! Arguments that several commands have, each with one function that gives plain settings.

pub(in crate::cli) mod documents;
pub(in crate::cli) mod fingerprint_arg;
pub(in crate::cli) mod format_args;
pub(in crate::cli) mod help;
pub(in crate::cli) mod inputs;
#[cfg_attr(not(feature = "images"), path = "no_pictures.rs")]
pub(in crate::cli) mod pictures;
pub(in crate::cli) mod reading_args;
pub(in crate::cli) mod recipe_args;
pub(in crate::cli) mod recipe_files;
pub(in crate::cli) mod report_args;
pub(in crate::cli) mod resources;
pub(in crate::cli) mod scheme_arg;
pub(in crate::cli) mod segment_args;
pub(in crate::cli) mod share;
pub(in crate::cli) mod time;
#[cfg(feature = "serve")]
pub(in crate::cli) mod token;
