//! Tests the printed versions of program and store format, and the errors for stores of other
//! format versions.

use crate::common::program::TestDir;
use crate::common::root;

#[test]
fn the_version_names_the_program_and_the_formats() {
    let dir = TestDir::new();
    let program = format!("fpstore {}", env!("CARGO_PKG_VERSION"));
    let (short, _) = dir.run(&["-V"], 0);
    assert_eq!(short, format!("{program} (format versions 2 to 3)\n"));
    let (long, _) = dir.run(&["--version"], 0);
    assert_eq!(
        long,
        format!("{program}\nreads stores of format versions 2 to 3, writes 2 and 3\n")
    );
}

#[test]
fn a_store_of_an_older_format_gets_the_remedy_from_every_command() {
    let dir = TestDir::with("new.tsv", "0123456789abcdef\ta\n");
    let old = root().join("tests/golden/older/version-1.fps");
    for file in ["MANIFEST", "segment-0000000000000001.fps"] {
        dir.write(&format!("old.fps/{file}"), std::fs::read(old.join(file)).unwrap());
    }
    dir.run(&["build", "new.tsv", "--quiet"], 0);
    for args in [
        vec!["info", "-s", "old.fps"],
        vec!["query", "1", "-s", "old.fps"],
        vec!["dump", "-s", "old.fps"],
        vec!["add", "new.tsv", "-s", "old.fps"],
        vec!["delete", "--id", "a", "-s", "old.fps"],
        vec!["compact", "-s", "old.fps"],
        vec!["verify", "-s", "old.fps"],
        vec!["serve", "-s", "old.fps", "--listen", "127.0.0.1:0"],
        vec!["backup", "saved.fps", "-s", "old.fps"],
        vec!["export", "-o", "out.fps", "-s", "old.fps"],
        vec!["import", "old.fps", "-s", "store.fps"],
    ] {
        let (_, err) = dir.run(&args, 2);
        for part in ["has format version 1, fpstore ", "'fpstore dump'", "'fpstore build'"] {
            assert!(err.contains(part), "{args:?}: {err}");
        }
    }
    dir.run(&["build", "new.tsv", "-s", "old.fps", "--force", "--quiet"], 0);
    let (info, _) = dir.run(&["info", "-s", "old.fps"], 0);
    assert!(info.contains(", format version 2\n"), "{info}");
}
