//! Reads the inputs one after the other, and splits them into raw documents.

use std::io::{self, BufRead, BufReader, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::archive::{self, Archive, Next};
use super::capped::TooLong;
use super::files::{DocumentFiles, DocumentPlace};
use super::formats::DocumentFormat;
use super::guard::guarded;
use super::inputs::Input;
use super::options::DocumentOptions;
use super::raw::{Body, RawDocument, RowFields, digest_of};
use super::records::{Line, Row, TableFault, read_lines, read_rows};
use super::{decode, warc};
use crate::error::{Error, Result};
use fpstore_base::source::{self, Source};
use fpstore_base::watch::Watch;
use fpstore_base::{InputPlace, IoError};

/// A batch is full when it contains this many documents or bytes.
const BATCH_COUNT: usize = 256;
const BATCH_LEN: usize = 1 << 20;
/// The least length counted for a file that is a single document: a batch contains only the paths
/// of such files, but few of them, because each file may be long.
const FILE_LEN: usize = BATCH_LEN / 16;

/// A decompressed input being read.
type Opened = BufReader<Box<dyn Read + Send>>;

/// Receives full batches and their lengths; returning `false` ends the reading.
pub(super) type Push<'p> = dyn FnMut(Vec<RawDocument>, usize) -> bool + 'p;

/// Returns whether the document at a place is to be read.
pub type PlaceFilter = dyn Fn(DocumentPlace) -> bool + Send + Sync;

/// Collects documents into batches.
pub(super) struct Reader<'p> {
    options: &'p DocumentOptions,
    /// The filter for documents to read, if there is one.
    wanted: Option<&'p PlaceFilter>,
    push: &'p mut Push<'p>,
    batch: Vec<RawDocument>,
    batch_len: usize,
    /// The number of the current input, and the number of documents found in it so far.
    input: usize,
    count: u64,
    /// The prefix of line numbers, if these numbers are the ids.
    line_prefix: Option<String>,
    /// Whether the input may pause, so that each document is passed on at once.
    is_stream: bool,
    /// Whether reading ends, because the caller dropped the results or the observer ended the work;
    /// and whether the observer ended it.
    stopped: bool,
    interrupted: bool,
    watch: Watch,
    /// Bytes read from the input, and bytes already reported to the observer.
    taken: Arc<AtomicU64>,
    told: u64,
}

impl<'p> Reader<'p> {
    pub(super) fn new(
        options: &'p DocumentOptions,
        wanted: Option<&'p PlaceFilter>,
        watch: Watch,
        push: &'p mut Push<'p>,
    ) -> Self {
        Reader {
            options,
            wanted,
            push,
            batch: Vec::new(),
            batch_len: 0,
            input: 0,
            count: 0,
            line_prefix: None,
            is_stream: false,
            stopped: false,
            interrupted: false,
            watch,
            taken: Arc::default(),
            told: 0,
        }
    }

    /// Reads all inputs; with `takes_features` the recipe is for features.
    pub(super) fn read_all(mut self, files: &DocumentFiles, takes_features: bool) -> Result<()> {
        let done = self.read_each(files, takes_features);
        self.send();
        if self.interrupted { Err(Error::Interrupted) } else { done }
    }

    fn read_each(&mut self, files: &DocumentFiles, takes_features: bool) -> Result<()> {
        let ids_have_names = files.list.len() > 1;
        for number in files.range.clone() {
            let input = &files.list[number];
            self.input = number;
            self.is_stream = input.len.is_none();
            self.count = 0;
            self.line_prefix = None;
            let read = guarded(|| self.read_input(input, ids_have_names, takes_features));
            let read = read
                .unwrap_or_else(|reason| Err(Error::BadFile { name: input.name.clone(), reason }));
            match read {
                Err(error) if input.is_left_out(self.options, &error) => {
                    self.push(None, Body::BadFile(error, self.count));
                }
                read => read?,
            }
            if self.stopped {
                break;
            }
        }
        Ok(())
    }

