//! The manifest file: read when a store is opened, and again only after the file may have changed.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::time::SystemTime;

use crate::base::error::{Error, IoError, Result};
use crate::base::section::Section;
use crate::format::manifest::{self, Manifest};
use crate::segment::open_plain_file;
use fpstore_disk::system::Stamp;

/// The bytes of a manifest file, not checked yet.
pub(super) struct ManifestFile {
    pub(super) bytes: Vec<u8>,
    /// The open file, if its stamp proves that it has not changed since it was read.
    pub(super) seen: Option<Seen>,
}

/// A manifest file that was read. It stays open so that no other file gets its inode number.
#[derive(Debug)]
pub(super) struct Seen {
    stamp: Stamp,
    _file: File,
}

impl Seen {
    /// Whether the store in the directory `path` still has this manifest file, unchanged. Takes one
    /// system call.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        let found = fs::metadata(path.join(manifest::FILE_NAME));
        found.is_ok_and(|found| Stamp::of(&found) == self.stamp)
    }
}

impl ManifestFile {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let file_path = path.join(manifest::FILE_NAME);
        let opened = open_plain_file(&file_path, Section::Manifest, 22);
        let mut file = opened.map_err(|error| {
            let Error::Io(IoError { source, .. }) = &error else { return error };
            match source.kind() {
                io::ErrorKind::NotFound if path.is_dir() => {
                    Error::NotAStore { path: path.into(), found: "a directory without a manifest" }
                }
                io::ErrorKind::NotFound if !path.is_file() => Error::NoStore { path: path.into() },
                // For a path below a file, systems report different errors.
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                    Error::NotAStore { path: path.into(), found: "a file, not a directory" }
                }
                _ => error,
            }
        })?;
        #[cfg(test)]
        fpstore_disk::fail_points::pass_read(path).map_err(Error::io("read", &file_path))?;
        let doing = || Error::io("read", &file_path);
        let asked = SystemTime::now();
        let found = file.metadata().map_err(doing())?;
        let len = found.len().min(manifest::LEN_MAX + 1);
        // With the exact capacity, one read takes the whole file.
        let mut bytes = Vec::with_capacity(usize::try_from(len).unwrap_or(0));
        file.by_ref().take(len).read_to_end(&mut bytes).map_err(doing())?;
        let stamp = Stamp::of(&found);
        let seen = stamp.is_proof(&file, asked).then(|| Seen { stamp, _file: file });
        Ok(ManifestFile { bytes, seen })
    }
}

/// Reads the manifest of the store in the directory `path`.
pub(crate) fn read_manifest(path: &Path) -> Result<Manifest> {
    parse_manifest(path, &read_manifest_bytes(path)?)
}

/// Reads the manifest bytes of the store in the directory `path`, without checking them.
pub(crate) fn read_manifest_bytes(path: &Path) -> Result<Vec<u8>> {
    ManifestFile::read(path).map(|file| file.bytes)
}

/// Checks and parses the manifest bytes of the store in the directory `path`.
pub(crate) fn parse_manifest(path: &Path, bytes: &[u8]) -> Result<Manifest> {
    let file_path = path.join(manifest::FILE_NAME);
    Manifest::read(bytes).map_err(|fault| fault.into_error(&file_path, Section::Manifest))
}

#[cfg(all(test, feature = "write", unix))]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;
    use std::time::Duration;

    use super::*;
    use crate::{Builder, Store};
    use fpstore_disk::fail_points::{self, Fault};

    /// Returns a store, its folder, and a second folder with the same segment and a manifest of
    /// equal length for the next generation. Both manifests are so old that their stamps prove no
    /// change.
    fn stores(folder: &Path) -> (Store, [PathBuf; 2]) {
        let [path, other] = ["one.fps", "other.fps"].map(|name| folder.join(name));
        let mut builder = Builder::new(&path).unwrap();
        builder.push_bare(7.into()).unwrap();
        builder.finish().unwrap();
        let mut made = read_manifest(&path).unwrap();
        made.generation += 1;
        fs::create_dir(&other).unwrap();
        fs::write(other.join(manifest::FILE_NAME), made.encode()).unwrap();
        let segment = made.segments[0].file_name();
        fs::copy(path.join(&segment), other.join(&segment)).unwrap();
        std::thread::sleep(Duration::from_secs(4));
        (Store::open(&path).unwrap(), [path, other])
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_refresh_without_a_change_reads_no_manifest() {
        let folder = tempfile::tempdir().unwrap();
        let (store, [path, _]) = stores(folder.path());
        fail_points::plan(&path, 0, Fault::Broken);
        fail_points::let_read(&path, false);
        assert!(!store.refresh().unwrap());
        // A change of the file's metadata makes the next refresh read the manifest.
        let place = path.join(manifest::FILE_NAME);
        fs::set_permissions(&place, Permissions::from_mode(0o400)).unwrap();
        assert!(store.refresh().is_err());
        fail_points::let_read(&path, true);
        assert!(!store.refresh().unwrap());
    }

    /// In these tests, changes are faster than the clock of the file system.
    #[test]
    fn a_refresh_sees_each_change_however_fast_and_of_whatever_kind() {
        let folder = tempfile::tempdir().unwrap();
        let (store, [path, other]) = stores(folder.path());
        let place = path.join(manifest::FILE_NAME);
        let [one, two] =
            [&path, &other].map(|path| fs::read(path.join(manifest::FILE_NAME)).unwrap());
        assert_eq!(one.len(), two.len());
        let sees = |generation: u64, how: &str, round: u64| {
            assert!(store.refresh().unwrap(), "{how}, round {round}");
            assert_eq!(store.generation(), generation, "{how}, round {round}");
        };
        // Two old folders swap their names, so that the new manifest is as old as the old manifest.
        let third = folder.path().join("third.fps");
        for round in 1..500 {
            fs::rename(&path, &third).unwrap();
            fs::rename(&other, &path).unwrap();
            fs::rename(&third, &other).unwrap();
            sees(1 + round % 2, "a folder is replaced", round);
        }
        // The last round ended with the second generation.
        let files = ["a", "b"].map(|name| path.join(name));
        fs::write(&files[0], &one).unwrap();
        fs::write(&files[1], &two).unwrap();
        for round in 0..500 {
            fs::remove_file(&place).unwrap();
            fs::hard_link(&files[round as usize % 2], &place).unwrap();
            sees(1 + round % 2, "a hard link is replaced", round);
        }
        for round in 0..500 {
            fs::remove_file(&place).unwrap();
            symlink(&files[round as usize % 2], &place).unwrap();
            sees(1 + round % 2, "a symbolic link is replaced", round);
        }
        fs::remove_file(&place).unwrap();
        for round in 0..2000 {
            let new = path.join("new");
            fs::write(&new, if round % 2 == 0 { &one } else { &two }).unwrap();
            fs::rename(&new, &place).unwrap();
            sees(1 + round % 2, "a file is renamed over it", round);
        }
        for round in 0..2000 {
            fs::write(&place, if round % 2 == 0 { &one } else { &two }).unwrap();
            sees(1 + round % 2, "it is overwritten in place", round);
        }
    }
}
