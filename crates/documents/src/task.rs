//! The work on raw documents: decoding them, and hashing or counting their features.

use std::path::Path;

use super::files::DocumentPlace;
use super::guard::guarded;
use super::options::DocumentOptions;
use super::raw::{Body, RawDocument, RowFields};
use super::ready::Ready;
use super::whole_file::NotText;
use super::{decode, json, warc, whole_file};
use crate::error::{Error, Result};
use fpstore_base::{Fingerprint, Id, IdRef, InputPlace};
use fpstore_text::{FeatureHash, TextDigests, TextHasher, Weight, passages};

/// The part of a worker that depends on the requested result.
pub(super) trait Task {
    type Output: Send + 'static;

    fn feed(&mut self, part: &str);
    /// Ends the text and returns its result.
    fn finish(&mut self) -> Self::Output;
    /// Discards the text.
    fn reset(&mut self);
    /// The result for given features, or the reason why there is no result.
    fn features(&mut self, features: &json::Features<'_>) -> Result<Self::Output, String>;

    fn whole(&mut self, text: &str) -> Self::Output {
        self.feed(text);
        self.finish()
    }
}

/// Computes the fingerprint, and digests if the hasher computes them.
pub(super) struct HashTask(pub(super) TextHasher);

impl Task for HashTask {
    type Output = (Option<Fingerprint>, Option<TextDigests>);

    fn feed(&mut self, part: &str) {
        self.0.feed(part);
    }

    fn finish(&mut self) -> Self::Output {
        (self.0.finish(), self.0.take_digests())
    }

    fn reset(&mut self) {
        self.0.reset();
    }

    fn features(&mut self, features: &json::Features<'_>) -> Result<Self::Output, String> {
        Ok((fingerprint_of(&mut self.0, features)?, None))
    }

    fn whole(&mut self, text: &str) -> Self::Output {
        (self.0.fingerprint(text), self.0.take_digests())
    }
}

/// Computes the fingerprint and the hashes of the distinct features. The hasher must be made by
/// [`TextHasher::counting`].
pub(super) struct BothTask(pub(super) TextHasher);

impl Task for BothTask {
    type Output = (Option<Fingerprint>, Vec<u64>, Option<TextDigests>);

    fn feed(&mut self, part: &str) {
        self.0.feed(part);
    }

    fn finish(&mut self) -> Self::Output {
        let (fingerprint, features) = self.0.finish_both();
        (fingerprint, features, self.0.take_digests())
    }

    fn reset(&mut self) {
        self.0.reset();
    }

    fn features(&mut self, features: &json::Features<'_>) -> Result<Self::Output, String> {
        let fingerprint = fingerprint_of(&mut self.0, features)?;
        Ok((fingerprint, distinct(features, &self.0.recipe().hash), None))
    }
}

/// The fingerprint of given features.
fn fingerprint_of(
    hasher: &mut TextHasher,
    features: &json::Features<'_>,
) -> Result<Option<Fingerprint>, String> {
    let is_plain = |weight: &Weight| [Weight::ZERO, Weight::ONE].contains(weight);
    if hasher.recipe().votes().is_none()
        && let Some((name, _)) = features.iter().find(|(_, weight)| !is_plain(weight))
    {
        return Err(format!(
            "feature '{name}' has a weight other than 1; minhash ignores weights, simhash uses them"
        ));
    }
    let features = features.iter().map(|(name, weight)| (name.as_ref(), *weight));
    Ok(hasher.fingerprint_of_features(features))
}

/// The hashes of given features, without repetitions.
fn distinct(features: &json::Features<'_>, hash: &FeatureHash) -> Vec<u64> {
    let mut hashes: Vec<u64> = features
        .iter()
        .filter(|(_, weight)| *weight > Weight::ZERO)
        .map(|(name, _)| hash.of(name.as_bytes()))
        .collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}

/// Computes the hashes of the distinct features.
pub(super) struct CountTask {
    pub(super) hasher: TextHasher,
    pub(super) hash: FeatureHash,
}

impl Task for CountTask {
    type Output = Vec<u64>;

    fn feed(&mut self, part: &str) {
        self.hasher.feed(part);
    }

