//! Encoding of an id and its sketch as the bytes of one text, so that both are sorted together.
//!
//! ```text
//! kind of id (0 number, 1 text) | length of the sketch | sketch | number or text
//! ```

use fpstore_base::IdRef;

/// Appends the encoding of an id and its sketch. The sketch has at most 255 bytes.
pub(super) fn encode(id: IdRef<'_>, sketch: &[u8], out: &mut Vec<u8>) {
    let kind = u8::from(matches!(id, IdRef::Text(_)));
    out.extend([kind, sketch.len() as u8]);
    out.extend_from_slice(sketch);
    match id {
        IdRef::U64(number) => out.extend_from_slice(&number.to_le_bytes()),
        IdRef::Text(text) => out.extend_from_slice(text.as_bytes()),
    }
}

/// The id and the sketch in bytes made by [`encode`].
pub(super) fn decode(bytes: &[u8]) -> (IdRef<'_>, &[u8]) {
    let (head, rest) = bytes.split_at(2);
    let (sketch, id) = rest.split_at(head[1].into());
    let id = match head[0] {
        0 => IdRef::U64(id.iter().rev().fold(0, |id, &byte| id << 8 | u64::from(byte))),
        _ => IdRef::Text(str::from_utf8(id).expect("only whole texts are pushed")),
    };
    (id, sketch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::budget::MEMORY_MIN;
    use crate::writing::sort::{RecordSorter, SortResources};
    use fpstore_base::Id;
    use fpstore_disk::ScratchFolder;

    #[test]
    fn ids_and_sketches_come_back() {
        for id in [IdRef::U64(0), IdRef::U64(u64::MAX), IdRef::Text("a"), IdRef::Text("\u{e9}\t")] {
            for sketch in [&[][..], &[0], &[255; 255]] {
                let mut bytes = Vec::new();
                encode(id, sketch, &mut bytes);
                assert_eq!(decode(&bytes), (id, sketch));
            }
        }
    }

    /// Sketches with arbitrary bytes stay unchanged, even if runs are merged into runs.
    #[test]
    fn sketches_come_back_from_any_number_of_runs() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = ScratchFolder::new(folder.path().into());
        let resources = SortResources { memory: MEMORY_MIN, threads: 2, folder: scratch };
        let records: Vec<(u64, Id, [u8; 4])> = (0..10_000_u64)
            .map(|i| {
                let id = if i % 3 == 0 { Id::U64(i) } else { Id::Text(format!("page {i}").into()) };
                (i.wrapping_mul(0x9e37_79b9_7f4a_7c15), id, (!(i as u32)).to_le_bytes())
            })
            .collect();
        let mut sorter = RecordSorter::with_sketches(resources, false, 4);
        for (key, id, sketch) in &records {
            sorter.push_sketched(*key, id.as_ref(), sketch).unwrap();
        }
        let sorted = sorter.finish().unwrap();
        let mut expected = records;
        expected.sort_by_key(|record| record.0);
        let mut expected = expected.iter();
        sorted
            .pass_sketched(|key, found| {
                let (expected_key, id, sketch) = expected.next().unwrap();
                assert_eq!((key, found), (*expected_key, Some((id.as_ref(), &sketch[..]))));
                Ok(())
            })
            .unwrap();
        assert!(expected.next().is_none());
    }
}
