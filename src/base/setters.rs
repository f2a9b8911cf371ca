//! Setters that several options have, each with its meaning once.

/// The setters of fields with these names. `Waiting` and `Observer` are those of the caller.
macro_rules! setters {
    ($($name:ident),+) => { $(setters!(@$name);)+ };
    (@label) => {
        /// Sets the label of new segments, such as `2026-11`: at most 255 bytes without control
        /// characters; empty for none.
        #[must_use]
        pub fn label(mut self, label: impl Into<String>) -> Self {
            self.label = label.into();
            self
        }
    };
    (@wait) => {
        /// Sets how long to wait for another process that is writing to the store, or making it.
        #[must_use]
        pub fn wait(mut self, most: impl Into<Waiting>) -> Self {
            self.wait = most.into();
            self
        }
    };
    (@max_rate) => {
        /// Sets the most bytes that are read and written in a second, those that are read again and
        /// those of temporary files included. `None`, the default, sets no limit.
        #[must_use]
        pub fn max_rate(mut self, bytes: impl Into<Option<u64>>) -> Self {
            self.max_rate = bytes.into();
            self
        }
    };
    (@observer) => {
        /// Sets the observer, which receives the progress, also of a wait, and may end the work.
        #[must_use]
        pub fn observer(mut self, observer: impl Into<Option<Observer>>) -> Self {
            self.observer = observer.into();
            self
        }
    };
}

pub(crate) use setters;
