//! Setters for options: methods that take the options and return them with one field changed.

/// Defines setters: either new ones, given by documentation, name and type, or shared ones, given
/// by name only. Types are resolved at the call site.
#[doc(hidden)]
#[macro_export]
macro_rules! setters {
    ($($(#[$doc:meta])+ $name:ident: $type:ty),+ $(,)?) => { $(
        $(#[$doc])+
        #[must_use]
        pub fn $name(mut self, $name: $type) -> Self {
            self.$name = $name.into();
            self
        }
    )+ };
    ($($name:ident),+) => { $($crate::setters!(@$name);)+ };
    (@label) => {
        /// Sets the label of new segments, such as `2026-11`: at most 255 bytes, no control
        /// characters; an empty text sets no label.
        #[must_use]
        pub fn label(mut self, label: impl Into<String>) -> Self {
            self.label = label.into();
            self
        }
    };
    (@wait) => {
        /// Sets how long to wait for another process that is writing or creating the store.
        #[must_use]
        pub fn wait(mut self, most: impl Into<Waiting>) -> Self {
            self.wait = most.into();
            self
        }
    };
    (@max_rate) => {
        /// Sets the maximum number of bytes read and written per second, including repeated reads
        /// and temporary files. `None`, the default, sets no limit.
        #[must_use]
        pub fn max_rate(mut self, bytes: impl Into<Option<u64>>) -> Self {
            self.max_rate = bytes.into();
            self
        }
    };
    (@observer) => {
        /// Sets the observer, which receives the progress, also while waiting, and can end the
        /// work.
        #[must_use]
        pub fn observer(mut self, observer: impl Into<Option<Observer>>) -> Self {
            self.observer = observer.into();
            self
        }
    };
}
