//! The parameters of a request, from its address or from its JSON body.

use std::borrow::Cow;
use std::collections::BTreeSet;

use fpstore_base::{Fingerprint, Radix};
use hyper::Uri;
use serde_json::{Map, Value};

use super::failure::Failure;
use crate::steps::Counted;
use fpstore_client::QueryOptions;

/// A name and its value.
pub(crate) type Pair<'a> = (Cow<'a, str>, Cow<'a, str>);

/// The decoded parameters of an address. A repeated name is an error.
pub(crate) fn pairs(uri: &Uri) -> Result<Vec<Pair<'_>>, Failure> {
    let mut found: Vec<Pair<'_>> = Vec::with_capacity(4);
    let mut names = BTreeSet::new();
    for part in uri.query().unwrap_or_default().split('&').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let (name, value) = (decoded(name)?, decoded(value)?);
        if !names.insert(Counted(name.clone())) {
            let message = format!("the parameter '{}' is given twice", name.escape_debug());
            return Err(Failure::bad("duplicate-parameter", message));
        }
        found.push((name, value));
    }
    Ok(found)
}

/// Decodes percent encoding and `+`.
fn decoded(text: &str) -> Result<Cow<'_, str>, Failure> {
    if !text.contains(['%', '+']) {
        return Ok(text.into());
    }
    let wrong = || {
        let message = format!("'{}' is not UTF-8 in percent encoding", text.escape_debug());
        Failure::bad("bad-parameter", message)
    };
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        bytes.push(match first {
            b'+' => b' ',
            b'%' => {
                let (digits, after) = rest.split_at_checked(2).ok_or_else(wrong)?;
                rest = after;
                let digit = |d: u8| (d as char).to_digit(16);
                match (digit(digits[0]), digit(digits[1])) {
                    (Some(high), Some(low)) => (high * 16 + low) as u8,
                    _ => return Err(wrong()),
                }
            }
            other => other,
        });
    }
    String::from_utf8(bytes).map(Cow::Owned).map_err(|_| wrong())
}

/// Returns the `allowed` options, and the value of `own` if present. Any other name is an error, so
/// that no misspelled option is ignored.
pub(crate) fn options_of<'a>(
    pairs: Vec<Pair<'a>>,
    allowed: &[&str],
    own: &str,
) -> Result<(QueryOptions, Option<Cow<'a, str>>), Failure> {
    let mut fields = Map::new();
    let mut found = None;
    for (name, value) in pairs {
        if name == own {
            found = Some(value);
            continue;
        }
        let value = match &*name {
            _ if !allowed.contains(&&*name) => {
                let own = Some(own).filter(|own| !own.is_empty());
                let known: Vec<&str> = own.into_iter().chain(allowed.iter().copied()).collect();
                let message = format!(
                    "unknown parameter '{}', expected {}",
                    name.escape_debug(),
                    known.join(", ")
                );
                return Err(Failure::bad("unknown-parameter", message));
            }
            "explain" => flag(&name, &value)?.into(),
            _ => number(&name, &value)?.into(),
        };
        fields.insert(name.into_owned(), value);
    }
    let options = serde_json::from_value(Value::Object(fields));
    Ok((options.map_err(|error| Failure::bad("bad-parameter", error))?, found))
}

/// Refuses all parameters.
pub(crate) fn no_options(uri: &Uri) -> Result<(), Failure> {
    options_of(pairs(uri)?, &[], "").map(drop)
}

/// Joins the options of the address and of the body.
pub(crate) fn joined(in_url: QueryOptions, in_body: QueryOptions) -> Result<QueryOptions, Failure> {
    let mut fields = in_url.to_fields();
    for (name, value) in in_body.to_fields() {
        if fields.contains_key(&name) {
            let message = format!("'{name}' is given in the address and in the body");
            return Err(Failure::bad("duplicate-parameter", message));
        }
        fields.insert(name, value);
    }
    Ok(serde_json::from_value(Value::Object(fields)).expect("both have these fields"))
}

/// Parses a whole number.
pub(crate) fn number(name: &str, value: &str) -> Result<u64, Failure> {
    let is_plain = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit());
    value.parse().ok().filter(|_| is_plain).ok_or_else(|| {
        let message =
            format!("{name}='{}' is not a whole number of 0 or more", value.escape_debug());
        Failure::bad("bad-parameter", message)
    })
}

/// Parses a flag: `true`, `1` or an empty value; `false` or `0`.
pub(crate) fn flag(name: &str, value: &str) -> Result<bool, Failure> {
    match value {
        "" | "1" | "true" => Ok(true),
        "0" | "false" => Ok(false),
        _ => {
            let message = format!("{name}='{}', expected true or false", value.escape_debug());
            Err(Failure::bad("bad-parameter", message))
        }
    }
}

/// Parses a fingerprint in hex.
pub(crate) fn fingerprint(text: &str) -> Result<Fingerprint, Failure> {
    Fingerprint::parse(text, Radix::Hex).map_err(|error| Failure::bad("bad-fingerprint", error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::counter::{assert_not_quadratic, steps_of};

    fn parse(query: &str) -> Result<(QueryOptions, Option<String>), Failure> {
        let uri: Uri = format!("/v1/query?{query}").parse().unwrap();
        let known = ["k", "limit", "explain"];
        let (options, own) = options_of(pairs(&uri)?, &known, "fingerprint")?;
        Ok((options, own.map(Cow::into_owned)))
    }

    #[test]
    fn names_are_not_compared_each_with_each() {
        assert_not_quadratic(64, |count| {
            let names: Vec<String> = (0..count).map(|at| format!("n{at}=1")).collect();
            let uri: Uri = format!("/v1/query?{}", names.join("&")).parse().unwrap();
            steps_of(|| assert_eq!(pairs(&uri).ok().unwrap().len(), count))
        });
    }

    #[test]
    fn each_name_is_known_and_comes_once() {
        let (options, own) = parse("fingerprint=%66+f&k=3&&explain").unwrap();
        assert_eq!(own.as_deref(), Some("f f"));
        let expected = QueryOptions { k: Some(3), explain: Some(true), ..QueryOptions::default() };
        assert_eq!(options, expected);
        for (query, code) in [
            ("k=3&k=4", "duplicate-parameter"),
            ("k=3&%6b=3", "duplicate-parameter"),
            ("K=3", "unknown-parameter"),
            ("count=3", "unknown-parameter"),
            ("k=-1", "bad-parameter"),
            ("k=+1", "bad-parameter"),
            ("k=", "bad-parameter"),
            ("k=99999999999", "bad-parameter"),
            ("fingerprint=%f", "bad-parameter"),
            ("fingerprint=%ff", "bad-parameter"),
            ("explain=yes", "bad-parameter"),
        ] {
            assert_eq!(parse(query).unwrap_err().code, code, "{query}");
        }
    }
}
