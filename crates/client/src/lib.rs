//! A client of the server in the crate `fpstore-server`: one connection, one request at a time,
//! typed answers.
//!
//! A [`Client`] runs on the tokio runtime of its caller. It connects at the first request, keeps
//! the connection, and connects again when the server has closed it. While a server is busy, the
//! client repeats the request after the pause in the answer. The client speaks HTTP without TLS,
//! over TCP or a Unix socket.
//!
//! # Examples
//!
//! ```no_run
//! use fpstore_client::{Client, QueryOptions};
//!
//! # async fn ask() -> Result<(), Box<dyn std::error::Error>> {
//! let mut client = Client::new("http://127.0.0.1:7700")?.token("0123456789abcdef");
//! let options = QueryOptions { k: Some(3), ..QueryOptions::default() };
//! let answer = client.query("c0f1789bed2eb9b8".parse()?, &options).await?;
//! for found in answer.matches {
//!     println!("{} {} {:?}", found.fingerprint, found.distance, found.ids);
//! }
//! # Ok(()) }
//! ```

mod backup;
mod calls;
mod connection;
mod error;
mod url;
mod wire;

pub use backup::{Followed, backup};
pub use calls::Client;
pub use error::ClientError;
pub use fpstore::rows::{AnswerRow, MatchRow};
pub use wire::{
    AddAnswer, AddBody, AddItem, AddStatus, AddedItem, CompactAnswer, CompactBody, DeleteAnswer,
    DeleteBody, ExpireAnswer, ExpireBody, ExpiredSegment, FailureBody, FailureFields, FailureLimit,
    HexText, IdAnswer, ImportAnswer, ImportBody, LabelAnswer, LabelBody, Lane, NearItem,
    NeedsToken, NotReady, PageTemplates, PriceAnswer, QueryBody, QueryOptions, ReadyAnswer,
    RefreshAnswer, ReplaceBody, ServedSegment, ServedStore, ServedTable, ServerInfo, limits,
};
