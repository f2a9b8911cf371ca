//! What is done with each document.

use crate::documents::{Body, DocumentOptions, FileKind, Item, Place};
use crate::documents::{decode, html, json, plain};
use crate::error::{Error, InputPlace, Result};
use crate::fingerprint::Fingerprint;
use crate::id::Id;
use crate::text::{SimHasher, Weight};

/// What is done with each document.
pub(super) trait Work: Send {
    type Out: Send;
    fn whole(&mut self, text: &str) -> Self::Out;
    fn feed(&mut self, part: &str);
    fn finish(&mut self) -> Self::Out;
    fn reset(&mut self);
    fn features(&mut self, features: &json::Features<'_>) -> Self::Out;
}

pub(super) struct HashWork(pub(super) SimHasher);

impl Work for HashWork {
    type Out = Option<Fingerprint>;

    fn whole(&mut self, text: &str) -> Self::Out {
        self.0.fingerprint(text)
    }

    fn feed(&mut self, part: &str) {
        self.0.feed(part);
    }

    fn finish(&mut self) -> Self::Out {
        self.0.finish()
    }

    fn reset(&mut self) {
        self.0.reset();
    }

    fn features(&mut self, features: &json::Features<'_>) -> Self::Out {
        let features = features.iter().map(|(name, weight)| (name.as_ref(), *weight));
        self.0.fingerprint_of_features(features)
    }
}

pub(super) struct CountWork {
    pub(super) hasher: SimHasher,
}

impl Work for CountWork {
    type Out = Vec<u64>;

    fn whole(&mut self, text: &str) -> Self::Out {
        self.hasher.distinct_features(text)
    }

    fn feed(&mut self, part: &str) {
        self.hasher.feed(part);
    }

    fn finish(&mut self) -> Self::Out {
        self.hasher.finish_distinct()
    }

    fn reset(&mut self) {
        self.hasher.reset();
    }

    fn features(&mut self, features: &json::Features<'_>) -> Self::Out {
        let hash = self.hasher.recipe().hash;
        let mut hashes: Vec<u64> = features
            .iter()
            .filter(|(_, weight)| *weight > Weight::ZERO)
            .map(|(name, _)| hash.of(name.as_bytes()))
            .collect();
        hashes.sort_unstable();
        hashes.dedup();
        hashes
    }
}

/// A document that was worked on, or why it could not be.
pub(super) struct Done<T> {
    pub(super) place: Place,
    pub(super) outcome: Result<(Id, T), Fault>,
}

pub(super) enum Fault {
    /// Something is wrong with the record.
    Bad(String),
    /// The system refused.
    Refused(Error),
}

pub(super) fn work_on<W: Work>(
    item: Item,
    options: &DocumentOptions,
    work: &mut W,
) -> Done<W::Out> {
    let Item { mut place, body } = item;
    let outcome = match body {
        Body::JsonText(line) => json::text_of(&line, &options.id_field, &options.text_field)
            .map(|(id, text)| (id, work.whole(&text)))
            .map_err(Fault::Bad),
        Body::JsonFeatures(line) => json::features_of(&line, &options.id_field)
            .map(|(id, features)| (id, work.features(&features)))
            .map_err(Fault::Bad),
        Body::Line(id, line) => decode::utf8_line(&line)
            .map(|text| (Id::Text(id.into()), work.whole(text)))
            .map_err(Fault::Bad),
        Body::Row(id, text) => Ok((Id::Text(id.into()), work.whole(&text))),
        Body::File(id, path, FileKind::Plain) => {
            let read = plain::read(&path, options.encoding, &mut |part| work.feed(part));
            match read {
                Ok(Ok(())) => Ok((Id::Text(id.into()), work.finish())),
                Ok(Err(fault)) => {
                    work.reset();
                    place.at = Some(InputPlace::Byte(fault.offset));
                    Err(Fault::Bad(fault.to_string()))
                }
                Err(error) => {
                    work.reset();
                    Err(Fault::Refused(error))
                }
            }
        }
        Body::File(id, path, FileKind::Html) => plain::bytes(&path)
            .map_err(Fault::Refused)
            .and_then(|page| html::main_text(&page, options.encoding).map_err(Fault::Bad))
            .map(|text| (Id::Text(id.into()), work.whole(&text))),
        Body::Bad(reason) => Err(Fault::Bad(reason)),
    };
    Done { place, outcome }
}
