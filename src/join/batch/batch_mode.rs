//! The method by which many queries are answered.

/// The method by which many queries are answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum BatchMode {
    /// By walks, by probes or by passes, whichever is expected to be faster for each segment.
    #[default]
    Auto,
    /// By probes, in the order of each table.
    Probe,
    /// By one forward walk of each table, and by probes where a table cannot be walked.
    Walk,
    /// By passes over all stored fingerprints.
    Pass,
}

fpstore_base::choices!(BatchMode {
    Auto = "auto": "Whichever is expected to be faster",
    Probe = "probe": "By probes, in the order of each table",
    Walk = "walk": "By one forward walk of each table",
    Pass = "pass": "By passes over all stored fingerprints",
});
