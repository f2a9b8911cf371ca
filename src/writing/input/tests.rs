//! Tests of guessed columns: common file forms, and properties of generated files.

use std::path::Path;

use proptest::prelude::*;

use super::{InputOptions, InputSummary, read_all_records, read_records};
use crate::base::error::Error;
use fpstore_base::Radix;

type Records = Vec<(u64, Option<String>)>;

fn read(text: &str, options: InputOptions) -> Result<(Records, InputSummary), Error> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let mut records = Vec::new();
    let summary = read_records(file.path(), &options, |record| {
        records.push((record.fingerprint.value(), record.id.map(|id| id.to_string())));
        Ok::<(), Error>(())
    })?;
    Ok((records, summary))
}

const A: u64 = 0xf2a7_4de4_52e6_b430;
const B: u64 = 0x0c1f_789b_ed2e_b9b8;

/// Common forms of a file with two records, whose ids are `a 1.jpg` and `b.jpg`.
#[test]
fn the_column_of_fingerprints_is_found_in_the_shapes_that_people_have() {
    for text in [
        "a 1.jpg\tf2a74de452e6b430\nb.jpg\t0c1f789bed2eb9b8\n",
        "a 1.jpg,f2a74de452e6b430\nb.jpg,0c1f789bed2eb9b8\n",
        "\"a 1.jpg\",\"f2a74de452e6b430\"\n\"b.jpg\",\"0c1f789bed2eb9b8\"\n",
        "a 1.jpg;0xF2A74DE452E6B430\r\nb.jpg;0x0C1F789BED2EB9B8\r\n",
        "a 1.jpg: f2a74de452e6b430\nb.jpg: 0c1f789bed2eb9b8",
        "a 1.jpg  f2a74de452e6b430\nb.jpg  0c1f789bed2eb9b8",
        "filename,phash\na 1.jpg,f2a74de452e6b430\nb.jpg,0c1f789bed2eb9b8\n",
        "\u{feff}phash;path\nf2a74de452e6b430;a 1.jpg\n0c1f789bed2eb9b8;b.jpg\n",
        "# by imagehash\nsize,id,dhash\n17,a 1.jpg,f2a74de452e6b430\n8,b.jpg,c1f789bed2eb9b8\n",
        "url\tsimhash\na 1.jpg\t17485029721327973424\nb.jpg\t873549463827691960\n",
        "url\tsimhash\na 1.jpg\t-961714352381578192\nb.jpg\t873549463827691960\n",
    ] {
        let (records, summary) = read(text, InputOptions::default()).unwrap();
        let ids = [Some("a 1.jpg".to_string()), Some("b.jpg".to_string())];
        let expected: Records = [A, B].into_iter().zip(ids).collect();
        assert_eq!(records, expected, "{text}");
        let guess = summary.guess.unwrap();
        assert!(guess.starts_with("column "), "{guess}");
    }
    // Numbers are ids if another column contains fingerprints.
    let (records, summary) =
        read("1\tf2a74de452e6b430\n2\t0c1f789bed2eb9b8\n", InputOptions::default()).unwrap();
    assert_eq!(records, [(A, Some("1".into())), (B, Some("2".into()))]);
    assert_eq!(
        summary.guess.unwrap(),
        "column 2 is read as the fingerprint and column 1 as the id"
    );
}

#[test]
fn what_was_read_before_is_read_in_the_same_way() {
    for (text, expected) in [
        ("1\n2\nff\n", vec![(1, None), (2, None), (255, None)]),
        ("f2a74de452e6b430\t1731234567890123\n", vec![(A, Some("1731234567890123"))]),
        ("f2a74de452e6b430\t1234567890123456789\n", vec![(A, Some("1234567890123456789"))]),
        ("f2a74de452e6b430,a,b,c\n", vec![(A, Some("a,b,c"))]),
        ("0000000000000001\ta\n0000000000000002\tb\n", vec![(1, Some("a")), (2, Some("b"))]),
    ] {
        let (records, summary) = read(text, InputOptions::default()).unwrap();
        let expected: Records =
            expected.into_iter().map(|(value, id)| (value, id.map(String::from))).collect();
        assert_eq!((records, summary.guess), (expected, None), "{text}");
    }
}

