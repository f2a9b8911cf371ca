//! The function `forest`: links of the connected components of pairs, so that a task sends fewer
//! rows than its pairs.

use arrow_array::{Array, ArrayRef};
use fpstore::Fingerprint;
use fpstore::join::{Components, Pair};
use pyo3::prelude::*;

use crate::capsule::arrays_of;
use crate::columns::{RowsBuilder, U64};
use crate::errors::{Failure, input_error};
use crate::input::column_named;
use crate::input::fingerprints::extend_by_arrow;
use crate::rows::{Rows, array};
use crate::stream::RowStream;
use crate::work::{Reporter, run};

/// Links that connect the same components as the given pairs. Each task makes a forest of its
/// pairs; the forest of all these forests has the components of all pairs. A group of n near
/// documents then takes n - 1 links instead of n * (n - 1) / 2 pairs. Takes about 30 bytes of
/// memory for each fingerprint in a pair.
///
/// Parameters
/// ----------
/// pairs : Rows, RowStream, Arrow table, or iterator over these
///     Rows with the columns `first` and `second`.
///
/// Returns
/// -------
/// Rows
///     Sorted links: one for each fingerprint that is not the smallest of its component, with the
///     smallest fingerprint as `first` and this fingerprint as `second`.
///
/// Examples
/// --------
/// >>> of_task = fpstore.tasks.forest(fpstore.near_pairs([7, 15, 31], k=1))
/// >>> other = fpstore.near_pairs([3, 7], k=1)
/// >>> fpstore.tasks.forest(iter([of_task, other])).to_pylist()
/// [(3, 7), (3, 15), (3, 31)]
#[pyfunction]
pub(crate) fn forest(py: Python<'_>, pairs: &Bound<'_, PyAny>) -> PyResult<Rows> {
    let mut components = Components::default();
    add_all(pairs, &mut components)?;
    run(py, &Reporter::default(), move |_| {
        let columns = (U64::default(), U64::default());
        let links = components.finish();
        let rows = links.iter().map(|link| (link.first.value(), link.second.value()));
        RowsBuilder::of(["first", "second"], columns, rows)
    })
}

fn add_all(pairs: &Bound<'_, PyAny>, components: &mut Components) -> PyResult<()> {
    let py = pairs.py();
    // Not read as an Arrow stream, so that the stream's errors keep their exception classes.
    if let Ok(stream) = pairs.cast::<RowStream>() {
        while let Some(rows) = stream.get().__next__(py)? {
            for batch in rows.into_batches() {
                add(py, &(array(arrow_array::StructArray::from(batch))), components)?;
            }
        }
        return Ok(());
    }
    if let Some(arrays) = arrays_of(pairs, "pairs")? {
        for table in arrays {
            add(py, &table?, components)?;
        }
        return Ok(());
    }
    for part in pairs.try_iter()? {
        add_all(&part?, components)?;
    }
    Ok(())
}

fn add(py: Python<'_>, table: &ArrayRef, components: &mut Components) -> PyResult<()> {
    let column = |name: &str| -> PyResult<Vec<Fingerprint>> {
        let Some(found) = column_named(py, table, name)? else {
            let message = format!("there is no '{name}': pairs need the columns first and second");
            return Err(input_error(py, message));
        };
        let nulls = found.logical_null_count();
        if nulls > 0 {
            let message = format!("{nulls} of {} values of '{name}' are null", found.len());
            return Err(input_error(py, message));
        }
        let mut values = Vec::with_capacity(found.len());
        extend_by_arrow(py, found, &mut values)?;
        Ok(values)
    };
    let (first, second) = (column("first")?, column("second")?);
    let pairs: Vec<Pair> =
        first.into_iter().zip(second).map(|(first, second)| Pair { first, second }).collect();
    Ok(components.add(&pairs).map_err(Failure::from)?)
}
