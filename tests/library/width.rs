//! Stores of fingerprints of fewer than 64 bits: searches equal a scan, and wider values are
//! rejected.

use fpstore::input::{InputFormat, InputOptions, read_records};
use fpstore::join::{BatchMode, JoinOptions, near_pairs, near_pairs_across, search_many};
use fpstore::writer::NewRecord;
use fpstore::{
    BuildOptions, Builder, Error, Fingerprint, InputPlace, Limits, Radix, Recipe, Store,
    VerifyOptions, Width, Writer, WriterOptions, verify,
};
use tempfile::TempDir;

use crate::common::{Random, oracle};

fn width(bits: u32) -> Width {
    Width::new(bits).unwrap()
}

/// A store of these values; the id of each is its position.
fn store_of(values: &[u64], bits: u32) -> (TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let options = BuildOptions::default().recipe(Recipe::external_of(width(bits)));
    let mut builder = Builder::with_options(folder.path().join("a.fps"), options).unwrap();
    for (id, value) in values.iter().enumerate() {
        builder.push(Fingerprint::new(*value), id as u64).unwrap();
    }
    let store = builder.finish().unwrap();
    (folder, store)
}

/// Random values, clustered values and extreme values of a width.
fn sets(bits: u32, random: &mut Random) -> Vec<Vec<u64>> {
    let max = width(bits).max().value();
    let spread: Vec<u64> = (0..800).map(|_| random.next() & max).collect();
    let mut clustered = Vec::new();
    for centre in &spread[..40] {
        // Values 0 to 4 bits from a center, so that some are exactly k bits away, others k + 1.
        clustered.extend((0..20).map(|at| (random.flip(*centre, at % 5)) & max));
    }
    let ones = vec![max; 3];
    vec![vec![], vec![0], vec![0, max], ones, vec![0, 1, max, max - 1], spread, clustered]
}

#[test]
fn every_width_answers_as_a_scan_does() {
    for bits in (8..=64).step_by(8) {
        let mut random = Random::new(bits.into());
        let max = width(bits).max().value();
        for values in sets(bits, &mut random) {
            let (_folder, store) = store_of(&values, bits);
            assert_eq!((store.width(), store.info().width), (width(bits), width(bits)));
            let mut needles = vec![0, max];
            needles.extend((0..6).map(|_| random.next() & max));
            if !values.is_empty() {
                needles.extend((0..6).map(|at| random.flip(random_of(&values, at), 3) & max));
                needles.extend((0..6).map(|at| random_of(&values, at)));
            }
            let wanted: Vec<Fingerprint> = needles.iter().copied().map(Fingerprint::new).collect();
            for k in [0, 1, 3, 4, bits.min(20), bits] {
                let mut batch = Vec::new();
                let (options, limits) = (JoinOptions::new(k), Limits::default());
                search_many(&store, &wanted, &options, &limits, BatchMode::Auto, |_, answer| {
                    assert_eq!(answer.width(), width(bits));
                    batch.push(answer.to_matches()?);
                    Ok::<(), Error>(())
                })
                .unwrap();
                for (needle, answer) in needles.iter().zip(&batch) {
                    let found = store.query(Fingerprint::new(*needle), k).unwrap();
                    assert_eq!(found, *answer, "{bits} bits, k = {k}");
                    let found: Vec<(u32, u64, usize)> = found
                        .iter()
                        .flat_map(|it| it.ids.iter().map(move |id| (it, id.to_string())))
                        .map(|(it, id)| (it.distance, it.fingerprint.value(), id.parse().unwrap()))
                        .collect();
                    let mut found = found;
                    found.sort_unstable();
                    let expected = oracle::scan(&values, *needle, k);
                    assert_eq!(found, expected, "{bits} bits, k = {k}, {needle:x}");
                }
            }
            let mut pairs = Vec::new();
            near_pairs(&store, &JoinOptions::new(2), |batch| {
                pairs.extend(batch.iter().map(|it| (it.first.value(), it.second.value())));
                Ok::<(), Error>(())
            })
            .unwrap();
            pairs.sort_unstable();
            assert_eq!(pairs, oracle::pairs(&values, 2), "{bits} bits");
        }
    }
}

fn random_of(values: &[u64], at: u64) -> u64 {
    values[Random::new(at).below(values.len() as u64) as usize]
}

