//! Reading the inputs, one after the other.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};

use crate::documents::walk::Input;
use crate::documents::{Body, DocumentFormat, DocumentOptions, FileKind, Item, Place};
use crate::documents::{decode, lines, rows};
use crate::error::{Error, InputPlace, Result};
use crate::source::{self, Source};
use crate::watch::Watch;

/// Things on their way, with the number of the batch.
pub(super) type Batch<T> = (u64, Vec<T>);

/// A batch goes out when it holds so many documents or bytes.
const BATCH_COUNT: usize = 256;
const BATCH_LEN: usize = 1 << 20;

/// Gathers documents into batches.
pub(super) struct Feeder {
    sender: SyncSender<Batch<Item>>,
    credit: Receiver<()>,
    batch: Vec<Item>,
    batch_len: usize,
    number: u64,
    /// Whether no one works on what comes.
    stopped: bool,
    /// Whether the observer ended it.
    interrupted: bool,
    watch: Watch,
    /// How many bytes of the input were read, and how many the observer was told of.
    taken: Arc<AtomicU64>,
    told: u64,
}

impl Feeder {
    pub(super) fn new(sender: SyncSender<Batch<Item>>, credit: Receiver<()>, watch: Watch) -> Self {
        Feeder {
            sender,
            credit,
            batch: Vec::new(),
            batch_len: 0,
            number: 0,
            stopped: false,
            interrupted: false,
            watch,
            taken: Arc::default(),
            told: 0,
        }
    }

    /// Opens an input whose bytes are counted as they are read.
    fn open(&mut self, path: &Path) -> Result<Box<dyn BufRead + Send>> {
        let source = Source::open(path)?;
        self.taken = source.taken;
        self.told = 0;
        Ok(Box::new(BufReader::with_capacity(source::BUFFER_LEN, source.reader)))
    }

    /// Tells the observer what was read since.
    fn tell(&mut self) {
        let taken = self.taken.load(Ordering::Relaxed);
        let news = taken - self.told;
        self.told = taken;
        self.tell_more(news);
    }

    fn tell_more(&mut self, len: u64) {
        if self.watch.tick(len).is_err() {
            self.stopped = true;
            self.interrupted = true;
        }
    }

    /// Takes a document, and says whether to go on.
    fn push(&mut self, input: usize, at: Option<InputPlace>, body: Body) -> bool {
        self.batch_len += match &body {
            Body::JsonText(bytes) | Body::JsonFeatures(bytes) | Body::Line(_, bytes) => bytes.len(),
            Body::Row(id, text) => id.len() + text.len(),
            // What is in it is not known; files are best worked on one by one.
            Body::File(..) => BATCH_LEN / 16,
            Body::Bad(_) => 0,
        };
        self.batch.push(Item { place: Place { input, at }, body });
        if self.batch.len() >= BATCH_COUNT || self.batch_len >= BATCH_LEN {
            self.send();
        }
        !self.stopped
    }

    pub(super) fn send(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        self.batch_len = 0;
        self.tell();
        if batch.is_empty() || self.stopped {
            return;
        }
        let sent = self.credit.recv().is_ok() && self.sender.send((self.number, batch)).is_ok();
        self.stopped |= !sent;
        self.number += 1;
    }
}

pub(super) fn read_all(
    inputs: &[Input],
    given: bool,
    options: &DocumentOptions,
    feeder: &mut Feeder,
) -> Result<()> {
    for (number, input) in inputs.iter().enumerate() {
        let mut format = options.format.unwrap_or_else(|| DocumentFormat::of(&input.path));
        if given && format == DocumentFormat::JsonLines && options.format.is_none() {
            format = DocumentFormat::Features;
        }
        if given != (format == DocumentFormat::Features) {
            let reason = match given {
                true => format!(
                    "it takes features that were made elsewhere; {} holds texts",
                    input.name
                ),
                false => format!("it takes texts; {} holds ready features", input.name),
            };
            return Err(Error::InvalidRecipe { reason });
        }
        read_input(number, input, format, inputs.len() > 1, options, feeder)?;
        match format {
            DocumentFormat::Plain | DocumentFormat::Html | DocumentFormat::Parquet => {
                feeder.tell_more(input.len.unwrap_or(0));
            }
            _ => feeder.tell(),
        }
        if feeder.stopped {
            break;
        }
    }
    if feeder.interrupted { Err(Error::Interrupted) } else { Ok(()) }
}

