//! The promises of fpstore to its users, one file each. All files form one test program, which
//! links the dependencies once.

mod common;

mod access;
mod append;
mod architecture;
mod build;
mod cli;
mod cli_clean;
mod cli_commit;
mod cli_confirm;
mod cli_documents;
mod cli_fields;
mod cli_join;
mod cli_labels;
mod cli_life;
mod cli_man;
mod cli_options;
mod cli_output;
mod cli_page;
mod cli_signal;
mod cli_stream;
#[cfg(feature = "parquet")]
mod cli_table;
mod cli_text;
mod cluster;
mod commit;
mod compactor;
mod damage;
mod doctor;
mod errors;
mod exact;
mod format_spec;
mod golden;
mod join;
mod life;
mod live;
mod many_segments;
mod nearest;
mod plan;
mod planner;
mod real_data;
mod refresh;
mod repair;
mod replace;
mod resources;
mod searcher;
mod segments;
#[cfg(all(unix, feature = "serve"))]
mod serve;
#[cfg(all(unix, feature = "serve"))]
mod serve_connections;
#[cfg(all(unix, feature = "serve"))]
mod serve_life;
#[cfg(all(unix, feature = "serve"))]
mod serve_remote;
#[cfg(all(unix, feature = "serve"))]
mod serve_writes;
mod shards;
mod shared_directory;
mod sketches;
mod stats;
