//! Compares fingerprints with the fingerprints of the Python package imagehash; see data/make.py.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fpstore_base::Fingerprint;
use fpstore_images::{
    Admission, Error, Orientation, PictureHash, PictureOptions, PictureRecipe, PictureSummary,
    PictureVersion, hash_pictures,
};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// The ids and fingerprints of the pictures in a folder.
fn hashes(
    folder: &Path,
    options: &PictureOptions,
) -> Result<(PictureSummary, BTreeMap<String, Fingerprint>), Error> {
    let mut found: BTreeMap<String, Fingerprint> = BTreeMap::new();
    let summary = hash_pictures(folder, options, |fingerprint, id| {
        assert!(found.last_key_value().is_none_or(|(last, _)| last.as_str() < id), "{id}");
        found.insert(id.to_owned(), fingerprint);
        Ok::<_, Error>(Admission::Taken)
    })?;
    Ok((summary, found))
}

fn recipe(hash: PictureHash, orientation: Orientation) -> PictureRecipe {
    PictureRecipe::new(hash, orientation)
}

/// Lossless formats have the same pixels in all decoders. Decoders of lossy formats round
/// differently, by about one grey value, which changes few bits.
#[test]
fn the_fingerprints_are_those_of_imagehash() {
    let table = std::fs::read_to_string(data().join("hashes.tsv")).unwrap();
    let columns = [
        recipe(PictureHash::PHash, Orientation::Exif),
        recipe(PictureHash::DHash, Orientation::Exif),
        recipe(PictureHash::PHash, Orientation::Stored),
        recipe(PictureHash::DHash, Orientation::Stored),
    ];
    for (column, recipe) in columns.into_iter().enumerate() {
        let (summary, found) = hashes(&data(), &PictureOptions::new(recipe)).unwrap();
        let mut count = 0;
        for row in table.lines().filter(|row| !row.starts_with('#')) {
            let fields: Vec<&str> = row.split('\t').collect();
            let expected: Fingerprint = fields[column + 1].parse().unwrap();
            let distance = (expected.value() ^ found[fields[0]].value()).count_ones();
            let is_lossy = fields[0].ends_with(".jpg") || fields[0] == "lossy.webp";
            let most = if is_lossy { 2 } else { 0 };
            assert!(distance <= most, "{recipe:?} {}: {distance} bits differ", fields[0]);
            count += 1;
        }
        assert_eq!((summary.picture_count, summary.bad_count), (count, 0));
    }
}

/// Fingerprints of the first version, computed before the second version existed.
#[test]
fn a_store_of_the_first_version_goes_on_with_its_fingerprints() {
    for (hash, name, expected) in [
        (PictureHash::PHash, "flat0.png", "0000000000000000"),
        (PictureHash::PHash, "wide.png", "c6bc0a6395b51e3a"),
        (PictureHash::PHash, "narrow2.png", "c163e3513e8d1e9c"),
        (PictureHash::DHash, "narrow2.png", "4bc8d0c2ac92b20d"),
        (PictureHash::PHash, "flat7.png", "804a6f2b00373f7f"),
        (PictureHash::PHash, "mirrored.png", "d2f037f0f52ab0a1"),
        (PictureHash::PHash, "gradient.png", "907f2b3b033f2027"),
    ] {
        let recipe =
            PictureRecipe { version: PictureVersion::One, ..recipe(hash, Orientation::Exif) };
        let (_, found) = hashes(&data(), &PictureOptions::new(recipe)).unwrap();
        assert_eq!(found[name].to_string(), expected, "{name}");
        assert_eq!(recipe.to_recipe().text().lines().next(), Some("fpstore-images=1"));
    }
}

/// The decoder fills the missing part of a truncated JPEG file with grey, so unrelated pictures
/// would be similar.
#[test]
fn a_cut_picture_is_damaged_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let names = ["plain.jpg", "progressive.jpg", "gray.jpg", "wide.png", "drawn.gif", "drawn.bmp"];
    let names = [&names[..], &["drawn.tif", "lossless.webp", "lossy.webp"]].concat();
    let mut bad = Vec::new();
    for name in &names {
        let whole = std::fs::read(data().join(name)).unwrap();
        std::fs::write(at(name), [&whole[..], b"trailing bytes"].concat()).unwrap();
        for part in [10, 50, 90] {
            bad.push(format!("cut{part}.{name}"));
            std::fs::write(at(bad.last().unwrap()), &whole[..whole.len() * part / 100]).unwrap();
        }
        if name.ends_with(".jpg") {
            let half = whole.len() / 2;
            bad.extend([format!("endless.{name}"), format!("zeros.{name}")]);
            std::fs::write(at(&bad[bad.len() - 2]), &whole[..whole.len() - 2]).unwrap();
            let zeros = [&whole[..half], &vec![0; whole.len() - half]].concat();
            std::fs::write(at(bad.last().unwrap()), zeros).unwrap();
        }
    }
    let options = PictureOptions::new(recipe(PictureHash::PHash, Orientation::Exif));
    let (summary, found) =
        hashes(folder.path(), &PictureOptions { skip_bad: true, ..options.clone() }).unwrap();
    let taken: Vec<&str> = found.keys().map(String::as_str).collect();
    let mut expected = names.clone();
    expected.sort_unstable();
    assert_eq!((taken, summary.bad_count), (expected, bad.len() as u64));
    assert!(matches!(hashes(folder.path(), &options), Err(Error::BadPictures(_))));
}

