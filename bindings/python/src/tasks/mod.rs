//! Tasks that any engine can spread over processes: functions from values and Arrow data to Arrow
//! data or receipts, without state except files. `fpstore/tasks.py` exports them as
//! `fpstore.tasks`.
//!
//! By default a task uses one thread and [`TASK_MEMORY`](crate::options::TASK_MEMORY) bytes,
//! because engines run one task for each core.

mod documents;
mod groups;
mod links;
mod plan;
mod receipt;
mod segments;
mod store;

pub(crate) use documents::{
    _check_merits, _keep_order, _near_rule, describe_documents, group_documents,
};
pub(crate) use groups::{join_group, scatter};
pub(crate) use links::forest;
pub(crate) use plan::{_plan_of, JoinPlan, join_share};
pub(crate) use receipt::{_receipt_of_file, _receipt_of_text};
pub(crate) use segments::{commit, write_segment};
pub(crate) use store::{has_run, query_segment};
