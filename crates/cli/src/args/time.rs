//! Durations as values of options.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A time such as `200ms`, `5s` or `1m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Time(pub(crate) Duration);

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
