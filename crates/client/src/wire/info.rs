//! What a server says of itself.

use fpstore_base::IdKind;
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

/// The state of the store that is shown: what a client reads of a [`StoreInfo`](fpstore::info::StoreInfo).
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
    /// The segments, oldest first; none of a server that does not tell.
    #[serde(default)]
    pub segments: Vec<ServedSegment>,
}

/// A segment of the store that is served: what a client reads of a
/// [`SegmentInfo`](fpstore::info::SegmentInfo).
#[derive(Clone, Debug, Deserialize)]
pub struct ServedSegment {
    /// The file, as the server names it.
    pub path: String,
    /// Its number.
    pub number: u64,
    /// Its label; empty without one.
    pub label: String,
    /// The format version of the file.
    pub format_version: u16,
    /// Bytes of the file.
    pub file_len: u64,
    /// Distinct fingerprints in the file, deleted ones included.
    pub fingerprints: u64,
    /// Ids in the file, deleted ones included.
    pub ids: u64,
    /// Fingerprints that are deleted, with all their ids.
    pub deleted_fingerprints: u64,
    /// Ids that are deleted, those of deleted fingerprints included.
    pub deleted_ids: u64,
    /// When the file was written, in seconds since 1970, if the server knows.
    pub written: Option<u64>,
    /// The kind of the ids.
    pub id_kind: IdKind,
    /// Bytes of the sketch of each id; 0 without sketches.
    pub sketch_len: u32,
    /// The distance for which the tables are tuned.
    pub tuned_k: u32,
    /// The recipe of the fingerprints.
    pub recipe: String,
    /// The tables in order.
    pub tables: Vec<ServedTable>,
}

/// A table of a segment that is served: what a client reads of a [`TableInfo`](fpstore::info::TableInfo).
#[derive(Clone, Debug, Deserialize)]
pub struct ServedTable {
    /// The mask, in hex.
    pub mask: String,
    /// The bits of the mask.
    pub prefix_bits: u32,
    /// The leading bits that name a block.
    pub block_bits: u32,
    /// The low bits of each value that are stored in the tails.
    pub tail_bits: u32,
    /// The bits of the syndrome that stands for the bits outside the mask; 0 without one.
    pub syndrome_bits: u32,
    /// Bits for each fingerprint; `None` without fingerprints.
    pub bits_per_fingerprint: Option<f64>,
}

/// Whether requests should come to a server: the answer of `/readyz`.
#[derive(Clone, Debug, Deserialize)]
pub struct ReadyAnswer {
    /// Whether they should.
    pub ready: bool,
    /// The generation of the store that is shown now.
    pub generation: u64,
    /// Why they should not.
    #[serde(default)]
    pub error: Option<NotReady>,
}

/// The answer to a wish for the newest state.
#[derive(Clone, Debug, Deserialize)]
pub struct RefreshAnswer {
    /// Whether it is another one.
    pub changed: bool,
    /// The generation of the store that is shown now.
    pub generation: u64,
}

/// Why requests should not come to a server.
#[derive(Clone, Debug, Deserialize)]
pub struct NotReady {
    /// Stable, for programs, such as `starting` or `draining`.
    pub code: String,
    /// For people.
    pub message: String,
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
