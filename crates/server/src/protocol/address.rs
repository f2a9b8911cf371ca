//! The address of the server: an IP address with a port, or a Unix socket.

use std::fmt;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::str::FromStr;

use fpstore::Error;

/// An address to listen at.
///
/// It is parsed from `127.0.0.1:7700`, `localhost:7700`, `[::1]:7700` or `unix:PATH`; port 0 is any
/// free port. It is printed in the form that clients use: `http://127.0.0.1:7700` or `unix:PATH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// An address and a port.
    Tcp(SocketAddr),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let expected = |why: &dyn fmt::Display| Error::InvalidOptions {
            reason: format!(
                "{text}: expected ADDRESS:PORT, such as 127.0.0.1:7700, or unix:PATH{why}"
            ),
        };
        match text.strip_prefix("unix:") {
            Some("") => Err(expected(&"")),
            Some(path) => Ok(Address::Unix(path.into())),
            None => {
                let found = text.to_socket_addrs();
                let mut found = found.map_err(|error| expected(&format_args!(": {error}")))?;
                found.next().map(Address::Tcp).ok_or_else(|| expected(&""))
            }
        }
    }
}

impl Address {
    /// Whether only this machine can reach the address.
    pub fn is_local(&self) -> bool {
        match self {
            Address::Tcp(address) => is_loopback(address.ip()),
            Address::Unix(_) => true,
        }
    }
}

fn is_loopback(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_loopback(),
        IpAddr::V6(ip) => {
            ip.is_loopback() || ip.to_ipv4_mapped().is_some_and(|ip| ip.is_loopback())
        }
    }
}

/// Whether the header `Host` names this machine. Another name can come from a foreign web page in a
/// browser on this machine (DNS rebinding).
pub(crate) fn is_local_name(host: &str) -> bool {
    let name = name_of(host);
    name.eq_ignore_ascii_case("localhost")
        || name.trim_matches(['[', ']']).parse().is_ok_and(is_loopback)
}

/// The name in the header `Host`, without the port.
pub(crate) fn name_of(host: &str) -> &str {
    match host.rfind(':') {
        Some(at)
            if host[at + 1..].bytes().all(|b| b.is_ascii_digit()) && !host[..at].ends_with(':') =>
        {
            &host[..at]
        }
        _ => host,
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => write!(f, "http://{address}"),
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_addresses_and_sockets_are_local() {
        for (text, is_local) in [
            ("127.0.0.1:1", true),
            ("127.8.9.10:0", true),
            ("[::1]:80", true),
            ("[::ffff:127.0.0.1]:80", true),
            ("unix:/run/a.sock", true),
            ("0.0.0.0:80", false),
            ("[::]:80", false),
            ("192.168.1.1:80", false),
        ] {
            assert_eq!(text.parse::<Address>().unwrap().is_local(), is_local, "{text}");
        }
        for wrong in ["", "7700", "127.0.0.1", "unix:", "http://127.0.0.1:1"] {
            assert!(wrong.parse::<Address>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_of_this_machine_are_told_from_others() {
        for host in ["localhost", "LOCALHOST:7700", "127.0.0.1:7700", "[::1]", "[::1]:7700"] {
            assert!(is_local_name(host), "{host}");
        }
        for host in ["example.org", "localhost.example.org:7700", "10.0.0.1:7700", "", ":7700"] {
            assert!(!is_local_name(host), "{host}");
        }
    }
}
