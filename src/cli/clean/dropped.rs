//! The documents that are dropped, and why.

use std::io::{self, Read, Write};

use fpstore::{Fingerprint, Id};

use super::spool::{read_u32, read_u64};

/// A document that is dropped.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Dropped {
    /// Its number.
    pub(super) number: u32,
    pub(super) other: Other,
    pub(super) other_fingerprint: Fingerprint,
    /// The similarity of the two, if it was looked at.
    pub(super) similarity: Option<f64>,
}

/// The document that is there instead.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Other {
    /// A new one that is kept, by its number.
    New(u32),
    /// A stored one; it may have no id.
    Stored(Option<Id>),
}

/// All documents that are dropped, by ascending number.
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

    pub(super) fn get(&self, number: u32) -> Option<&Dropped> {
        let found = self.0.binary_search_by_key(&number, |dropped| dropped.number);
        found.ok().map(|at| &self.0[at])
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Dropped> {
        self.0.iter()
    }

    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.len().to_le_bytes())?;
        for Dropped { number, other, other_fingerprint, similarity } in &self.0 {
            out.write_all(&number.to_le_bytes())?;
            out.write_all(&other_fingerprint.value().to_le_bytes())?;
            out.write_all(&similarity.unwrap_or(-1.0).to_bits().to_le_bytes())?;
            match other {
                Other::New(number) => {
                    out.write_all(&[0])?;
                    out.write_all(&number.to_le_bytes())?;
                }
                Other::Stored(None) => out.write_all(&[1])?,
                Other::Stored(Some(id)) => {
                    out.write_all(&[2])?;
                    write_id(out, id)?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut list = Vec::new();
        for _ in 0..read_u64(from)? {
            let number = read_u32(from)?;
            let other_fingerprint = Fingerprint::new(read_u64(from)?);
            let similarity = f64::from_bits(read_u64(from)?);
            let mut kind = [0];
            from.read_exact(&mut kind)?;
            let other = match kind[0] {
                0 => Other::New(read_u32(from)?),
                1 => Other::Stored(None),
                _ => Other::Stored(Some(read_id(from)?)),
            };
            let similarity = Some(similarity).filter(|similarity| *similarity >= 0.0);
            list.push(Dropped { number, other, other_fingerprint, similarity });
        }
        Ok(DroppedList(list))
    }
}

/// Writes an id: the length of the text plus one, and the text; or 0 and a number.
pub(super) fn write_id(out: &mut impl Write, id: &Id) -> io::Result<()> {
    match id {
        Id::U64(number) => {
            out.write_all(&0_u32.to_le_bytes())?;
            out.write_all(&number.to_le_bytes())
        }
        Id::Text(text) => {
            out.write_all(&(text.len() as u32 + 1).to_le_bytes())?;
            out.write_all(text.as_bytes())
        }
    }
}

pub(super) fn read_id(from: &mut impl Read) -> io::Result<Id> {
    match read_u32(from)?.checked_sub(1) {
        None => Ok(Id::U64(read_u64(from)?)),
        Some(len) => {
            let mut bytes = vec![0; len as usize];
            from.read_exact(&mut bytes)?;
            let text = String::from_utf8(bytes).map_err(io::Error::other)?;
            Ok(Id::Text(text.into()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_comes_back_sorted() {
        let dropped = |number: u32, other: Other, similarity| Dropped {
            number,
            other,
            other_fingerprint: Fingerprint::new(u64::from(number) << 33),
            similarity,
        };
        let list = [
            dropped(9, Other::New(2), Some(0.0)),
            dropped(3, Other::Stored(None), None),
            dropped(7, Other::Stored(Some(Id::U64(u64::MAX))), Some(1.0)),
            dropped(5, Other::Stored(Some(Id::Text("".into()))), Some(0.25)),
        ];
        let mut bytes = Vec::new();
        DroppedList::new(list.to_vec()).write(&mut bytes).unwrap();
        let read = DroppedList::read(&mut bytes.as_slice()).unwrap();
        let numbers: Vec<u32> = read.iter().map(|dropped| dropped.number).collect();
        assert_eq!(numbers, [3, 5, 7, 9]);
        for one in &list {
            assert_eq!(read.get(one.number), Some(one));
        }
        assert_eq!(read.get(4), None);
        assert!(DroppedList::read(&mut &bytes[..bytes.len() - 1]).is_err());
    }
}
