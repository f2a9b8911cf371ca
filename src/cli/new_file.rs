//! A file that appears under its name when it is complete, in one step.
//!
//! Until then it has no name, so that the system removes it however the process ends. Where that
//! is impossible it has a temporary name, and [`super::leftovers`] removes it if the process is
//! killed.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::leftovers;

const PREFIX: &str = ".fpstore-";
const SUFFIX: &str = ".tmp";

/// A file that is being written.
pub(super) struct NewFile {
    /// The name that it will get.
    path: PathBuf,
    /// The file of this name that it will replace.
    replaced: Option<Metadata>,
    held: Held,
}

enum Held {
    #[cfg(target_os = "linux")]
    Unnamed(File),
    Named(NamedTempFile),
}

impl NewFile {
    /// A file that will be `path`. It replaces the file of which `replaced` is the metadata; if
    /// there is none, `path` must be free when the file is complete.
    pub(super) fn create(path: PathBuf, replaced: Option<Metadata>) -> io::Result<Self> {
        let folder = folder_of(&path);
        #[cfg(target_os = "linux")]
        if let Some(file) = unnamed(folder) {
            return Ok(NewFile { path, replaced, held: Held::Unnamed(file) });
        }
        leftovers::remove_files(folder, |name| name.starts_with(PREFIX) && name.ends_with(SUFFIX));
        let named = temporary(folder).map_err(leftovers::bare)?;
        // The lock says that the file is in use.
        let _ = named.as_file().try_lock();
        Ok(NewFile { path, replaced, held: Held::Named(named) })
    }

    /// The file, to write to.
    pub(super) fn file(&self) -> io::Result<File> {
        match &self.held {
            #[cfg(target_os = "linux")]
            Held::Unnamed(file) => file.try_clone(),
            Held::Named(file) => file.as_file().try_clone(),
        }
    }

    /// Makes the file durable and gives it its name.
    pub(super) fn publish(self) -> io::Result<()> {
        let file = self.file()?;
        if let Some(replaced) = &self.replaced {
            take_over(&file, replaced)?;
        }
        file.sync_all()?;
        match self.held {
            #[cfg(target_os = "linux")]
            Held::Unnamed(file) if self.replaced.is_none() => link(&file, &self.path),
            #[cfg(target_os = "linux")]
            Held::Unnamed(file) => {
                // A link never replaces a file, so there is a second name for a moment.
                let builder = &mut tempfile::Builder::new();
                let name = builder.prefix(PREFIX).suffix(SUFFIX);
                let linked = name.make_in(folder_of(&self.path), |name| link(&file, name));
                let linked = linked.map_err(leftovers::bare)?.into_temp_path();
                linked.persist(&self.path).map_err(|failed| failed.error)
            }
            Held::Named(file) if self.replaced.is_none() => {
                file.persist_noclobber(&self.path).map(drop).map_err(|failed| failed.error)
            }
            Held::Named(file) => file.persist(&self.path).map(drop).map_err(|failed| failed.error),
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// A file without a name, or `None` where the file system has no such files.
#[cfg(target_os = "linux")]
fn unnamed(folder: &Path) -> Option<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = rustix::fs::OFlags::TMPFILE.bits().cast_signed();
    // The name is given through /proc.
    let can_be_named = Path::new("/proc/self/fd").is_dir();
    let file = || File::options().write(true).mode(0o666).custom_flags(flags).open(folder);
    can_be_named.then(file)?.ok()
}

#[cfg(target_os = "linux")]
fn link(file: &File, name: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    use std::os::fd::AsRawFd;
    let open = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(linkat(CWD, open, CWD, name, AtFlags::SYMLINK_FOLLOW)?)
}

/// A file with a temporary name and the mode of a usual new file.
fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

/// Gives a file the mode of the one that it will replace, and its owner if the system allows it.
fn take_over(file: &File, replaced: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
        let own = file.metadata()?;
        if (own.uid(), own.gid()) != (replaced.uid(), replaced.gid()) {
            let _ = fchown(file, Some(replaced.uid()), Some(replaced.gid()));
        }
        file.set_permissions(fs::Permissions::from_mode(replaced.mode() & 0o777))
    }
    #[cfg(not(unix))]
    file.set_permissions(replaced.permissions())
}