    fn finish(&mut self) -> Self::Output {
        self.hasher.finish_distinct()
    }

    fn reset(&mut self) {
        self.hasher.reset();
    }

    fn features(&mut self, features: &json::Features<'_>) -> Result<Self::Output, String> {
        Ok(distinct(features, &self.hash))
    }

    fn whole(&mut self, text: &str) -> Self::Output {
        self.hasher.distinct_features(text)
    }
}

/// Returns the text of a document.
#[derive(Default)]
pub(super) struct TextTask(String);

impl Task for TextTask {
    type Output = String;

    fn feed(&mut self, part: &str) {
        self.0.push_str(part);
    }

    fn finish(&mut self) -> Self::Output {
        std::mem::take(&mut self.0)
    }

    fn reset(&mut self) {
        self.0.clear();
    }

    fn features(&mut self, _: &json::Features<'_>) -> Result<Self::Output, String> {
        unreachable!("files of features are refused where texts are read")
    }
}

/// Applies a function to the text of a document.
pub(super) struct MapTask<F> {
    pub(super) text: String,
    pub(super) map: F,
}

impl<T: Send + 'static, F: FnMut(&str) -> T> Task for MapTask<F> {
    type Output = T;

    fn feed(&mut self, part: &str) {
        self.text.push_str(part);
    }

    fn finish(&mut self) -> Self::Output {
        let output = (self.map)(&self.text);
        self.text.clear();
        output
    }

    fn reset(&mut self) {
        self.text.clear();
    }

    fn features(&mut self, _: &json::Features<'_>) -> Result<Self::Output, String> {
        unreachable!("files of features are refused where texts are read")
    }

    fn whole(&mut self, text: &str) -> Self::Output {
        (self.map)(text)
    }
}

/// Parses the digits of ready fingerprints.
#[derive(Default)]
pub(super) struct ReadyTask(String);

impl Task for ReadyTask {
    type Output = Ready;

    fn feed(&mut self, part: &str) {
        self.0.push_str(part);
    }

    fn finish(&mut self) -> Self::Output {
        Ready::of(&std::mem::take(&mut self.0))
    }

    fn reset(&mut self) {
        self.0.clear();
    }

    fn features(&mut self, _: &json::Features<'_>) -> Result<Self::Output, String> {
        unreachable!("files of features are refused where fingerprints are read")
    }

    fn whole(&mut self, digits: &str) -> Self::Output {
        Ready::of(digits)
    }
}

/// The result for a document, or the reason why it has no result.
pub(super) struct Finished<T> {
    pub(super) place: DocumentPlace,
    pub(super) outcome: Result<Processed<T>, Failure>,
}

/// A document with its result.
pub(super) struct Processed<T> {
    pub(super) id: Id,
    pub(super) output: T,
    /// Length in bytes of the text in UTF-8; 0 if features were given.
    pub(super) text_len: u64,
    /// The values of [`DocumentOptions::fields`].
    pub(super) fields: Vec<Option<String>>,
}

impl<T> Processed<T> {
    fn new(id: impl Into<Box<str>>, text_len: usize, output: T) -> Self {
        let id = Id::Text(id.into());
        Processed { id, output, text_len: text_len as u64, fields: Vec::new() }
    }

    /// The document, unless its id is invalid for stores.
    fn checked(self) -> Result<Self, Failure> {
        let fault = match &self.id {
            Id::Text(text) => IdRef::fault_of_text(text),
            Id::U64(_) => None,
        };
        fault.map_or(Ok(self), |reason| Err(Failure::Bad(format!("bad id: {reason}"))))
    }
}

/// The reason why a document has no result.
pub(super) enum Failure {
    /// The record contains no document.
    NoDocument,
    /// The record is bad.
    Bad(String),
    /// The record is damaged; copies omit it.
    Damaged(String),
    /// The rest of a file in a folder cannot be read; the number of its documents that were read.
    File(Error, u64),
    /// The file of the document cannot be read.
    Unreadable(Error),
}

