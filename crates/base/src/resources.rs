//! The resources of long work: memory, threads, a directory for temporary files, and an observer.
//!
//! The options of builds, writers, joins and readers of documents contain [`Resources`], so that
//! defaults and meanings are documented once. The macro `resource_setters!` adds setters to the
//! options.

use std::path::PathBuf;

use crate::watch::Observer;

/// The resources and the observer of long work. They do not change the result.
///
/// ```
/// use fpstore_base::Resources;
///
/// let small = Resources { memory: Some(1 << 30), threads: Some(2), ..Resources::default() };
/// ```
#[derive(Clone, Debug, Default)]
pub struct Resources {
    /// The memory for the work in bytes; by default a quarter of the memory of the machine or its
    /// control group. Data that does not fit is read again or moved to temporary files.
    pub memory: Option<u64>,
    /// The number of threads; by default one for each core.
    pub threads: Option<usize>,
    /// The directory for temporary files, which are removed when the process ends. The default is
    /// the directory in which a store is created or changed, otherwise the system's directory.
    pub temp_dir: Option<PathBuf>,
    /// The function that receives the progress and can end the work.
    pub observer: Option<Observer>,
}

/// Defines setters for options that have a field `resources`.
#[doc(hidden)]
#[macro_export]
macro_rules! resource_setters {
    () => {
        /// Sets memory, threads, the directory for temporary files and the observer at once.
        #[must_use]
        pub fn resources(mut self, resources: $crate::Resources) -> Self {
            self.resources = resources;
            self
        }

        /// Sets the memory for the work in bytes; by default a quarter of the memory of the machine
        /// or its control group. Data that does not fit is read again or moved to temporary files.
        #[must_use]
        pub fn memory(mut self, bytes: impl Into<Option<u64>>) -> Self {
            self.resources.memory = bytes.into();
            self
        }

        /// Sets the number of threads; by default one for each core.
        #[must_use]
        pub fn threads(mut self, threads: impl Into<Option<usize>>) -> Self {
            self.resources.threads = threads.into();
            self
        }

        /// Sets the directory for temporary files, which are removed when the process ends.
        #[must_use]
        pub fn temp_dir(mut self, directory: impl Into<Option<std::path::PathBuf>>) -> Self {
            self.resources.temp_dir = directory.into();
            self
        }

        /// Sets the observer, which receives the progress and can end the work.
        #[must_use]
        pub fn observer(mut self, observer: impl Into<Option<$crate::watch::Observer>>) -> Self {
            self.resources.observer = observer.into();
            self
        }
    };
}

/// The number of threads for the setting `threads`: the number of cores if it is 0.
pub fn thread_count(threads: usize) -> usize {
    if threads == 0 { std::thread::available_parallelism().map_or(1, usize::from) } else { threads }
}
