//! The messages of all errors, as users and scripts see them.

use std::error::Error as _;
use std::io;

use fpstore::{Error, Fault, Fingerprint, InputPlace, IoError, Radix, Recipe, Section, TableIndex};

#[test]
fn every_error_says_in_one_line_what_is_wrong_and_where() {
    let path = || "pages.fps".into();
    let text = |reason: &str| reason.to_string();
    let not_found = || io::Error::from(io::ErrorKind::NotFound);
    let bad = Fingerprint::parse("xyz", Radix::Hex).unwrap_err();
    let corrupt = |section, fault| Error::Corrupt { path: path(), section, offset: 4096, fault };
    let other = Recipe::from_text("words").unwrap();
    let table: Vec<(Error, &str)> = vec![
        (
            Error::Io(IoError { doing: "open", path: path(), source: not_found() }),
            "cannot open pages.fps",
        ),
        (Error::NoStore { path: path() }, "there is no store at pages.fps"),
        (
            Error::NotAStore { path: path(), found: "a file, not a directory" },
            "pages.fps is not a store: a file, not a directory",
        ),
        (Error::StoreExists { path: path() }, "there is a store at pages.fps already"),
        (Error::Locked { path: path(), process: Some(7) }, "process 7 is writing to pages.fps"),
        (Error::Locked { path: path(), process: None }, "another process is writing to pages.fps"),
        (Error::Compacting { path: path(), process: Some(7) }, "process 7 is compacting pages.fps"),
        (
            Error::Compacting { path: path(), process: None },
            "another process is compacting pages.fps",
        ),
        (
            Error::UnsupportedVersion { path: path(), found: 9, oldest: 1, newest: 2 },
            concat!(
                "pages.fps has format version 9, fpstore ",
                env!("CARGO_PKG_VERSION"),
                " reads versions 1 to 2; a newer fpstore wrote it and reads it, or the file is damaged"
            ),
        ),
        (
            Error::UnsupportedVersion { path: path(), found: 1, oldest: 2, newest: 2 },
            concat!(
                "pages.fps has format version 1, fpstore ",
                env!("CARGO_PKG_VERSION"),
                " reads version 2; write its records with the fpstore that made it ('fpstore dump'), \
                 and build a new store from them or from the original input ('fpstore build')"
            ),
        ),
        (
            corrupt(Section::Heads(TableIndex(1)), Fault::Checksum { found: 1, expected: 2 }),
            "pages.fps: heads of table 1 is corrupt at byte 0x1000: checksum 00000001, \
             expected 00000002",
        ),
        (
            corrupt(Section::Manifest, Fault::Truncated { needed: 8, found: 3 }),
            "pages.fps: manifest is corrupt at byte 0x1000: 8 bytes are needed, but 3 are left",
        ),
        (
            corrupt(Section::Header, Fault::Rule { rule: 4, detail: text("length 7") }),
            "pages.fps: header is corrupt at byte 0x1000: length 7 (R-4)",
        ),
        (
            Error::RecipeMismatch { store: Recipe::external(), given: other },
            "recipes differ: the store has external; the given recipe has words",
        ),
        (Error::InvalidDistance { k: 65 }, "distance is 65, expected 0 to 64"),
        (
            Error::InvalidScheme { reason: text("mask of no bits") },
            "scheme cannot be used: mask of no bits",
        ),
        (Error::InvalidPlan { reason: text("no records") }, "cannot plan: no records"),
        (Error::InvalidId { reason: text("empty") }, "id cannot be stored: empty"),
        (Error::InvalidOptions { reason: text("0 threads") }, "0 threads"),
        (
            Error::NoSpace { path: "/tmp".into(), needed: 3 << 20, free: 1 << 19 },
            "about 3.0 MiB are needed in /tmp, 0.5 MiB are free",
        ),
        (Error::Interrupted, "interrupted"),
        (Error::TooLarge { reason: text("2^32 segments") }, "2^32 segments"),
        (Error::TooManyPairs { most: 10 }, "there are more than 10 near pairs"),
        (
            Error::BadInput {
                name: text("in.tsv"),
                place: InputPlace::Line(3),
                reason: text("no digits"),
            },
            "in.tsv: line 3: no digits",
        ),
    ];
    for (error, expected) in &table {
        assert_eq!(error.to_string(), *expected);
        assert_eq!(error.source().is_some(), matches!(error, Error::Io { .. }), "{expected}");
    }
    let wrapped = Error::from(bad.clone());
    assert_eq!(wrapped.to_string(), bad.to_string());
    assert!(wrapped.to_string().starts_with("'xyz' is not a fingerprint"));
}

#[test]
fn every_section_has_a_name_of_its_own() {
    let table = TableIndex(2);
    let of_tables = [Section::PrefixIndex(table), Section::Tails(table), Section::Heads(table)];
    for section in of_tables {
        assert!(section.to_string().ends_with(" of table 2"), "{section}");
        assert_eq!(section.table(), Some(table));
    }
    let others = [
        Section::Manifest,
        Section::Deletions,
        Section::Header,
        Section::Recipe,
        Section::IdGroups,
        Section::IdRecords,
        Section::Checksums,
    ];
    let mut names: Vec<String> = others.iter().chain(&of_tables).map(|s| s.to_string()).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 10);
    assert!(others.iter().all(|section| section.table().is_none()));
}