/// Processes a document, or with a unit each of its passages, and appends the results to `out`.
pub(super) fn run_all<T: Task>(
    document: RawDocument,
    options: &DocumentOptions,
    task: &mut T,
    out: &mut Vec<Finished<T::Output>>,
) {
    let Some(unit) = options.unit else { return out.push(run(document, options, task)) };
    let Finished { place, outcome } = run(document, options, &mut TextTask::default());
    let document = match outcome {
        Ok(document) => document,
        Err(failure) => return out.push(Finished { place, outcome: Err(failure) }),
    };
    let Processed { id, output: text, fields, .. } = document;
    let before = out.len();
    for (number, passage) in (1_u64..).zip(passages(&text, unit)) {
        let (id, text_len) = (format!("{id}#{number}"), passage.text.len());
        let processed = Processed::new(id, text_len, task.whole(passage.text));
        let outcome = Processed { fields: fields.clone(), ..processed }.checked();
        if outcome.is_err() {
            // A document is one bad record, not one for each passage.
            out.truncate(before);
            return out.push(Finished { place, outcome });
        }
        out.push(Finished { place, outcome });
    }
    if out.len() == before {
        let outcome = Ok(Processed { id, output: task.whole(""), text_len: 0, fields });
        out.push(Finished { place, outcome });
    }
}

fn run<T: Task>(
    document: RawDocument,
    options: &DocumentOptions,
    task: &mut T,
) -> Finished<T::Output> {
    let RawDocument { mut place, id: line_id, body } = document;
    place.digest = body.digest();
    let outcome = match body {
        Body::JsonText(line) => json::text_of(&line, options.names())
            .and_then(|json::TextFields { id, text, fields }| {
                let text = options.text_in(text)?;
                let text_len = text.len() as u64;
                Ok(Processed { id, output: task.whole(&text), text_len, fields })
            })
            .map_err(Failure::Bad),
        Body::JsonFeatures(line) => json::features_of(&line, options.names().id)
            .and_then(|(id, features)| {
                let output = task.features(&features)?;
                Ok(Processed { id, output, text_len: 0, fields: Vec::new() })
            })
            .map_err(Failure::Bad),
        Body::Line(id, line) => decode::utf8_line(&line)
            .and_then(|text| options.text_in(text.into()))
            .map(|text| Processed::new(id, text.len(), task.whole(&text)))
            .map_err(Failure::Bad),
        Body::Row(RowFields { id, text, fields, .. }) => options
            .text_in(text.into())
            .map(|text| Processed { fields, ..Processed::new(id, text.len(), task.whole(&text)) })
            .map_err(Failure::Bad),
        Body::Archived(id, fields, block, _) => match guarded(|| warc::text_of(&block, options)) {
            Ok(Ok(Some(text))) => {
                Ok(Processed { fields, ..Processed::new(id, text.len(), task.whole(&text)) })
            }
            Ok(Ok(None)) => Err(Failure::NoDocument),
            Ok(Err(reason)) | Err(reason) => Err(Failure::Bad(reason)),
        },
        Body::PlainFile(id, path) => {
            let read = plain_file(&path, options, task, &mut place);
            read.map(|(text_len, output)| Processed::new(id, text_len, output))
        }
        Body::HtmlFile(id, path) => guarded(|| whole_file::page_text(&path, options))
            .unwrap_or_else(|reason| Ok(Err(reason)))
            .map_err(Failure::Unreadable)
            .and_then(|text| text.map_err(Failure::Bad))
            .map(|text| Processed::new(id, text.len(), task.whole(&text))),
        Body::Bad(reason) => Err(Failure::Bad(reason)),
        Body::Damaged(reason) => Err(Failure::Damaged(reason)),
        Body::BadFile(error, count) => Err(Failure::File(error, count)),
    };
    let outcome = outcome.and_then(|processed| match line_id {
        Some(id) => Processed { id: Id::Text(id.into()), ..processed }.checked(),
        None => processed.checked(),
    });
    Finished { place, outcome }
}

