//! The command line options for the limits of a server, generated from the list of limits in the
//! library.

use std::time::Duration;

use bytesize::ByteSize;
use clap::builder::TypedValueParser;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use fpstore::options::NumberOption;
use fpstore_server::{LIMIT_OPTIONS, ServeLimits};

use crate::args::time::Time;

/// The limits on requests and their duration, as parsed from the command line.
#[derive(Clone, Debug)]
pub(crate) struct LimitArgs(pub(crate) ServeLimits);

impl FromArgMatches for LimitArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let value = |limit: &NumberOption| *matches.get_one(limit.name).expect("it has a default");
        Ok(LimitArgs(ServeLimits::of(value)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = LimitArgs::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for LimitArgs {
    fn augment_args(command: Command) -> Command {
        command.args(LIMIT_OPTIONS.iter().map(argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        LimitArgs::augment_args(command)
    }
}

fn argument(limit: &'static NumberOption) -> Arg {
    let kind = match limit.unit {
        "bytes" => "SIZE",
        "ms" => "TIME",
        "bits" => "K",
        _ => "N",
    };
    // The texts are leaked, once per process, because clap needs `'static` texts.
    let default = limit.default.map(|value| &*spelled(limit, value).leak());
    Arg::new(limit.name)
        .long(&*limit.flag().leak())
        .help(limit.about)
        .help_heading("Limits")
        .value_name(kind)
        .default_value(default)
        .value_parser(clap::builder::StringValueParser::new().try_map(|text| parsed(limit, &text)))
}

/// Formats the value of a limit as the user would write it, such as `16MiB` or `5s`.
fn spelled(limit: &NumberOption, value: u64) -> String {
    match limit.unit {
        "bytes" => format!("{}MiB", value >> 20),
        "ms" => Time(Duration::from_millis(value)).to_string(),
        _ => value.to_string(),
    }
}

fn parsed(limit: &NumberOption, text: &str) -> Result<u64, String> {
    let value = match limit.unit {
        "bytes" => text.parse::<ByteSize>()?.as_u64(),
        "ms" => text.parse::<Time>()?.0.as_millis() as u64,
        _ => text.parse().map_err(|_| format!("expected {}", limit.expected()))?,
    };
    limit.check(value).map_err(|_| format!("expected {}", limit.expected()))
}
