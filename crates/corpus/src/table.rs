//! Documents that are not in files: rows of a table, or a stream of rows.
//!
//! A cleaning reads documents more than once, and resumes, lists and copies them by file and
//! record. So rows are written to a file of JSON Lines, and all later steps are the same as for
//! files.

use fpstore_base::IoError;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::error::{Error, Result};
use fpstore_base::IdRef;
use fpstore_disk::{ScratchDirectory, TemporaryFile};
use fpstore_documents::{DocumentFormat, DocumentOptions};

/// The names of the fields that contain the id and the text of a row.
const ID: &str = "id";
const TEXT: &str = "text";
/// The name of the field that contains the number of a row, in a numbered table.
const ROW: &str = "fpstore_row";

/// Documents of a table, in a temporary file that is removed on drop.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use fpstore_corpus::{Cleaner, DocumentSource, DocumentTable};
/// use fpstore_text::{TextHasher, TextRecipe};
///
/// let mut table = DocumentTable::create(&std::env::temp_dir(), &[])?;
/// for (id, text) in [(7_u64, "one two three"), (8, "One two three!"), (9, "")] {
///     table.push(id.into(), text, &[])?;
/// }
/// let path = table.finish()?;
/// let hasher = TextHasher::new(&TextRecipe::default())?;
/// let source = DocumentSource::of_texts(hasher, table.options(Default::default()));
/// let cleaned = Cleaner::new(source, [path]).begin()?.expect("there is no store").run()?;
/// let mut gone = Vec::new();
/// cleaned.for_each_document(|document| {
///     if let Some(other) = document.other_record {
///         gone.push((table.row_of(document.record), table.row_of(other)));
///     }
///     Ok::<(), fpstore_corpus::Error>(())
/// })?;
/// assert_eq!(gone, [(1, 0)]);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct DocumentTable {
    // The file is dropped before `_directory`, which contains it.
    out: BufWriter<TemporaryFile>,
    path: PathBuf,
    /// The names of the fields other than ids and texts.
    fields: Vec<String>,
    row_count: u64,
    is_numbered: bool,
    _directory: ScratchDirectory,
}

impl DocumentTable {
    /// An empty table, with a file in `folder`. `fields` are the names of the columns other than
    /// ids and texts, for the rules of [`Cleaner::keep`](super::Cleaner::keep).
    ///
    /// # Errors
    ///
    /// [`Error::Store`] if the file cannot be created, or a field has the name of the id or of the
    /// text.
    pub fn create(folder: &Path, fields: &[String]) -> Result<Self> {
        if let Some(name) = fields.iter().find(|name| [ID, TEXT, ROW].contains(&name.as_str())) {
            return Err(Error::refused(format!(
                "'{name}' cannot be used as a field: the name is reserved"
            )));
        }
        let directory = ScratchDirectory::create(folder)?;
        let file = TemporaryFile::create(directory.path(), "table-")?;
        let path = file.path().to_path_buf();
        let out = BufWriter::with_capacity(1 << 18, file);
        Ok(DocumentTable {
            out,
            path,
            fields: fields.into(),
            row_count: 0,
            is_numbered: false,
            _directory: directory,
        })
    }

    /// Also writes the number of each row, for [`DocumentTable::texts_of`].
    #[must_use]
    pub fn numbered(self) -> Self {
        DocumentTable { is_numbered: true, ..self }
    }

    /// Adds a document. A document without a text has no fingerprint, and is kept. `values` are the
    /// values of the other columns.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] if the document cannot be written.
    pub fn push(&mut self, id: IdRef<'_>, text: &str, values: &[Option<&str>]) -> Result<()> {
        let mut line = Map::new();
        let id = match id {
            IdRef::U64(number) => Value::from(number),
            IdRef::Text(text) => Value::from(text),
        };
        line.insert(ID.into(), id);
        line.insert(TEXT.into(), text.into());
        if self.is_numbered {
            line.insert(ROW.into(), self.row_count.into());
        }
        for (name, value) in self.fields.iter().zip(values) {
            put(&mut line, name, (*value).into());
        }
        let written = serde_json::to_writer(&mut self.out, &line).map_err(std::io::Error::from);
        written
            .and_then(|()| self.out.write_all(b"\n"))
            .map_err(IoError::of("write", &self.path))?;
        self.row_count += 1;
        Ok(())
    }

    /// Ends the table, and returns the path from which its documents are read.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] if the last documents cannot be written.
    pub fn finish(&mut self) -> Result<PathBuf> {
        self.out.flush().map_err(IoError::of("write", &self.path))?;
        Ok(self.path.clone())
    }

    /// The number of documents.
    pub fn row_count(&self) -> u64 {
        self.row_count
    }

    /// The reading options for the table: `options` with the format and field names of the table.
    #[must_use]
    pub fn options(&self, options: DocumentOptions) -> DocumentOptions {
        options.format(DocumentFormat::JsonLines).id_field(ID).text_field(TEXT)
    }

    /// For each row of this [numbered](DocumentTable::numbered) table, its text in a copy of the
    /// table; `None` for rows that are not in the copy.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] if the copy cannot be read, or is not a copy of this table.
    pub fn texts_of(&self, copy: &Path) -> Result<Vec<Option<String>>> {
        let mut texts = vec![None; self.row_count as usize];
        let cannot = || IoError::of("read", copy);
        let other = || Error::refused(format!("{} is not a copy of the table", copy.display()));
        for line in BufReader::new(File::open(copy).map_err(cannot())?).lines() {
            let line: Value =
                serde_json::from_str(&line.map_err(cannot())?).map_err(|_| other())?;
            let row = line[ROW].as_u64().and_then(|row| texts.get_mut(row as usize));
            *row.ok_or_else(other)? = Some(line[TEXT].as_str().ok_or_else(other)?.to_owned());
        }
        Ok(texts)
    }

    /// The row, counted from 0, of the document with this record number.
    pub fn row_of(&self, record: u64) -> u64 {
        // Record numbers of lines begin at 1.
        record.saturating_sub(1)
    }
}

/// Puts a value where the reader looks up a field of this name: the value of `meta.date` is in the
/// object `meta`.
fn put(map: &mut Map<String, Value>, name: &str, value: Value) {
    match name.split_once('.') {
        None => drop(map.insert(name.into(), value)),
        Some((outer, inner)) => {
            let inside = map.entry(outer).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(inside) = inside {
                put(inside, inner, value);
            }
        }
    }
}
