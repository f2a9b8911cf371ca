//! Writes groups of documents as JSON, for the script of the page.

use std::collections::HashMap;

use serde::Serialize;

use super::largest::{GroupDocument, GroupFacts, ShownGroup};
use super::texts::{Doubt, GroupTexts, ShownText};
use super::words::{Part, differences};
use fpstore::Result;

#[derive(Serialize)]
struct Document<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    fingerprint: String,
    distance: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    similarity: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<&'a str>,
    #[serde(flatten)]
    text: Option<Text>,
}

#[derive(Serialize)]
struct Text {
    #[serde(flatten)]
    content: Content,
    /// The number of positions at which only the white space differs from the first text. These
    /// differences are not in the parts.
    #[serde(skip_serializing_if = "is_zero")]
    spaces: u64,
    /// The number of characters of the whole text, if the page shows only its beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    len: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    doubt: Option<&'static str>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Content {
    /// The first text of the group, with which the other texts are compared.
    Text(String),
    /// Another text, as its differences from the first text.
    Parts(Vec<JsonPart>),
}

/// A part of a compared text, in a compact form: for common text its length in UTF-16 units, for
/// removed text the negative length, for added text the text itself.
#[derive(Debug, PartialEq, Serialize)]
#[serde(untagged)]
enum JsonPart {
    Units(i64),
    Added(String),
}

impl From<Part<'_>> for JsonPart {
    fn from(part: Part<'_>) -> Self {
        let units = |text: &str| text.encode_utf16().count() as i64;
        match part {
            Part::Same(text) => JsonPart::Units(units(text)),
            Part::Removed(text) => JsonPart::Units(-units(text)),
            Part::Added(text) => JsonPart::Added(text.into()),
        }
    }
}

/// The JSON of all groups, with a limited length.
pub(super) struct Json {
    pub(super) text: String,
    len_max: usize,
    /// Whether any document has a text.
    pub(super) has_texts: bool,
    /// The number of documents without a text.
    pub(super) missing_count: u64,
    pub(super) group_count: u64,
    pub(super) document_count: u64,
}

impl Json {
    pub(super) fn within(len_max: usize) -> Self {
        Json {
            text: "[".into(),
            len_max,
            has_texts: false,
            missing_count: 0,
            group_count: 0,
            document_count: 0,
        }
    }

    /// Adds a group. Returns whether all its documents fit. A group is omitted if fewer than two of
    /// its documents fit.
    pub(super) fn push(
        &mut self,
        group: &ShownGroup,
        texts: Option<&mut GroupTexts>,
        pictures: Option<&HashMap<String, String>>,
    ) -> Result<bool> {
        let mut own = String::new();
        let comma = if self.group_count > 0 { ",\n" } else { "\n" };
        let GroupFacts { number, size, diameter, diameter_is_exact } = group.facts;
        own.push_str(&format!(
            "{comma}{{\"number\":{number},\"size\":{size},\"diameter\":{diameter},\
             \"exact\":{diameter_is_exact},\"documents\":["
        ));
        let (count, missing_count) = self.push_documents(&mut own, group, texts, pictures)?;
        own.push_str("]}");
        if count >= 2 {
            self.text.push_str(&own);
            self.group_count += 1;
            self.document_count += count;
            self.missing_count += missing_count;
        }
        Ok(count == group.documents.len() as u64)
    }

    /// Appends the documents of a group to `own`, as far as they fit. Returns the number of
    /// appended documents, and how many of them have no text.
    fn push_documents(
        &mut self,
        own: &mut String,
        group: &ShownGroup,
        mut texts: Option<&mut GroupTexts>,
        pictures: Option<&HashMap<String, String>>,
    ) -> Result<(u64, u64)> {
        let (mut count, mut missing_count) = (0, 0);
        let mut first: Option<String> = None;
        for document in &group.documents {
            let GroupDocument { id, fingerprint, distance, similarity } = document;
            let found = match &mut texts {
                Some(texts) => texts.next(id.as_deref(), *fingerprint)?,
                None => None,
            };
            let has_text = found.is_some();
            let text = found.map(|found| text_beside(found, &mut first));
            let document = Document {
                id: id.as_deref(),
                fingerprint: fingerprint.to_string(),
                distance: *distance,
                similarity: similarity.map(|it| (it * 1e4).round() / 1e4),
                picture: id.as_ref().and_then(|id| pictures?.get(id)).map(String::as_str),
                text,
            };
            // '<' is escaped, because a script element ends at the first '</', even in a JSON
            // string.
            let json = serde_json::to_string(&document).expect("texts and numbers are JSON");
            let json = json.replace('<', "\\u003c");
            if self.text.len() + own.len() + json.len() + 8 > self.len_max {
                break;
            }
            if count > 0 {
                own.push(',');
            }
            own.push_str(&json);
            count += 1;
            self.has_texts |= has_text;
            missing_count += u64::from(!has_text);
        }
        Ok((count, missing_count))
    }

    /// Closes the JSON array.
    pub(super) fn close(&mut self) {
        self.text.push_str("\n]");
    }
}

/// Compares a text with the first text of its group. If there is none yet, this is the first text.
fn text_beside(found: ShownText, first: &mut Option<String>) -> Text {
    let shown = found.text.chars().count() as u64;
    let (content, spaces) = match first {
        None => {
            *first = Some(found.text.clone());
            (Content::Text(found.text), 0)
        }
        Some(first) => {
            let differences = differences(first, &found.text);
            let parts = differences.parts.into_iter().map(Into::into).collect();
            (Content::Parts(parts), differences.space_count)
        }
    };
    Text {
        content,
        spaces,
        len: (shown < found.len).then_some(found.len),
        doubt: match found.doubt {
            Doubt::None => None,
            Doubt::OtherFingerprint => Some("fingerprint"),
            Doubt::Namesakes => Some("namesakes"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_count_the_units_of_the_script() {
        let parts = differences("a \u{1f600} b end", "a \u{1f601} b end");
        let parts: Vec<JsonPart> = parts.parts.into_iter().map(Into::into).collect();
        use JsonPart::{Added, Units};
        assert_eq!(parts, [Units(2), Units(-2), Added("\u{1f601}".into()), Units(6)]);
    }
}
