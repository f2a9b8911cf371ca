//! Rows: the answers of the library as the program, the server and Python show them.
//!
//! Each answer is one struct. Its fields are the names in JSON, by `Serialize`; [`Row::COLUMNS`]
//! are its columns in lines and tables, by [`Row::lines`]. The program prints rows as lines, JSON
//! and Parquet; the server answers with [`AnswerRow`], which the program reads again. Nothing here
//! searches or opens anything but what [`Explained`] asks of a store.
//!
//! A fingerprint stands there with its width, which is that of its store: it says how many hex digits
//! are written ([`HexFingerprint`](crate::HexFingerprint)).
//!
//! Ids are texts in JSON, also if they are numbers: JavaScript and jq round numbers above 2^53.
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
mod change;
mod cluster;
mod contamination;
mod explained;
mod loss;
mod pair;
mod record;
mod row;

pub use answer::{AnswerRow, MatchRow};
pub use cluster::{ClusterMemberRow, ClusterRow};
pub use contamination::ContaminationRow;
pub use explained::Explained;
pub use loss::LossRow;
pub use pair::{PairInStoresRow, PairRow, Reason, RemovedInStoresRow, RemovedRow, Side};
pub use record::{HashedRow, RecordRow};
pub use row::{Cell, Column, Kind, Row};
