//! The promises of the program: commands, outputs, statuses.

mod basics;
mod commit;
mod confirm;
mod contamination;
mod dedup_docs;
mod documents;
mod fields;
mod guesses;
mod join;
mod join_lists;
mod judge;
mod judged_clusters;
mod labels;
mod life;
mod man;
mod options;
mod output;
mod page;
#[cfg(feature = "images")]
mod pictures;
mod places;
mod plan;
mod signal;
mod stats;
mod stores;
mod stream;
#[cfg(feature = "parquet")]
mod table;
mod text;
mod versions;
mod width;
mod words;