/// The error for unclear columns contains the reason, and the columns and the radix to declare.
#[test]
fn doubts_are_refused_with_what_would_end_them() {
    for (text, part, columns, radix) in [
        ("x,a.jpg,f2a74de452e6b430\ny,b.jpg,0c1f789bed2eb9b8\n", "2 other columns", (3, 1), None),
        ("a,f2a74de452e6b430,0c1f789bed2eb9b8\n", "could both hold", (2, 1), None),
        ("a1\tf2a74de452e6b430\nb2\t0c1f789bed2eb9b8\n", "could both hold", (2, 1), None),
        // The first column could contain 32-bit hashes, or the ids of the 64-bit hashes.
        (
            "deadbeef\tf2a74de452e6b430\n00c0ffee\t0c1f789bed2eb9b8\n",
            "could both hold",
            (2, 1),
            None,
        ),
        ("a,f2a74de452e6b430\n,0c1f789bed2eb9b8\n", "id is missing in line 2", (2, 0), None),
        ("a.jpg,failure\nb.jpg,f2a74de452e6b430\n", "could be a header", (2, 1), None),
        (
            "a.jpg,f2a74de452e6b430\nb.jpg,0c1f789bed2eb9b8\nc.jpg,f2a74de452e6b431\nd.jpg,None\n",
            "column 2 holds fingerprints, but 'None' in line 4",
            (2, 1),
            None,
        ),
        (
            "x,1731234567890123\ny,1731234567890124\n",
            "could be hex or decimal",
            (2, 1),
            Some(Radix::Decimal),
        ),
        ("7,17485029721327973424\n8,873549463827691960\n", "both", (2, 1), Some(Radix::Decimal)),
    ] {
        match read(text, InputOptions::default()) {
            Err(Error::UnclearInput {
                reason,
                fingerprint_column,
                id_column,
                radix: found,
                ..
            }) => {
                assert!(reason.contains(part), "{text}: {reason}");
                let found_columns = (fingerprint_column.unwrap_or(0), id_column.unwrap_or(0));
                assert_eq!((found_columns, found), (columns, radix), "{text}: {reason}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
    // Signed numbers, with a positive number in the first line.
    let (records, _) = read(
        "p1,4712128852136459333\np2,-1\np3,-5710247810770547145\np4,-2710247810770547145\n",
        InputOptions::default(),
    )
    .unwrap();
    assert_eq!((records.len(), records[1].0), (4, u64::MAX));
    // `skip_bad` changes neither the rejection of unclear inputs nor the reading of clear inputs.
    let skip = InputOptions::default().skip_bad(true);
    assert!(read("1\t18446744073709551615\n", skip).is_err());
    let (records, summary) = read("ab,f2a74de452e6b430\nxy,0c1f789bed2eb9b8\n", skip).unwrap();
    assert_eq!((records[0].0, records.len(), summary.skipped_count), (A, 2, 0));
    let both = "1731234567890123\ta\n1731234567890124\tb\n";
    assert!(read(both, InputOptions::default()).is_err());
    let hex = read(both, InputOptions::default().radix(Radix::Hex)).unwrap();
    assert_eq!(hex.0[0].0, 0x1731_2345_6789_0123);
    let decimal = read(both, InputOptions::default().radix(Radix::Decimal)).unwrap();
    assert_eq!(decimal.0[0].0, 1_731_234_567_890_123);
    let long = format!("a.jpg,{}\n", "0123456789abcdef".repeat(4));
    let error = read(&long, InputOptions::default()).unwrap_err().to_string();
    assert!(error.contains("256 bits (64 hex digits)"), "{error}");
}

/// Rows of a number and a hash, in all common spellings of hashes: either the hash is read as the
/// fingerprint, or the file is rejected, even if bad records are skipped.
#[test]
fn row_numbers_never_become_fingerprints() {
    let values: Vec<u64> = (1..=40_u64).map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let table = |spell: &dyn Fn(usize, u64) -> String| -> String {
        let rows = values.iter().enumerate();
        rows.map(|(at, value)| format!("{}\t{}\n", at + 1, spell(at, *value))).collect()
    };
    let missing = |name: &'static str, places: &'static [usize]| {
        move |at: usize, value: u64| match places.contains(&at) {
            true => name.to_string(),
            false => format!("{value:016x}"),
        }
    };
    for (text, is_read) in [
        (table(&|_, value| format!("{value:016x}")), true),
        (table(&|_, value| format!("{value:x}")), true),
        (table(&|_, value| format!("{value:#x}")), true),
        (table(&missing("NULL", &[20])), true),
        (table(&missing("None", &[0, 7])), true),
        (table(&missing("", &[0, 1, 2])), true),
        (format!("id\thash\n{}", table(&missing("", &[3]))), true),
        (table(&|_, value| format!("{value:016x}").repeat(4)), false),
        (table(&|_, value| format!("{value:032x}")), false),
        (table(&|_, value| format!("{:08x}", value >> 32)), false),
        (table(&|_, value| (value >> 11).to_string()), false),
        (table(&|_, value| (value >> 32).to_string()), false),
        (table(&|_, value| format!("{:e}", value as f64)), false),
        (table(&|_, value| format!("{value:064b}")), false),
        (table(&|_, value| format!("{:04x}-{:04x}-x", value >> 48, value & 0xffff)), false),
        (table(&|_, value| format!("kbdY{}SiJ=", value % 7)), false),
        (table(&|at, _| format!("page{at}")), false),
    ] {
        for skip in [false, true] {
            match read(&text, InputOptions::default().skip_bad(skip)) {
                Ok((records, _)) => {
                    let is_value = |record: &(u64, _)| values.contains(&record.0);
                    assert!(is_read && records.iter().all(is_value), "{text}");
                    assert!(records.len() >= 37, "{text}");
                }
                Err(_) if skip => assert!(!is_read, "{text}"),
                Err(_) => {}
            }
        }
    }
    // Long numbers as ids, next to hashes of another length than 64 bits or with missing values.
    let ids: [&dyn Fn(usize) -> String; 4] = [
        &|at| (1_234_567_890_123_456_789 + at * 4096).to_string(),
        &|at| format!("{:013x}", 0x0006_8a1b_2c3d_4e5f + at * 211),
        &|at| format!("{:016}", at + 1),
        &|at| format!("0{}", 400_000_000_000 + at * 7),
    ];
    for id in ids {
        for hash in [
            &|_, value: u64| format!("{value:016x}{value:016x}"),
            &|at: usize, value: u64| match at.is_multiple_of(3) {
                true => "NULL".to_string(),
                false => format!("{value:016x}"),
            },
            &|at: usize, _: u64| format!("page {at}"),
        ] as [&dyn Fn(usize, u64) -> String; 3]
        {
            for header in ["id,phash\n", ""] {
                let rows = values.iter().enumerate();
                let rows = rows.map(|(at, value)| format!("{},{}\n", id(at), hash(at, *value)));
                let text = format!("{header}{}", rows.collect::<String>());
                let is_padded_alone = text.contains("page") && text.starts_with("0000");
                for skip in [false, true] {
                    let found = read(&text, InputOptions::default().skip_bad(skip));
                    assert!(found.is_err() || is_padded_alone, "{text}");
                }
            }
        }
    }
    // A number before a tab and a missing value is not taken for a fingerprint.
    let missing = format!("{}9\t{A:016x}\n", "1\t\n".repeat(120));
    for text in ["1\t\n2\t\n", &missing, "91b7584a2265b1f5\ta\n20\t1027c4d1c386bbc4\n"] {
        assert!(read(text, InputOptions::default()).is_err(), "{text}");
    }
    // Short numbers next to another column are ids, unless the radix is set.
    for text in
        ["17\tkbdYSiJlsfU=\n90\tt7wY9ahpAgw=\n", "1\ta\n2\tb\n3\tc\n", "ff\tdoc 7\n", "7 a.jpg"]
    {
        assert!(read(text, InputOptions::default()).is_err(), "{text}");
    }
    let hex = InputOptions::default().radix(Radix::Hex);
    assert_eq!(read("ff\tdoc 7\n", hex).unwrap().0, [(255, Some("doc 7".into()))]);
    // A first line that contains only the number of rows does not change the guessed columns.
    let counted = format!("40\n{}", table(&|_, value| format!("{value:016x}")));
    let (records, summary) = read(&counted, InputOptions::default().skip_bad(true)).unwrap();
    assert_eq!((records[0].0, records.len(), summary.skipped_count), (values[0], 40, 1));
    // A file is rejected if the first line with two columns comes after many lines of one column.
    let late = format!("{}1\t{A:016x}\n", "7\n".repeat(200));
    assert!(read(&late, InputOptions::default()).is_err());
}

/// The columns of a stream are guessed from its first line only: as for a file, or not at all.
#[test]
fn a_stream_takes_the_columns_of_a_file() {
    let stream = |text: &str| {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let mut records = Vec::new();
        let read = read_all_records(file.path(), &InputOptions::default(), |found| {
            if let Ok(record) = found {
                let id = record.id.map(|id| id.to_string());
                records.push((record.fingerprint.value(), id));
            }
            Ok::<(), Error>(())
        });
        read.map(|_| records)
    };
    for text in [
        "20\tf2a74de452e6b430\n21\t0c1f789bed2eb9b8\n",
        "a.jpg,f2a74de452e6b430\nb.jpg,0c1f789bed2eb9b8\n",
        "id,phash\n20,f2a74de452e6b430\n21,0c1f789bed2eb9b8\n",
        "phash\nf2a74de452e6b430\n",
        "f2a74de452e6b430\ta.jpg\n0c1f789bed2eb9b8\tb.jpg\n",
        "f2a74de452e6b430\n7\n",
        "url 17485029721327973424\nuri 873549463827691960\n",
    ] {
        assert_eq!(stream(text).unwrap(), read(text, InputOptions::default()).unwrap().0, "{text}");
    }
    for text in [
        "1\tNULL\n2\tf2a74de452e6b430\n",
        "7,17485029721327973424\n",
        "9\tkbdYSiJlsfU=\n",
        "1\t\n2\tf2a74de452e6b430\n",
        "1731234567890123\tf2a74de452e6b430\n",
        "0000000000000001\tf2a74de452e6b430\n",
        "1731234567890123\n1731234567890124\n",
    ] {
        assert!(matches!(stream(text), Err(Error::UnclearInput { .. })), "{text}");
    }
    // A first line of one column does not show whether later lines have ids.
    assert_eq!(stream("40\n1\tf2a74de452e6b430\n").unwrap(), [(0x40, None)]);
}

#[test]
fn digits_without_a_letter_in_a_named_column_are_hex_or_decimal_only_if_said() {
    let text = "id,h\n1,9007199254740\n2,8007199254740993\n3,9007199254740993\n";
    for text in [text, &text[5..]] {
        let named = InputOptions::default().columns(2, 1);
        match read(text, named) {
            Err(Error::UnclearInput { radix, .. }) => assert_eq!(radix, Some(Radix::Decimal)),
            other => panic!("{text}: {other:?}"),
        }
        let (decimal, _) = read(text, named.radix(Radix::Decimal)).unwrap();
        assert_eq!(decimal[0], (9_007_199_254_740, Some("1".into())));
        let (hex, _) = read(text, named.radix(Radix::Hex)).unwrap();
        assert_eq!(hex[0].0, 0x9_0071_9925_4740);
    }
}

#[test]
fn a_later_line_that_does_not_fit_is_named() {
    let mut text = "file,phash\n".to_string();
    for number in 0..1000_u64 {
        let value = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ A;
        text += &format!("{number}.jpg,{value:016x}\n");
    }
    for (bad, part) in [
        ("x.jpg\n", "line 1002: the line has 1 column, expected 2"),
        ("x.jpg,\n", "line 1002: column 2: '' is not a fingerprint"),
        (",f2a74de452e6b430\n", "line 1002: column 1 is empty"),
        ("\"x,f2a74de452e6b430\n", "line 1002: the quote that opens column 1"),
    ] {
        let error = read(&format!("{text}{bad}"), InputOptions::default()).unwrap_err();
        let error = error.to_string();
        assert!(error.contains(part), "{error}");
        let skip = InputOptions::default().skip_bad(true);
        let (records, summary) = read(&format!("{text}{bad}"), skip).unwrap();
        assert_eq!((records.len(), summary.skipped_count), (1000, 1));
    }
}

#[test]
fn columns_that_are_named_by_number_are_taken() {
    let at = |fingerprint, id| InputOptions::default().columns(fingerprint, id);
    for (text, options) in [
        ("x\tf2a74de452e6b430\ta\ty\n", at(2, Some(3))),
        ("name,h,z\na,f2a74de452e6b430,q\n", at(2, Some(1))),
        ("a;f2a74de452e6b430;0c1f789bed2eb9b8\n", at(2, Some(1))),
        ("f2a74de452e6b430,a,b\n", at(1, Some(2))),
        ("a 17485029721327973424\n", at(2, Some(1))),
    ] {
        let (records, _) = read(text, options).unwrap();
        assert_eq!(records, [(A, Some("a".into()))], "{text}");
    }
    let (records, summary) = read("h\nf2a74de452e6b430\n", at(1, None)).unwrap();
    assert_eq!(
        (records, summary.guess.unwrap()),
        (vec![(A, None)], "line 1 is read as a header".into())
    );
    let short = read("a,f2a74de452e6b430\nb\n", at(2, Some(1))).unwrap_err().to_string();
    assert!(short.contains("line 2: the line has no column 2; it has 1"), "{short}");
    let none = read("a,f2a74de452e6b430\n", at(5, None)).unwrap_err().to_string();
    assert!(none.contains("no line has a column 5"), "{none}");
    let null = read("NULL,a\nf2a74de452e6b430,b\n", at(1, Some(2))).unwrap_err().to_string();
    assert!(null.contains("line 1: column 1: 'NULL'"), "{null}");
}

#[test]
fn an_exact_reader_guesses_nothing() {
    let exact = InputOptions::default().exact(true);
    let (records, _) = read("1\tf2a74de452e6b430\n", exact).unwrap();
    assert_eq!(records, [(1, Some("f2a74de452e6b430".into()))]);
    assert!(read("a.jpg\tf2a74de452e6b430\n", exact).is_err());
    let missing = read_records(Path::new("/none/such"), &exact, |_| Ok::<(), Error>(()));
    assert!(matches!(missing, Err(Error::Io { .. })));
}

/// A name that is not a hex number and has no separator.
fn name() -> impl Strategy<Value = String> {
    "[g-z][a-z0-9_/-]{0,12}[.](jpg|html)"
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// For every separator, order and header, the records read are the records written.
    #[test]
    fn tables_of_names_and_fingerprints_are_read_as_they_were_written(
        records in proptest::collection::vec((any::<u64>(), name()), 2..150),
        separator in prop_oneof![Just("\t"), Just(","), Just(";"), Just(" "), Just(": ")],
        name_first: bool,
        has_header: bool,
        quotes: bool,
    ) {
        let is_csv = separator == "," || separator == ";";
        let has_header = has_header && (is_csv || separator == "\t");
        let quoted = |text: &str| match quotes && is_csv {
            true => format!("\"{text}\""),
            false => text.to_string(),
        };
        let line = |one: &str, two: &str| match name_first {
            true => format!("{}{separator}{}\n", quoted(two), quoted(one)),
            false => format!("{}{separator}{}\n", quoted(one), quoted(two)),
        };
        let mut text = if has_header { line("phash", "file") } else { String::new() };
        for (value, name) in &records {
            text += &line(&format!("{value:016x}"), name);
        }
        let expected: Records =
            records.iter().map(|(value, name)| (*value, Some(name.clone()))).collect();
        // Lines that start with a quoted fingerprint are not the documented form, but are
        // recognised.
        let (found, summary) = read(&text, InputOptions::default()).unwrap();
        prop_assert_eq!(found, expected);
        let is_guessed = name_first || has_header || separator == ";" || quotes && is_csv;
        prop_assert_eq!(summary.guess.is_none(), !is_guessed);
    }

    /// No bytes make the guess panic. Inputs in the documented form without a second column of
    /// fingerprints are read the same with and without guessing.
    #[test]
    fn any_text_is_read_or_refused(text in "[0-9a-f,;:\t \"\nx#-]{0,60}") {
        let guessed = read(&text, InputOptions::default());
        let exact = read(&text, InputOptions::default().exact(true));
        if let (Ok((guessed, summary)), Ok((exact, _))) = (guessed, exact)
            && summary.guess.is_none()
        {
            prop_assert_eq!(guessed, exact);
        }
    }
}
