//! Options for reading documents from files.

use anyhow::bail;
use bytesize::ByteSize;
use clap::{Arg, Args};
use fpstore_documents::{
    DocumentFormat, DocumentOptions, FileChoice, HtmlPart, TextEncoding, TextFormat,
};
use fpstore_text::PassageUnit;

use super::resources::ReadingLimits;
use crate::session::choice::choice;

/// Options for reading documents from files.
#[derive(Args, Debug)]
#[command(next_help_heading = "Documents")]
pub(crate) struct ReadingArgs {
    /// Format of the documents [default: by file extension; JSON Lines for -]
    #[arg(long, value_parser = choice::<DocumentFormat>(), value_name = "FORMAT")]
    docs_format: Option<DocumentFormat>,
    /// Field or column of the id [default: id, url, uri, ...]
    ///
    /// The default is id, else the only field with another usual name; the chosen name is printed.
    /// In JSON, doc.id is the field id of the object doc.
    #[arg(long, value_name = "NAME")]
    id_field: Option<String>,
    /// Use line or row numbers as ids, with the file name before them if there are several files
    #[arg(long, hide_short_help = true)]
    line_ids: bool,
    /// Field or column of the text [default: text, content, body, ...]
    ///
    /// The default is text, else the only field with another usual name; the chosen name is printed.
    /// In JSON and Parquet, doc.body is the field body of the object doc, and messages[].content the
    /// field content of all elements of the array messages, joined by line feeds.
    #[arg(long, value_name = "NAME")]
    text_field: Option<String>,
    /// Format of the text in a field
    #[arg(
        long,
        value_parser = choice::<TextFormat>(),
        value_name = "FORMAT",
        default_value_t,
        hide_short_help = true
    )]
    text_format: TextFormat,
    /// Treat each passage of a text as a document: paragraph, line, or words:N
    ///
    /// Blank lines separate paragraphs; words:100 is 100 words in a row. The id of a passage is the
    /// id of its document, #, and the number of the passage from 1, as in page.html#3.
    #[arg(long, value_name = "UNIT", hide_short_help = true)]
    unit: Option<PassageUnit>,
    /// Text encoding: utf-8, detect, or a name such as gbk, big5, windows-1252 [default: utf-8; for
    /// pages the declared encoding, else detect]
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    encoding: Option<String>,
    /// Text of a page: the main part, the whole page, or the main part if it is long enough
    #[arg(
        long,
        value_parser = choice::<HtmlPart>(),
        value_name = "PART",
        default_value_t,
        hide_short_help = true
    )]
    html_part: HtmlPart,
    /// Maximum size of a document, record or page after decompression; larger ones are bad
    /// [default: 64MiB, or an eighth of --memory if that is less]
    #[arg(long, value_name = "SIZE", hide_short_help = true)]
    max_document: Option<ByteSize>,
    /// In folders, read only files that match GLOB; without a slash GLOB matches names, else paths
    #[arg(long, value_name = "GLOB", hide_short_help = true)]
    include: Vec<String>,
    /// In folders, skip files and folders that match GLOB
    #[arg(long, value_name = "GLOB", hide_short_help = true)]
    exclude: Vec<String>,
    /// In folders, read hidden files too
    #[arg(long, hide_short_help = true)]
    hidden: bool,
}

/// Hides options for documents in the short help of commands whose usual input is not documents.
pub(crate) fn in_long_help(arg: Arg) -> Arg {
    let names = ["docs_format", "id_field", "text_field", "recipe", "access", "radix"];
    if names.contains(&arg.get_id().as_str()) { arg.hide_short_help(true) } else { arg }
}

impl ReadingArgs {
    /// The name of the field that contains the text, if the user gave it.
    pub(crate) fn text_field(&self) -> Option<&str> {
        self.text_field.as_deref()
    }

    /// The first of these options that differs from its default.
    pub(crate) fn first_given(&self) -> Option<&'static str> {
        self.given().next()
    }

    /// The first of these options that differs from its default, `--id-field` not counted.
    pub(crate) fn first_but_id(&self) -> Option<&'static str> {
        self.given().find(|name| *name != "--id-field")
    }

    /// Whether the user gave the format of the files.
    pub(crate) fn names_format(&self) -> bool {
        self.docs_format.is_some()
    }

    /// The number of the column that contains the ids in lines, if the user gave one.
    pub(crate) fn id_column(&self) -> anyhow::Result<Option<usize>> {
        let Some(id_field) = &self.id_field else { return Ok(None) };
        match id_field.parse() {
            Ok(column) if column > 0 => Ok(Some(column)),
            _ => bail!(
                "--fingerprint-field is the number of a column, so --id-field must be a number \
                 too, not '{id_field}'"
            ),
        }
    }

    /// The names of the options that differ from their defaults.
    fn given(&self) -> impl Iterator<Item = &'static str> {
        let given = [
            (self.docs_format.is_some(), "--docs-format"),
            (self.id_field.is_some(), "--id-field"),
            (self.line_ids, "--line-ids"),
            (self.text_field.is_some(), "--text-field"),
            (self.text_format != TextFormat::Plain, "--text-format"),
            (self.unit.is_some(), "--unit"),
            (self.encoding.is_some(), "--encoding"),
            (self.html_part != HtmlPart::Auto, "--html-part"),
            (self.max_document.is_some(), "--max-document"),
            (!self.include.is_empty(), "--include"),
            (!self.exclude.is_empty(), "--exclude"),
            (self.hidden, "--hidden"),
        ];
        given.into_iter().filter(|(given, _)| *given).map(|(_, name)| name)
    }

    /// The first option that differs from its default and applies to texts, not to fingerprints.
    pub(crate) fn first_for_texts(&self) -> Option<&'static str> {
        let of_texts = ["--text-field", "--text-format", "--html-part", "--unit"];
        self.given().find(|name| of_texts.contains(name))
    }

    /// Rejects options for files, for a command whose arguments are the texts themselves.
    pub(crate) fn check_unused(&self) -> anyhow::Result<()> {
        match self.first_given() {
            Some(option) => bail!("{option} is for files; --literal reads no files"),
            None => Ok(()),
        }
    }

    pub(crate) fn holds_features(&self) -> bool {
        self.docs_format == Some(DocumentFormat::Features)
    }

    /// Converts these options to the options of the library.
    pub(crate) fn options(
        &self,
        skip_bad: bool,
        limits: ReadingLimits,
    ) -> anyhow::Result<DocumentOptions> {
        let files = FileChoice::default()
            .include(&self.include)?
            .exclude(&self.exclude)?
            .hidden(self.hidden);
        if self.line_ids && self.id_field.is_some() {
            bail!("--line-ids uses no field as id; leave --id-field out");
        }
        let mut options = DocumentOptions::default()
            .format(self.docs_format)
            .line_ids(self.line_ids)
            .text_format(self.text_format)
            .unit(self.unit)
            .encoding(self.encoding.as_deref().map(TextEncoding::named).transpose()?)
            .html(self.html_part)
            .skip_bad(skip_bad)
            .files(files)
            .threads(limits.threads)
            .memory(limits.memory.map(|memory| memory.as_u64()));
        if let Some(field) = &self.id_field {
            options = options.id_field(field);
        }
        if let Some(field) = &self.text_field {
            options = options.text_field(field);
        }
        if let Some(len) = self.max_document {
            if len.as_u64() == 0 {
                bail!("--max-document 0: a document has at least one byte");
            }
            options = options.max_document(len.as_u64());
        }
        Ok(options)
    }
}
