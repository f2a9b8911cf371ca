//! How a store is opened.

use crate::segment::access::Access;

/// The options of [`Store::with_options`](crate::Store::with_options).
///
/// # Examples
///
/// ```no_run
/// use fpstore::{Access, OpenOptions, Store};
///
/// // For a server whose store lies on a disk of the network.
/// let options = OpenOptions::default().access(Access::Memory);
/// let store = Store::with_options("/mnt/share/pages.fps", options)?;
/// # Ok::<(), fpstore::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    pub(crate) access: Access,
    pub(crate) generation: Option<u64>,
}

impl OpenOptions {
    /// Sets how the segments come into memory, now and at each [refresh](crate::Store::refresh).
    #[must_use]
    pub fn access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// Refuses the store unless it is at this [generation](crate::Store::generation), so that all
    /// tasks of a job see the same state. [`Store::refresh`](crate::Store::refresh) keeps it.
    ///
    /// A generation that has passed cannot be opened. To go on reading one while the store changes,
    /// keep a snapshot of it with `export_linked`.
    #[must_use]
    pub fn generation(mut self, generation: impl Into<Option<u64>>) -> Self {
        self.generation = generation.into();
        self
    }
}