#[test]
fn nothing_wider_comes_in_or_is_asked() {
    let (folder, store) = store_of(&[7, 0xffff_ffff], 32);
    let path = folder.path().join("a.fps");
    let wide = Fingerprint::new(1 << 32);
    let is_too_wide = |error: Error| {
        assert!(matches!(error, Error::TooWide { fingerprint, .. } if fingerprint == wide));
        assert_eq!(
            error.to_string(),
            "0000000100000000 has more than 32 bits, the width of the fingerprints of the store"
        );
    };
    is_too_wide(store.query(wide, 3).unwrap_err());
    is_too_wide(store.searcher().nearest(wide, 1, 64).map(drop).unwrap_err());
    let (options, limits) = (JoinOptions::new(3), Limits::default());
    let many = search_many(&store, &[wide], &options, &limits, BatchMode::Auto, |_, _| Ok(()));
    is_too_wide(many.unwrap_err());
    let across = near_pairs_across(&[wide][..], &store, &JoinOptions::new(3), |_| Ok(()));
    is_too_wide(across.unwrap_err());
    for replace in [false, true] {
        let options = WriterOptions::default().replace(replace);
        let mut writer = Writer::with_options(&path, options).unwrap();
        is_too_wide(writer.push(wide, 9).unwrap_err());
        let record = NewRecord::new(wide, fpstore::Id::U64(9));
        is_too_wide(writer.replace(&[record]).unwrap_err());
        writer.push(8.into(), 9).unwrap();
        writer.commit().unwrap();
    }
    let options = BuildOptions::default().recipe(Recipe::external_of(width(32)));
    let mut builder = Builder::append(&path, options).unwrap();
    is_too_wide(builder.push_bare(wide).unwrap_err());
    drop(builder);
    store.refresh().unwrap();
    // The second writer has replaced the record of the first writer.
    assert_eq!(store.query(8.into(), 0).unwrap()[0].ids.len(), 1);
}

#[test]
fn stores_of_different_widths_are_never_one() {
    let (folder, _) = store_of(&[1, 2], 32);
    let (other, _) = store_of(&[1, 2], 64);
    let (path, wide) = (folder.path().join("a.fps"), other.path().join("a.fps"));
    let differs = |error: Error| {
        assert!(matches!(error, Error::RecipeMismatch { .. }), "{error}");
        assert!(error.to_string().contains("bits=32"), "{error}");
    };
    differs(Builder::append(&path, BuildOptions::default()).map(drop).unwrap_err());
    let options = WriterOptions::default().recipe(Recipe::external());
    differs(Writer::with_options(&path, options).map(drop).unwrap_err());
    let mut writer = Writer::open(&wide).unwrap();
    differs(writer.import(&[path]).map(drop).unwrap_err());
}

/// Merging, building an empty store and deleting all records keep the width.
#[test]
fn the_width_stays_through_the_life_of_a_store() {
    let (folder, store) = store_of(&[1, 2, 3], 40);
    let path = folder.path().join("a.fps");
    let mut writer = Writer::open(&path).unwrap();
    writer.push(9.into(), 9).unwrap();
    writer.commit().unwrap();
    writer.delete_fingerprints(&[1, 2, 3, 9].map(Fingerprint::new)).unwrap();
    writer.compact(&fpstore::writer::Compaction::All).unwrap();
    drop(writer);
    store.refresh().unwrap();
    assert_eq!((store.width(), store.info().fingerprint_count()), (width(40), 0));
    assert!(matches!(store.query(Fingerprint::new(1 << 40), 3), Err(Error::TooWide { .. })));
}

#[test]
fn verify_finds_a_narrow_store_sound() {
    for bits in [8, 32, 56] {
        let values: Vec<u64> =
            (0..200).map(|at| Random::new(at).next() & width(bits).max().value()).collect();
        let (folder, _store) = store_of(&values, bits);
        let report = verify(folder.path().join("a.fps"), &VerifyOptions::default()).unwrap();
        assert!(report.faults.is_empty(), "{:?}", report.faults);
    }
}

