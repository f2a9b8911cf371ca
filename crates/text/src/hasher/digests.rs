//! Digests of a text.

/// Digests of a text, of 64 bits each. Texts with other digests differ; texts with equal digests and
/// equal fingerprints may be taken as equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextDigests {
    /// Of its bytes in UTF-8.
    pub bytes: u64,
    /// Of its features in their order: texts that a recipe brings to the same tokens have the same.
    pub features: u64,
}