#[test]
fn pictures_of_one_colour_are_counted() {
    let options = PictureOptions::new(recipe(PictureHash::PHash, Orientation::Exif));
    let (summary, found) = hashes(&data(), &options).unwrap();
    assert_eq!(summary.one_colour_count, 3);
    assert_eq!(found["flat7.png"], found["flat255.png"]);
}

#[test]
fn any_number_of_threads_and_little_memory_give_the_same() {
    let recipe = recipe(PictureHash::PHash, Orientation::Exif);
    let all = hashes(&data(), &PictureOptions::new(recipe)).unwrap();
    for (threads, memory) in [(1, 1), (3, 10_000), (8, usize::MAX)] {
        let options = PictureOptions { threads, memory, ..PictureOptions::new(recipe) };
        assert_eq!(hashes(&data(), &options).unwrap(), all);
    }
}

#[test]
fn every_file_that_is_no_good_picture_is_named_or_counted() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("below")).unwrap();
    std::fs::copy(data().join("wide.png"), at("below/A.PNG")).unwrap();
    // The format is detected from the bytes.
    std::fs::copy(data().join("wide.png"), at("b.jpg")).unwrap();
    let whole = std::fs::read(data().join("plain.jpg")).unwrap();
    for name in ["cut.png", "turned.gif"] {
        let bytes = std::fs::read(data().join("wide.png")).unwrap();
        std::fs::write(at(name), &bytes[..bytes.len() / 2]).unwrap();
    }
    std::fs::write(at("head.jpeg"), &whole[..40]).unwrap();
    std::fs::write(at("empty.webp"), "").unwrap();
    std::fs::write(at("text.tiff"), "no picture").unwrap();
    std::fs::write(at("phone.HEIC"), "not read").unwrap();
    std::fs::write(at("notes.txt"), "no picture").unwrap();
    std::fs::write(at(".hidden.png"), "").unwrap();
    let options = PictureOptions::new(recipe(PictureHash::PHash, Orientation::Exif));
    let (summary, found) =
        hashes(folder.path(), &PictureOptions { skip_bad: true, ..options.clone() }).unwrap();
    let ids: Vec<&str> = found.keys().map(String::as_str).collect();
    assert_eq!(ids, ["b.jpg", "below/A.PNG"]);
    let bad: Vec<&str> = summary.bad.iter().map(|it| it.split(": ").next().unwrap()).collect();
    assert_eq!(
        bad,
        ["cut.png", "empty.webp", "head.jpeg", "phone.HEIC", "text.tiff", "turned.gif"]
    );
    assert!(summary.bad.iter().any(|it| it.contains("convert it to JPEG or PNG")), "{summary:?}");
    assert_eq!((summary.other_count, summary.passed_over_count), (1, 1));
    match hashes(folder.path(), &options) {
        Err(Error::BadPictures(told)) => assert_eq!(*told, summary),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_id_that_is_refused_makes_a_picture_a_bad_one() {
    let options = PictureOptions::new(recipe(PictureHash::DHash, Orientation::Exif));
    let options = PictureOptions { skip_bad: true, ..options };
    let summary = hash_pictures(&data(), &options, |_, id| {
        let reason = || "too small".to_owned();
        let refused = id == "small.png";
        Ok::<_, Error>(if refused {
            Admission::Refused { reason: reason() }
        } else {
            Admission::Taken
        })
    });
    assert_eq!(summary.unwrap().bad, ["small.png: too small"]);
}

/// Damaged files never cause a panic, and never take long.
#[test]
fn a_damaged_picture_is_read_or_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut state = 34_u64;
    let mut number = 0;
    for entry in std::fs::read_dir(data()).unwrap() {
        let path = entry.unwrap().path();
        let ending = path.extension().unwrap().to_str().unwrap();
        if ["tsv", "py"].contains(&ending) {
            continue;
        }
        let whole = std::fs::read(&path).unwrap();
        for _ in 0..20 {
            let mut bytes = whole.clone();
            for _ in 0..3 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let at = (state >> 33) as usize % bytes.len().min(400);
                bytes[at] = (state >> 24) as u8;
            }
            std::fs::write(folder.path().join(format!("{number}.{ending}")), bytes).unwrap();
            number += 1;
        }
    }
    let options = PictureOptions::new(recipe(PictureHash::PHash, Orientation::Exif));
    let (summary, found) =
        hashes(folder.path(), &PictureOptions { skip_bad: true, ..options }).unwrap();
    assert_eq!(found.len() as u64 + summary.bad_count, number);
}
