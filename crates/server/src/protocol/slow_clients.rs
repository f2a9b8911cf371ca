//! Ends the connections of slow clients: those that send the head of a request, or read an answer,
//! too slowly.
//!
//! hyper's own time-out of heads also runs while a connection is idle, and it has no time-out for
//! answers that are not read. The stream here wraps the socket and watches each read and write.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// Counts the requests of a connection that are being answered: 0 while it waits for a head.
#[derive(Clone, Debug, Default)]
pub(crate) struct Busy(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    open: AtomicUsize,
    /// The number of requests of the connection so far.
    begun: AtomicUsize,
}

impl Busy {
    /// Counts a request until the value is dropped.
    pub(crate) fn enter(&self) -> BusyGuard {
        self.0.open.fetch_add(1, Relaxed);
        self.0.begun.fetch_add(1, Relaxed);
        BusyGuard(self.clone())
    }

    fn is_busy(&self) -> bool {
        self.0.open.load(Relaxed) > 0
    }

    fn begun(&self) -> usize {
        self.0.begun.load(Relaxed)
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub(crate) struct BusyGuard(Busy);

impl Drop for BusyGuard {
    fn drop(&mut self) {
        self.0.0.open.fetch_sub(1, Relaxed);
    }
}

/// A stream with time-outs.
pub(crate) struct TimedStream<S> {
    stream: S,
    busy: Busy,
    header_timeout: Duration,
    write_timeout: Duration,
    /// The timer of the arriving head, and the number of requests before it. The first byte of the
    /// head starts the timer; once the number of requests grows, the head is complete.
    head: Option<(usize, Pin<Box<Sleep>>)>,
    /// The timer of a write that waits for the client.
    write: Option<Pin<Box<Sleep>>>,
}

impl<S> TimedStream<S> {
    pub(crate) fn new(
        stream: S,
        busy: Busy,
        header_timeout: Duration,
        write_timeout: Duration,
    ) -> Self {
        TimedStream { stream, busy, header_timeout, write_timeout, head: None, write: None }
    }
}

fn too_slow(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, format!("the client was too slow to {what}"))
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        let begun = self.busy.begun();
        if self.head.as_ref().is_some_and(|(of, _)| *of != begun) {
            self.head = None;
        }
        if self.busy.is_busy() {
            return read;
        }
        match &read {
            Poll::Ready(Ok(())) if buffer.filled().len() > before && self.head.is_none() => {
                self.head = Some((begun, Box::pin(sleep(self.header_timeout))));
            }
            Poll::Pending => {
                if let Some((_, head)) = &mut self.head
                    && head.as_mut().poll(context).is_ready()
                {
                    return Poll::Ready(Err(too_slow("send a request")));
                }
            }
            Poll::Ready(_) => {}
        }
        read
    }
}

impl<S> TimedStream<S> {
    /// Fails a write that waits too long.
    fn watch_write<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.write = None;
            return written;
        }
        let timeout = self.write_timeout;
        let wait = self.write.get_or_insert_with(|| Box::pin(sleep(timeout)));
        match wait.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(too_slow("read an answer"))),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watch_write(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.watch_write(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = Pin::new(&mut self.stream).poll_shutdown(context);
        self.watch_write(context, done)
    }
}
