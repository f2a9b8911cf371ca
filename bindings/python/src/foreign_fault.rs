//! What is wrong with data of another library, and in which column and row.

use arrow_schema::ArrowError;

/// What is wrong with data of another library, and where.
#[derive(Debug)]
pub(crate) struct Fault {
    /// The names of the columns that lead to the place.
    columns: Vec<String>,
    /// Counted from 0.
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

    /// The same of a column in a table.
    pub(crate) fn within(mut self, column: &str) -> Self {
        self.columns.insert(0, column.to_owned());
        self
    }

    /// The same, with `rows` rows before the data.
    pub(crate) fn after(mut self, rows: usize) -> Self {
        self.row = self.row.map(|row| row.saturating_add(rows));
        self
    }

    /// The same of the values of a dictionary, whose numbers are no rows.
    pub(crate) fn of_dictionary(self) -> Self {
        let place = self.row.map(|row| format!("value number {row} of the dictionary"));
        let place = place.unwrap_or_else(|| "the dictionary".into());
        Fault { columns: self.columns, row: None, reason: format!("{place}: {}", self.reason) }
    }

    /// The message, which begins with `what` was read, such as `texts`.
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
            // Columns of this type come with buffers that their interface does not have.
            return Fault::new(
                "a column of type Null has no values; give it a type, such as UInt64",
            );
        }
        Fault::new(format!("Arrow data that cannot be read: {error}"))
    }
}
