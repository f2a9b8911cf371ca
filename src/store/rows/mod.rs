//! Rows: answers of the library in the form that the program, the server and Python print.
//!
//! Each answer is one struct. `Serialize` writes it as JSON under the names of its fields;
//! [`Row::COLUMNS`] and [`Row::lines`] describe it as lines and as a table. The program prints rows
//! as lines, CSV, JSON and Parquet. The server sends [`AnswerRow`] and the client parses it again.
//! Only [`Explained`] reads a store.
//!
//! A fingerprint in a row contains the width of its store, which sets the number of hex digits
//! ([`HexFingerprint`](crate::HexFingerprint)). In JSON numeric ids are strings, too: JavaScript
//! and jq round numbers above 2^53.
//!
//! ```
//! use fpstore::rows::{Cell, PairRow, Row};
//! use fpstore::{Fingerprint, IdRef};
//!
//! let row = PairRow {
//!     first: Fingerprint::new(1).into(),
//!     second: Fingerprint::new(3).into(),
//!     distance: 1,
//!     similarity: None,
//!     first_id: Some(IdRef::Text("a.html")),
//!     second_id: Some(IdRef::U64(9_007_199_254_740_993)),
//!     first_store: None,
//!     second_store: None,
//! };
//! let names: Vec<&str> = PairRow::COLUMNS.iter().map(|column| column.name).collect();
//! assert_eq!(names[..3], ["first", "second", "distance"]);
//! row.lines(|cells| {
//!     assert!(matches!(cells[2], Cell::Distance(1)));
//!     Ok::<(), std::fmt::Error>(())
//! })?;
//! # Ok::<(), std::fmt::Error>(())
//! ```

mod answer;
mod cluster;
mod pair;
mod record;

pub use answer::{AnswerRow, Explained, MatchRow};
pub use cluster::{ClusterMemberRow, ClusterRow};
pub use fpstore_base::rows::{Cell, Column, Kind, Row};
pub use pair::{PairRow, Reason, RemovedRow, Side};
pub use record::{HashedRow, RecordRow};
