//! The function `contamination`: finding the items of a benchmark in files of documents.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::builder::StringBuilder;
use fpstore::IdKind;
use fpstore::options::{COUNT, NumberOption};
use fpstore_corpus::contamination::{
    ContaminationCheck, ContaminationRow, ShingleRule, ShingleRules,
};
use fpstore_corpus::options::{MIN_WORDS, SHINGLE, SHORT_SHINGLE};
use fpstore_report::page::ContaminationPage;
use numpy::PyArray1;
use pyo3::prelude::*;

use super::cleaning::teller;
use super::given::{Documents, Readable, of_row};
use super::output::Output;
use crate::answer_columns::IdColumn;
use crate::columns::{F64, RowsBuilder, U64, names_of};
use crate::errors::{Failure, input_error};
use crate::input::arguments::path_or_none;
use crate::input::whole::{Bytes, Whole, wide};
use crate::notebook::Page;
use crate::options::{Limits, checked, count};
use crate::tuple_class::answer;
use crate::work::{Reporter, Shared, run_change, run_shared};

type Columns = (IdColumn, F64, StringBuilder, IdColumn, U64, U64, U64, U64);

/// Finds the items of a benchmark that occur in documents, like the command `fpstore
/// contamination`, and copies the documents without items. No input is changed.
///
/// An item is in a document if one passage of the document contains enough of the item's shingles
/// (runs of words). If one exchanged word in the item would already push its share below the
/// minimum, the passage must contain all shingles.
///
/// Parameters
/// ----------
/// inputs : Documents, path, list of paths, or table
///     The documents.
/// against : Documents, path, list of paths, or table
///     The items. The ids of items in paths are line numbers.
/// output : path, optional
///     Folder of the copies, or a file if there is one input file.
/// shingle, contains : int and float, optional
///     Words of a shingle, and the minimum share of its shingles, for an item of 50 words or more.
/// short_shingle, short_contains : int and float, optional
///     Words of a shingle, and the minimum share of its shingles, for an item of fewer words.
/// min_words : int, optional
///     Items of fewer words are skipped.
/// page : int, default 0
///     Maximum number of matches on an HTML page; 0 for no page.
/// replace : bool, default False
///     Whether existing outputs are replaced.
/// text_field, id_field : str, optional
///     Fields or columns with the texts and ids of the documents, see `Documents`.
/// against_text_field, against_id_field : str, optional
///     Fields or columns with the texts and ids of the items.
#[doc = parameters!(threads memory temp_dir progress)]
///
/// Returns
/// -------
/// fpstore.types.Contamination
///     Memory grows with the number of found items. For a table, `keep` is the mask of the rows
///     without an item.
///
/// Examples
/// --------
/// >>> question = "Which of the two rivers that meet in Mainz is the longer one?"
/// >>> _ = (folder / "items.jsonl").write_text(f'{{"text": "{question}"}}\n')
/// >>> _ = (folder / "all.jsonl").write_text(f'{{"id": "a", "text": "A quiz. {question} Yes."}}\n')
/// >>> answer = fpstore.contamination(folder / "all.jsonl", folder / "items.jsonl")
/// >>> answer.found_items, answer.contaminated, list(answer.found["item"])
/// (1, 1, ['1'])
/// >>> answer.found["start"].tolist(), answer.found["contained"].tolist()
/// ([8], [1.0])
#[pyfunction]
#[pyo3(signature = (
    inputs, against, output=None, *, shingle=None, contains=None, short_shingle=None,
    short_contains=None, min_words=None, page=0, replace=false, text_field=None, id_field=None,
    against_text_field=None, against_id_field=None, threads=None, memory=None, temp_dir=None,
    progress=None
))]
pub(crate) fn contamination<'py>(
    py: Python<'py>,
    inputs: &Bound<'py, PyAny>,
    against: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = path_or_none)] output: Option<PathBuf>,
    shingle: Option<Whole>,
    contains: Option<f64>,
    short_shingle: Option<Whole>,
    short_contains: Option<f64>,
    min_words: Option<Whole>,
    #[pyo3(from_py_with = wide)] page: i128,
    replace: bool,
    text_field: Option<&Bound<'py, PyAny>>,
    id_field: Option<&Bound<'py, PyAny>>,
    against_text_field: Option<&Bound<'py, PyAny>>,
    against_id_field: Option<&Bound<'py, PyAny>>,
    threads: Option<Whole>,
    memory: Option<Bytes>,
    #[pyo3(from_py_with = path_or_none)] temp_dir: Option<PathBuf>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let documents = Documents::of_fields(inputs, text_field, id_field, false)?;
    let has_line_ids = against_id_field.is_none();
    let items = Documents::of_fields(against, against_text_field, against_id_field, has_line_ids)?;
    let (documents, items) = (documents.get(), items.get());
    if documents.is_table() && output.is_some() {
        let message = "output is for files; for a table the result contains the rows";
        return Err(input_error(py, message));
    }
    let usual = ShingleRules::default();
    let number = |option: &NumberOption, given: Option<Whole>, usual: usize| {
        count(py, option, given).map(|number| number.map_or(usual, |number| number as usize))
    };
    let rules = ShingleRules {
        long: ShingleRule {
            shingle: number(&SHINGLE, shingle, usual.long.shingle)?,
            contained: contains.unwrap_or(usual.long.contained),
        },
        short: ShingleRule {
            shingle: number(&SHORT_SHINGLE, short_shingle, usual.short.shingle)?,
            contained: short_contains.unwrap_or(usual.short.contained),
        },
        words_min: number(&MIN_WORDS, min_words, usual.words_min)?,
    };
    let (page, title) = (checked(py, &COUNT, page)? as usize, documents.title());
    let limits = Limits::new(py, threads, memory, temp_dir)?;
    let reporter = Reporter::new(progress)?.phases(2);
    let (shared, faults) = (Arc::new(Shared::default()), Mutex::new(Vec::new()));
    let is_change = output.is_some();
    let given = limits.given(&shared);
    let folder = given.temp_dir.clone().unwrap_or_else(std::env::temp_dir);
    let target = Output::of(py, output, replace, false, &folder)?;
    let output = target.path.clone();
    let mut documents = documents.readable(py, &given)?;
    documents.shown.extend(target.shown());
    let items = items.readable(py, &given)?;
    let work = |shared: &Arc<Shared>| {
        let resources = limits.given(shared);
        let Readable { paths, options, table, .. } = &documents;
        let (item_paths, item_options) = (&items.paths, items.options.clone());
        let tell = teller(&faults);
        let check = ContaminationCheck {
            rules,
            output,
            replace,
            threads: resources.threads,
            observer: resources.observer,
            listener: Some(&tell),
            ..ContaminationCheck::new(item_paths, item_options, paths, options.clone())
        };
        let mut columns = Columns::default();
        (columns.0, columns.3) = (IdColumn::new(IdKind::Text), IdColumn::new(IdKind::Text));
        let mut rows = RowsBuilder::new(names_of::<ContaminationRow<'_>>(), columns);
        let mut shown = ContaminationPage::sample(page);
        let mut is_kept = table.as_ref().map(|table| vec![true; table.row_count() as usize]);
        let account = check.run(|found| -> Result<(), Failure> {
            if let (Some(is_kept), Some(table)) = (&mut is_kept, table) {
                is_kept[table.row_of(found.record) as usize] = false;
            }
            if page > 0 {
                shown.take(found.held());
            }
            let row = found.row;
            // Documents of a table are in no file.
            let file = match table {
                Some(_) => String::new(),
                None => documents.shown(row.file.to_owned()),
            };
            rows.keep((
                Some(row.item),
                row.contained,
                &file,
                Some(row.id),
                row.start,
                row.end,
                row.byte_start,
                row.byte_end,
            ))
        })?;
        let html = match page {
            0 => None,
            _ => Some(documents.shown(account.page(shown, item_paths, &items.options, &title)?)),
        };
        Ok((account, rows.finish()?, html, is_kept))
    };
    let work = |shared: &Arc<Shared>| {
        work(shared).map_err(|failure| of_row(of_row(failure, &documents), &items))
    };
    let (account, found, html, is_kept) = match is_change {
        true => run_change(py, &reporter, &shared, work)?,
        false => run_shared(py, &reporter, &shared, work)?,
    };
    let mut faults = faults.into_inner().unwrap_or_else(PoisonError::into_inner);
    faults.extend(account.items_read.skipped.iter().cloned());
    let faults: Vec<String> =
        faults.into_iter().map(|fault| items.shown(documents.shown(fault))).collect();
    target.publish(py)?;
    answer!(
        py,
        "Contamination",
        account.item_count,
        account.short_count,
        account.unjudged_count,
        account.found_item_count,
        account.whole_item_count,
        account.document_count,
        account.contaminated_count,
        account.documents_read.skipped_count,
        account.file_count,
        account.uncopied_count,
        faults,
        found,
        html.map(Page),
        is_kept.map(|is_kept| PyArray1::from_vec(py, is_kept)),
    )
}
