//! The digests of a text.

/// Digests of a text, of 64 bits each. Texts with different digests differ; texts with equal
/// digests and equal fingerprints may be treated as equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextDigests {
    /// The digest of its bytes in UTF-8.
    pub bytes: u64,
    /// The digest of its features in their order: texts with the same tokens have the same digest.
    pub features: u64,
}
