//! The digests of a text.

/// Digests of a text, of 64 bits each. Texts with different digests differ; texts with equal
/// digests and equal fingerprints may be treated as equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextDigests {
    /// The digest of the bytes of the text in UTF-8.
    pub bytes: u64,
    /// The digest of the features in the order of the text: equal for texts with the same tokens.
    pub features: u64,
}
