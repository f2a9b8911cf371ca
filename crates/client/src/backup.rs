//! Backups of a store over the network, and followers.

use fpstore_base::IoError;
use std::cell::RefCell;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hyper::body::Bytes;
use tokio::runtime::{self, Runtime};
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use super::{Client, ClientError};
use fpstore::Result;
use fpstore::state::StateId;
use fpstore::writer::{BackedUp, BackupOptions, StateSource, backup_from};

/// The longest time to wait for the identity of the current snapshot.
const STATE_TIME: Duration = Duration::from_secs(10);
/// The longest time to receive one part of a file.
const PART_TIME: Duration = Duration::from_secs(60);
/// The number of bytes of a segment that one request reads.
const PART_LEN: u64 = 4 << 20;
/// The number of attempts to read a part, if the connection breaks off.
const TRIES: u32 = 5;
/// The first pause between two attempts; it doubles each time.
const PAUSE: Duration = Duration::from_millis(250);

/// Copies the current snapshot of a server to the folder `to`, as
/// [`backup`](fpstore::writer::backup) does with a local store: only missing segments are sent,
/// each segment is checked completely, and readers of the folder see complete snapshots. Repeated
/// calls update the folder.
///
/// The function blocks, so an asynchronous program must call it on a thread of `spawn_blocking`. A
/// broken connection is opened again.
///
/// # Errors
///
/// The errors of [`backup`](fpstore::writer::backup); [`Error::Io`](fpstore::Error::Io) if the
/// server cannot be reached or refuses.
///
/// # Examples
///
/// ```no_run
/// use fpstore_client::{Client, backup};
/// use fpstore::writer::BackupOptions;
///
/// let mut client = Client::new("http://192.0.2.7:7700")?;
/// let done = backup(&mut client, "pages.fps", &BackupOptions::default())?;
/// println!("{} bytes", done.copied_len);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn backup(
    client: &mut Client,
    to: impl AsRef<Path>,
    options: &BackupOptions,
) -> Result<BackedUp> {
    let runtime = runtime_for(client)?;
    backup_from(
        &Remote { url: client.url(), asking: RefCell::new((client, &runtime)) },
        to,
        options,
    )
}

fn runtime_for(client: &Client) -> Result<Runtime> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    Ok(runtime.map_err(IoError::of("start a connection to", client.url()))?)
}

/// A server whose store is copied after each change, over one connection.
#[derive(Debug)]
pub struct Followed {
    client: Client,
    /// The runtime of the connection.
    runtime: Runtime,
}

impl Followed {
    /// Follows the server of a client. It does not connect yet.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](fpstore::Error::Io) if the system refuses a runtime.
    pub fn new(client: Client) -> Result<Self> {
        let runtime = runtime_for(&client)?;
        Ok(Followed { client, runtime })
    }

    /// The address of the server.
    pub fn url(&self) -> String {
        self.client.url()
    }

    /// The identity of the snapshot that the server serves now. This is one short request.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](fpstore::Error::Io) if the server cannot be reached, refuses, or does not
    /// answer within ten seconds.
    pub fn state(&mut self) -> Result<StateId> {
        let url = self.url();
        let client = &mut self.client;
        // Dropping a request that was not answered closes its connection.
        let answer = self.runtime.block_on(async { timeout(STATE_TIME, client.state()).await });
        let answer = answer.unwrap_or_else(|late| Err(too_slow(STATE_TIME, late)));
        Ok(answer.map_err(io::Error::other).map_err(IoError::of("ask the state of", url))?)
    }

    /// Copies the current snapshot to the folder `to`, like [`backup`].
    ///
    /// # Errors
    ///
    /// The errors of [`backup`].
    pub fn copy(&mut self, to: impl AsRef<Path>, options: &BackupOptions) -> Result<BackedUp> {
        let url = self.url();
        let asking = RefCell::new((&mut self.client, &self.runtime));
        backup_from(&Remote { url, asking }, to, options)
    }
}

fn too_slow(most: Duration, late: Elapsed) -> ClientError {
    let doing = format!("the server did not answer within {} s", most.as_secs());
    ClientError::connection(doing)(late)
}

/// The files of a server, as the source of a backup.
struct Remote<'a> {
    url: String,
    asking: RefCell<(&'a mut Client, &'a Runtime)>,
}

impl Remote<'_> {
    fn ask(&self, name: &str, range: Option<Range<u64>>) -> io::Result<Bytes> {
        let mut asking = self.asking.borrow_mut();
        let (client, runtime) = &mut *asking;
        runtime.block_on(async {
            let mut tries = 0;
            loop {
                tries += 1;
                let answer = timeout(PART_TIME, client.file(name, range.clone())).await;
                match answer.unwrap_or_else(|late| Err(too_slow(PART_TIME, late))) {
                    Ok(bytes) => return Ok(bytes),
                    Err(ClientError::Connection { .. }) if tries < TRIES => {
                        tokio::time::sleep(PAUSE * 2_u32.pow(tries)).await;
                    }
                    Err(error) => {
                        let is_gone = |code: &str| code == "no-such-file";
                        let kind = match &error {
                            ClientError::Refused { code, .. } if is_gone(code) => {
                                io::ErrorKind::NotFound
                            }
                            _ => io::ErrorKind::Other,
                        };
                        return Err(io::Error::new(kind, error));
                    }
                }
            }
        })
    }
}

impl StateSource for Remote<'_> {
    fn place(&self, name: &str) -> PathBuf {
        format!("{}/v1/files/{name}", self.url).into()
    }

    fn open(&self, name: &str, len: Option<u64>) -> io::Result<Box<dyn Read + '_>> {
        match len {
            Some(len) => {
                let name = name.into();
                Ok(Box::new(Parts { server: self, name, rest: 0..len, part: Bytes::new() }))
            }
            None => Ok(Box::new(io::Cursor::new(self.ask(name, None)?))),
        }
    }
}

/// Reads a segment in parts.
struct Parts<'a, 'client> {
    server: &'a Remote<'client>,
    name: String,
    /// The bytes that were not requested yet.
    rest: Range<u64>,
    part: Bytes,
}

impl Read for Parts<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.part.is_empty() && !self.rest.is_empty() {
            let end = self.rest.end.min(self.rest.start + PART_LEN);
            let wanted = self.rest.start..end;
            self.part = self.server.ask(&self.name, Some(wanted.clone()))?;
            if self.part.len() as u64 != end - wanted.start {
                let (asked, found) = (end - wanted.start, self.part.len());
                return Err(io::Error::other(format!(
                    "{asked} bytes were requested, but the server sent {found}: it ignores ranges"
                )));
            }
            self.rest.start = end;
        }
        let len = self.part.len().min(buffer.len());
        buffer[..len].copy_from_slice(&self.part.split_to(len));
        Ok(len)
    }
}