    fn read_input(
        &mut self,
        input: &Input,
        ids_have_names: bool,
        takes_features: bool,
    ) -> Result<()> {
        if let Some(fault) = &input.fault {
            let source = match fault.raw_os_error() {
                Some(code) => io::Error::from_raw_os_error(code),
                None => io::Error::new(fault.kind(), fault.to_string()),
            };
            return Err(Error::Io(IoError { doing: "read", path: input.path.clone(), source }));
        }
        let format = self.options.format_of(input, takes_features);
        let holds_features = format == DocumentFormat::Features;
        if takes_features != holds_features {
            return Err(Error::WrongContent { name: input.name.clone(), holds_features });
        }
        if let (Some(field), false) = (self.options.fields.first(), format.has_fields()) {
            let reason = format!("no field '{field}': documents of this format have no fields");
            return Err(Error::BadFile { name: input.name.clone(), reason });
        }
        if self.options.ready.is_some() && !format.has_columns() {
            let field = self.options.text_name();
            let reason = format!(
                "no field '{field}': a file of this format ({}) has no fields; if it is jsonl, \
                 csv, tsv or parquet, give --docs-format",
                format.words()
            );
            return Err(Error::BadFile { name: input.name.clone(), reason });
        }
        if self.options.line_ids {
            let prefix = if ids_have_names { format!("{}:", id_of(input)?) } else { String::new() };
            self.line_prefix = Some(prefix);
        }
        match format {
            DocumentFormat::JsonLines => self.read_lines(input, |_, line| Body::JsonText(line)),
            DocumentFormat::Features => self.read_lines(input, |_, line| Body::JsonFeatures(line)),
            DocumentFormat::Lines if ids_have_names => {
                let name = id_of(input)?;
                let id = |number| format!("{name}:{number}");
                self.read_lines(input, |number, line| Body::Line(id(number), line))
            }
            DocumentFormat::Lines => {
                self.read_lines(input, |number, line| Body::Line(number.to_string(), line))
            }
            DocumentFormat::Csv => self.read_rows(input, false),
            DocumentFormat::Tsv => self.read_rows(input, true),
            DocumentFormat::Parquet => self.read_parquet(input),
            DocumentFormat::Warc => self.read_archive(input),
            DocumentFormat::Plain => self.push_file(input, Body::PlainFile),
            DocumentFormat::Html => self.push_file(input, Body::HtmlFile),
        }
    }

