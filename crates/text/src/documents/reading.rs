//! Reading the inputs one after the other, and cutting them into raw documents.

use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::inputs::Input;
use super::records::{Columns, Line, Row, TableFault, read_lines, read_rows};
use super::{DocumentFormat, DocumentOptions, decode};
use crate::error::{Error, Result};
use fpstore_base::source::{self, Source};
use fpstore_base::watch::Watch;
use fpstore_base::{InputPlace, IoError};

/// A batch is full when it holds this many documents or bytes.
const BATCH_COUNT: usize = 256;
const BATCH_LEN: usize = 1 << 20;
/// Counted for a file of which only the path is in a batch: few files go into one batch, because
/// each may be long.
const FILE_LEN: usize = BATCH_LEN / 16;

/// A document as the reader found it, not yet decoded.
pub(super) struct RawDocument {
    pub(super) place: DocumentPlace,
    pub(super) body: Body,
}

/// The place that a document comes from.
#[derive(Clone, Copy, Debug)]
pub(super) struct DocumentPlace {
    /// The number of the input.
    pub(super) input: usize,
    /// The line or record in it, or `None` if the input is one document.
    pub(super) at: Option<InputPlace>,
}

/// The content of a raw document. Everything that takes time is left to the workers.
pub(super) enum Body {
    /// A line of JSON, not yet parsed.
    JsonText(Vec<u8>),
    /// A line of JSON with features and weights, not yet parsed.
    JsonFeatures(Vec<u8>),
    /// The id and the bytes of a line.
    Line(String, Vec<u8>),
    /// The id and the text in a row of a table.
    Row(String, String),
    /// The id and the path of a file that is one document.
    PlainFile(String, PathBuf),
    /// The id and the path of a file that is one page in HTML.
    HtmlFile(String, PathBuf),
    /// The reason why a record is bad.
    Bad(String),
}

/// Receives full batches and their lengths; returning `false` ends the reading.
type Push<'p> = dyn FnMut(Vec<RawDocument>, usize) -> bool + 'p;

/// Collects documents into batches.
pub(super) struct Reader<'p> {
    options: &'p DocumentOptions,
    push: &'p mut Push<'p>,
    batch: Vec<RawDocument>,
    batch_len: usize,
    /// The number of the input that is being read.
    input: usize,
    /// Whether the caller dropped the results, or the observer ended the work.
    stopped: bool,
    interrupted: bool,
    watch: Watch,
    /// Bytes of the input that were read, and those of them that were reported to the observer.
    taken: Arc<AtomicU64>,
    told: u64,
}

impl<'p> Reader<'p> {
    pub(super) fn new(options: &'p DocumentOptions, watch: Watch, push: &'p mut Push<'p>) -> Self {
        Reader {
            options,
            push,
            batch: Vec::new(),
            batch_len: 0,
            input: 0,
            stopped: false,
            interrupted: false,
            watch,
            taken: Arc::default(),
            told: 0,
        }
    }

    /// Reads all inputs; `takes_features` says whether the recipe is for features.
    pub(super) fn read_all(mut self, inputs: &[Input], takes_features: bool) -> Result<()> {
        let done = self.read_each(inputs, takes_features);
        self.send();
        if self.interrupted { Err(Error::Interrupted) } else { done }
    }

    fn read_each(&mut self, inputs: &[Input], takes_features: bool) -> Result<()> {
        for (number, input) in inputs.iter().enumerate() {
            self.input = number;
            let format =
                self.options.format.unwrap_or_else(|| match DocumentFormat::of(&input.path) {
                    DocumentFormat::JsonLines if takes_features => DocumentFormat::Features,
                    format => format,
                });
            let holds_features = format == DocumentFormat::Features;
            if takes_features != holds_features {
                return Err(Error::WrongContent { name: input.name.clone(), holds_features });
            }
            match format {
                DocumentFormat::JsonLines => {
                    self.read_lines(input, |_, line| Body::JsonText(line))?;
                }
                DocumentFormat::Features => {
                    self.read_lines(input, |_, line| Body::JsonFeatures(line))?;
                }
                DocumentFormat::Lines if inputs.len() > 1 => {
                    let id = |number| format!("{}:{number}", input.name);
                    self.read_lines(input, |number, line| Body::Line(id(number), line))?;
                }
                DocumentFormat::Lines => {
                    self.read_lines(input, |number, line| Body::Line(number.to_string(), line))?;
                }
                DocumentFormat::Csv => self.read_rows(input, false)?,
                DocumentFormat::Tsv => self.read_rows(input, true)?,
                DocumentFormat::Parquet => self.read_parquet(input)?,
                DocumentFormat::Plain => self.push_file(input, Body::PlainFile),
                DocumentFormat::Html => self.push_file(input, Body::HtmlFile),
            }
            if self.stopped {
                break;
            }
        }
        Ok(())
    }

