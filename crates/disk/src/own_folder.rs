//! A private folder of the program that has a predictable name.
//!
//! Other users who may write to its parent can put anything in its place, such as a link to another
//! folder or a folder of their own. So it is opened without following links, and the folder and the
//! plain files in it must belong to the user of this process. All operations use its open handle,
//! so that another folder that gets its name later is not changed.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::change::{Change, note};
use super::fail_point::{FailPoint, fail_point};
use super::files::{create_directories, parent_of, remove_empty_directory};
use super::new_file::NewFile;
use super::plain_file::refuse_others;
use super::refused::Refused;
use super::system::{self, Folder};

/// An open folder that belongs to the user of this process.
#[derive(Debug)]
pub struct OwnFolder {
    path: PathBuf,
    folder: Folder,
}

impl OwnFolder {
    /// Opens the folder at `path`, or creates it and its missing parents. A new folder is private
    /// to the user of this process.
    pub fn open(path: &Path) -> io::Result<Self> {
        fail_point(path, FailPoint::Create)?;
        create_directories(parent_of(path))?;
        let parent = Folder::open(parent_of(path), true)?;
        let name = path.file_name().ok_or_else(|| refused("it has no folder name"))?;
        match parent.make_folder(name, true) {
            Ok(()) => note(path, || Change::CreateDirectory(path.into())),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        let folder = parent.open_folder(name).map_err(|why| match why {
            Refused::Kind(kind) => {
                refused(format!("it is {kind}; remove it, or name another output"))
            }
            Refused::Io(error) => error,
        })?;
        if !folder.is_own()? {
            return Err(refused("it belongs to another user; name another output"));
        }
        Ok(OwnFolder { path: path.into(), folder })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the folder still has its name, and `name` in it is still `file`: another process may
    /// have removed either of them.
    pub fn holds(&self, name: &str, file: &File) -> bool {
        self.folder.is_at(&self.path) && system::is_name_of(&self.path.join(name), file)
    }

    pub fn names(&self) -> io::Result<Vec<String>> {
        let names = self.folder.names()?.into_iter();
        Ok(names.map(|name| name.to_string_lossy().into_owned()).collect())
    }

    /// Whether the folder contains an entry of this name.
    pub fn has(&self, name: &str) -> io::Result<bool> {
        self.folder.has(OsStr::new(name))
    }

    /// Opens a file in the folder for reading; `None` if it does not exist.
    pub fn open_file(&self, name: &str) -> io::Result<Option<File>> {
        match self.open_at(name, false) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some),
        }
    }

    /// Reads a file in the folder; `None` if it does not exist.
    pub fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let Some(mut file) = self.open_file(name)? else { return Ok(None) };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    /// Opens a file in the folder for appending; creates it if it is missing.
    pub fn append(&self, name: &str) -> io::Result<File> {
        fail_point(&self.path.join(name), FailPoint::Create)?;
        self.open_at(name, true)
    }

    /// Creates a file that gets this name in the folder when it is complete; an existing file is
    /// replaced.
    pub fn new_file(&self, name: &str) -> io::Result<NewFile> {
        fail_point(&self.path, FailPoint::Create)?;
        NewFile::create_in(self.folder.try_clone()?, self.path.join(name), true, None)
    }

    /// Creates a private subfolder.
    pub fn make_folder(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.path.join(name);
        fail_point(&path, FailPoint::Create)?;
        self.folder.make_folder(OsStr::new(name), true)?;
        note(&path, || Change::CreateDirectory(path.clone()));
        Ok(path)
    }

    fn open_at(&self, name: &str, appends: bool) -> io::Result<File> {
        let opened = self.folder.open_file(OsStr::new(name), appends).and_then(|file| {
            let found = file.metadata()?;
            refuse_others(found.file_type())?;
            Ok((file, system::is_own(&found)))
        });
        match opened {
            Ok((file, true)) => Ok(file),
            Ok((_, false)) => {
                Err(refused(format!("the file {name} in it belongs to another user")))
            }
            Err(Refused::Kind(kind)) => Err(refused(format!(
                "the file {name} in it is {kind}; \
                                                             remove it"
            ))),
            Err(Refused::Io(error)) => Err(error),
        }
    }

    /// Removes a file or a link in the folder, but not a subfolder.
    pub fn remove_file(&self, name: &str) -> io::Result<()> {
        self.remove_by(name, || self.folder.remove_file(OsStr::new(name)))
    }

    /// Removes a subfolder with its contents.
    pub fn remove_tree(&self, name: &str) -> io::Result<()> {
        self.remove_by(name, || self.folder.remove_tree(OsStr::new(name)))
    }

    fn remove_by(&self, name: &str, remove: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let path = self.path.join(name);
        fail_point(&path, FailPoint::Remove)?;
        remove()?;
        note(&path, || Change::Remove(path.clone()));
        Ok(())
    }

    /// Removes the folder, which must be empty. Returns an error if another folder has its name
    /// now.
    pub fn remove(&self) -> io::Result<()> {
        match self.folder.is_at(&self.path) {
            true => remove_empty_directory(&self.path),
            false => Err(refused("another file or folder has its name now")),
        }
    }
}

fn refused(reason: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, reason.into())
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_not_followed_and_what_they_lead_to_stays() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name: &str| parent.path().join(name);
        fs::create_dir(at("victim")).unwrap();
        fs::write(at("victim/precious"), "1").unwrap();
        symlink(at("victim"), at("link")).unwrap();
        let why = OwnFolder::open(&at("link")).unwrap_err().to_string();
        assert!(why.contains("a symbolic link"), "{why}");
        fs::write(at("file"), "").unwrap();
        assert!(OwnFolder::open(&at("file")).unwrap_err().to_string().contains("no folder"));

        let folder = OwnFolder::open(&at("own")).unwrap();
        symlink(at("victim/precious"), at("own/lock")).unwrap();
        for refused in [folder.append("lock").unwrap_err(), folder.read("lock").unwrap_err()] {
            assert_eq!(refused.to_string(), "the file lock in it is a symbolic link; remove it");
        }
        folder.remove_file("lock").unwrap();
        let lock = folder.append("lock").unwrap();
        assert!(folder.holds("lock", &lock) && !folder.holds("other", &lock));
        assert_eq!(fs::read(at("victim/precious")).unwrap(), b"1");
        // From here on, a link to another folder has the name of the folder.
        fs::rename(at("own"), at("moved")).unwrap();
        symlink(at("victim"), at("own")).unwrap();
        assert!(
            folder.read("precious").unwrap().is_none() && folder.remove_file("precious").is_err()
        );
        assert!(at("victim/precious").exists() && !folder.holds("lock", &lock));
        let new = folder.new_file("precious").unwrap();
        new.file().unwrap().write_all(b"2").unwrap();
        new.publish().unwrap();
        folder.make_folder("tree").unwrap();
        fs::write(at("moved/tree/leaf"), "").unwrap();
        symlink(at("victim"), at("moved/tree/link")).unwrap();
        fs::create_dir(at("victim/tree")).unwrap();
        assert!(folder.has("tree").unwrap() && !folder.has("victim").unwrap());
        folder.remove_tree("tree").unwrap();
        assert!(!at("moved/tree").exists() && at("victim/tree").exists());
        assert_eq!(fs::read(at("victim/precious")).unwrap(), b"1");
        assert_eq!(fs::read(at("moved/precious")).unwrap(), b"2");
        assert_eq!(folder.names().unwrap().len(), 2, "{:?}", folder.names());
        assert!(folder.remove().is_err() && at("own").exists());
    }
}
