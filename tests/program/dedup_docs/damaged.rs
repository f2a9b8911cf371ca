//! Files that are damaged, whole or in part, beside healthy ones.

use super::formats::compressed;
use crate::common::program::Desk;

/// A file that is one document, and cannot be read, is named as left out; the list of the kept files
/// must not say that it was compared and kept.
#[test]
fn a_file_that_cannot_be_read_is_not_among_the_kept_files() {
    let desk = Desk::new();
    let text = "a text of some words that is long enough to be cut in the middle";
    desk.write("in/whole.txt", text);
    let packed = compressed("x.gz", format!("{text}, and more").as_bytes());
    desk.write("in/cut.txt.gz", &packed[..packed.len() / 2]);
    for output in ["out/", "list.txt"] {
        let (_, err) = desk.run(&["dedup", "--docs", "in", "--skip-bad", "-o", output], 2);
        assert!(err.contains("cut.txt.gz") && err.contains("1 file could not be read"), "{err}");
    }
    assert_eq!(desk.read("out/kept-files.txt"), "in/whole.txt\n");
    assert_eq!(desk.read("list.txt"), "in/whole.txt\n");
}
