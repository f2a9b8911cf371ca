//! Bearer tokens for reading and for writing.

use fpstore_base::{IoError, lists};
use std::path::Path;

use hyper::StatusCode;
use hyper::header::{AUTHORIZATION, HeaderMap};

use super::failure::Failure;
use fpstore::{Error, Result};

/// The shortest token: a guessable token protects nothing.
const LEN_MIN: usize = 16;

/// The right that a request needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Right {
    /// No right: the answer contains no stored data.
    Open,
    Read,
    Write,
}

/// The accepted tokens. A right without tokens is granted to everybody.
#[derive(Clone, Default)]
pub struct Tokens {
    read: Vec<Vec<u8>>,
    write: Vec<Vec<u8>>,
}

impl Tokens {
    /// Reads the files of the tokens for reading, and of the tokens for writing, which also grant
    /// reading. A file has one token on each line, of at least 16 ASCII characters; blank lines and
    /// lines that start with `#` are ignored.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if a file cannot be read, [`Error::InvalidOptions`] if a line is not a token,
    /// a file has no token, or every user of the machine may read or write the file.
    pub fn open(read: Option<&Path>, write: Option<&Path>) -> Result<Self> {
        Ok(Tokens {
            read: read.map(tokens_of).transpose()?.unwrap_or_default(),
            write: write.map(tokens_of).transpose()?.unwrap_or_default(),
        })
    }

    /// Whether reading needs a token.
    pub fn guard_reading(&self) -> bool {
        !self.read.is_empty()
    }

    /// Whether writing needs a token.
    pub fn guard_writing(&self) -> bool {
        !self.write.is_empty()
    }

    /// Fails unless the request has this right.
    pub(crate) fn check(&self, right: Right, headers: &HeaderMap) -> Result<(), Failure> {
        let needed = match right {
            Right::Open => return Ok(()),
            Right::Read if self.read.is_empty() => return Ok(()),
            Right::Write if self.write.is_empty() && self.read.is_empty() => return Ok(()),
            Right::Read => [self.read.as_slice(), &self.write].concat(),
            Right::Write => self.write.clone(),
        };
        let Some(given) = headers.get(AUTHORIZATION) else {
            let message = "this needs a token: Authorization: Bearer TOKEN";
            return Err(Failure::new(StatusCode::UNAUTHORIZED, "no-token", message));
        };
        let given = given.as_bytes();
        let token = match given.split_at_checked(7) {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case(b"bearer ") => token.trim_ascii(),
            _ => {
                let message = "expected a token: Authorization: Bearer TOKEN";
                return Err(Failure::new(StatusCode::UNAUTHORIZED, "no-token", message));
            }
        };
        if needed.iter().fold(false, |found, wanted| found | is_same(wanted, token)) {
            return Ok(());
        }
        if right == Right::Write && self.read.iter().any(|read| is_same(read, token)) {
            let message = "this token allows only reading";
            return Err(Failure::new(StatusCode::FORBIDDEN, "read-only-token", message));
        }
        Err(Failure::new(StatusCode::UNAUTHORIZED, "wrong-token", "unknown token"))
    }
}

/// Compares two tokens in a time that does not depend on the position of the difference.
fn is_same(wanted: &[u8], given: &[u8]) -> bool {
    wanted.len() == given.len()
        && wanted.iter().zip(given).fold(0, |sum, (a, b)| std::hint::black_box(sum | (a ^ b))) == 0
}

/// The tokens of a file.
fn tokens_of(path: &Path) -> Result<Vec<Vec<u8>>> {
    let name = path.display();
    let invalid = |reason| Err(Error::InvalidOptions { reason });
    let file = std::fs::File::open(path).map_err(IoError::of("read", path))?;
    if is_open_to_all(&file) {
        return invalid(format!(
            "{name} can be read or written by every user of this machine; to protect it, run: \
             chmod o-rwx {name}"
        ));
    }
    let text = lists::text_of(file).map_err(IoError::of("read", path))?;
    let mut tokens = Vec::new();
    for (number, line) in lists::rows(&text) {
        let token = line.trim();
        if token.len() < LEN_MIN || !token.bytes().all(|b| b.is_ascii_graphic()) {
            return invalid(format!(
                "{name}: line {number} is not a token: expected {LEN_MIN} or more ASCII characters \
                 without spaces; to make one, run: openssl rand -hex 32"
            ));
        }
        tokens.push(token.as_bytes().to_vec());
    }
    if tokens.is_empty() {
        let why = "contains no token, so every request would be refused; to make one, run: \
                   openssl rand -hex 32";
        return invalid(format!("{name} {why}"));
    }
    Ok(tokens)
}

/// Whether users other than the owner and the group of a file may read or write it.
#[cfg(unix)]
fn is_open_to_all(file: &std::fs::File) -> bool {
    use std::os::unix::fs::MetadataExt;
    file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.mode() & 0o006 != 0)
}

#[cfg(not(unix))]
fn is_open_to_all(_: &std::fs::File) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(value: &str) -> HeaderMap {
        HeaderMap::from_iter([(AUTHORIZATION, value.parse().unwrap())])
    }

    #[test]
    fn reading_and_writing_are_guarded_apart() {
        let reader = "r".repeat(16);
        let writer = "w".repeat(32);
        let both = Tokens { read: vec![reader.clone().into()], write: vec![writer.clone().into()] };
        let code = |tokens: &Tokens, right, value: &str| {
            tokens.check(right, &headers(value)).err().map(|failure| failure.code)
        };
        let (read, write) = (format!("Bearer {reader}"), format!("bearer  {writer}"));
        assert_eq!(code(&both, Right::Read, &read), None);
        assert_eq!(code(&both, Right::Read, &write), None);
        assert_eq!(code(&both, Right::Write, &write), None);
        assert_eq!(code(&both, Right::Write, &read), Some("read-only-token"));
        assert_eq!(code(&both, Right::Read, "Bearer rrrr"), Some("wrong-token"));
        assert_eq!(code(&both, Right::Read, &reader), Some("no-token"));
        assert_eq!(both.check(Right::Read, &HeaderMap::new()).unwrap_err().code, "no-token");
        assert!(both.check(Right::Open, &HeaderMap::new()).is_ok());
        // Read tokens alone do not grant public write access.
        let reading = Tokens { read: vec![reader.into()], write: Vec::new() };
        assert_eq!(code(&reading, Right::Write, &read), Some("read-only-token"));
        let writing = Tokens { read: Vec::new(), write: vec![writer.into()] };
        assert!(writing.check(Right::Read, &HeaderMap::new()).is_ok());
        assert_eq!(code(&writing, Right::Write, "Bearer x"), Some("wrong-token"));
        assert!(Tokens::default().check(Right::Write, &HeaderMap::new()).is_ok());
    }
}
