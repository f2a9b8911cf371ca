//! Writes the golden stores of `tests/golden`: `cargo run --example make_golden tests/golden`.
//!
//! `tests/golden/README.md` describes the stores. `tests/library/golden.rs` checks that the library
//! writes the same bytes, and that it reads the stores.

use std::path::Path;

use fpstore::{BuildOptions, Builder, Error, Fingerprint, IdRef, Scheme, Writer};

/// The id of all golden stores, instead of random bytes.
const STORE_ID: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// The records of the worked example of format-spec.md.
const WORKED_EXAMPLE: [(u64, &str); 6] = [
    (0x0123_4567_89ab_cdef, "a.html"),
    (0xfedc_ba98_7654_3210, "b.html"),
    (0x0123_4567_89ab_cdef, "a2.html"),
    (0x0123_4567_89ab_cdee, "c.html"),
    (0x0000_0000_0000_0000, "\u{7a7a}.html"),
    (0xffff_ffff_ffff_ffff, "ones.html"),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: make_golden FOLDER")?;
    Ok(make(Path::new(&folder))?)
}

/// Writes all golden stores to an existing folder.
pub fn make(folder: &Path) -> Result<(), Error> {
    worked_example(&folder.join("worked.fps"))?;
    crowded(&folder.join("crowded.fps"))?;
    lived(&folder.join("lived.fps"))?;
    sketched(&folder.join("sketched.fps"))?;
    syndromes(&folder.join("syndromes.fps"))?;
    empty(&folder.join("empty.fps"))
}

fn options(scheme: &str) -> Result<BuildOptions, Error> {
    Ok(BuildOptions::default().scheme(Scheme::named(scheme, 3)?).store_id(STORE_ID))
}

fn worked_example(path: &Path) -> Result<(), Error> {
    let mut builder = Builder::with_options(path, options("2")?)?;
    for (value, id) in WORKED_EXAMPLE {
        builder.push(Fingerprint::new(value), id)?;
    }
    builder.finish().map(drop)
}

/// Writes a store with one table of 6 000 values, of which 5 000 are consecutive numbers. It
/// contains overflow entries, restart points, long varints, and values with several ids or without
/// an id.
fn crowded(path: &Path) -> Result<(), Error> {
    let mut builder = Builder::with_options(path, options("1")?)?;
    for i in 0..5000 {
        let value = Fingerprint::new(0xabcd_0000_0000_0000 + i);
        builder.push(value, i)?;
        if i % 100 == 0 {
            builder.push(value, 70_000 + i)?;
        }
    }
    for i in 1..=1000_u64 {
        // Multiples of 2^64 divided by the golden ratio are evenly distributed.
        builder.push_bare(Fingerprint::new(i.wrapping_mul(0x9e37_79b9_7f4a_7c15))).unwrap();
    }
    builder.finish().map(drop)
}

/// Writes a store of two segments, the second with a label, and with deletions in both: of single
/// ids and of whole fingerprints.
fn lived(path: &Path) -> Result<(), Error> {
    worked_example(path)?;
    let mut builder = Builder::append(path, options("2")?.label("2026-11"))?;
    for (value, id) in [(0x0123_4567_89ab_cdef, "d.html"), (1 << 63, "e.html")] {
        builder.push(Fingerprint::new(value), id)?;
    }
    builder.finish()?;
    let mut writer = Writer::open(path)?;
    writer.delete_ids(["a.html", "b.html", "d.html"].map(IdRef::Text))?;
    writer.delete_fingerprints(&[Fingerprint::new(u64::MAX)]).map(drop)
}

/// Writes a store with a table for each half of the bits, the second with syndromes of 12 bits. The
/// values are evenly distributed. Every tenth value has a twin with the same key in the second
/// table: their upper halves differ by a word with syndrome 0.
fn syndromes(path: &Path) -> Result<(), Error> {
    let scheme = Scheme::named("2", 3)?.with_syndromes(12)?;
    let options = BuildOptions::default().scheme(scheme).store_id(STORE_ID);
    let mut builder = Builder::with_options(path, options)?;
    for i in 1..=100_u64 {
        let value = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        builder.push(Fingerprint::new(value), i)?;
        if i % 10 == 0 {
            builder.push(Fingerprint::new(value ^ 0x65c << 32), 1000 + i)?;
        }
    }
    builder.finish().map(drop)
}

/// Writes a store with a sketch of four bytes for each id: the sketch of id `n` is n, n + 1, n + 2,
/// n + 3.
fn sketched(path: &Path) -> Result<(), Error> {
    let mut builder = Builder::with_options(path, options("2")?.sketch_len(4))?;
    for (value, id) in [(5, 10), (u64::MAX, 20), (5, 30), (1 << 63, 40)] {
        let sketch = [0, 1, 2, 3].map(|more| id as u8 + more);
        builder.push_sketched(Fingerprint::new(value), id, &sketch)?;
    }
    builder.finish().map(drop)
}

fn empty(path: &Path) -> Result<(), Error> {
    Builder::with_options(path, options("4")?)?.finish().map(drop)
}