    fn read_lines(&mut self, input: &Input, body: impl Fn(u64, Vec<u8>) -> Body) -> Result<()> {
        let reader = self.open(input)?;
        let len_max = self.options.len_max;
        let read = read_lines(reader, len_max, &mut |number: u64, line: Line| {
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
        let columns = options.columns(is_tsv);
        let read = read_rows(reader, columns, options.len_max, &mut |(line, row): Row| {
            self.push(Some(InputPlace::Line(line)), row_body(row))
        });
        self.report();
        read.map_err(|fault| match fault {
            TableFault::Io(fault) => unreadable(input, fault),
            TableFault::Header(reason) => Error::BadFile { name: input.name.clone(), reason },
        })
    }

    fn read_archive(&mut self, input: &Input) -> Result<()> {
        let mut archive = self.open_archive(input)?;
        let unread = |fault| unreadable(input, fault);
        loop {
            let next = archive.next().map_err(unread)?;
            let (number, at) = (archive.number, Some(InputPlace::Record(archive.number)));
            let bad = |reason: String| Error::BadInput {
                name: input.name.clone(),
                place: InputPlace::Record(number),
                reason,
            };
            let header = match next {
                Next::End => break,
                Next::Record(header) => header,
                Next::Bad(reason) => return Err(bad(reason)),
                Next::Damaged(reason) => match self.push(at, Body::Damaged(reason)) {
                    true => continue,
                    false => break,
                },
            };
            let place = DocumentPlace { file: self.input, at, digest: None };
            let is_wanted = self.wanted.is_none_or(|wanted| wanted(place));
            let content = header.content().filter(|_| is_wanted);
            let digest = content.map_or(0, |_| digest_of([&archive.raw]));
            let is_long = header.block_len > self.options.len_max;
            let mut bytes = Vec::new();
            let read = match content.is_some() && !is_long {
                true => archive.block(header.block_len, &mut bytes),
                false => archive.block(header.block_len, &mut io::sink()),
            };
            let body = match (read.map_err(unread)?, content) {
                (Some(Next::Damaged(reason)), _) => Body::Damaged(reason),
                (Some(Next::Bad(reason)), _) => return Err(bad(reason)),
                (_, None) => continue,
                (_, Some(_)) if is_long => {
                    let len_max = self.options.len_max;
                    Body::Bad(format!("the record is {}", TooLong { len_max }))
                }
                (_, Some(content)) => self.archived(&header, digest, content, bytes),
            };
            if !self.push(at, body) {
                break;
            }
        }
        self.report();
        Ok(())
    }

    /// A record of a web archive that may be a document.
    fn archived(
        &self,
        header: &warc::Header,
        digest: u64,
        content: warc::Content,
        bytes: Vec<u8>,
    ) -> Body {
        let field = |name: &String| header.get(name).map(str::to_string);
        let fields = self.options.fields.iter().map(field).collect();
        let content_type = header.get("Content-Type").unwrap_or_default().into();
        // If the record number is the id, it replaces this id later.
        match header.id().or(self.line_prefix.as_deref()) {
            Some(id) => {
                let block = warc::Block { content, content_type, bytes };
                Body::Archived(id.into(), fields, block, digest)
            }
            None => Body::Bad("it has no WARC-Target-URI and no WARC-Record-ID".into()),
        }
    }

    #[cfg(feature = "parquet")]
    fn read_parquet(&mut self, input: &Input) -> Result<()> {
        let options = self.options;
        super::parquet::read(input, options.names(), options.len_max, &mut |row, fields| {
            self.push(Some(InputPlace::Row(row)), row_body(fields))
        })?;
        self.report_more(input.len.unwrap_or(0));
        Ok(())
    }

    #[cfg(not(feature = "parquet"))]
    fn read_parquet(&mut self, input: &Input) -> Result<()> {
        let name = input.name.clone();
        Err(Error::UnknownFormat { name, format: "Parquet", feature: "parquet" })
    }

    fn push_file(&mut self, input: &Input, body: impl Fn(String, PathBuf) -> Body) -> Result<()> {
        // A compressed file is assumed to be 16 times as long after decompression.
        let grows = if source::doing(&input.path) == "decompress" { 16 } else { 1 };
        let len = (input.len.unwrap_or(0) * grows).min(self.options.len_max);
        self.batch_len += usize::try_from(len).unwrap_or(usize::MAX).max(FILE_LEN);
        self.push(None, body(id_of(input)?, input.path.clone()));
        self.report_more(input.len.unwrap_or(0));
        Ok(())
    }

    /// Opens an input, decompressed; its bytes are counted while it is read.
    fn open_bytes(&mut self, input: &Input) -> Result<Opened> {
        Ok(self.counting(Source::open(&input.path)?))
    }

    /// Opens a web archive, decompressed; its bytes are counted, and damaged records can be
    /// skipped.
    fn open_archive(&mut self, input: &Input) -> Result<Archive<Opened>> {
        let (skip_bad, members) = (self.options.skip_bad, Arc::<AtomicU64>::default());
        let source = archive::open(&input.path, skip_bad, &members)?;
        Ok(Archive::new(self.counting(source), skip_bad, members))
    }

    fn counting(&mut self, source: Source) -> Opened {
        self.taken = source.taken;
        self.told = 0;
        BufReader::with_capacity(source::BUFFER_LEN, source.reader)
    }

    /// Opens an input, decompressed and converted to UTF-8; its bytes are counted while it is read.
    fn open(&mut self, input: &Input) -> Result<Box<dyn BufRead + Send>> {
        let reader = Box::new(self.open_bytes(input)?);
        let may_pause = input.len.is_none();
        decode::utf8_reader(reader, self.options.text_encoding(), may_pause)
            .map_err(|fault| unreadable(input, fault))
    }

    /// Reports the bytes read since the last report to the observer.
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

    /// Adds a document to the batch; returns whether to continue.
    fn push(&mut self, at: Option<InputPlace>, body: Body) -> bool {
        let place = DocumentPlace { file: self.input, at, digest: None };
        let line = Some(place.record()).filter(|&number| number > 0);
        let id =
            self.line_prefix.as_ref().zip(line).map(|(prefix, line)| format!("{prefix}{line}"));
        if self.wanted.is_some_and(|wanted| !wanted(place)) {
            return !self.stopped;
        }
        self.batch_len += match &body {
            Body::JsonText(bytes) | Body::JsonFeatures(bytes) | Body::Line(_, bytes) => bytes.len(),
            Body::Row(row) => row.id.len() + row.text.len(),
            Body::Archived(id, _, block, _) => id.len() + block.bytes.len(),
            // `push_file` has already counted the length of the file.
            Body::PlainFile(..) | Body::HtmlFile(..) => 0,
            Body::Bad(_) | Body::Damaged(_) | Body::BadFile(..) => 0,
        };
        self.count += 1;
        self.batch.push(RawDocument { place, id, body });
        let is_full = self.batch.len() >= BATCH_COUNT || self.batch_len >= BATCH_LEN;
        if is_full || self.is_stream {
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

fn row_body(row: Result<RowFields, String>) -> Body {
    match row {
        Ok(row) => Body::Row(row),
        Err(reason) => Body::Bad(reason),
    }
}

/// The base of the ids of the documents in a file.
fn id_of(input: &Input) -> Result<String> {
    input.id.clone().ok_or_else(|| Error::BadFile {
        name: format!("{:?}", input.path),
        reason: "the name is not UTF-8, so it cannot be an id; rename the file".into(),
    })
}

/// The error for an input that cannot be read, decompressed or decoded.
pub(super) fn unreadable(input: &Input, fault: io::Error) -> Error {
    let undecodable = fault.get_ref().and_then(|inner| inner.downcast_ref());
    match undecodable {
        Some(decode::Undecodable { offset, .. }) => {
            Error::BadFile { name: input.name.clone(), reason: format!("byte {offset} is {fault}") }
        }
        None => {
            let (doing, path) = (source::doing(&input.path), input.name.clone().into());
            IoError { doing, path, source: fault }.into()
        }
    }
}
