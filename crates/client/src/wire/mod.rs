//! The JSON bodies of requests and answers, one struct for both ends.
//!
//! The server parses request bodies and writes answer bodies; the client does the opposite. Field
//! names are the names in JSON; `openapi.json` of the server describes them. Request bodies borrow
//! the texts in them, so that parsing many fingerprints copies none of them. Parsing checks only
//! the form of a body; the server checks the values.

mod answers;
mod info;
pub mod limits;
mod requests;

pub use answers::{
    AddAnswer, AddStatus, AddedItem, CompactAnswer, DeleteAnswer, ExpireAnswer, ExpiredSegment,
    FailureBody, FailureFields, FailureLimit, IdAnswer, ImportAnswer, LabelAnswer, Lane, NearItem,
    PriceAnswer,
};
pub use info::{
    NeedsToken, NotReady, PageTemplates, ReadyAnswer, RefreshAnswer, ServedSegment, ServedStore,
    ServedTable, ServerInfo,
};
pub use requests::{
    AddBody, AddItem, CompactBody, DeleteBody, ExpireBody, HexText, ImportBody, LabelBody,
    QueryBody, QueryOptions, ReplaceBody,
};
