//! Rule violations that valid checksums hide: the bytes change on pages that were already verified.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::base::error::{Error, Fault, Result};
use crate::format::directory::SectionPlace;
use crate::format::id_records::{GROUP_ENTRY_LEN, GROUP_LEN};
use crate::format::prefix_index::{BLOCKS_PER_ENTRY, ENTRY_LEN};
use crate::segment::{self, Segment};
use crate::store::verify::pace::Pace;
use crate::store::verify::{VerifyOptions, ids, index, table};
use crate::{BuildOptions, Builder, Scheme};

/// A mapped segment whose file changes while mapped.
struct Forged {
    _folder: tempfile::TempDir,
    path: PathBuf,
    segment: Segment,
}

impl Forged {
    /// A segment whose index entries have overflow entries, because many values share leading bits.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store.fps");
        let options = BuildOptions::default().scheme(Scheme::named("2", 3).unwrap());
        let mut builder = Builder::with_options(&store, options).unwrap();
        for id in 0..60_000_u64 {
            let value = id.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let crowd = (value % 3) << 60;
            let value = if id % 2 == 0 { value } else { crowd | id << 16 | value >> 48 };
            builder.push(value.into(), id % 1000).unwrap();
        }
        builder.finish().unwrap();
        let path = store.join("segment-0000000000000001.fps");
        let segment = segment::map(&path).unwrap();
        let forged = Forged { _folder: folder, path, segment };
        assert_eq!(forged.first_fault(), None);
        forged
    }

    fn verify(&self) -> Result<()> {
        let pace = Pace::new(&VerifyOptions::default(), 0)?;
        for each in self.segment.tables() {
            index::verify(&self.segment, each, &pace)?;
            table::verify_padding(&self.segment, each)?;
            table::verify_set(&self.segment, each, &pace)?;
        }
        ids::verify(&self.segment, &pace)
    }

    fn first_fault(&self) -> Option<Fault> {
        match self.verify() {
            Ok(()) => None,
            Err(Error::Corrupt { fault, .. }) => Some(fault),
            Err(other) => panic!("{other}"),
        }
    }

    /// The first fault after a byte of a section is changed. The byte is restored afterwards.
    fn with(&self, place: &SectionPlace, offset: u64, change: u8) -> Option<Fault> {
        let at = place.offset + offset;
        flip(&self.path, at, change);
        let found = self.first_fault();
        flip(&self.path, at, change);
        assert_eq!(self.first_fault(), None);
        found
    }
}

fn flip(path: &Path, at: u64, change: u8) {
    let file = File::options().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ change], at).unwrap();
}

#[test]
fn each_index_entry_starts_where_the_one_before_ends() {
    let forged = Forged::new();
    let mut faults = Vec::new();
    for table in forged.segment.tables() {
        let entry_count = table.descriptor.block_count().div_ceil(BLOCKS_PER_ENTRY);
        assert!(entry_count > 16, "more than parts");
        for entry in (0..entry_count).step_by(7).chain([entry_count - 1]) {
            for word in [0, 8] {
                let fault = forged.with(&table.entries, entry * ENTRY_LEN + word, 1);
                faults.push(fault.unwrap_or_else(|| panic!("entry {entry}, word {word}")));
            }
        }
    }
    assert!(
        faults.iter().any(|fault| fault.to_string().contains("where the entry before it ends"))
    );
}

#[test]
fn overflow_entries_are_numbered_in_order() {
    let forged = Forged::new();
    let mut faults = Vec::new();
    for table in forged.segment.tables() {
        let entries = forged.segment.section(&table.entries).chunks_exact(ENTRY_LEN as usize);
        for (entry, bytes) in (0_u64..).zip(entries) {
            // Change the number of an overflow entry, and an unused byte of the same index entry.
            for at in if bytes[7] & 0x80 == 0 { &[][..] } else { &[0, 63][..] } {
                let fault = forged.with(&table.entries, entry * ENTRY_LEN + at, 1);
                faults.push(fault.unwrap_or_else(|| panic!("entry {entry}, byte {at}")));
            }
        }
    }
    assert!(faults.len() > 4);
    assert!(faults.iter().any(|fault| fault.to_string().contains("out of order")));
}

#[test]
fn a_value_that_changes_is_found_in_every_part_of_a_table() {
    let forged = Forged::new();
    for table in forged.segment.tables() {
        let used = forged.segment.header().fingerprint_count * u64::from(table.stored_bits) / 8;
        for part in 0..20 {
            let fault = forged.with(&table.tails, used * part / 20, 1);
            assert!(matches!(fault, Some(Fault::Rule { rule: 12 | 20, .. })), "{part}: {fault:?}");
        }
        let fault = forged.with(&table.tails, table.tails.len - 1, 1);
        assert!(matches!(fault, Some(Fault::Rule { rule: 17, .. })), "{fault:?}");
    }
}

#[test]
fn groups_of_ids_have_no_gaps() {
    let forged = Forged::new();
    let (groups, _) = forged.segment.id_places().unwrap();
    let group_count = forged.segment.header().fingerprint_count.div_ceil(GROUP_LEN);
    for group in (0..group_count).step_by(97).chain([group_count]) {
        let fault = forged.with(groups, group * GROUP_ENTRY_LEN, 1);
        assert!(fault.is_some(), "group {group}");
    }
}
