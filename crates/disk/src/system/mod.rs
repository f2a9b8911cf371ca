//! The differences between operating systems in their handling of files: `unix` and `other` (which
//! includes Windows) implement the same functions, one for each difference. docs/platforms.md
//! describes the effects for users.
//!
//! The rest of this package and all code that writes files call these functions, and do not depend
//! on the system. Nothing here makes decisions about stores.

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

    /// Locks depend on this check: a lock on an unlinked file protects nothing.
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
        // Windows cannot move a folder that contains an open file, and in wine such a file loses
        // its disk number.
        assert!((cfg!(windows) || is_named("moved")) && !is_named("lock"));
        fs::rename(at("other"), at("lock")).unwrap();
        assert!(is_named("moved") && !is_named("lock"));
    }
}
