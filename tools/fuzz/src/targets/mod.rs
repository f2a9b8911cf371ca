//! The targets: each reads one kind of input, and checks the properties that hold for all inputs.

mod copies;
mod documents;
mod records;
mod stores;
mod texts;

use crate::sign;

pub struct Target {
    pub name: &'static str,
    pub run: fn(&[u8]),
    /// A mutator that changes the critical fields of an input.
    pub mutate: Option<fn(&mut [u8], u32) -> usize>,
    /// Corrects the checksums of a mutated input.
    pub sign: fn(&mut [u8]),
}

impl Target {
    const fn new(name: &'static str, run: fn(&[u8])) -> Self {
        Target { name, run, mutate: None, sign: sign::nothing }
    }
}

pub const TARGETS: &[Target] = &[
    Target {
        mutate: Some(stores::mutate_segment),
        sign: sign::segment,
        ..Target::new("segment", stores::segment)
    },
    Target { sign: sign::crc_at_end, ..Target::new("manifest", stores::manifest) },
    Target { sign: sign::crc_at_end, ..Target::new("deletions", stores::deletions) },
    Target::new("kernels", fpstore::fuzzing::kernels),
    Target::new("records", records::lines),
    Target::new("binary", records::binary),
    Target::new("recipe", texts::recipe),
    Target::new("weights", texts::weights),
    Target { sign: sign::crc_at_end, ..Target::new("df", texts::df) },
    Target::new("json", documents::json),
    Target::new("features", documents::features),
    Target::new("csv", documents::csv),
    Target::new("tsv", documents::tsv),
    Target::new("html", documents::html),
    Target::new("plain", documents::plain),
    Target::new("parquet", documents::parquet),
    Target::new("copy", copies::copy),
];
