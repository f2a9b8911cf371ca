//! How a store is verified.

use crate::base::setters::setters;
use fpstore_base::watch::Observer;

/// The options of [`verify`](crate::verify()).
///
/// # Examples
///
/// ```no_run
/// // Beside a service: a minute for each GB, and no sample queries.
/// let options = fpstore::VerifyOptions::default().max_rate(64 << 20).samples(0);
/// assert!(fpstore::verify("pages.fps", &options)?.is_sound());
/// # Ok::<(), fpstore::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct VerifyOptions {
    pub(super) samples: u64,
    pub(super) max_rate: Option<u64>,
    pub(super) observer: Option<Observer>,
}

impl Default for VerifyOptions {
    /// 100 sample queries, as fast as it goes.
    fn default() -> Self {
        VerifyOptions { samples: 100, max_rate: None, observer: None }
    }
}

impl VerifyOptions {
    setters!(max_rate, observer);

    /// Sets the number of sample queries whose answers are compared with a scan. Needs one pass
    /// over the store, and one more for each 256.
    #[must_use]
    pub fn samples(mut self, count: u64) -> Self {
        self.samples = count;
        self
    }
}
