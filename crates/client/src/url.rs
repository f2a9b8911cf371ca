//! The address of a server: `http://ADDRESS:PORT` or `unix:PATH`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use super::error::ClientError;

/// The place where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A name and a port.
    Tcp(String),
    Unix(PathBuf),
}

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServerUrl {
    pub(super) place: Place,
    /// The prefix of each route's path, behind a proxy.
    pub(super) prefix: String,
}

impl FromStr for ServerUrl {
    type Err = ClientError;

    fn from_str(text: &str) -> Result<Self, ClientError> {
        if let Some(path) = text.strip_prefix("unix:") {
            return Ok(ServerUrl { place: Place::Unix(path.into()), prefix: String::new() });
        }
        if text.starts_with("https:") {
            let reason = format!(
                "{text}: TLS is not supported; use http in the network of the server or its proxy, \
                 or an SSH tunnel"
            );
            return Err(ClientError::Invalid { reason });
        }
        let wrong = || ClientError::Invalid {
            reason: format!("{text}: expected http://ADDRESS:PORT or unix:PATH"),
        };
        let rest = text.strip_prefix("http://").ok_or_else(wrong)?;
        let (host, prefix) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        if host.is_empty() || host.contains(['@', '?', '#']) || prefix.contains(['?', '#']) {
            return Err(wrong());
        }
        let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let place = if has_port { host.into() } else { format!("{host}:80") };
        let prefix = prefix.trim_end_matches('/').into();
        Ok(ServerUrl { place: Place::Tcp(place), prefix })
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Tcp(place) => write!(f, "http://{place}{}", self.prefix),
            Place::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl ServerUrl {
    /// The value of the header `Host`.
    pub(super) fn host(&self) -> &str {
        match &self.place {
            Place::Tcp(place) => place,
            Place::Unix(_) => "localhost",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_of_http_or_of_a_socket() {
        let tcp = |place: &str, prefix: &str| ServerUrl {
            place: Place::Tcp(place.into()),
            prefix: prefix.into(),
        };
        for (text, expected) in [
            ("http://127.0.0.1:7700", tcp("127.0.0.1:7700", "")),
            ("http://[::1]:7700/", tcp("[::1]:7700", "")),
            ("http://example.org/near/", tcp("example.org:80", "/near")),
            ("unix:/run/a", ServerUrl { place: Place::Unix("/run/a".into()), prefix: "".into() }),
        ] {
            assert_eq!(text.parse::<ServerUrl>().unwrap(), expected, "{text}");
        }
        for wrong in ["", "127.0.0.1:7700", "http://", "http://a@b", "http://a?b", "ftp://a"] {
            assert!(wrong.parse::<ServerUrl>().is_err(), "{wrong}");
        }
        let tls = "https://a".parse::<ServerUrl>().unwrap_err();
        assert!(tls.to_string().contains("TLS is not supported"));
    }
}