    fn read_lines(&mut self, input: &Input, body: impl Fn(u64, Vec<u8>) -> Body) -> Result<()> {
        let reader = self.open(input)?;
        let read = read_lines(reader, &mut |number: u64, line: Line| {
            let body = match line {
                Ok(line) if line.iter().all(u8::is_ascii_whitespace) => return true,
                Ok(line) => body(number, line),
                Err(reason) => Body::Bad(reason),
            };
            self.push(Some(InputPlace::Line(number)), body)
        });
        self.report();
        read.map_err(|fault| unreadable(input, fault))
    }

    fn read_rows(&mut self, input: &Input, is_tsv: bool) -> Result<()> {
        let options = self.options;
        let reader = self.open(input)?;
        let columns = Columns { is_tsv, id: &options.id_field, text: &options.text_field };
        let read = read_rows(reader, columns, &mut |(line, row): Row| {
            self.push(Some(InputPlace::Line(line)), row_body(row))
        });
        self.report();
        read.map_err(|fault| match fault {
            TableFault::Io(fault) => unreadable(input, fault),
            TableFault::Header(reason) => {
                Error::BadInput { name: input.name.clone(), place: InputPlace::Line(1), reason }
            }
        })
    }

    #[cfg(feature = "parquet")]
    fn read_parquet(&mut self, input: &Input) -> Result<()> {
        let (id, text) = (&self.options.id_field, &self.options.text_field);
        super::parquet::read(input, id, text, &mut |row, fields| {
            self.push(Some(InputPlace::Line(row)), row_body(fields))
        })?;
        self.report_more(input.len.unwrap_or(0));
        Ok(())
    }

    #[cfg(not(feature = "parquet"))]
    fn read_parquet(&mut self, input: &Input) -> Result<()> {
        let name = input.name.clone();
        Err(Error::UnknownFormat { name, format: "Parquet", feature: "parquet" })
    }

    fn push_file(&mut self, input: &Input, body: impl Fn(String, PathBuf) -> Body) {
        let id = if input.path == Path::new("-") { "-".into() } else { input.name.clone() };
        self.push(None, body(id, input.path.clone()));
        self.report_more(input.len.unwrap_or(0));
    }

    /// Opens an input, recoded to UTF-8; its bytes are counted as they are read.
    fn open(&mut self, input: &Input) -> Result<Box<dyn BufRead + Send>> {
        let source = Source::open(&input.path)?;
        self.taken = source.taken;
        self.told = 0;
        let reader = Box::new(BufReader::with_capacity(source::BUFFER_LEN, source.reader));
        decode::utf8_reader(reader, self.options.encoding).map_err(|fault| unreadable(input, fault))
    }

    /// Reports the bytes that were read since the last report to the observer.
    fn report(&mut self) {
        let taken = self.taken.load(Ordering::Relaxed);
        let news = taken - self.told;
        self.told = taken;
        self.report_more(news);
    }

    fn report_more(&mut self, len: u64) {
        if self.watch.tick(len).is_err() {
            self.stopped = true;
            self.interrupted = true;
        }
    }

    /// Takes a document; returns whether to go on.
    fn push(&mut self, at: Option<InputPlace>, body: Body) -> bool {
        self.batch_len += match &body {
            Body::JsonText(bytes) | Body::JsonFeatures(bytes) | Body::Line(_, bytes) => bytes.len(),
            Body::Row(id, text) => id.len() + text.len(),
            Body::PlainFile(..) | Body::HtmlFile(..) => FILE_LEN,
            Body::Bad(_) => 0,
        };
        let place = DocumentPlace { input: self.input, at };
        self.batch.push(RawDocument { place, body });
        if self.batch.len() >= BATCH_COUNT || self.batch_len >= BATCH_LEN {
            self.send();
        }
        !self.stopped
    }

    fn send(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        let len = std::mem::take(&mut self.batch_len);
        self.report();
        if !batch.is_empty() && !self.stopped {
            self.stopped = !(self.push)(batch, len);
        }
    }
}

fn row_body(row: Result<(String, String), String>) -> Body {
    match row {
        Ok((id, text)) => Body::Row(id, text),
        Err(reason) => Body::Bad(reason),
    }
}

fn unreadable(input: &Input, fault: io::Error) -> Error {
    let undecodable = fault.get_ref().and_then(|inner| inner.downcast_ref());
    match undecodable {
        Some(decode::Undecodable { offset, reason }) => Error::BadInput {
            name: input.name.clone(),
            place: InputPlace::Byte(*offset),
            reason: reason.clone(),
        },
        None => {
            let (doing, path) = (source::doing(&input.path), input.name.clone().into());
            IoError { doing, path, source: fault }.into()
        }
    }
}
