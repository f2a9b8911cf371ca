//! The error type for invalid data from other libraries.

use arrow_schema::ArrowError;

/// An error in data of another library, with its column and row.
#[derive(Debug)]
pub(crate) struct Fault {
    /// The names of the nested columns, outermost first.
    columns: Vec<String>,
    /// The row number, counted from 0.
    row: Option<usize>,
    reason: String,
}

impl Fault {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Fault { columns: Vec::new(), row: None, reason: reason.into() }
    }

    pub(crate) fn of_row(row: usize, reason: impl Into<String>) -> Self {
        Fault { row: Some(row), ..Fault::new(reason) }
    }

    /// Adds the name of the column to the fault.
    pub(crate) fn within(mut self, column: &str) -> Self {
        self.columns.insert(0, column.to_owned());
        self
    }

    /// Adds `rows`, the number of rows in earlier arrays, to the row number.
    pub(crate) fn after(mut self, rows: usize) -> Self {
        self.row = self.row.map(|row| row.saturating_add(rows));
        self
    }

    /// Converts a fault in the values of a dictionary, whose row number is an entry of the
    /// dictionary and not a row of the column.
    pub(crate) fn of_dictionary(self) -> Self {
        let place = self.row.map(|row| format!("value number {row} of the dictionary"));
        let place = place.unwrap_or_else(|| "the dictionary".into());
        Fault { columns: self.columns, row: None, reason: format!("{place}: {}", self.reason) }
    }

    /// The message, which begins with the noun of the data, such as `texts`.
    pub(crate) fn message(&self, what: &str) -> String {
        let column = self.columns.join(".");
        let column = if column.is_empty() { column } else { format!(", column '{column}'") };
        let row = self.row.map(|row| format!(", row number {row}")).unwrap_or_default();
        format!("{what}{column}{row}: {}", self.reason)
    }
}

impl From<ArrowError> for Fault {
    fn from(error: ArrowError) -> Self {
        let error = error.to_string();
        if error.contains("datatype \"Null\"") {
            // Some libraries pass buffers for columns of type Null, which the interface forbids.
            return Fault::new(
                "a column of type Null has no values; give it a type, such as UInt64",
            );
        }
        Fault::new(format!("cannot read the Arrow data: {error}"))
    }
}
