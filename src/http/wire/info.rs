//! What a server says of itself.

use serde::{Deserialize, Serialize};

use super::limits::ServeLimits;

/// The answer of `/v1/info`.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ServerInfo<S = ServedStore> {
    /// The version of the server's program.
    pub version: String,
    /// The oldest and the newest format version that the program reads.
    #[serde(default)]
    pub format_versions: [u16; 2],
    /// The store that is served.
    pub store: S,
    /// The directories of the stores, where several are served as one; then `store` has the segments of
    /// all, the sum of their generations, an id made of theirs, and the path of the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stores: Vec<String>,
    /// Whether the server makes fingerprints of texts.
    pub takes_texts: bool,
    /// Whether the server adds and deletes.
    pub writable: bool,
    /// Which requests need a token.
    pub needs_token: NeedsToken,
    /// What an id stands for.
    pub templates: PageTemplates,
    /// The limits of the server.
    pub limits: ServeLimits,
}

/// The state of the store that is shown: what a client reads of a [`StoreInfo`](crate::info::StoreInfo).
#[derive(Clone, Debug, Deserialize)]
pub struct ServedStore {
    /// The directory, as the server names it.
    pub path: String,
    /// The id of the store, in hex.
    pub store_id: String,
    /// The generation.
    pub generation: u64,
    /// The digest of the manifest, in hex, which names the state.
    pub manifest_digest: String,
    /// Live fingerprints.
    pub fingerprints: u64,
    /// Live ids.
    pub ids: u64,
    /// Bytes of all segments.
    pub file_len: u64,
    /// The width of the fingerprints in bits.
    #[serde(default = "full_width")]
    pub bits: u32,
    /// The distance that the tables are tuned for.
    pub tuned_k: u32,
    /// Bytes of the sketch of each id; 0 where there are none.
    pub sketch_len: u8,
    /// How the fingerprints were made, if the store is not empty.
    pub recipe: Option<String>,
}

/// What a server has that does not tell.
fn full_width() -> u32 {
    fpstore_base::Width::FULL.bits()
}

/// Which requests need a token.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct NeedsToken {
    /// Queries.
    pub to_read: bool,
    /// Additions and deletions.
    pub to_write: bool,
}

/// How the page for people shows what an id stands for. `{id}` stands for the id.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct PageTemplates {
    /// Where the page leads from an id.
    pub link: Option<String>,
    /// The picture of an id.
    pub image: Option<String>,
}
