//! The Rust part of the Python package `fpstore`.
//!
//! - `input` converts arguments; `rows`, `columns`, `answer_columns`, `checked` and `stream` make
//!   answers.
//! - `store`, `build`, `writer`, `documents`, `join`, `text` and `tasks` contain the classes and
//!   functions, `http` the client and the server. `adding` and `lent` are shared by builders and
//!   writers.
//! - `work` runs long work without the interpreter, `chunks` divides it among threads, and `errors`
//!   converts errors to exceptions.
//! - `capsule` exchanges Arrow data; `foreign` and `contents` check data of other libraries.
//!
//! Only `capsule`, `foreign`, `later` and `tuple_class` contain unsafe code. The types for type
//! checkers are in `fpstore/_fpstore.pyi`.

#![deny(unsafe_code)]
#![expect(clippy::too_many_arguments, reason = "keywords in Python")]

#[macro_use]
mod parameters;

mod adding;
mod answer_columns;
mod backup;
mod build;
mod capsule;
mod checked;
mod chunks;
mod columns;
mod contents;
mod documents;
mod errors;
mod foreign;
mod foreign_fault;
mod http;
mod id_rule;
mod input;
mod join;
mod later;
mod lent;
mod notebook;
mod options;
mod pictures;
mod plan;
mod recipes;
mod rows;
mod store;
mod stream;
mod tasks;
mod text;
mod tuple_class;
mod values;
mod work;
mod writer;

use pyo3::prelude::*;

#[pymodule]
mod _fpstore {
    use super::*;

    #[pymodule_export]
    use super::{
        backup::{backup, log},
        build::{Builder, build},
        documents::{Addition, Documents, clean, contamination},
        http::{Client, Server, serve},
        join::{components, dedup, group, near_pairs, positions::pairs},
        notebook::{_page_of, Page},
        pictures::images,
        plan::plan,
        rows::{_column_of, _rows_of, Column, Rows},
        store::{_reopen, StatisticsView, Store, info::verify, open},
        stream::RowStream,
        tasks::{
            _check_merits, _keep_order, _near_rule, _plan_of, _receipt_of_file, _receipt_of_text,
            JoinPlan, commit, describe_documents, forest, group_documents, has_run, join_group,
            join_share, query_segment, scatter, write_segment,
        },
        text::{_df_table_of, _recipe_of, DfTable, Evaluation, Recipe, evaluate},
        values::{_fail_after, _panic, from_bits, from_hex, stats, to_hex},
        writer::{Writer, export},
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::stream::note_main_thread();
        let formats = fpstore::FORMAT_VERSIONS;
        module.add("FORMAT_VERSIONS", (*formats.start(), *formats.end()))?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
