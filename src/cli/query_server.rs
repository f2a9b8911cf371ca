//! `fpstore query --server`: the same questions and the same output, answered by `fpstore serve`.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use fpstore::Fingerprint;
use fpstore::input::{read_all_records, read_records};
use hyper::Method;
use hyper::body::Bytes;
use serde::{Deserialize, Serialize};

use super::command::ExitStatus;
use super::inputs::{ReadArgs, check_stdin, inputs, report_skipped};
use super::output::{IdPrinter, RowFormat};
use super::server_client::{Client, Refused};
use super::sink::Sink;
use super::stream::{BadLines, write_bad};

/// Queries of files that are sent together, unless the server allows fewer.
const BATCH_COUNT: usize = 10_000;

/// The server that is asked.
#[derive(Args, Debug)]
pub(super) struct ServerArgs {
    /// Ask 'fpstore serve' at http://ADDRESS:PORT or unix:PATH
    #[arg(long, value_name = "URL", conflicts_with_all = ["store", "access", "confirm", "explain",
          "refresh", "id", "label", "labels", "docs", "fingerprint_field", "df", "stop_words", "weights"])]
    pub(super) server: Option<String>,
    /// The token for the server, in the first line of a file [default: $FPSTORE_TOKEN]
    #[arg(long, value_name = "FILE", requires = "server", hide_short_help = true)]
    token_file: Option<PathBuf>,
}

/// What is asked of a server.
pub(super) struct Questions<'a> {
    pub(super) k: Option<u32>,
    pub(super) nearest: Option<u64>,
    pub(super) limit: Option<u64>,
    /// `None` stands for standard input.
    pub(super) needles: &'a [Option<Fingerprint>],
    pub(super) texts: &'a [String],
    pub(super) from: &'a [PathBuf],
    pub(super) read: &'a ReadArgs,
    pub(super) format: RowFormat,
    pub(super) quiet: bool,
}

#[derive(Deserialize)]
struct Info {
    limits: InfoLimits,
}

#[derive(Deserialize)]
struct InfoLimits {
    max_batch: usize,
}

#[derive(Serialize)]
struct Asked<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<String>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    fingerprints: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    k: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
}

/// The answer to one query. What is written of it is what a store would be answered with.
#[derive(Deserialize, Serialize)]
struct Answer {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    query: String,
    matches: Vec<Match>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
    #[serde(skip_serializing)]
    cut_by: Option<String>,
}

#[derive(Deserialize, Serialize)]
struct Match {
    fingerprint: String,
    distance: u32,
    ids: Vec<String>,
}

#[derive(Deserialize)]
struct Answers {
    answers: Vec<Answer>,
}

impl ServerArgs {
    pub(super) fn run(
        &self,
        url: &str,
        questions: &Questions<'_>,
        out: Sink,
    ) -> anyhow::Result<ExitStatus> {
        let mut client = Client::new(url, self.token_file.as_deref())?;
        let info: Info = client.ask(&Method::GET, "/v1/info", None)?;
        let mut session = Session {
            client,
            questions,
            printer: IdPrinter::new(out.is_terminal()),
            out,
            found: false,
            batch_max: info.limits.max_batch.clamp(1, BATCH_COUNT),
        };
        session.ask_all()?;
        session.out.finish()?;
        Ok(if session.found { ExitStatus::Done } else { ExitStatus::Negative })
    }
}

struct Session<'a> {
    client: Client,
    questions: &'a Questions<'a>,
    printer: IdPrinter,
    out: Sink,
    found: bool,
    batch_max: usize,
}

