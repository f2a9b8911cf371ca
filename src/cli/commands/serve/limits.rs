//! The options that limit a server: those of the library, as arguments.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use bytesize::ByteSize;
use clap::builder::TypedValueParser;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use fpstore::options::NumberOption;
use fpstore::serve::{LIMIT_OPTIONS, ServeLimits};

/// What a client may ask for, and how long it may take.
#[derive(Clone, Debug)]
pub(in crate::cli) struct LimitArgs(pub(in crate::cli) ServeLimits);

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
    // clap borrows texts for as long as the program runs.
    let default = limit.default.map(|value| &*spelled(limit, value).leak());
    Arg::new(limit.name)
        .long(&*limit.flag().leak())
        .help(limit.about)
        .help_heading("Limits")
        .value_name(kind)
        .default_value(default)
        .value_parser(clap::builder::StringValueParser::new().try_map(|text| parsed(limit, &text)))
}

/// A value as it is given.
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

/// A time such as `200ms`, `5s` or `1m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Time(pub(in crate::cli) Duration);

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "expected a time above 0, such as 200ms, 5s or 1m".to_string();
        let at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
        let (number, unit) = text.split_at(at);
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let seconds = match unit {
            "ms" => number / 1000.0,
            "s" | "" => number,
            "m" => number * 60.0,
            "h" => number * 3600.0,
            _ => return Err(wrong()),
        };
        if !(0.001..=1e9).contains(&seconds) {
            return Err(wrong());
        }
        Ok(Time(Duration::from_secs_f64(seconds)))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_millis() {
            whole if whole % 1000 == 0 => write!(f, "{}s", whole / 1000),
            part => write!(f, "{part}ms"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_and_are_above_0() {
        for (text, millis, spelled) in
            [("200ms", 200, "200ms"), ("1.5s", 1500, "1500ms"), ("2m", 120_000, "120s")]
        {
            let time: Time = text.parse().unwrap();
            assert_eq!(time, Time(Duration::from_millis(millis)));
            assert_eq!(time.to_string(), spelled);
        }
        for wrong in ["", "0s", "-1s", "5 parsecs", "s", "nan", "1e99h"] {
            assert!(wrong.parse::<Time>().is_err(), "{wrong}");
        }
    }
}
