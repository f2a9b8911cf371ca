//! The file of a Unix socket: created with its permissions, and removed only by the process that
//! created it.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use super::fail_point::{FailPoint, fail_point};
use super::files::remove_file;
use super::plain_file::Result;
use super::system::is_same;
use fpstore_base::IoError;

/// A socket in the file system. Dropping it removes it, unless another socket has its name by now.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    made: Metadata,
}

impl SocketFile {
    /// Starts listening at `path`; `mode` is the set of permissions for connecting. A socket left
    /// by a killed process is replaced.
    pub fn listen(path: &Path, mode: u32) -> Result<(Self, UnixListener)> {
        if let Ok(found) = path.symlink_metadata() {
            let refused =
                |kind, reason| Err(IoError::of("listen at", path)(io::Error::new(kind, reason)));
            if !found.file_type().is_socket() {
                let reason = "a file that is not a socket exists there; it was not changed";
                return refused(io::ErrorKind::AlreadyExists, reason);
            }
            match UnixStream::connect(path) {
                Ok(_) => {
                    let reason = "another process listens there";
                    return refused(io::ErrorKind::AddrInUse, reason);
                }
                // The socket of a process that has ended.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(error) => {
                    return Err(IoError::of("check whether a process listens at", path)(error));
                }
            }
            remove_file(path).map_err(IoError::of("remove", path))?;
        }
        let listening = || {
            fail_point(path, FailPoint::Create)?;
            let listener = bind(path, mode)?;
            // The file mode mask may have removed permissions.
            fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
            Ok((SocketFile { path: path.into(), made: path.symlink_metadata()? }, listener))
        };
        listening().map_err(IoError::of("listen at", path))
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // A server that starts while this one ends may already have taken the name. A new file may
        // have the inode number of the old one, but not its time.
        let time = |of: &Metadata| (of.ctime(), of.ctime_nsec());
        let is_own =
            |there: Metadata| is_same(&there, &self.made) && time(&there) == time(&self.made);
        if self.path.symlink_metadata().is_ok_and(is_own) {
            let _ = remove_file(&self.path);
        }
    }
}

/// Binds a socket that is private until it gets its own permissions.
fn bind(path: &Path, mode: u32) -> io::Result<UnixListener> {
    #[cfg(target_os = "linux")]
    {
        use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
        let flags = SocketFlags::CLOEXEC;
        let socket =
            rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        // Linux creates the file with the mode of the socket.
        rustix::fs::fchmod(&socket, rustix::fs::Mode::from_raw_mode(mode))?;
        rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
        rustix::net::listen(&socket, 1024)?;
        Ok(UnixListener::from(socket))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = mode;
        UnixListener::bind(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Between binding and setting the permissions, only users who may connect later can connect.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_socket_never_has_more_rights_than_it_will_have() {
        let folder = tempfile::tempdir().unwrap();
        for mode in [0o600, 0o660, 0o666] {
            let path = folder.path().join(format!("{mode:o}.sock"));
            let _listener = bind(&path, mode).unwrap();
            let found = path.symlink_metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!(found & !mode, 0, "{found:o} of {mode:o}");
        }
    }

    #[test]
    fn a_socket_is_removed_by_the_process_that_made_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.sock");
        let (first, listener) = SocketFile::listen(&path, 0o600).unwrap();
        assert_eq!(path.symlink_metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert!(SocketFile::listen(&path, 0o600).is_err(), "somebody listens");
        // The first server drains: it no longer listens, and its successor starts.
        drop(listener);
        let (second, _listener) = SocketFile::listen(&path, 0o660).unwrap();
        drop(first);
        assert!(UnixStream::connect(&path).is_ok());
        drop(second);
        assert!(!path.exists());
    }
}
