//! The HTML page of `fpstore cluster --html` and `pairs --html`: options, texts, file.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use bytesize::ByteSize;
use clap::{Arg, Args};
use fpstore::rows::ClusterRow;
use fpstore_documents::{DocumentOptions, read_texts};
use fpstore_report::page::{
    About, GroupPage, GroupTexts, LargestGroups, MakeFingerprint, Template,
};
use fpstore_text::TextHasher;

use crate::args::documents::report;
use crate::args::resources::ResourceArgs;
use crate::output::sink::{Sink, open_page, page_path};
use crate::output::text::{counted, grouped};
use crate::session::monitor::Monitor;

/// The options that limit the size of a page.
const MORE: &str = "--html-groups or --html-max";

/// The options for a page of groups.
#[derive(Args, Debug)]
pub(crate) struct GroupPageArgs {
    /// Write a page for a browser that shows the groups and their differences
    ///
    /// The largest group comes first. Rows are then printed only with -o, --format or --keep.
    #[arg(long, value_name = "FILE", value_parser = page_path)]
    pub(crate) html: Option<PathBuf>,
    /// File of documents with the texts of the page, found by id; may be repeated
    ///
    /// With --docs the texts come from the input.
    #[arg(
        long,
        value_name = "FILE",
        requires = "html",
        conflicts_with = "docs",
        hide_short_help = true
    )]
    pub(crate) texts: Vec<PathBuf>,
    /// Link of each id on the page, such as https://example.org/{id}
    ///
    /// {id} and {fingerprint} are replaced by the id and the fingerprint. The id is escaped, except
    /// at the beginning of the template, where it is a complete address.
    #[arg(long, value_name = "TEMPLATE", requires = "html", hide_short_help = true)]
    link: Option<Template>,
    /// Picture of each id on the page, such as thumbnails/{id}.jpg
    ///
    /// A template as for --link; a path is relative to the page.
    #[arg(long, value_name = "TEMPLATE", requires = "html", hide_short_help = true)]
    image: Option<Template>,
    /// Maximum size of the page; the smallest groups are left out first
    #[arg(
        long,
        value_name = "SIZE",
        requires = "html",
        default_value = "32MiB",
        hide_short_help = true
    )]
    html_max: ByteSize,
    /// Maximum number of groups on the page; smaller groups are left out
    #[arg(
        long,
        value_name = "COUNT",
        requires = "html",
        default_value = "1000",
        hide_short_help = true
    )]
    html_groups: NonZeroUsize,
}

/// An open output file for a page, and the groups collected for it.
pub(crate) struct OpenPage {
    out: Sink,
    pub(crate) groups: LargestGroups,
}

/// Files of documents that contain the texts of a page.
pub(crate) struct TextSource<'a> {
    pub(crate) files: &'a [PathBuf],
    pub(crate) options: DocumentOptions,
    /// The hasher of the recipe, if it is known. The fingerprints of the texts distinguish
    /// documents that share an id.
    pub(crate) hasher: Option<TextHasher>,
}

impl TextSource<'_> {
    /// Reads the texts of the documents on a page.
    fn read(
        self,
        page: &GroupPage,
        resources: &ResourceArgs,
        monitor: &Monitor,
        quiet: bool,
    ) -> anyhow::Result<GroupTexts> {
        let mut texts = page.texts(&resources.temp_dir())?;
        let mut make = self.hasher.map(|mut hasher| move |text: &str| hasher.fingerprint(text));
        let options = self.options.observer(monitor.observer());
        let summary = read_texts::<anyhow::Error>(self.files, &options, |id, text| {
            let make = make.as_mut().map(|make| make as MakeFingerprint<'_>);
            Ok(texts.take(&id.to_string(), text, make)?)
        })?;
        if !quiet {
            monitor.suspend(|| report(&summary));
        }
        Ok(texts)
    }
}

impl GroupPageArgs {
    /// Whether a page is requested.
    pub(crate) fn is_given(&self) -> bool {
        self.html.is_some()
    }

    /// Maximum number of groups on the page.
    pub(crate) fn group_max(&self) -> usize {
        self.html_groups.get()
    }

    /// Opens the page and starts collecting its groups, if a page is requested.
    pub(crate) fn open(&self, force: bool) -> anyhow::Result<Option<OpenPage>> {
        let out = open_page(self.html.as_deref(), force, "clusters")?;
        let groups = || LargestGroups::within(self.html_max.as_u64()).at_most(self.group_max());
        Ok(out.map(|out| OpenPage { out, groups: groups() }))
    }

    /// Writes the page with the collected groups, and with their texts from `source`.
    pub(crate) fn write(
        &self,
        page: OpenPage,
        source: Option<TextSource<'_>>,
        about: &About<'_>,
        resources: &ResourceArgs,
        monitor: &Monitor,
        quiet: bool,
    ) -> anyhow::Result<()> {
        let OpenPage { out, groups } = page;
        let page = GroupPage::of(groups);
        let texts =
            source.map(|source| source.read(&page, resources, monitor, quiet)).transpose()?;
        let has_texts = texts.is_some();
        let (link, image) = (self.link.as_ref(), self.image.as_ref());
        let about = About { link, image, more: MORE, ..*about };
        let written = page.write(&about, texts, || monitor.check())?;
        out.write_whole(&written.html)?;
        monitor.finish();
        if !quiet && let Some(path) = &self.html {
            let left_out = match written.left_out_count {
                0 => String::new(),
                left => format!("; {} smaller ones left out: raise {MORE}", grouped(left)),
            };
            let groups = match about.judged {
                true => counted(written.group_count, "pair", "pairs"),
                false => counted(written.group_count, "cluster", "clusters"),
            };
            message!("wrote {} with {groups}{left_out}", path.display());
            if has_texts && written.missing_count > 0 {
                let documents = counted(written.missing_count, "document", "documents");
                message!("no text was found for {documents} of the page");
            }
        }
        Ok(())
    }
}

/// Changes the options of a page of groups for `pairs`, whose page shows pairs to judge.
pub(crate) fn of_pairs(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "html" => arg.help("Write a page with pairs of every distance to judge, instead of rows").long_help(
            "Write a page with pairs of every distance to judge, instead of rows\n\nThe distances \
             are up to -k, or 24 bits. Each document of a sample is paired with its nearest ones. \
             The judgements are saved as labels for 'fpstore evaluate'.",
        ),
        "html_groups" => arg.long("html-pairs").default_value("30").help("Number of pairs on the page"),
        "html_max" => arg.help("Maximum size of the page; further pairs are left out"),
        _ => arg,
    }
}

impl OpenPage {
    /// Adds a group to the page.
    pub(crate) fn take(&mut self, group: &ClusterRow) {
        self.groups.take_cluster(group);
    }
}
