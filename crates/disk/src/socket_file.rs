//! The file of a Unix socket. It never has more permissions than requested, and only the process
//! that created it removes it.

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

/// The file of a Unix socket. Dropping it removes the file, unless another socket has its name now.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    made: Metadata,
}

impl SocketFile {
    /// Starts listening at `path`; the permissions `mode` determine who may connect. Replaces a
    /// socket left by a killed process.
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
                // The process of this socket has ended, so the socket is replaced.
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
            // Restores permissions that the file mode mask of the process has removed.
            fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
            Ok((SocketFile { path: path.into(), made: path.symlink_metadata()? }, listener))
        };
        listening().map_err(IoError::of("listen at", path))
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // A server that starts while this one ends may already use the name. Its file can have the
        // inode number of the removed file, but not the same time.
        let time = |of: &Metadata| (of.ctime(), of.ctime_nsec());
        let is_own =
            |there: Metadata| is_same(&there, &self.made) && time(&there) == time(&self.made);
        if self.path.symlink_metadata().is_ok_and(is_own) {
            let _ = remove_file(&self.path);
        }
    }
}

/// Binds a socket that never has more permissions than `mode`.
fn bind(path: &Path, mode: u32) -> io::Result<UnixListener> {
    #[cfg(target_os = "linux")]
    {
        use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
        let flags = SocketFlags::CLOEXEC;
        let socket =
            rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        // Linux creates the file with the mode that the socket has when it is bound.
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

    /// Between the bind and the setting of the permissions, no user has more permissions than
    /// later.
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
        // The first server stops listening before it ends, and its successor starts.
        drop(listener);
        let (second, _listener) = SocketFile::listen(&path, 0o660).unwrap();
        drop(first);
        assert!(UnixStream::connect(&path).is_ok());
        drop(second);
        assert!(!path.exists());
    }
}
