//! What systems do differently with files: one function for each difference, which `unix` and `other`
//! (Windows among them) both have. docs/platforms.md tells users what follows.
//!
//! The rest of `disk` and `writing` asks here, and does not know on which system it is. Nothing here
//! decides anything about stores.

#[cfg(not(unix))]
mod other;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub use other::*;
#[cfg(unix)]
pub use unix::*;

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    /// Who holds the lock of a file that lost its name holds nothing.
    #[test]
    fn a_name_is_of_an_open_file_until_another_file_gets_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("lock"), "").unwrap();
        fs::write(at("other"), "").unwrap();
        let lock = File::open(at("lock")).unwrap();
        let is_named = |name: &str| super::is_name_of(&at(name), &lock);
        assert!(is_named("lock") && !is_named("other") && !is_named("missing") && !is_named("."));
        fs::rename(at("lock"), at("moved")).unwrap();
        // Windows moves no folder in which a file is open; wine forgets the disk of such a file.
        assert!((cfg!(windows) || is_named("moved")) && !is_named("lock"));
        fs::rename(at("other"), at("lock")).unwrap();
        assert!(is_named("moved") && !is_named("lock"));
    }
}
