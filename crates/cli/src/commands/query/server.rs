//! `fpstore query --server`: sends queries to `fpstore serve`, and prints the answers in the same
//! form as for a store.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use fpstore::Fingerprint;
use fpstore::input::{InputOptions, read_records};
use fpstore::rows::AnswerRow;
use fpstore_client::{Client, ClientError, QueryOptions};
use tokio::runtime::Runtime;

use super::output::{self, AnswerColumns};
use super::single::answer_lines;
use crate::args::inputs::{inputs, report_skipped};
use crate::args::token::TokenFileArg;
use crate::output::row_writer::{Layout, RowWriter};
use crate::output::sink::Sink;
use crate::output::text::{TableFormat, counted};
use crate::session::command::ExitStatus;

/// The number of queries from files in one request.
const BATCH_COUNT: usize = 10_000;

/// Options for the server to query.
#[derive(Args, Debug)]
pub(crate) struct ServerArgs {
    /// Query 'fpstore serve' at http://ADDRESS:PORT or unix:PATH
    #[arg(long, value_name = "URL", conflicts_with_all = ["store", "access", "as_of", "confirm", "explain",
          "refresh", "id", "label", "labels", "docs", "fingerprint_field", "df", "stop_words", "weights"])]
    pub(crate) server: Option<String>,
    #[command(flatten)]
    token: TokenFileArg,
}

/// The queries to send to a server, and how to print the answers.
pub(crate) struct Questions<'a> {
    pub(crate) k: Option<u32>,
    pub(crate) nearest: Option<u64>,
    pub(crate) limit: Option<u64>,
    /// Fingerprints to search for; `None` stands for the lines of standard input.
    pub(crate) needles: &'a [Option<Fingerprint>],
    pub(crate) texts: &'a [String],
    pub(crate) from: &'a [PathBuf],
    pub(crate) lines: InputOptions,
    pub(crate) layout: Layout,
    pub(crate) quiet: bool,
}

impl ServerArgs {
    pub(crate) fn run(
        &self,
        url: &str,
        questions: &Questions<'_>,
        out: Sink,
    ) -> anyhow::Result<ExitStatus> {
        let mut client = self.token.client(url)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.context("cannot start the connection")?;
        // Contacts the server before the queries are read, so that a wrong URL is reported at once.
        let info = runtime.block_on(client.info()).with_context(|| format!("cannot ask {url}"))?;
        let Questions { k, nearest: count, limit, .. } = *questions;
        let mut session = Session {
            runtime,
            client,
            url,
            options: QueryOptions { k, count, limit, ..QueryOptions::default() },
            questions,
            out: output::open(
                questions.layout,
                out,
                AnswerColumns {
                    has_ids: !questions.from.is_empty(),
                    stores: !info.stores.is_empty(),
                    ..AnswerColumns::default()
                },
            )?,
            found: false,
        };
        session.ask_all()?;
        session.out.finish()?;
        Ok(if session.found { ExitStatus::Done } else { ExitStatus::Negative })
    }
}

struct Session<'a> {
    runtime: Runtime,
    client: Client,
    url: &'a str,
    options: QueryOptions,
    questions: &'a Questions<'a>,
    out: RowWriter,
    found: bool,
}

impl Session<'_> {
    fn doing(&self) -> String {
        format!("cannot ask {}", self.url)
    }

    fn ask_all(&mut self) -> anyhow::Result<()> {
        for needle in self.questions.needles {
            match needle {
                Some(needle) => self.ask_one(*needle)?,
                None => {
                    let lines = &self.questions.lines;
                    answer_lines(self, lines, Self::ask_one, |session| &mut session.out)?;
                }
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
            let read = read_records(&file, &self.questions.lines, |record| {
                batch.push((record.fingerprint, record.id.map(|id| id.to_string())));
                if batch.len() >= BATCH_COUNT {
                    self.ask_batch(&batch)?;
                    batch.clear();
                }
                anyhow::Ok(())
            });
            report_skipped(&file, &read?);
        }
        self.ask_batch(&batch)
    }

    fn ask_one(&mut self, needle: Fingerprint) -> anyhow::Result<()> {
        let asked = self.runtime.block_on(self.client.query(needle, &self.options));
        let answer = asked.with_context(|| self.doing())?;
        self.print(answer)
    }

    fn ask_text(&mut self, text: &str) -> anyhow::Result<()> {
        let asked = self.runtime.block_on(self.client.query_text(text, &self.options));
        let answer = asked.with_context(|| self.doing())?;
        self.print(answer)
    }

    fn ask_batch(&mut self, batch: &[(Fingerprint, Option<String>)]) -> anyhow::Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        let fingerprints: Vec<Fingerprint> = batch.iter().map(|(needle, _)| *needle).collect();
        let mut answers = Vec::with_capacity(batch.len());
        let take = |answer| {
            answers.push(answer);
            Ok::<(), ClientError>(())
        };
        let asked = self.client.query_all(&fingerprints, &self.options, take);
        self.runtime.block_on(asked).with_context(|| self.doing())?;
        for (mut answer, (_, id)) in answers.into_iter().zip(batch) {
            answer.id.clone_from(id);
            self.print(answer)?;
        }
        Ok(())
    }

    /// Prints an answer in the same form as an answer of a store.
    fn print(&mut self, answer: AnswerRow) -> anyhow::Result<()> {
        self.found |= !answer.matches.is_empty();
        self.report_cut(&answer);
        self.out.push(&AnswerRow { cut_by: None, generation: None, ..answer })
    }

    /// Prints that a limit cut the answer. If the user gave no --limit, a limit of the server did,
    /// and the message is printed even with --quiet.
    fn report_cut(&self, answer: &AnswerRow) {
        let Some(by) = answer.cut_by.as_deref().filter(|_| answer.cut) else { return };
        let is_asked = by == "limit" && self.questions.limit.is_some();
        if is_asked && (self.questions.quiet || self.questions.layout.format == TableFormat::Json) {
            return;
        }
        let count = counted(answer.matches.len() as u64, "match", "matches");
        let by = match by {
            "limit" if is_asked => "--limit",
            "limit" => "the --max-matches of the server",
            "ids" => "the --max-ids of the server",
            _ => "the --deadline of the server",
        };
        message!("{}: cut to {count} by {by}", answer.query);
    }
}