#[test]
fn a_recipe_of_an_unknown_width_is_refused() {
    for text in ["external\nbits=12", "external\nbits=64", "external\nmade=elsewhere"] {
        let folder = tempfile::tempdir().unwrap();
        let options = BuildOptions::default().recipe(Recipe::from_text(text).unwrap());
        let refused = Builder::with_options(folder.path().join("a.fps"), options);
        assert!(matches!(refused, Err(Error::InvalidOptions { .. })), "{text}");
    }
}

/// Each input format gives the same values, and an error has the position of a value that is too
/// wide.
#[test]
fn inputs_are_read_in_the_width() {
    let folder = tempfile::tempdir().unwrap();
    let values = [0_u32, 1, 0x7fff_ffff, 0x8000_0000, 0xdead_beef, u32::MAX];
    let read = |name: &str, bytes: &[u8], options: InputOptions| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let mut found = Vec::new();
        let done = read_records(&path, &options.width(width(32)), |record| {
            found.push((record.fingerprint.value(), record.id.map(|id| id.to_string())));
            Ok::<(), Error>(())
        });
        (done, found)
    };
    let lines = |spell: &dyn Fn(u32) -> String| -> String {
        values.iter().map(|value| spell(*value) + "\n").collect()
    };
    let options = InputOptions::default();
    let cases: [(&str, Vec<u8>, InputOptions); 5] = [
        ("hex", lines(&|value| format!("{value:08x}")).into(), options),
        ("long", lines(&|value| format!("{value:016x}")).into(), options),
        ("dec", lines(&|value| value.to_string()).into(), options.radix(Radix::Decimal)),
        (
            "sdec",
            lines(&|value| value.cast_signed().to_string()).into(),
            options.radix(Radix::SignedDecimal),
        ),
        (
            "bin",
            values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            options.format(InputFormat::U32Le),
        ),
    ];
    for (name, bytes, options) in cases {
        let (done, found) = read(name, &bytes, options);
        done.unwrap();
        let found: Vec<u64> = found.into_iter().map(|(value, _)| value).collect();
        assert_eq!(found, values.map(u64::from), "{name}");
    }
    let mut with_ids = Vec::new();
    for (id, value) in values.iter().enumerate() {
        with_ids.extend(value.to_le_bytes());
        with_ids.extend((id as u64).to_le_bytes());
    }
    let (done, found) = read("bin-ids", &with_ids, options.format(InputFormat::U32LeId));
    done.unwrap();
    assert_eq!(found[4], (0xdead_beef, Some("4".into())));

    let (done, _) = read("wide", b"deadbeef\n1deadbeef\n", options.exact(true));
    let error = done.unwrap_err();
    assert!(matches!(error, Error::BadInput { place: InputPlace::Line(2), .. }), "{error}");
    assert!(error.to_string().contains("'1deadbeef' has more than 32 bits"), "{error}");
    let (done, found) = read("skip", b"deadbeef\n1deadbeef\n1\n", options.skip_bad(true));
    assert_eq!((done.unwrap().skipped_count, found.len()), (1, 2));
    let (done, _) = read("sdec", b"2147483648\n", options.radix(Radix::SignedDecimal));
    assert!(done.unwrap_err().to_string().contains("signed number of 32 bits"));
}

/// Hashes of 32 bits would be read as 64-bit values, so they are rejected unless a width or a radix
/// is set; binary hashes of 32 bits need a width.
#[test]
fn hashes_of_32_bits_need_a_width() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("crc.tsv");
    let read = |bytes: &str, options: InputOptions| {
        std::fs::write(&path, bytes).unwrap();
        read_records(&path, &options, |_| Ok::<(), Error>(()))
    };
    for bytes in ["deadbeef\ta\n00c0ffee\tb\n", "a.jpg,deadbeef\nb.jpg,00c0ffee\n"] {
        let error = read(bytes, InputOptions::default()).unwrap_err();
        let Error::UnclearInput { width: Some(given), .. } = &error else { panic!("{error}") };
        assert_eq!(*given, width(32));
        assert!(error.to_string().contains("--bits 32"), "{error}");
        read(bytes, InputOptions::default().width(width(32))).unwrap();
    }
    let said = InputOptions::default().radix(Radix::Hex);
    assert_eq!(read("deadbeef\ta\n00c0ffee\tb\n", said).unwrap().record_count, 2);
    let binary = InputOptions::default().format(InputFormat::U32Le);
    assert!(matches!(read("abcd", binary), Err(Error::InvalidOptions { .. })));
}