fn plain_file<T: Task>(
    path: &Path,
    options: &DocumentOptions,
    task: &mut T,
    place: &mut DocumentPlace,
) -> Result<(usize, T::Output), Failure> {
    let mut text_len = 0;
    let mut feed = |part: &str| {
        text_len += part.len();
        task.feed(part);
    };
    let read = guarded(|| whole_file::read_plain(path, options, &mut feed));
    let failure = match read {
        Ok(Ok(Ok(()))) => return Ok((text_len, task.finish())),
        Ok(Ok(Err(NotText::Undecodable(fault)))) => {
            place.at = Some(InputPlace::Byte(fault.offset));
            Failure::Bad(fault.to_string())
        }
        Ok(Ok(Err(NotText::TooLong(fault)))) => Failure::Bad(format!("it is {fault}")),
        Ok(Err(error)) => Failure::Unreadable(error),
        Err(panic) => Failure::Bad(panic),
    };
    task.reset();
    Err(failure)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use fpstore_text::{TextHasher, TextRecipe};

    use crate::{Admission, DocumentOptions, Error, hash_documents, read_features, read_texts};

    /// Documents and their passages: a file of lines, a page of text, and a text without passages.
    fn files(folder: &std::path::Path) -> Vec<PathBuf> {
        let paths = ["a.jsonl", "b.txt"].map(|name| folder.join(name));
        let lines = "{\"id\":\"one\",\"text\":\"first part\\n\\n second\\r\\npart \\n\"}\n\
                     {\"id\":7,\"text\":\" \\n\"}\n";
        fs::write(&paths[0], lines).unwrap();
        fs::write(&paths[1], "first part\n\n\nlast").unwrap();
        paths.into()
    }

    #[test]
    fn with_a_unit_each_passage_is_a_document() {
        let folder = tempfile::tempdir().unwrap();
        let paths = files(folder.path());
        let page = paths[1].display().to_string();
        let hasher = TextHasher::new(&TextRecipe::default()).unwrap();
        let options = DocumentOptions::default().unit("paragraph".parse().ok());
        let mut texts = Vec::new();
        read_texts(&paths, &options, |id, text| -> Result<(), Error> {
            texts.push((id.to_string(), text.to_string()));
            Ok(())
        })
        .unwrap();
        let expected = [
            ("one#1".into(), "first part"),
            ("one#2".into(), "second\r\npart"),
            ("7".into(), ""),
            (format!("{page}#1"), "first part"),
            (format!("{page}#2"), "last"),
        ];
        let expected: Vec<(String, String)> =
            expected.into_iter().map(|(id, text): (String, &str)| (id, text.into())).collect();
        assert_eq!(texts, expected);

        let mut hashed = Vec::new();
        let summary = hash_documents(&paths, &hasher, &options, |document| {
            hashed.push((document.id.to_string(), document.fingerprint, document.place.file));
            Ok::<_, Error>(Admission::Taken)
        })
        .unwrap();
        assert_eq!((summary.document_count, summary.empty_count), (4, 1));
        for ((id, fingerprint, _), (own, text)) in hashed.iter().zip(&texts) {
            assert_eq!((id, *fingerprint), (own, hasher.clone().fingerprint(text)));
        }
        assert_eq!(hashed.iter().map(|it| it.2).collect::<Vec<_>>(), [0, 0, 0, 1, 1]);
        let mut features = Vec::new();
        read_features(&paths, &hasher, &options, |document| {
            features.push(document.features.to_vec());
            Ok::<_, Error>(Admission::Taken)
        })
        .unwrap();
        assert!(features[0] == features[3] && features[2].is_empty());
    }

    /// A page of three paragraphs in a file, a web archive and a field.
    #[test]
    fn the_paragraphs_of_a_page_are_passages_at_every_door() {
        let folder = tempfile::tempdir().unwrap();
        let words = "the river council met on monday to speak about the new bridge and the costs";
        let page = format!(
            "<html><head><title>t</title></head><body><article><p>{words}</p><p>{words} again</p>\
             <ul><li>{words}</li><li>{words}</li></ul></article></body></html>"
        );
        let response = format!("HTTP/2 200\r\nContent-Type: text/html\r\n\r\n{page}");
        let record = format!(
            "WARC/1.0\r\nWARC-Type: response\r\nContent-Type: application/http\r\n\
             Content-Length: {}\r\n\r\n{response}\r\n\r\n",
            response.len()
        );
        let line = format!("{{\"id\":\"1\",\"text\":{}}}\n", serde_json::to_string(&page).unwrap());
        let mut all = Vec::new();
        for (name, bytes) in [("1.html", &page), ("1.warc", &record), ("1.jsonl", &line)] {
            let path = folder.path().join(name);
            fs::write(&path, bytes).unwrap();
            let unit = "paragraph".parse().ok();
            let options = DocumentOptions::default().unit(unit).line_ids(name == "1.warc");
            let options = options.text_format(crate::TextFormat::Html);
            let mut texts = Vec::new();
            read_texts(&[path], &options, |id, text| -> Result<(), Error> {
                texts.push(text.to_string());
                assert!(
                    id.to_string().ends_with(&format!("1#{}", texts.len())) || name == "1.html"
                );
                Ok(())
            })
            .unwrap();
            all.push(texts);
        }
        let list = format!("{words}\n{words}");
        assert_eq!(all[0], [format!("t\n{words}"), format!("{words} again"), list]);
        assert!(all[1] == all[0] && all[2] == all[0], "{all:?}");
    }

    #[test]
    fn a_bad_id_is_one_bad_record_with_and_without_passages_and_for_texts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let (good, long) = ("{\"id\":\"a\",\"text\":\"x\"}", "b".repeat(65_534));
        let bad = ["", "a\\nb", "a\\rb", "a\\u0000b", &"b".repeat(65_536)];
        let bad =
            bad.map(|id| format!("{{\"id\":\"{id}\",\"text\":\"one\\n\\ntwo\\n\\nthree\"}}\n"));
        let long = format!("{{\"id\":\"{long}\",\"text\":\"one\\n\\ntwo\"}}\n");
        fs::write(&path, format!("{}{long}{good}\n", bad.concat())).unwrap();
        let hasher = TextHasher::new(&TextRecipe::default()).unwrap();
        for (unit, skipped_count) in [(None, 5), ("paragraph".parse().ok(), 6)] {
            let options = DocumentOptions::default().skip_bad(true).unit(unit);
            let paths = [path.clone()];
            let hashed =
                hash_documents(&paths, &hasher, &options, |_| Ok::<_, Error>(Admission::Taken));
            let read = read_texts(&paths, &options, |_, _| Ok::<_, Error>(())).unwrap();
            for summary in [hashed.unwrap(), read] {
                assert_eq!(summary.skipped_count, skipped_count, "{unit:?}");
                assert_eq!(summary.document_count, 7 - skipped_count, "{unit:?}");
            }
        }
        let error = read_texts(&[path], &DocumentOptions::default(), |_, _| Ok::<_, Error>(()));
        assert!(error.unwrap_err().to_string().contains("line 1: bad id: it is empty"));
    }

    #[test]
    fn padding_of_nul_is_a_bad_record_in_small_and_in_large_files() {
        let folder = tempfile::tempdir().unwrap();
        let hasher = TextHasher::new(&TextRecipe::default()).unwrap();
        for count in [1, 5000] {
            let lines: String =
                (0..count).map(|n| format!("{{\"id\":{n},\"text\":\"a text\"}}\n")).collect();
            let padding = "\0".repeat(4096);
            for (bytes, count) in [
                (format!("{lines}{padding}"), count),
                (format!("{lines}{padding}\n{lines}"), 2 * count),
                (format!("{lines}\0\0\0\0"), count),
            ] {
                let path = folder.path().join("a.jsonl");
                fs::write(&path, bytes).unwrap();
                let options = DocumentOptions::default().skip_bad(true);
                let take = |_: crate::Document<'_>| Ok::<_, Error>(Admission::Taken);
                let summary = hash_documents(&[path], &hasher, &options, take).unwrap();
                assert_eq!((summary.document_count, summary.skipped_count), (count, 1));
            }
            for name in ["a.txt", "a.html"] {
                let path = folder.path().join(name);
                fs::write(&path, format!("{lines}{padding}")).unwrap();
                let take = |_: crate::Document<'_>| Ok::<_, Error>(Admission::Taken);
                let summary = hash_documents(
                    &[path],
                    &hasher,
                    &DocumentOptions::default().skip_bad(true),
                    take,
                );
                assert_eq!(summary.unwrap().skipped_count, 1, "{name} {count}");
            }
        }
    }
}
