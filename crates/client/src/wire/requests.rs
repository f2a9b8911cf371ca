//! The bodies of requests.

use std::borrow::Cow;
use std::ops::Not;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// The options of a query. The server chooses the value of an omitted option.
///
/// A field has the same name in Rust, as a parameter of an address, and in a JSON body.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct QueryOptions {
    /// The largest distance; by default the tuned distance of the store, and 64 with `count`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k: Option<u32>,
    /// The number of nearest matches to find, instead of all matches within `k`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// The number of matches within `k` to keep, the nearest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// The largest number of ids of each match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ids: Option<u64>,
    /// Whether the answer contains the plan and the costs of its search; for a single query only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explain: Option<bool>,
    /// The largest expected cost in microseconds of search; a costlier request is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<u64>,
}

impl QueryOptions {
    /// The given options, as fields of a JSON object.
    pub fn to_fields(self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => fields,
            _ => unreachable!("a struct with named fields is an object"),
        }
    }
}

/// The body of `/v1/query` and `/v1/nearest`: one fingerprint or many, in hex.
#[derive(Clone, Debug, Default, Serialize)]
pub struct QueryBody<'a> {
    /// A single fingerprint; the alternative to `fingerprints`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Cow<'a, str>>,
    /// A list of fingerprints; the alternative to `fingerprint`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprints: Option<Vec<HexText<'a>>>,
    /// The options, as fields of the same JSON object.
    #[serde(flatten)]
    pub options: QueryOptions,
}

/// The fields of [`QueryBody`]. With `flatten`, serde would keep the values of unknown fields in 16
/// times the memory of the body before it refuses them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename = "QueryBody")]
struct QueryFields<'a> {
    #[serde(borrow)]
    fingerprint: Option<Cow<'a, str>>,
    #[serde(borrow)]
    fingerprints: Option<Vec<HexText<'a>>>,
    k: Option<u32>,
    count: Option<u64>,
    limit: Option<u64>,
    ids: Option<u64>,
    explain: Option<bool>,
    max_cost: Option<u64>,
}

impl<'de: 'a, 'a> Deserialize<'de> for QueryBody<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let fields = QueryFields::deserialize(from)?;
        let QueryFields { fingerprint, fingerprints, k, count, limit, ids, explain, max_cost } =
            fields;
        let options = QueryOptions { k, count, limit, ids, explain, max_cost };
        Ok(QueryBody { fingerprint, fingerprints, options })
    }
}

/// A fingerprint of a list, in hex. The text is borrowed from the body, unless a character in it is
/// escaped.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct HexText<'a>(#[serde(borrow)] pub Cow<'a, str>);

/// The body of `/v1/check-and-add`.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AddBody<'a> {
    /// An item is new if no stored fingerprint is within this distance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k: Option<u32>,
    /// Whether the answer waits until all new items are on the disk; true by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub durable: Option<bool>,
    /// Whether the given fingerprints were made by the recipe of the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same_recipe: Option<bool>,
    /// The largest expected cost of comparing the items, in microseconds of search; a costlier
    /// request is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<u64>,
    /// The items, compared in this order.
    #[serde(borrow)]
    pub items: Vec<AddItem<'a>>,
}

/// An item of [`AddBody`]: either a fingerprint or a text.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AddItem<'a> {
    /// The fingerprint, in hex.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Cow<'a, str>>,
    /// The text. The server computes its fingerprint by the recipe of the store.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub text: Option<Cow<'a, str>>,
    /// The id to store with the fingerprint.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub id: Option<Cow<'a, str>>,
}

/// The body of `DELETE /v1/ids`.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DeleteBody {
    /// The ids to delete.
    pub ids: Vec<String>,
    /// Whether the server only counts the records that it would delete.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub dry_run: bool,
}

/// The body of `PUT /v1/ids`: documents that replace the stored ones with the same ids.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ReplaceBody<'a> {
    /// Whether the given fingerprints were made by the recipe of the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same_recipe: Option<bool>,
    /// The documents, each with its id.
    #[serde(borrow)]
    pub items: Vec<AddItem<'a>>,
}

/// The body of `POST /v1/expire`: one of `older_than` and `before`.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ExpireBody {
    /// Segments expire if their label is a date older than this age, such as `30d`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub older_than: Option<String>,
    /// Segments expire if their label sorts before this label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Whether all segments may expire, so that the store becomes empty.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub all: bool,
    /// Whether the server only lists the segments that it would remove.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub dry_run: bool,
}

/// The body of `POST /v1/label`.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LabelBody {
    /// The label of records added from now on; `today` is the date in UTC, an empty text removes
    /// the label.
    pub label: String,
}

/// The body of `POST /v1/compact`.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CompactBody {
    /// The segments to merge: the name of a [`Compaction`](fpstore::writer::Compaction).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segments: Option<String>,
}

/// The body of `POST /v1/import`.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ImportBody {
    /// The names of stores or segment files in the parent folder of the served store.
    pub from: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_are_fields_of_the_body_and_no_other_is_taken() {
        let text = r#"{"fingerprints":["1"],"k":3,"limit":2}"#;
        let body: QueryBody<'_> = serde_json::from_str(text).unwrap();
        let options = QueryOptions { k: Some(3), limit: Some(2), ..QueryOptions::default() };
        assert_eq!(body.options, options);
        let fingerprints = body.fingerprints.as_deref();
        assert!(matches!(fingerprints, Some([HexText(Cow::Borrowed("1"))])), "it was copied");
        assert_eq!(serde_json::to_string(&body).unwrap(), text);
        for wrong in [r#"{"kk":3}"#, r#"{"k":3,"k":3}"#, r#"{"k":-1}"#, r#"{"explain":1}"#] {
            assert!(serde_json::from_str::<QueryBody<'_>>(wrong).is_err(), "{wrong}");
        }
    }
}
