//! Resources of long work: memory, threads, a directory for temporary files, and an observer.
//!
//! The options of builds, writers, joins and of reading documents contain [`Resources`], which
//! documents their defaults and meanings once. The macro `resource_setters!` adds setters to
//! options.

use std::path::PathBuf;

use crate::watch::Observer;

/// The resources and the observer of long work. They do not affect the result.
///
/// ```
/// use fpstore_base::Resources;
///
/// let small = Resources { memory: Some(1 << 30), threads: Some(2), ..Resources::default() };
/// ```
#[derive(Clone, Debug, Default)]
pub struct Resources {
    /// Bytes of memory; a quarter of the memory of the machine or its control group by default.
    /// Data that does not fit is read again or moved to temporary files.
    pub memory: Option<u64>,
    /// The number of threads; one for each core by default.
    pub threads: Option<usize>,
    /// The directory of temporary files, which are removed at the end of the process. The default
    /// is the directory in which a store is created or changed, else the system's directory.
    pub temp_dir: Option<PathBuf>,
    /// The function that receives the progress and may end the work.
    pub observer: Option<Observer>,
}

/// The setters of options with a field `resources`.
#[doc(hidden)]
#[macro_export]
macro_rules! resource_setters {
    () => {
        /// Sets memory, threads, the directory of temporary files and the observer at once.
        #[must_use]
        pub fn resources(mut self, resources: $crate::Resources) -> Self {
            self.resources = resources;
            self
        }

        /// Sets the bytes of memory for the work; a quarter of the memory of the machine or its
        /// control group by default. Data that does not fit is read again or moved to temporary
        /// files.
        #[must_use]
        pub fn memory(mut self, bytes: impl Into<Option<u64>>) -> Self {
            self.resources.memory = bytes.into();
            self
        }

        /// Sets the number of threads; one for each core by default.
        #[must_use]
        pub fn threads(mut self, threads: impl Into<Option<usize>>) -> Self {
            self.resources.threads = threads.into();
            self
        }

        /// Sets the directory of temporary files, which are removed at the end of the process.
        #[must_use]
        pub fn temp_dir(mut self, directory: impl Into<Option<std::path::PathBuf>>) -> Self {
            self.resources.temp_dir = directory.into();
            self
        }

        /// Sets the observer, which receives the progress and may end the work.
        #[must_use]
        pub fn observer(mut self, observer: impl Into<Option<$crate::watch::Observer>>) -> Self {
            self.resources.observer = observer.into();
            self
        }
    };
}

/// The number of threads for the setting `threads`: 0 means one for each core.
pub fn thread_count(threads: usize) -> usize {
    if threads == 0 { std::thread::available_parallelism().map_or(1, usize::from) } else { threads }
}
