//! The bodies of requests.

use std::borrow::Cow;
use std::ops::Not;

use serde::{Deserialize, Serialize};

use super::query_options::QueryOptions;

/// The body of `/v1/query` and `/v1/nearest`: one fingerprint or many, in hex.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct QueryBody<'a> {
    /// The one fingerprint, if there is no list.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Cow<'a, str>>,
    /// The list of fingerprints.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub fingerprints: Option<Vec<HexText<'a>>>,
    /// The options, as fields beside the fingerprints.
    #[serde(flatten)]
    pub options: QueryOptions,
}

/// A fingerprint of a list, in hex. It is borrowed where JSON escapes none of it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct HexText<'a>(#[serde(borrow)] pub Cow<'a, str>);

/// The body of `/v1/check-and-add`.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AddBody<'a> {
    /// An item is new if no stored fingerprint lies within this distance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k: Option<u32>,
    /// Whether the answer waits until all that is new is on the disk, which is the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub durable: Option<bool>,
    /// Whether ready fingerprints were made by the recipe of the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same_recipe: Option<bool>,
    /// Refuse the request if comparing the items is expected to cost more than this, in microseconds
    /// of search.
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
    /// The text, whose fingerprint the server makes by the recipe of the store.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub text: Option<Cow<'a, str>>,
    /// The id to remember.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub id: Option<Cow<'a, str>>,
}

/// The body of `DELETE /v1/ids`.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DeleteBody {
    /// The ids to forget.
    pub ids: Vec<String>,
    /// Whether the answer only says what would be deleted.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub dry_run: bool,
}

/// The body of `PUT /v1/ids`: documents that take the place of those with the same ids.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ReplaceBody<'a> {
    /// Whether ready fingerprints were made by the recipe of the store.
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
    /// Segments expire whose label is a date of more than this age ago, such as `30d`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub older_than: Option<String>,
    /// Segments expire whose label sorts before this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Whether they expire even if no record stays.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub all: bool,
    /// Whether the answer only says what would be removed.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub dry_run: bool,
}

/// The body of `POST /v1/label`.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LabelBody {
    /// The label of what is added from now on; `today` is the day in UTC, an empty text none.
    pub label: String,
}

/// The body of `POST /v1/compact`.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CompactBody {
    /// Which segments are merged; the name of a [`Compaction`](fpstore::writer::Compaction).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segments: Option<String>,
}

/// The body of `POST /v1/import`.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ImportBody {
    /// The names of stores or segment files, which lie in the folder that the served store lies in.
    pub from: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// serde does not promise that a flattened struct and refused fields go together.
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
