//! Tests stores of pictures: `build --images`, `query --image`, and their messages.

use crate::common::program::TestDir;
use crate::common::root;

/// A folder with the subfolder `photos`, whose pictures have known hashes by imagehash.
fn dir() -> TestDir {
    let dir = TestDir::new();
    let data = root().join("crates/images/tests/data");
    for name in ["alpha.png", "nine.png", "wide.png", "turned.jpg"] {
        dir.write(&format!("photos/{name}"), std::fs::read(data.join(name)).unwrap());
    }
    dir.write("photos/below/tall.png", std::fs::read(data.join("tall.png")).unwrap());
    dir.write("photos/notes.txt", "no picture");
    dir
}

/// The hashes are equal to those of imagehash. `turned.jpg` is rotated by its EXIF data.
#[test]
fn pictures_become_a_store_with_paths_as_ids() {
    let dir = dir();
    let (_, err) = dir.run(&["build", "--images", "photos", "-s", "p.fps"], 0);
    assert!(err.contains("skipped 1 file with other extensions"), "{err}");
    assert!(err.contains("tuned for -k 10; next: fpstore query --image PICTURE"), "{err}");
    let dump = dir.ok(&["dump", "p.fps"], "");
    for line in ["a36f92c09d6ab5c8\tbelow/tall.png", "c6bc0a6395b51e3a\twide.png"] {
        assert!(dump.contains(line), "{dump}");
    }
    assert_eq!(dump.lines().count(), 5);
    let info = dir.ok(&["info", "p.fps"], "");
    assert!(info.contains("hash=phash") && info.contains("orientation=exif"), "{info}");
    let dhash = ["--image-hash", "dhash", "--ignore-exif", "-s", "d.fps", "-q"];
    dir.ok(&[&["build", "--images", "photos"][..], &dhash].concat(), "");
    let dump = dir.ok(&["dump", "d.fps"], "");
    assert!(dump.contains("484b0b0bf0c4f918\tbelow/tall.png"), "{dump}");
    let info = dir.ok(&["info", "d.fps"], "");
    assert!(info.contains("hash=dhash") && info.contains("orientation=stored"), "{info}");
}

#[test]
fn a_store_of_pictures_is_asked_with_a_picture_and_takes_more() {
    let dir = dir();
    // The store is given without -s, as for other commands.
    dir.ok(&["build", "--images", "photos", "--image-hash", "dhash", "p.fps", "-q"], "");
    let found = dir.ok(&["query", "--image", "photos/wide.png", "-s", "p.fps"], "");
    assert_eq!(found, "a6a134f0c8cbccdc\ta6a134f0c8cbccdc\t0\twide.png\n");
    std::fs::create_dir(dir.path("more")).unwrap();
    std::fs::copy(dir.path("photos/wide.png"), dir.path("more/copy.png")).unwrap();
    dir.ok(&["add", "--images", "more", "p.fps", "-q"], "");
    let found = dir.ok(&["query", "--image", "photos/wide.png", "-s", "p.fps"], "");
    assert!(found.lines().any(|line| line.ends_with("\tcopy.png")), "{found}");
    // Pictures with another hash cannot be added, because the recipes differ.
    let other = ["add", "--images", "more", "--image-hash", "phash", "-s", "p.fps"];
    let (_, err) = dir.run(&other, 2);
    assert!(err.contains("recipes differ"), "{err}");
    dir.write("lines.tsv", "a6a134f0c8cbccdc\tx\n");
    dir.ok(&["build", "lines.tsv", "-s", "lines.fps", "-q"], "");
    let (_, err) = dir.run(&["query", "--image", "photos/wide.png", "-s", "lines.fps"], 2);
    assert!(err.contains("was not made by --images"), "{err}");
    let (_, err) = dir.run(&["add", "--images", "more", "-s", "lines.fps"], 2);
    assert!(err.contains("recipes differ"), "{err}");
}

#[test]
fn a_bad_picture_is_named_and_nothing_is_written_unless_it_is_left_out() {
    let dir = dir();
    let whole = std::fs::read(dir.path("photos/wide.png")).unwrap();
    dir.write("photos/cut.png", &whole[..whole.len() / 2]);
    dir.write("photos/phone.heic", "a picture");
    let build = ["build", "--images", "photos", "-s", "p.fps"];
    let (_, err) = dir.run(&build, 2);
    assert!(err.contains("cut.png: ") && err.contains("phone.heic: "), "{err}");
    assert!(err.contains("2 of 7 pictures cannot be read") && err.contains("--skip-bad"), "{err}");
    assert!(!dir.path("p.fps").exists());
    let (_, err) = dir.run(&[&build[..], &["--skip-bad"]].concat(), 0);
    assert!(err.contains("2 bad pictures left out"), "{err}");
    assert_eq!(dir.ok(&["dump", "p.fps"], "").lines().count(), 5);
    let (_, err) = dir.run(&["query", "--image", "photos/cut.png", "-s", "p.fps"], 2);
    assert!(err.contains("photos/cut.png: "), "{err}");
    let (_, err) = dir.run(&["build", "--images", "photos/wide.png", "-s", "x.fps"], 2);
    assert!(err.contains("is not a folder"), "{err}");
}

#[test]
fn pictures_are_known_where_texts_or_fingerprints_are_expected() {
    let dir = dir();
    let (_, err) = dir.run(&["build", "photos", "p.fps"], 0);
    assert!(err.starts_with("fpstore: photos holds pictures, so --images is assumed\n"), "{err}");
    for args in [
        &["query", "--file", "photos/wide.png", "p.fps"][..],
        &["query", "--text", "a picture", "p.fps"],
        &["add", "--docs", "photos", "p.fps"],
    ] {
        let (_, err) = dir.run(args, 2);
        let says =
            "the store contains fingerprints of pictures, not of texts: to search for a picture";
        assert!(err.contains(says) && !err.contains("recipe cannot"), "{args:?}: {err}");
    }
    dir.write("lines.tsv", "a6a134f0c8cbccdc\tx\n");
    for args in [
        &["pairs", "photos"][..],
        &["cluster", "photos"],
        &["dedup", "photos"],
        &["join", "photos", "lines.tsv"],
        &["query", "--from", "photos", "p.fps"],
        &["build", "photos/wide.png"],
        &["build", "--docs", "photos/wide.png"],
    ] {
        let (_, err) = dir.run(args, 2);
        assert!(err.contains("'fpstore build --images "), "{args:?}: {err}");
        assert!(!err.contains("skip-bad"), "{args:?}: {err}");
    }
}

#[test]
fn pictures_of_one_colour_are_counted_and_match_each_other() {
    let dir = dir();
    let data = root().join("crates/images/tests/data");
    for name in ["flat7.png", "flat255.png"] {
        dir.write(&format!("photos/{name}"), std::fs::read(data.join(name)).unwrap());
    }
    let (_, err) = dir.run(&["build", "--images", "photos", "-s", "p.fps"], 0);
    assert!(err.contains("2 pictures have one colour, transparency ignored"), "{err}");
    let pairs = dir.ok(&["pairs", "p.fps", "-k", "0", "-q"], "");
    assert_eq!(pairs.lines().count(), 1, "{pairs}");
    assert!(pairs.contains("flat7.png") && pairs.contains("flat255.png"), "{pairs}");
}
