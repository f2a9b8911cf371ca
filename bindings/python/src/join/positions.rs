//! The function `pairs`: pairs of near rows in one table or across two, as row positions.

use std::path::PathBuf;

use arrow_array::builder::Float64Builder;
use fpstore::join::{JoinOptions, near_pairs as near_values, near_pairs_across};
use fpstore::{Error, Fingerprint, IdKind, IdRef};
use pyo3::prelude::*;

use crate::answer_columns::IdColumn;
use crate::columns::{Distances, RowsBuilder, U32};
use crate::errors::{Failure, input_error};
use crate::input::arguments::path_or_none;
use crate::input::fingerprints::many_or_null;
use crate::input::ids::{self, Ids};
use crate::input::texts::TextInput;
use crate::input::whole::{Bytes, Whole};
use crate::options::{Limits, distance_of, tuned_distance};
use crate::recipes::{common, recipe_of, warn_of_unknown_recipe};
use crate::rows::Rows;
use crate::text::{Looked, Recipe, confirmed, looked_at_all, recipe_object};
use crate::tuple_class::FRAMES;
use crate::work::{Reporter, run};

/// The default minimum similarity of the texts of near rows, if no distance is given.
const SIMILARITY: f64 = 0.8;

/// One of the two arguments of `pairs`: a table or column of texts or fingerprints.
struct Side<'py> {
    column: Bound<'py, PyAny>,
    ids: Option<Ids>,
    holds_texts: bool,
}

