//! The bodies of requests and answers over HTTP, one struct for both ends.
//!
//! The server (`serve`) reads the bodies of requests and writes those of answers; the client does the
//! opposite. The names of the fields are the names in JSON; `openapi.json` of the server describes
//! them. Bodies borrow their texts, so that a request with many fingerprints is parsed without a copy
//! of each. Nothing is checked here but the form: the server says what is wrong with a value.

mod answers;
mod info;
pub mod limits;
pub mod query_options;
mod requests;
mod spelling;

pub use answers::{
    AddAnswer, AddStatus, AddedItem, CompactAnswer, DeleteAnswer, ExpireAnswer, ExpiredSegment,
    IdAnswer, ImportAnswer, LabelAnswer, Lane, NearItem, PriceAnswer,
};
pub use info::{
    NeedsToken, NotReady, PageTemplates, ReadyAnswer, RefreshAnswer, ServedSegment, ServedStore,
    ServedTable, ServerInfo,
};
pub use limits::{LIMIT_OPTIONS, ServeLimits};
pub use query_options::QueryOptions;
pub use requests::{
    AddBody, AddItem, CompactBody, DeleteBody, ExpireBody, HexText, ImportBody, LabelBody,
    QueryBody, ReplaceBody,
};

pub use answers::FailureLimit;
pub use answers::{FailureBody, FailureFields, QueryAnswers};
