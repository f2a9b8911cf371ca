//! The bodies of answers about a server: its settings, its store and its health.

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
    /// The directories of the stores that are served together; empty for a single store. For
    /// several stores, `store` contains all their segments, the sum of their generations, an id
    /// derived from their ids, and the path of the first store.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stores: Vec<String>,
    /// Whether the server computes fingerprints of texts.
    pub takes_texts: bool,
    /// Whether clients may add and delete.
    pub writable: bool,
    /// Which requests need a token.
    pub needs_token: NeedsToken,
    /// The links and pictures of ids on the HTML page of the server.
    pub templates: PageTemplates,
    /// The limits of the server.
    pub limits: ServeLimits,
}

/// The current snapshot of the store: the fields of a [`StoreInfo`](fpstore::info::StoreInfo) that
/// a client parses.
#[derive(Clone, Debug, Deserialize)]
pub struct ServedStore {
    /// The directory, as given to the server.
    pub path: String,
    /// The id of the store, in hex.
    pub store_id: String,
    /// The generation of the snapshot.
    pub generation: u64,
    /// The digest of the manifest, in hex, which identifies the snapshot.
    pub manifest_digest: String,
    /// The number of stored fingerprints, deleted ones excluded.
    pub fingerprints: u64,
    /// The number of stored ids, deleted ones excluded.
    pub ids: u64,
    /// The bytes of all segment files.
    pub file_len: u64,
    /// The width of the fingerprints in bits.
    #[serde(default = "full_width")]
    pub bits: u32,
    /// The distance for which the tables are tuned.
    pub tuned_k: u32,
    /// The length in bytes of the sketch of each id; 0 without sketches.
    pub sketch_len: u8,
    /// The recipe of the fingerprints; `None` for an empty store.
    pub recipe: Option<String>,
    /// The segments, oldest first; empty if the server omits them.
    #[serde(default)]
    pub segments: Vec<ServedSegment>,
}

/// A segment of the served store: the fields of a [`SegmentInfo`](fpstore::info::SegmentInfo) that
/// a client parses.
#[derive(Clone, Debug, Deserialize)]
pub struct ServedSegment {
    /// The path of the file on the server.
    pub path: String,
    /// The number of the segment.
    pub number: u64,
    /// The label of the segment; empty without a label.
    pub label: String,
    /// The format version of the file.
    pub format_version: u16,
    /// The length of the file in bytes.
    pub file_len: u64,
    /// The number of distinct fingerprints in the file, deleted ones included.
    pub fingerprints: u64,
    /// The number of ids in the file, deleted ones included.
    pub ids: u64,
    /// The number of deleted fingerprints: all their ids are deleted.
    pub deleted_fingerprints: u64,
    /// The number of deleted ids, the ids of deleted fingerprints included.
    pub deleted_ids: u64,
    /// The time when the segment was written, in seconds since 1970, if the server knows it.
    pub written: Option<u64>,
    /// The kind of the ids.
    pub id_kind: IdKind,
    /// The length in bytes of the sketch of each id; 0 without sketches.
    pub sketch_len: u32,
    /// The distance for which the tables are tuned.
    pub tuned_k: u32,
    /// The recipe of the fingerprints.
    pub recipe: String,
    /// The tables, in the order of the file.
    pub tables: Vec<ServedTable>,
}

/// A table of a served segment: the fields of a [`TableInfo`](fpstore::info::TableInfo) that a
/// client parses.
#[derive(Clone, Debug, Deserialize)]
pub struct ServedTable {
    /// The mask of the table, in hex.
    pub mask: String,
    /// The number of bits in the mask.
    pub prefix_bits: u32,
    /// The number of leading bits of a value that select its block.
    pub block_bits: u32,
    /// The number of low bits of each value that are stored in the tails.
    pub tail_bits: u32,
    /// The length in bits of the syndrome of the bits outside the mask; 0 without a syndrome.
    pub syndrome_bits: u32,
    /// The bits of the table for each fingerprint; `None` without fingerprints.
    pub bits_per_fingerprint: Option<f64>,
}

/// The answer of `/readyz`.
#[derive(Clone, Debug, Deserialize)]
pub struct ReadyAnswer {
    /// Whether the server should receive requests.
    pub ready: bool,
    /// The generation of the current snapshot.
    pub generation: u64,
    /// The reason, if the server is not ready.
    #[serde(default)]
    pub error: Option<NotReady>,
}

/// The answer to a refresh.
#[derive(Clone, Debug, Deserialize)]
pub struct RefreshAnswer {
    /// Whether the snapshot changed.
    pub changed: bool,
    /// The generation of the current snapshot.
    pub generation: u64,
}

/// The reason why a server should not receive requests.
#[derive(Clone, Debug, Deserialize)]
pub struct NotReady {
    /// A stable code for programs, such as `starting` or `draining`.
    pub code: String,
    /// A sentence for people.
    pub message: String,
}

/// The width of fingerprints, if the server omits it.
fn full_width() -> u32 {
    fpstore_base::Width::FULL.bits()
}

/// The kinds of requests that need a token.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct NeedsToken {
    /// Whether queries need a token.
    pub to_read: bool,
    /// Whether additions and deletions need a token.
    pub to_write: bool,
}

/// How the HTML page presents ids. `{id}` is a placeholder for the id.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct PageTemplates {
    /// The link of an id.
    pub link: Option<String>,
    /// The picture of an id.
    pub image: Option<String>,
}