impl<'py> Side<'py> {
    fn of(
        given: &Bound<'py, PyAny>,
        text_field: Option<&Bound<'py, PyAny>>,
        id_field: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Self> {
        let frames = given.py().import(FRAMES)?;
        let side = frames.call_method1("side_of", (given, text_field, id_field))?;
        let (column, ids, holds_texts): (_, Option<Bound<'_, PyAny>>, _) = side.extract()?;
        let ids = ids.map(|ids| ids::many(&ids)).transpose()?;
        Ok(Side { column, ids, holds_texts })
    }

    fn id_column(&self) -> IdColumn {
        IdColumn::new(match self.ids.as_ref().and_then(|ids| ids.iter().next()) {
            Some(IdRef::U64(_)) => IdKind::U64,
            Some(IdRef::Text(_)) => IdKind::Text,
            None => IdKind::None,
        })
    }
}

/// Pairs of near rows in a table, or across two tables, as positions. A row is paired with every
/// near row, also with equal rows. With two tables, confirmed pairs of texts within one table are
/// found, too, and dropped, which takes time.
///
/// Parameters
/// ----------
/// first, second : list of texts, array, Series, Column, or table
///     Texts or fingerprints. Without `second`, pairs within `first` are found.
/// confirm : float, optional
///     Minimum Jaccard similarity of the features of texts. By default 0.8, unless `k` is given;
///     all such pairs are found, or with `k` only pairs within `k` bits. With `k` alone, and for
///     fingerprints, the fingerprints decide.
/// k : int, optional
///     Maximum distance of the fingerprints in bits.
/// recipe : Recipe or str, optional
///     The recipe that makes the fingerprints of texts.
/// text_field, id_field : str, optional
///     Names of the columns; by default `text`, and `id` if the table has such a column.
#[doc = parameters!(max_pairs threads memory temp_dir progress)]
///
/// Returns
/// -------
/// Rows
///     Rows of `first` and `second` (the positions), `distance`, `similarity` of confirmed texts,
///     and `first_id` and `second_id` of tables with ids, sorted by position.
///
/// Examples
/// --------
/// >>> texts = ["one two three four five", "something else"]
/// >>> fpstore.pairs(texts, ["else", "one two three four five six"], confirm=0.6).to_pylist()
/// [(0, 1, 6, 0.8)]
/// >>> fpstore.pairs([0, 7, 255, 7], k=3).to_pylist()
/// [(0, 1, 3), (0, 3, 3), (1, 3, 0)]
#[pyfunction]
#[pyo3(signature = (
    first, second=None, *, confirm=None, k=None, recipe=None, text_field=None, id_field=None,
    max_pairs=None, threads=None, memory=None, temp_dir=None, progress=None
))]
pub(crate) fn pairs<'py>(
    py: Python<'py>,
    first: &Bound<'py, PyAny>,
    second: Option<&Bound<'py, PyAny>>,
    confirm: Option<f64>,
    k: Option<Whole>,
    recipe: Option<&Bound<'py, PyAny>>,
    text_field: Option<&Bound<'py, PyAny>>,
    id_field: Option<&Bound<'py, PyAny>>,
    max_pairs: Option<Whole>,
    threads: Option<Whole>,
    memory: Option<Bytes>,
    #[pyo3(from_py_with = path_or_none)] temp_dir: Option<PathBuf>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Rows> {
    let sides: Vec<Side<'_>> = std::iter::once(first)
        .chain(second)
        .map(|given| Side::of(given, text_field, id_field))
        .collect::<PyResult<_>>()?;
    let limits = Limits::new(py, threads, memory, temp_dir)?.max_pairs(py, max_pairs)?;
    let reporter = Reporter::new(progress)?.phases(3);
    let most = max_pairs.map(u64::try_from).transpose()?;
    if sides.iter().any(|side| side.holds_texts != sides[0].holds_texts) {
        return Err(input_error(py, "texts cannot be paired with fingerprints"));
    }
    let starts: Vec<usize>;
    let found;
    if sides[0].holds_texts {
        let recipe = recipe_object(py, recipe)?;
        let recipe: &Recipe = recipe.get();
        recipe.check_takes_texts(py)?;
        let confirm = confirm.or_else(|| k.is_none().then_some(SIMILARITY));
        let k = k.map_or(Ok(u64::BITS), |k| distance_of(py, k))?;
        let texts = sides.iter().map(|side| TextInput::of(&side.column));
        let texts = texts.collect::<PyResult<Vec<_>>>()?;
        starts = starts_of(py, texts.iter().map(TextInput::len))?;
        let is_wanted = across(&starts);
        found = run(py, &reporter, |shared| {
            let mut looked: Vec<Looked> = Vec::new();
            for texts in &texts {
                looked.extend(looked_at_all(recipe, texts, &limits, shared)?);
            }
            let options = limits.join(k, shared);
            match confirm {
                Some(confirm) => confirmed(&looked, confirm, k, options, is_wanted).map(|found| {
                    let with = |(one, other, distance, similarity)| {
                        (one, other, distance, Some(similarity))
                    };
                    found.into_iter().map(with).collect()
                }),
                None => {
                    let values: Vec<_> = looked.iter().map(|it| Some(it.as_ref()?.0)).collect();
                    by_value(&values, &starts, &options, most)
                }
            }
        })?;
    } else {
        let alone = [("confirm", confirm.is_some()), ("recipe", recipe.is_some())];
        if let Some((name, _)) = alone.iter().find(|(_, is_given)| *is_given) {
            let message = format!("{name} is for texts; fingerprints are paired within k bits");
            return Err(input_error(py, message));
        }
        let mut recipe = None;
        let (mut values, mut lens) = (Vec::new(), Vec::new());
        for side in &sides {
            recipe = common(recipe, recipe_of(&side.column)?)?;
            let rows = many_or_null(&side.column)?;
            values.extend((0..rows.len()).map(|row| rows.get(row)));
            lens.push(rows.len());
        }
        if k.is_none() && recipe.is_none() {
            warn_of_unknown_recipe(&sides[0].column)?;
        }
        let k = tuned_distance(py, k, recipe.as_ref())?;
        starts = starts_of(py, lens.into_iter())?;
        found =
            run(py, &reporter, |shared| by_value(&values, &starts, &limits.join(k, shared), most))?;
    }
    let lens: Vec<usize> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    for (side, &len) in sides.iter().zip(&lens) {
        if let Some(ids) = side.ids.as_ref().filter(|ids| ids.len() != len) {
            let message = format!("{len} rows and {} ids, expected one id for each", ids.len());
            return Err(input_error(py, message));
        }
    }
    let has_similarity = found.iter().any(|pair| pair.3.is_some()) || confirm.is_some();
    let (one, other) = (&sides[0], sides.last().unwrap_or(&sides[0]));
    let columns = (
        U32::default(),
        U32::default(),
        Distances::default(),
        has_similarity.then(Float64Builder::new),
        one.id_column(),
        other.id_column(),
    );
    let names = ["first", "second", "distance", "similarity", "first_id", "second_id"];
    let mut rows = RowsBuilder::new(names, columns);
    let second_start = if sides.len() == 2 { starts[1] as u32 } else { 0 };
    for (first, second, distance, similarity) in found {
        let second = second - second_start;
        let first_id = one.ids.as_ref().map(|ids| ids.get(first as usize));
        let second_id = other.ids.as_ref().map(|ids| ids.get(second as usize));
        rows.keep((first, second, distance, similarity, first_id, second_id))?;
    }
    Ok(rows.finish()?)
}