impl Session<'_> {
    fn ask_all(&mut self) -> anyhow::Result<()> {
        for needle in self.questions.needles {
            match needle {
                Some(needle) => self.ask_one(*needle)?,
                None => self.ask_standard_input()?,
            }
        }
        for text in self.questions.texts {
            self.ask_text(text)?;
        }
        let mut batch: Vec<(Fingerprint, Option<String>)> = Vec::new();
        if self.questions.from.is_empty() {
            return Ok(());
        }
        for file in inputs(self.questions.from)? {
            let read = read_records(&file, &self.questions.read.options(), |record| {
                batch.push((record.fingerprint, record.id.map(|id| id.to_string())));
                if batch.len() >= self.batch_max {
                    self.ask_batch(&batch)?;
                    batch.clear();
                }
                anyhow::Ok(())
            });
            report_skipped(&file, &read?);
        }
        self.ask_batch(&batch)
    }

    /// The route, which says whether all that are near are wanted or the nearest.
    fn route(&self) -> &'static str {
        if self.questions.nearest.is_some() { "/v1/nearest" } else { "/v1/query" }
    }

    fn body(
        &self,
        fingerprint: Option<Fingerprint>,
        fingerprints: &[String],
    ) -> anyhow::Result<Bytes> {
        let Questions { k, nearest, limit, .. } = *self.questions;
        let fingerprint = fingerprint.map(|it| it.to_string());
        Ok(serde_json::to_vec(&Asked { fingerprint, fingerprints, k, limit, count: nearest })?
            .into())
    }

    fn ask_one(&mut self, needle: Fingerprint) -> anyhow::Result<()> {
        let body = self.body(Some(needle), &[])?;
        let answer =
            self.client.ask(&Method::POST, self.route(), Some(("application/json", body)))?;
        self.print(answer)
    }

    fn ask_standard_input(&mut self) -> anyhow::Result<()> {
        let file = Path::new("-");
        check_stdin(file)?;
        let mut bad_lines = BadLines::new(self.questions.read.skip_bad);
        read_all_records(file, &self.questions.read.options(), |found| -> anyhow::Result<()> {
            match found {
                Ok(record) => self.ask_one(record.fingerprint)?,
                Err(bad) => {
                    bad_lines.note(bad.place, &bad.reason);
                    if self.questions.format == RowFormat::Json {
                        write_bad(&mut self.out, bad.place, &bad.reason)?;
                    }
                }
            }
            // A program that writes line by line waits for each answer.
            Ok(self.out.flush()?)
        })?;
        bad_lines.finish()
    }

    fn ask_text(&mut self, text: &str) -> anyhow::Result<()> {
        let Questions { k, nearest, limit, .. } = *self.questions;
        let params = [("k", k.map(u64::from)), ("count", nearest), ("limit", limit)];
        let params: Vec<String> = params
            .iter()
            .filter_map(|(name, value)| Some(format!("{name}={}", (*value)?)))
            .collect();
        let path = format!("/v1/text?{}", params.join("&"));
        let body = Bytes::copy_from_slice(text.as_bytes());
        let answer =
            self.client.ask(&Method::POST, &path, Some(("text/plain; charset=utf-8", body)))?;
        self.print(answer)
    }

    fn ask_batch(&mut self, batch: &[(Fingerprint, Option<String>)]) -> anyhow::Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        let fingerprints: Vec<String> = batch.iter().map(|(it, _)| it.to_string()).collect();
        let body = self.body(None, &fingerprints)?;
        let asked: anyhow::Result<Answers> =
            self.client.ask(&Method::POST, self.route(), Some(("application/json", body)));
        let is_too_long = |error: &anyhow::Error| {
            error
                .downcast_ref()
                .is_some_and(|refused: &Refused| refused.code == "answer-over-limit")
        };
        let answers = match asked {
            Ok(Answers { answers }) => answers,
            Err(error) if is_too_long(&error) && batch.len() > 1 => {
                let (first, second) = batch.split_at(batch.len() / 2);
                self.ask_batch(first)?;
                return self.ask_batch(second);
            }
            Err(error) => return Err(error),
        };
        if answers.len() != batch.len() {
            bail!("the server gave {} answers to {} queries", answers.len(), batch.len());
        }
        for (mut answer, (_, id)) in answers.into_iter().zip(batch) {
            answer.id.clone_from(id);
            self.print(answer)?;
        }
        Ok(())
    }

    fn print(&mut self, answer: Answer) -> anyhow::Result<()> {
        self.found |= !answer.matches.is_empty();
        self.report_cut(&answer);
        if self.questions.format == RowFormat::Json {
            serde_json::to_writer(&mut self.out, &answer)?;
            return Ok(self.out.write_all(b"\n")?);
        }
        let query = match &answer.id {
            Some(id) => format!("{}\t{}", self.printer.show_column(id), answer.query),
            None => answer.query,
        };
        for Match { fingerprint, distance, ids } in &answer.matches {
            let bare = [String::new()];
            let ids = if ids.is_empty() { bare.as_slice() } else { ids.as_slice() };
            for id in ids {
                let id = self.printer.show(id);
                writeln!(self.out, "{query}\t{fingerprint}\t{distance}\t{id}")?;
            }
        }
        Ok(())
    }

    /// Says that an answer is not whole. Where the user did not ask for that, it is no mere remark.
    fn report_cut(&self, answer: &Answer) {
        let Some(by) = answer.cut_by.as_deref().filter(|_| answer.cut) else { return };
        let is_asked = by == "limit" && self.questions.limit.is_some();
        if is_asked && (self.questions.quiet || self.questions.format == RowFormat::Json) {
            return;
        }
        let count = super::output::counted(answer.matches.len() as u64, "match", "matches");
        let by = match by {
            "limit" if is_asked => "--limit",
            "limit" => "the --max-matches of the server",
            "ids" => "the --max-ids of the server",
            _ => "the --deadline of the server",
        };
        message!("{}: cut to {count} by {by}", answer.query);
    }
}
