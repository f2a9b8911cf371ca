//! A folder that the program makes for itself under a name that others can guess.
//!
//! Whoever may write beside it can put anything in its place: a link to a folder of somebody, or a
//! folder of their own. So it is opened without following links, it must belong to the user of this
//! process, and so must the plain files in it. What is opened and removed in it goes through its
//! handle, so that nothing that gets its name later is touched.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::change::{Change, note};
use super::fail_point::{FailPoint, fail_point};
use super::files::{create_directories, parent_of, remove_empty_directory};
use super::new_file::NewFile;
use super::plain_file::{Refused, refuse_others};
use super::system::{self, Folder};

/// An open folder of this user.
#[derive(Debug)]
pub struct OwnFolder {
    path: PathBuf,
    folder: Folder,
}

impl OwnFolder {
    /// Opens the folder at `path`, or makes it, and the folders above it. Nobody else may read a new
    /// one.
    pub fn open(path: &Path) -> io::Result<Self> {
        fail_point(path, FailPoint::Create)?;
        create_directories(parent_of(path))?;
        let parent = Folder::open(parent_of(path), true)?;
        let name = path.file_name().ok_or_else(|| refused("it is no name of a folder"))?;
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

    /// Whether the folder still has its name, and `file` is the one of this name in it: another
    /// process may have removed them.
    pub fn holds(&self, name: &str, file: &File) -> bool {
        self.folder.is_at(&self.path) && system::is_name_of(&self.path.join(name), file)
    }

    /// The names in the folder.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let names = self.folder.names()?.into_iter();
        Ok(names.map(|name| name.to_string_lossy().into_owned()).collect())
    }

    /// Whether anything in the folder has this name.
    pub fn has(&self, name: &str) -> io::Result<bool> {
        self.folder.has(OsStr::new(name))
    }

    /// Opens a file of the folder for reading; `None` if there is none.
    pub fn open_file(&self, name: &str) -> io::Result<Option<File>> {
        match self.open_at(name, false) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some),
        }
    }

    /// The bytes of a file of the folder; `None` if there is none.
    pub fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let Some(mut file) = self.open_file(name)? else { return Ok(None) };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    /// Opens a file of the folder to append to it, and makes it where it is missing.
    pub fn append(&self, name: &str) -> io::Result<File> {
        fail_point(&self.path.join(name), FailPoint::Create)?;
        self.open_at(name, true)
    }

    /// A file that will have this name in the folder once it is complete, in place of what has it.
    pub fn new_file(&self, name: &str) -> io::Result<NewFile> {
        fail_point(&self.path, FailPoint::Create)?;
        NewFile::create_in(self.folder.try_clone()?, self.path.join(name), true, None)
    }

    /// Makes a folder in the folder, which nobody else may read.
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
            Ok((_, false)) => Err(refused(format!("{name} in it belongs to another user"))),
            Err(Refused::Kind(kind)) => Err(refused(format!("{name} in it is {kind}; remove it"))),
            Err(Refused::Io(error)) => Err(error),
        }
    }

    /// Removes a file of the folder, or a link; no folder.
    pub fn remove_file(&self, name: &str) -> io::Result<()> {
        self.remove_by(name, || self.folder.remove_file(OsStr::new(name)))
    }

    /// Removes a folder of the folder, with all that is in it.
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

    /// Removes the folder, which is empty, if it still has its name.
    pub fn remove(&self) -> io::Result<()> {
        match self.folder.is_at(&self.path) {
            true => remove_empty_directory(&self.path),
            false => Err(refused("something else has its name now")),
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
            assert_eq!(refused.to_string(), "lock in it is a symbolic link; remove it");
        }
        folder.remove_file("lock").unwrap();
        let lock = folder.append("lock").unwrap();
        assert!(folder.holds("lock", &lock) && !folder.holds("other", &lock));
        assert_eq!(fs::read(at("victim/precious")).unwrap(), b"1");
        // Something else gets the name of the folder.
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