fn read_input(
    number: usize,
    input: &Input,
    format: DocumentFormat,
    many: bool,
    options: &DocumentOptions,
    feeder: &mut Feeder,
) -> Result<()> {
    let path = input.path.as_path();
    let unreadable = |fault: std::io::Error| match fault.get_ref() {
        Some(inner) if inner.is::<decode::Undecodable>() => Error::BadInput {
            name: input.name.clone(),
            place: InputPlace::Byte(
                inner.downcast_ref::<decode::Undecodable>().map_or(0, |u| u.offset),
            ),
            reason: inner.to_string(),
        },
        _ => {
            Error::Io { doing: source::doing(path), path: input.name.clone().into(), source: fault }
        }
    };
    let open = |feeder: &mut Feeder| {
        let reader = feeder.open(path)?;
        decode::utf8_reader(reader, options.encoding).map_err(unreadable)
    };
    let line_body = |line: u64, bytes: Vec<u8>| match format {
        DocumentFormat::JsonLines => Body::JsonText(bytes),
        DocumentFormat::Features => Body::JsonFeatures(bytes),
        _ if many => Body::Line(format!("{}:{line}", input.name), bytes),
        _ => Body::Line(line.to_string(), bytes),
    };
    match format {
        DocumentFormat::JsonLines | DocumentFormat::Features | DocumentFormat::Lines => {
            let reader = open(feeder)?;
            let take = &mut |line: u64, bytes: lines::Line| {
                let at = Some(InputPlace::Line(line));
                match bytes {
                    Ok(bytes) if bytes.iter().all(u8::is_ascii_whitespace) => true,
                    Ok(bytes) => feeder.push(number, at, line_body(line, bytes)),
                    Err(reason) => feeder.push(number, at, Body::Bad(reason)),
                }
            };
            lines::read(reader, take).map_err(unreadable)
        }
        DocumentFormat::Csv | DocumentFormat::Tsv => {
            let is_tsv = format == DocumentFormat::Tsv;
            let reader = open(feeder)?;
            let take = &mut |(line, row): rows::Row| {
                let body = match row {
                    Ok((id, text)) => Body::Row(id, text),
                    Err(reason) => Body::Bad(reason),
                };
                feeder.push(number, Some(InputPlace::Line(line)), body)
            };
            let read = rows::read(reader, is_tsv, &options.id_field, &options.text_field, take);
            read.map_err(|fault| match fault {
                rows::TableFault::Io(fault) => unreadable(fault),
                rows::TableFault::Header(reason) => {
                    let (name, place) = (input.name.clone(), InputPlace::Line(1));
                    Error::BadInput { name, place, reason }
                }
            })
        }
        DocumentFormat::Parquet => {
            #[cfg(feature = "parquet")]
            {
                let (id, text) = (&options.id_field, &options.text_field);
                super::parquet::read(path, &input.name, id, text, &mut |row, fields| {
                    let body = match fields {
                        Ok((id, text)) => Body::Row(id, text),
                        Err(reason) => Body::Bad(reason),
                    };
                    feeder.push(number, Some(InputPlace::Line(row)), body)
                })
            }
            #[cfg(not(feature = "parquet"))]
            {
                let name = &input.name;
                let reason = format!(
                    "{name} is Parquet, which this program was built without (cargo feature 'parquet')"
                );
                Err(Error::InvalidRecipe { reason })
            }
        }
        DocumentFormat::Plain | DocumentFormat::Html => {
            let kind = match format {
                DocumentFormat::Html => FileKind::Html,
                _ => FileKind::Plain,
            };
            let id = if path == Path::new("-") { "-".into() } else { input.name.clone() };
            feeder.push(number, None, Body::File(id, input.path.clone(), kind));
            Ok(())
        }
    }
}
