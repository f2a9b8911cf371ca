//! How a store is verified.

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
    /// Sets the number of sample queries whose answers are compared with a scan. Needs one pass
    /// over the store, and one more for each 256.
    #[must_use]
    pub fn samples(mut self, count: u64) -> Self {
        self.samples = count;
        self
    }

    /// Sets the largest number of bytes that are read in a second, those that are read again
    /// included. `None`, the default, sets no limit.
    #[must_use]
    pub fn max_rate(mut self, bytes: impl Into<Option<u64>>) -> Self {
        self.max_rate = bytes.into();
        self
    }

    /// Sets a function that is called with the progress, and may end the work.
    #[must_use]
    pub fn observer(mut self, observer: impl Into<Option<Observer>>) -> Self {
        self.observer = observer.into();
        self
    }
}
