//! A sample of removed documents with their texts, for people to judge.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hasher;

use siphasher::sip::SipHasher13;

use super::cleaned::Cleaned;
use super::clusters::ClusterSizes;
use super::dropped::KeptDocument;
use super::error::Result;
use super::number::Number;
use super::sample::{Place, each_text};
use fpstore::join::confirm::jaccard;
use fpstore::rows::Reason;
use fpstore_base::Id;

/// A removed document and the document kept instead, with their texts.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SampledDocument {
    /// The id of the removed document.
    pub(super) id: Id,
    /// The id of the kept document.
    pub(super) other_id: Id,
    /// The text of the removed document.
    pub(super) text: String,
    /// The text of the kept document.
    pub(super) other_text: String,
    /// The number of bits in which the two fingerprints differ.
    pub(super) distance: u32,
    /// The Jaccard similarity of the features of both texts, computed exactly.
    pub(super) similarity: f64,
    /// The reason why the document is removed.
    pub(super) reason: Reason,
}

impl Cleaned<'_> {
    /// A sample of at most `most` documents removed because of a new document, in input order. The
    /// same corpus always gives the same sample. The texts are read again; documents that cannot be
    /// read are skipped. Empty if the documents have no texts.
    ///
    /// # Errors
    ///
    /// [`Error::Store`](super::Error::Store) if the files of the work cannot be read or the observer ends it.
    pub(super) fn sample(&self, most: usize) -> Result<Vec<SampledDocument>> {
        let work = &self.work;
        let Ok(mut hasher) = work.settings.source.text_hasher().cloned() else {
            return Ok(Vec::new());
        };
        // Draws the documents whose numbers have the smallest hashes: a sample of the whole corpus
        // that is the same each time.
        let hash_of = |number: Number| {
            let mut hasher = SipHasher13::new();
            hasher.write_u32(number.0);
            hasher.finish()
        };
        let mut drawn = BTreeSet::new();
        for dropped in self.decisions.dropped.iter() {
            if let KeptDocument::New(_) = dropped.other {
                drawn.insert((hash_of(dropped.number), dropped.number.0));
                if drawn.len() > most {
                    drawn.pop_last();
                }
            }
        }
        let drawn: BTreeSet<u32> = drawn.into_iter().map(|(_, number)| number).collect();
        let pairs: Vec<_> = drawn
            .iter()
            .filter_map(|&number| self.decisions.dropped.get(Number(number)))
            .filter_map(|dropped| match dropped.other {
                KeptDocument::New(other) => Some((dropped, other)),
                KeptDocument::Stored(..) => None,
            })
            .collect();

        let wanted: BTreeSet<u32> =
            pairs.iter().flat_map(|(dropped, other)| [dropped.number.0, other.0]).collect();
        let mut found: BTreeMap<u32, (Id, u64)> = BTreeMap::new();
        let mut places: Vec<Option<Place>> = Vec::new();
        let mut numbers = Vec::new();
        self.spools.each(|number, entry| {
            if wanted.contains(&number.0) {
                found.insert(number.0, (entry.id.to_id(), entry.fingerprint.value()));
                places.push(Some((entry.file as usize, entry.record, entry.id.to_id())));
                numbers.push(number.0);
            }
            Ok(())
        })?;
        let mut texts: HashMap<u32, String> = HashMap::new();
        each_text(work, places, |at, text| drop(texts.insert(numbers[at], text.into())))?;

        let mut sample = Vec::new();
        for (dropped, other) in pairs {
            let (number, other) = (dropped.number.0, other.0);
            let (Some(text), Some(other_text)) = (texts.get(&number), texts.get(&other)) else {
                continue;
            };
            let (Some((id, fingerprint)), Some((other_id, other_fingerprint))) =
                (found.get(&number), found.get(&other))
            else {
                continue;
            };
            let [mut one, mut two] = [text, other_text].map(|text| hasher.distinct_features(text));
            one.sort_unstable();
            two.sort_unstable();
            sample.push(SampledDocument {
                id: id.clone(),
                other_id: other_id.clone(),
                text: text.clone(),
                other_text: other_text.clone(),
                distance: (fingerprint ^ other_fingerprint).count_ones(),
                similarity: jaccard(&one, &two),
                reason: dropped.reason,
            });
        }
        Ok(sample)
    }

    /// The number of clusters of each size, from 2 on.
    pub(super) fn cluster_sizes(&self) -> BTreeMap<u64, u64> {
        let mut sizes = BTreeMap::new();
        for count in ClusterSizes::new(&self.decisions.dropped, &self.decisions.spared).each() {
            *sizes.entry(count).or_default() += 1;
        }
        sizes
    }
}
