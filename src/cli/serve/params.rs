//! Parameters of a request: from the address, or from fields of a JSON body.

use std::borrow::Cow;

use fpstore::{Fingerprint, Radix};
use hyper::Uri;
use serde::Deserialize;

use super::failure::Failure;

/// What a query may say, all of it optional.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
pub(super) struct Params {
    pub(super) k: Option<u32>,
    /// The nearest matches to keep.
    pub(super) limit: Option<u64>,
    /// Ids of each match.
    pub(super) ids: Option<u64>,
    /// The nearest matches to find.
    pub(super) count: Option<u64>,
    /// Whether the answer says how it was found.
    pub(super) explain: Option<bool>,
}

/// A name and its value.
pub(super) type Pair<'a> = (Cow<'a, str>, Cow<'a, str>);

/// The pairs of an address, decoded. Each name may come once.
pub(super) fn pairs(uri: &Uri) -> Result<Vec<Pair<'_>>, Failure> {
    let mut found: Vec<Pair<'_>> = Vec::with_capacity(4);
    for part in uri.query().unwrap_or_default().split('&').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let (name, value) = (decoded(name)?, decoded(value)?);
        if found.iter().any(|(other, _)| *other == name) {
            let message = format!("the parameter '{}' is given twice", name.escape_debug());
            return Err(Failure::bad("duplicate-parameter", message));
        }
        found.push((name, value));
    }
    Ok(found)
}

/// Undoes the encoding of an address: `%41` and `+`.
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

impl Params {
    /// Takes the pairs that it knows, and returns the value of `own` if it is there. Any other name
    /// is an error, because its effect would be waited for.
    pub(super) fn from_pairs<'a>(
        pairs: Vec<Pair<'a>>,
        allowed: &[&str],
        own: &str,
    ) -> Result<(Params, Option<Cow<'a, str>>), Failure> {
        let mut params = Params::default();
        let mut found = None;
        for (name, value) in pairs {
            if name == own {
                found = Some(value);
                continue;
            }
            match &*name {
                _ if !allowed.contains(&&*name) => {
                    let own = Some(own).filter(|own| !own.is_empty());
                    let known: Vec<&str> = own.into_iter().chain(allowed.iter().copied()).collect();
                    let message = format!(
                        "the parameter '{}' is unknown here, expected {}",
                        name.escape_debug(),
                        known.join(", ")
                    );
                    return Err(Failure::bad("unknown-parameter", message));
                }
                "k" => params.k = Some(number(&name, &value)?),
                "limit" => params.limit = Some(number(&name, &value)?),
                "ids" => params.ids = Some(number(&name, &value)?),
                "count" => params.count = Some(number(&name, &value)?),
                _ => params.explain = Some(flag(&name, &value)?),
            }
        }
        Ok((params, found))
    }

    /// Joins those of the address with those of the body.
    pub(super) fn or(self, body: Params) -> Result<Params, Failure> {
        fn one<T>(name: &str, a: Option<T>, b: Option<T>) -> Result<Option<T>, Failure> {
            if a.is_some() && b.is_some() {
                let message = format!("'{name}' stands in the address and in the body");
                return Err(Failure::bad("duplicate-parameter", message));
            }
            Ok(a.or(b))
        }
        Ok(Params {
            k: one("k", self.k, body.k)?,
            limit: one("limit", self.limit, body.limit)?,
            ids: one("ids", self.ids, body.ids)?,
            count: one("count", self.count, body.count)?,
            explain: one("explain", self.explain, body.explain)?,
        })
    }
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, Failure> {
    let is_plain = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit());
    value.parse().ok().filter(|_| is_plain).ok_or_else(|| {
        let message = format!("{name}='{}' is not a whole number from 0 on", value.escape_debug());
        Failure::bad("bad-parameter", message)
    })
}

/// `true`, `1` or nothing at all; `false` or `0`.
pub(super) fn flag(name: &str, value: &str) -> Result<bool, Failure> {
    match value {
        "" | "1" | "true" => Ok(true),
        "0" | "false" => Ok(false),
        _ => {
            let message = format!("{name}='{}', expected true or false", value.escape_debug());
            Err(Failure::bad("bad-parameter", message))
        }
    }
}

/// A fingerprint in hex.
pub(super) fn fingerprint(text: &str) -> Result<Fingerprint, Failure> {
    Fingerprint::parse(text, Radix::Hex).map_err(|error| Failure::bad("bad-fingerprint", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(query: &str) -> Result<(Params, Option<String>), Failure> {
        let uri: Uri = format!("/v1/query?{query}").parse().unwrap();
        let known = ["k", "limit", "explain"];
        let (params, own) = Params::from_pairs(pairs(&uri)?, &known, "fingerprint")?;
        Ok((params, own.map(Cow::into_owned)))
    }

    #[test]
    fn each_name_is_known_and_comes_once() {
        let (params, own) = parse("fingerprint=%66+f&k=3&&explain").unwrap();
        assert_eq!(own.as_deref(), Some("f f"));
        assert_eq!(params, Params { k: Some(3), explain: Some(true), ..Params::default() });
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
