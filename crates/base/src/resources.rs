//! What long work may take, and who watches it: memory, threads, a folder, an observer.
//!
//! The options of builds, writers, joins and of reading documents hold [`Resources`]. Defaults and
//! meanings stand here, once. The macro `resource_setters!` gives options the setters.

use std::path::PathBuf;

use crate::watch::Observer;

/// What long work may take, and who watches it. The result is the same for any of it.
///
/// ```
/// use fpstore_base::Resources;
///
/// let small = Resources { memory: Some(1 << 30), threads: Some(2), ..Resources::default() };
/// ```
#[derive(Clone, Debug, Default)]
pub struct Resources {
    /// Bytes of memory; a quarter of the memory of the machine or its control group by default.
    /// What does not fit is read again or goes to temporary files.
    pub memory: Option<u64>,
    /// The threads that work at the same time; one for each core by default.
    pub threads: Option<usize>,
    /// The directory of temporary files, which vanish with the process. The default is the one in
    /// which a store is made or changed, else that of the system.
    pub temp_dir: Option<PathBuf>,
    /// The function that receives the progress and may end the work.
    pub observer: Option<Observer>,
}

/// The setters of options that have a field `resources`.
#[doc(hidden)]
#[macro_export]
macro_rules! resource_setters {
    () => {
        /// Sets memory, threads, the directory of temporary files and the observer, all at once.
        #[must_use]
        pub fn resources(mut self, resources: $crate::Resources) -> Self {
            self.resources = resources;
            self
        }

        /// Sets the bytes of memory that the work may take; a quarter of the memory of the machine
        /// or its control group by default. What does not fit is read again or goes to temporary
        /// files.
        #[must_use]
        pub fn memory(mut self, bytes: impl Into<Option<u64>>) -> Self {
            self.resources.memory = bytes.into();
            self
        }

        /// Sets the number of threads that work at the same time; one for each core by default.
        #[must_use]
        pub fn threads(mut self, threads: impl Into<Option<usize>>) -> Self {
            self.resources.threads = threads.into();
            self
        }

        /// Sets the directory of temporary files, which vanish with the process.
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

/// The number of threads that `threads` stands for: 0 is one for each core.
pub fn thread_count(threads: usize) -> usize {
    if threads == 0 { std::thread::available_parallelism().map_or(1, usize::from) } else { threads }
}
