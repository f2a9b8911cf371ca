//! What was read of a folder of pictures, and what was not.

/// The faults that a summary tells.
const SHOWN_MAX: usize = 10;

/// What was read of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PictureSummary {
    /// Pictures with a fingerprint.
    pub picture_count: u64,
    /// Pictures that cannot be read.
    pub bad_count: u64,
    /// The names and faults of the first ten of them.
    pub bad: Vec<String>,
    /// Files that are no pictures by their names.
    pub other_count: u64,
    /// Hidden files and folders, links to folders, pipes, sockets and devices.
    pub passed_over_count: u64,
}

impl PictureSummary {
    pub(crate) fn bad(&mut self, name: &str, reason: &str) {
        self.bad_count += 1;
        if self.bad.len() < SHOWN_MAX {
            self.bad.push(format!("{name}: {reason}"));
        }
    }
}
