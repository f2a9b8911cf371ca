//! Reads and writes that a signal can interrupt while they wait.
//!
//! A read from a pipe waits until its writer writes, a write to a pipe until its reader reads, and
//! opening a named pipe waits for the other end. The system restarts these calls after a signal, so
//! a program that handles signals would not end. Such a program registers a flag, set by its signal
//! handler, with [`end_waits_on`]. From then on every wait here ends within [`PATIENCE`] after the
//! flag is set, with an error for which [`Interrupted::is_in`] returns `true`.
//!
//! Without a flag, as in programs that only use the library, and on systems without `poll`, plain
//! reads and writes are used. Regular files never wait.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::Interrupted;

/// The maximum time between two checks of the flag.
pub const PATIENCE: Duration = Duration::from_millis(100);
/// A pipe that is ready for writing takes at least this many bytes at once (512 by POSIX, 4096 on
/// Linux).
#[cfg(unix)]
const PIPE_LEN: usize = if cfg!(target_os = "linux") { 4096 } else { 512 };

static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// From now on, ends all waits of this process while `flag` is set. Only the first call has an
/// effect.
pub fn end_waits_on(flag: Arc<AtomicBool>) {
    let _ = FLAG.set(flag);
}

#[cfg_attr(not(unix), expect(dead_code, reason = "nothing waits where there is no poll"))]
fn check() -> io::Result<()> {
    match FLAG.get() {
        Some(flag) if flag.load(Ordering::Relaxed) => Err(io::Error::other(Interrupted)),
        _ => Ok(()),
    }
}

/// A file, pipe, terminal or socket; setting the flag ends its waits.
#[derive(Debug)]
pub struct WaitingFile {
    file: File,
    /// Whether reads and writes can wait: it is not a regular file.
    #[cfg_attr(not(unix), expect(dead_code, reason = "nothing waits where there is no poll"))]
    can_wait: bool,
}

impl WaitingFile {
    /// Opens the file at `path` for reading. A named pipe is opened at once, and its first read
    /// waits for a writer.
    ///
    /// # Errors
    ///
    /// The same as of [`File::open`].
    pub fn open(path: &Path) -> io::Result<Self> {
        #[cfg(unix)]
        if FLAG.get().is_some() && is_pipe(path) {
            let file = without_waiting().read(true).open(path)?;
            return Ok(WaitingFile { file, can_wait: true });
        }
        WaitingFile::of(File::open(path)?)
    }

    /// Opens the device or named pipe at `path` for appending. Waits until a pipe has a reader.
    ///
    /// # Errors
    ///
    /// The same as of [`File::open`]; [`Interrupted`] if the flag ends the wait.
    pub fn append(path: &Path) -> io::Result<Self> {
        #[cfg(unix)]
        if FLAG.get().is_some() && is_pipe(path) {
            loop {
                check()?;
                match without_waiting().append(true).open(path) {
                    Ok(file) => return Ok(WaitingFile { file, can_wait: true }),
                    // The pipe has no reader yet.
                    Err(refused) if refused.raw_os_error() == Some(NO_READER) => {
                        std::thread::sleep(PATIENCE / 10);
                    }
                    Err(refused) => return Err(refused),
                }
            }
        }
        WaitingFile::of(File::options().append(true).open(path)?)
    }

    /// Wraps an open file.
    ///
    /// # Errors
    ///
    /// If the system cannot determine the kind of the file.
    pub fn of(file: File) -> io::Result<Self> {
        let can_wait = !file.metadata()?.is_file();
        Ok(WaitingFile { file, can_wait })
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }
}

/// A reader of standard input.
pub fn stdin() -> Box<dyn Read + Send> {
    // Unbuffered: `poll` does not see bytes in the buffer of the standard library. In a program
    // with a flag, nothing else reads standard input.
    #[cfg(unix)]
    if FLAG.get().is_some() {
        use std::os::fd::AsFd;
        let copy = io::stdin().as_fd().try_clone_to_owned().map(File::from);
        if let Ok(file) = copy.and_then(WaitingFile::of) {
            return Box::new(file);
        }
    }
    Box::new(io::stdin())
}

impl Read for WaitingFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        while self.can_wait && FLAG.get().is_some() {
            wait(&self.file, rustix::event::PollFlags::IN)?;
            match self.file.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read,
            }
        }
        self.file.read(buffer)
    }
}

impl Write for WaitingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        #[cfg(unix)]
        while self.can_wait && FLAG.get().is_some() {
            wait(&self.file, rustix::event::PollFlags::OUT)?;
            match self.file.write(&bytes[..bytes.len().min(PIPE_LEN)]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return written,
            }
        }
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The error ENXIO: a pipe without a reader was opened for writing, without waiting.
#[cfg(unix)]
const NO_READER: i32 = rustix::io::Errno::NXIO.raw_os_error();

#[cfg(unix)]
fn is_pipe(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    path.metadata().is_ok_and(|metadata| metadata.file_type().is_fifo())
}

#[cfg(unix)]
fn without_waiting() -> std::fs::OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = File::options();
    options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    options
}

/// Waits until a file is ready; fails with [`Interrupted`] if the flag is set.
#[cfg(unix)]
fn wait(file: &File, events: rustix::event::PollFlags) -> io::Result<()> {
    use rustix::event::{PollFd, Timespec, poll};

    let patience = Timespec { tv_sec: 0, tv_nsec: i64::from(PATIENCE.subsec_nanos()) };
    loop {
        check()?;
        match poll(&mut [PollFd::new(file, events)], Some(&patience)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            // The file is ready, at its end, or broken; the next read or write returns which.
            Ok(_) => return Ok(()),
            Err(refused) => return Err(refused.into()),
        }
    }
}
