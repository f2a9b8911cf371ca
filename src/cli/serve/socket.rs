//! The socket that the server listens at.

use std::net::SocketAddr;
#[cfg(unix)]
use std::path::Path;

use anyhow::Context;
use tokio::net::TcpListener;

use super::address::Address;
use super::connections::Listener;

/// Begins to listen. Returns where: the system chooses the port if it is 0.
///
/// It must run within the runtime.
pub(super) fn listen(address: &Address, socket_mode: u32) -> anyhow::Result<(Listener, Address)> {
    match address {
        Address::Tcp(address) => listen_tcp(*address),
        #[cfg(unix)]
        Address::Unix(path) => listen_unix(path, socket_mode),
        #[cfg(not(unix))]
        Address::Unix(_) => anyhow::bail!("this system has no Unix sockets for fpstore"),
    }
}

fn listen_tcp(address: SocketAddr) -> anyhow::Result<(Listener, Address)> {
    let doing = || format!("cannot listen at {address}; --listen names another address");
    let listener = std::net::TcpListener::bind(address).with_context(doing)?;
    listener.set_nonblocking(true).with_context(doing)?;
    let listener = TcpListener::from_std(listener).with_context(doing)?;
    let address = listener.local_addr().with_context(doing)?;
    Ok((Listener::Tcp(listener), Address::Tcp(address)))
}

#[cfg(unix)]
fn listen_unix(path: &Path, mode: u32) -> anyhow::Result<(Listener, Address)> {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt};
    let name = path.display();
    if let Ok(found) = path.symlink_metadata() {
        if !found.file_type().is_socket() {
            anyhow::bail!("{name} exists and is no socket; it was left alone");
        }
        if std::os::unix::net::UnixStream::connect(path).is_ok() {
            anyhow::bail!("another process listens at {name}");
        }
        // A server that was killed left it.
        std::fs::remove_file(path).with_context(|| format!("cannot remove {name}"))?;
    }
    let doing = || format!("cannot listen at {name}");
    let listener = tokio::net::UnixListener::bind(path).with_context(doing)?;
    let mode = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(path, mode).with_context(doing)?;
    Ok((Listener::Unix(listener), Address::Unix(path.into())))
}

/// Removes what listening has left.
pub(super) fn remove(address: &Address) {
    if let Address::Unix(path) = address {
        let _ = std::fs::remove_file(path);
    }
}

/// A mode of a file in octal, such as `660`.
pub(super) fn mode(text: &str) -> Result<u32, String> {
    match u32::from_str_radix(text, 8) {
        Ok(mode) if mode <= 0o777 => Ok(mode),
        _ => Err("expected three octal digits, such as 660".into()),
    }
}