/// The position of the first row of each table among all rows, and the number of all rows.
fn starts_of(py: Python<'_>, lens: impl Iterator<Item = usize>) -> PyResult<Vec<usize>> {
    let mut starts = vec![0];
    for len in lens {
        starts.push(starts[starts.len() - 1] + len);
    }
    match starts[starts.len() - 1] {
        count if count >= u32::MAX as usize => {
            Err(input_error(py, format!("{count} rows are too many, one call takes 2**32 - 2")))
        }
        _ => Ok(starts),
    }
}

/// A test whether two row numbers, the smaller first, belong to different tables; always true for a
/// single table.
fn across(starts: &[usize]) -> impl Fn(u32, u32) -> bool + use<> {
    let second = if starts.len() == 3 { Some(starts[1] as u32) } else { None };
    move |one, other| second.is_none_or(|start| one < start && other >= start)
}

type Found = (u32, u32, u32, Option<f64>);

/// The pairs of rows whose fingerprints are near, sorted by row numbers.
fn by_value(
    values: &[Option<Fingerprint>],
    starts: &[usize],
    options: &JoinOptions,
    most: Option<u64>,
) -> Result<Vec<Found>, Failure> {
    // For each table, its fingerprints with their row numbers, sorted.
    let tables: Vec<Vec<(Fingerprint, u32)>> = starts
        .windows(2)
        .map(|range| {
            let rows = (range[0] as u32..).zip(&values[range[0]..range[1]]);
            let mut rows: Vec<_> = rows.filter_map(|(row, it)| Some(((*it)?, row))).collect();
            rows.sort_unstable();
            rows
        })
        .collect();
    let distinct = |table: &[(Fingerprint, u32)]| -> Vec<Fingerprint> {
        table.chunk_by(|a, b| a.0 == b.0).map(|same| same[0].0).collect()
    };
    let mut found: Vec<Found> = Vec::new();
    let mut add = |pair: Found| {
        found.push(pair);
        match most {
            Some(most) if found.len() as u64 > most => Err(Error::TooManyPairs { most }),
            _ => Ok(()),
        }
    };
    let rows_of = |table: usize, value: Fingerprint| {
        let table = &tables[table];
        let rest = &table[table.partition_point(|row| row.0 < value)..];
        rest.iter().take_while(move |row| row.0 == value).map(|row| row.1)
    };
    let first = distinct(&tables[0]);
    let mut pairs = Vec::new();
    let mut take = |some: &[fpstore::join::Pair]| -> Result<(), Failure> {
        pairs.extend_from_slice(some);
        Ok(())
    };
    match tables.get(1) {
        Some(second) => {
            let second = distinct(second);
            near_pairs_across(first.as_slice(), second.as_slice(), options, &mut take)?;
        }
        None => near_values(first.as_slice(), options, &mut take)?,
    }
    let last = tables.len() - 1;
    for pair in pairs {
        for one in rows_of(0, pair.first) {
            for other in rows_of(last, pair.second) {
                let ordered =
                    if last == 0 { (one.min(other), one.max(other)) } else { (one, other) };
                add((ordered.0, ordered.1, pair.distance(), None))?;
            }
        }
    }
    if last == 0 {
        for same in tables[0].chunk_by(|a, b| a.0 == b.0) {
            for (at, one) in same.iter().enumerate() {
                same[at + 1..].iter().try_for_each(|other| add((one.1, other.1, 0, None)))?;
            }
        }
    }
    found.sort_unstable_by_key(|&(first, second, ..)| (first, second));
    Ok(found)
}
