//! Who is told of bad records as they are skipped.

use std::fmt;
use std::sync::Arc;

use fpstore_base::InputPlace;

/// Is told of bad records as they come: the place in the input, and what is wrong.
#[derive(Clone)]
pub struct BadRecords(pub(super) Arc<Tell>);

type Tell = dyn Fn(InputPlace, &str) + Send + Sync;

impl BadRecords {
    /// Calls `told` with each bad record.
    pub fn new(told: impl Fn(InputPlace, &str) + Send + Sync + 'static) -> Self {
        BadRecords(Arc::new(told))
    }
}

impl fmt::Debug for BadRecords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BadRecords")
    }
}
