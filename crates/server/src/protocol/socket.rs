//! The listening socket of the server.

use std::io::ErrorKind;

use fpstore_base::{IoError, chain};
use tokio::net::TcpListener;
#[cfg(unix)]
use tokio::net::UnixListener;

use super::address::Address;
use fpstore::{Error, Result};
#[cfg(unix)]
use fpstore_disk::SocketFile;

/// The listening socket of a server. A Unix socket is removed when the value is dropped.
#[derive(Debug)]
pub struct Listener {
    pub(crate) socket: Socket,
    address: Address,
    /// The file of a Unix socket.
    #[cfg(unix)]
    _file: Option<SocketFile>,
}

/// The kinds of listening sockets.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix(UnixListener),
}

impl Listener {
    /// Starts to listen, within a runtime. `mode` is the file mode of a Unix socket.
    pub(crate) fn bind(address: &Address, mode: u32) -> Result<Self> {
        match address {
            Address::Tcp(at) => {
                let listening = std::net::TcpListener::bind(at).and_then(|listener| {
                    listener.set_nonblocking(true)?;
                    let listener = TcpListener::from_std(listener)?;
                    let address = Address::Tcp(listener.local_addr()?);
                    Ok(Listener {
                        socket: Socket::Tcp(listener),
                        address,
                        #[cfg(unix)]
                        _file: None,
                    })
                });
                Ok(listening.map_err(IoError::of("listen at", at.to_string()))?)
            }
            #[cfg(unix)]
            Address::Unix(path) => {
                let listening = SocketFile::listen(path, mode);
                let (file, listener) = listening.map_err(|error| match error.source.kind() {
                    // The caller gave a path that is in use.
                    ErrorKind::AddrInUse | ErrorKind::AlreadyExists => {
                        Error::InvalidOptions { reason: chain(&error) }
                    }
                    _ => error.into(),
                })?;
                let listening = listener.set_nonblocking(true).and_then(|()| {
                    let socket = Socket::Unix(UnixListener::from_std(listener)?);
                    Ok(Listener { socket, address: address.clone(), _file: Some(file) })
                });
                Ok(listening.map_err(IoError::of("listen at", path))?)
            }
            #[cfg(not(unix))]
            Address::Unix(_) => {
                let _ = mode;
                let reason = "this system has no Unix sockets for fpstore".into();
                Err(Error::InvalidOptions { reason })
            }
        }
    }

    /// The address, with the port that the system chose for port 0.
    pub fn address(&self) -> &Address {
        &self.address
    }
}
