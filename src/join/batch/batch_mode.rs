//! The method by which many queries are answered.

fpstore_base::choices! {
    /// The method by which many queries are answered.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum BatchMode {
        /// Chooses the method for each segment separately.
        #[default]
        Auto = "auto": "Whichever is expected to be faster",
        Probe = "probe": "By probes, in the order of each table",
        /// A table that cannot be walked is probed.
        Walk = "walk": "By one forward walk of each table",
        Pass = "pass": "By passes over all stored fingerprints",
    }
}
