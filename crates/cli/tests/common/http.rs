//! Starts `fpstore serve`, sends requests over plain sockets, and stops the server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, ExitStatus};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::program::{TestDir, signal};

/// A running `fpstore serve`, killed on drop.
pub struct Server {
    child: Child,
    stderr: BufReader<ChildStderr>,
    /// The address of the server, such as `127.0.0.1:43211`.
    pub address: String,
}

/// A response of the server.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// The headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.body)))
    }

    /// The error code in the body of the response.
    pub fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().into()
    }
}

impl Server {
    /// Serves `store.fps` in the folder `dir` at a free port, and waits until the server is ready.
    pub fn start(dir: &TestDir, args: &[&str]) -> Self {
        let server = Server::begin(dir, &[&["--listen", "127.0.0.1:0"], args].concat());
        server.wait_until_ready();
        server
    }

    /// Like `start`, but the arguments contain the address, and the server may not be ready yet.
    pub fn begin(dir: &TestDir, args: &[&str]) -> Self {
        Server::begin_as(dir, &[&["serve", "-s", "store.fps"], args].concat())
    }

    /// Like `begin`, but the arguments also contain the store.
    pub fn begin_as(dir: &TestDir, args: &[&str]) -> Self {
        let mut child = dir.command(args).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        // Messages about a damaged store can come before the line with the address.
        while !line.contains(": serving ") && stderr.read_line(&mut line).unwrap() > 0 {}
        assert!(line.contains(": serving "), "{args:?}: {line}");
        let address = line.trim().rsplit_once(" at ").map(|(_, address)| address);
        let address = address.unwrap_or_else(|| panic!("{args:?}: {line}"));
        let address = address.trim_start_matches("http://").into();
        Server { child, stderr, address }
    }

    pub fn wait_until_ready(&self) {
        wait_for("the server is ready", || self.get("/readyz").status == 200);
    }

    pub fn connect(&self) -> Connection<TcpStream> {
        Connection::new(TcpStream::connect(&self.address).unwrap())
    }

    pub fn get(&self, path: &str) -> Answer {
        self.connect().ask("GET", path, &[], b"")
    }

    pub fn post(&self, path: &str, kind: &str, body: impl AsRef<[u8]>) -> Answer {
        self.connect().ask("POST", path, &[("Content-Type", kind)], body.as_ref())
    }

    pub fn post_json(&self, path: &str, body: &Value) -> Answer {
        self.post(path, "application/json", body.to_string())
    }

    /// The value of one metric.
    pub fn metric(&self, name: &str) -> f64 {
        let text = String::from_utf8(self.get("/metrics").body).unwrap();
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, name: &str) {
        signal(&self.child, name);
    }

    /// Stops the server with SIGTERM. Returns its status and its standard error.
    pub fn end(self) -> (ExitStatus, String) {
        self.signal("TERM");
        self.wait()
    }

    /// Waits until the server has ended. Returns its status and its standard error.
    pub fn wait(mut self) -> (ExitStatus, String) {
        let status = self.child.wait().unwrap();
        let mut text = String::new();
        self.stderr.read_to_string(&mut text).unwrap();
        (status, text)
    }

    /// Kills the server at once, like a power loss.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until a condition holds, and fails eventually: tests have no time limit of their own, so
/// an endless wait must report its condition.
pub fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(300), "waited for minutes until {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A connection to the server, for several requests one after another.
pub struct Connection<S> {
    pub stream: S,
    /// Received bytes after the last response.
    rest: Vec<u8>,
}

impl Connection<TcpStream> {
    /// Whether data can be read, or the connection has ended.
    pub fn is_answered(&self) -> bool {
        self.stream.set_nonblocking(true).unwrap();
        let is_answered = self.stream.peek(&mut [0]).is_ok();
        self.stream.set_nonblocking(false).unwrap();
        is_answered
    }
}

impl<S: Read + Write> Connection<S> {
    pub fn new(stream: S) -> Self {
        Connection { stream, rest: Vec::new() }
    }

    /// Sends a request with a body and reads the response.
    pub fn ask(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        self.send(method, path, headers, body);
        self.answer()
    }

    pub fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) {
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        if !headers.iter().any(|(name, _)| *name == "Host") {
            head += "Host: localhost\r\n";
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += &format!("Content-Length: {}\r\n\r\n", body.len());
        self.stream.write_all(head.as_bytes()).unwrap();
        // The error is ignored: the server can reject a large body before it has read all of it.
        let _ = self.stream.write_all(body);
    }

    /// Reads a response. Not for HEAD requests, whose responses have no body.
    pub fn answer(&mut self) -> Answer {
        let end = loop {
            if let Some(at) = find(&self.rest, b"\r\n\r\n") {
                break at;
            }
            assert!(self.read_more(), "the connection ended: {:?}", self.rest);
        };
        let head = String::from_utf8(self.rest.drain(..end + 4).collect()).unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.into()))
            .collect();
        let mut answer = Answer { status, headers, body: Vec::new() };
        if answer.header("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = self.chunk() {
                answer.body.extend(chunk);
            }
        } else if let Some(len) = answer.header("content-length") {
            let len = len.parse().unwrap();
            answer.body = self.take(len);
        }
        answer
    }

    /// The next chunk of a chunked body; `None` at its end.
    pub fn chunk(&mut self) -> Option<Vec<u8>> {
        let end = loop {
            if let Some(at) = find(&self.rest, b"\r\n") {
                break at;
            }
            assert!(self.read_more(), "the connection ended");
        };
        let line: Vec<u8> = self.rest.drain(..end + 2).collect();
        let len = usize::from_str_radix(str::from_utf8(&line).unwrap().trim(), 16).unwrap();
        let mut chunk = self.take(len + 2);
        chunk.truncate(len);
        (len > 0).then_some(chunk)
    }

    fn take(&mut self, len: usize) -> Vec<u8> {
        while self.rest.len() < len {
            assert!(self.read_more(), "the connection ended");
        }
        self.rest.drain(..len).collect()
    }

    /// Reads more bytes; returns false at the end of the connection.
    pub fn read_more(&mut self) -> bool {
        let mut buffer = [0; 1 << 14];
        let count = self.stream.read(&mut buffer).unwrap_or(0);
        self.rest.extend_from_slice(&buffer[..count]);
        count > 0
    }

    /// Reads all remaining bytes, up to the end of the connection.
    pub fn rest(&mut self) -> String {
        while self.read_more() {}
        String::from_utf8(std::mem::take(&mut self.rest)).unwrap()
    }

    /// Whether the other side closed the connection without a further response.
    pub fn has_ended(&mut self) -> bool {
        self.rest.is_empty() && !self.read_more()
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}
