//! The dropped documents, with the reasons.

use std::collections::HashMap;
use std::io::{self, Read};

use super::error::Result;
use super::fields::{put_id, read_id};
use super::number::Number;
use super::spool::Spools;
use fpstore::StoreIndex;
use fpstore::rows::Reason;
use fpstore_base::{Fingerprint, Id};
use fpstore_disk::fields::{put_u32, put_u64, read_u32, read_u64};

/// The reasons for dropping a document; each is stored as its position in this list.
const REASONS: [Reason; 6] =
    [Reason::Address, Reason::Bytes, Reason::Text, Reason::Near, Reason::Confirmed, Reason::Judged];

/// A dropped document, and the document kept instead.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Dropped {
    pub(super) number: Number,
    pub(super) other: KeptDocument,
    pub(super) other_fingerprint: Fingerprint,
    /// The similarity of the dropped and the kept document, if it was computed.
    pub(super) similarity: Option<f64>,
    pub(super) reason: Reason,
}

/// The document kept instead of a dropped one.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum KeptDocument {
    /// A new document that is kept.
    New(Number),
    /// A stored document, with its id if it has one, and its store if several are queried together.
    Stored(Option<Id>, StoreIndex),
}

impl Dropped {
    /// The likeness of the dropped document, which has the fingerprint `own`, to the kept document:
    /// their similarity if it was computed, else the part of the bits in which their fingerprints
    /// agree.
    pub(super) fn likeness(&self, own: Fingerprint) -> f64 {
        let distance = self.other_fingerprint.distance(own);
        self.similarity.unwrap_or(1.0 - f64::from(distance) / 64.0)
    }
}

/// A list of dropped or spared documents, sorted by number.
#[derive(Debug, Default)]
pub(super) struct DroppedList(Vec<Dropped>);

impl DroppedList {
    pub(super) fn new(mut list: Vec<Dropped>) -> Self {
        list.sort_unstable_by_key(|dropped| dropped.number);
        DroppedList(list)
    }

    pub(super) fn len(&self) -> u64 {
        self.0.len() as u64
    }

    pub(super) fn get(&self, number: Number) -> Option<&Dropped> {
        let found = self.0.binary_search_by_key(&number, |dropped| dropped.number);
        found.ok().map(|at| &self.0[at])
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Dropped> {
        self.0.iter()
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_u64(&mut out, self.len());
        for Dropped { number, other, other_fingerprint, similarity, reason } in &self.0 {
            put_u32(&mut out, number.0);
            put_u64(&mut out, other_fingerprint.value());
            put_u64(&mut out, similarity.unwrap_or(-1.0).to_bits());
            out.push(REASONS.iter().position(|other| other == reason).unwrap_or_default() as u8);
            match other {
                KeptDocument::New(number) => {
                    out.push(0);
                    put_u32(&mut out, number.0);
                }
                KeptDocument::Stored(id, store) => {
                    let is_first = *store == StoreIndex::default();
                    out.push(1 + u8::from(id.is_some()) + 2 * u8::from(!is_first));
                    if !is_first {
                        put_u64(&mut out, store.0 as u64);
                    }
                    if let Some(id) = id {
                        put_id(&mut out, id.as_ref());
                    }
                }
            }
        }
        out
    }

    pub(super) fn read(from: &mut &[u8]) -> io::Result<Self> {
        let mut list = Vec::new();
        for _ in 0..read_u64(from)? {
            let number = Number(read_u32(from)?);
            let other_fingerprint = Fingerprint::new(read_u64(from)?);
            let similarity = f64::from_bits(read_u64(from)?);
            let mut kind = [0; 2];
            from.read_exact(&mut kind)?;
            let reason = *REASONS.get(usize::from(kind[0])).ok_or(io::ErrorKind::InvalidData)?;
            let other = match kind[1] {
                0 => KeptDocument::New(Number(read_u32(from)?)),
                kind => {
                    let store = if kind > 2 { read_u64(from)? } else { 0 };
                    let store = usize::try_from(store).map_err(|_| io::ErrorKind::InvalidData)?;
                    let has_id = kind % 2 == 0;
                    let id = has_id.then(|| read_id(from).map(|id| id.to_id())).transpose()?;
                    KeptDocument::Stored(id, StoreIndex(store))
                }
            };
            let similarity = Some(similarity).filter(|similarity| *similarity >= 0.0);
            list.push(Dropped { number, other, other_fingerprint, similarity, reason });
        }
        Ok(DroppedList(list))
    }
}

/// The ids of the documents kept instead of dropped ones: new documents are looked up by number,
/// and the id of a stored document is in [`KeptDocument`].
#[derive(Default)]
pub(super) struct OtherIds(HashMap<Number, Id>);

impl OtherIds {
    pub(super) fn read(spools: &Spools, dropped: &DroppedList) -> Result<Self> {
        let mut ids: HashMap<Number, Id> = HashMap::new();
        let new = |dropped: &Dropped| match dropped.other {
            KeptDocument::New(number) => Some(number),
            KeptDocument::Stored(..) => None,
        };
        ids.extend(dropped.iter().filter_map(new).map(|number| (number, Id::U64(0))));
        spools.each(|number, entry| {
            if let Some(id) = ids.get_mut(&number) {
                *id = entry.id.to_id();
            }
            Ok(())
        })?;
        Ok(OtherIds(ids))
    }

    pub(super) fn get<'a>(&'a self, dropped: &'a Dropped) -> Option<&'a Id> {
        match &dropped.other {
            KeptDocument::New(number) => self.0.get(number),
            KeptDocument::Stored(id, _) => id.as_ref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_comes_back_sorted() {
        let dropped = |number: u32, other: KeptDocument, similarity| Dropped {
            number: Number(number),
            other,
            other_fingerprint: Fingerprint::new(u64::from(number) << 33),
            similarity,
            reason: REASONS[number as usize % 6],
        };
        let list = [
            dropped(9, KeptDocument::New(Number(2)), Some(0.0)),
            dropped(3, KeptDocument::Stored(None, StoreIndex(0)), None),
            dropped(7, KeptDocument::Stored(Some(Id::U64(u64::MAX)), StoreIndex(0)), Some(1.0)),
            dropped(5, KeptDocument::Stored(Some(Id::Text("".into())), StoreIndex(2)), Some(0.25)),
            dropped(6, KeptDocument::Stored(None, StoreIndex(1)), None),
        ];
        let bytes = DroppedList::new(list.to_vec()).to_bytes();
        let read = DroppedList::read(&mut bytes.as_slice()).unwrap();
        let numbers: Vec<u32> = read.iter().map(|dropped| dropped.number.0).collect();
        assert_eq!(numbers, [3, 5, 6, 7, 9]);
        for one in &list {
            assert_eq!(read.get(one.number), Some(one));
        }
        assert_eq!(read.get(Number(4)), None);
        assert!(DroppedList::read(&mut &bytes[..bytes.len() - 1]).is_err());
    }
}
