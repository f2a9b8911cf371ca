//! Help topics: pages that describe options that many commands share.
//!
//! `fpstore help documents` prints the topic `documents`; the manual has a page for each topic. The
//! help of a command lists only the names of such options, in a line for each topic
//! ([`with_topics`]). The help texts of the options come from the argument definitions.

use std::fmt::Write;

use clap::builder::Resettable;
use clap::{Arg, Args, Command, Id};

use super::stream::BatchArgs;
use super::topic_texts::{
    CLUSTERS, CONFIRM, DOCUMENTS, ENVIRONMENT, EXIT_STATUS, INPUT, LABELS, MEMORY, OUTPUT, QUERIES,
    RECIPES, SCHEMES, STREAMS,
};
use crate::args::documents::FieldArgs;
use crate::args::format_args::HeaderArg;
use crate::args::help_of;
use crate::args::inputs::ReadArgs;
use crate::args::reading_args::ReadingArgs;
use crate::args::recipe_args::RecipeArgs;
use crate::args::resources::{QuietArgs, ResourceArgs};
use crate::args::scheme_arg::{SchemeArgs, scheme_names};
use crate::args::segment_args::IdTypeArgs;
use crate::output::color::ColorArgs;
use crate::output::sink::OutputArgs;
use crate::session::wait::WaitArgs;

/// The width of the list of shared options in the help of a command, in columns.
const WIDTH: usize = 96;

/// A help topic.
pub(crate) struct Topic {
    pub(crate) name: &'static str,
    /// A short description in one line.
    pub(crate) about: &'static str,
    text: fn() -> String,
    options: fn(Command) -> Command,
}

/// All topics, in the order in which the help lists them.
pub(crate) const TOPICS: [Topic; 13] = [
    Topic {
        name: "input",
        about: "Files of fingerprints and ids",
        text: || INPUT.into(),
        options: |to| IdTypeArgs::augment_args(FieldArgs::augment_args(ReadArgs::augment_args(to))),
    },
    Topic {
        name: "documents",
        about: "Files of documents, their ids and their texts",
        text: || DOCUMENTS.into(),
        options: ReadingArgs::augment_args,
    },
    Topic {
        name: "recipes",
        about: "Recipes, which convert texts to fingerprints",
        text: || RECIPES.into(),
        options: RecipeArgs::augment_args,
    },
    Topic {
        name: "confirm",
        about: "Confirmation of near documents by their features",
        text: || CONFIRM.into(),
        options: |to| to,
    },
    Topic {
        name: "queries",
        about: "Kinds of queries, and their output",
        text: || QUERIES.into(),
        options: |to| to,
    },
    Topic {
        name: "clusters",
        about: "Cluster methods, documents to keep, and the page of clusters",
        text: || CLUSTERS.into(),
        options: |to| to,
    },
    Topic {
        name: "schemes",
        about: "The tables of a store: their speed for each k, and their space",
        text: || format!("{SCHEMES}\n\n{}", scheme_names().trim_end()),
        options: SchemeArgs::augment_args,
    },
    Topic {
        name: "labels",
        about: "Labels of segments, and jobs that are safe to repeat",
        text: || LABELS.into(),
        options: |to| to,
    },
    Topic {
        name: "streams",
        about: "Streams of records, and their durability",
        text: || STREAMS.into(),
        options: BatchArgs::augment_args,
    },
    Topic {
        name: "memory",
        about: "Memory, threads, temporary files, progress, and waiting for others",
        text: || MEMORY.into(),
        options: |to| WaitArgs::augment_args(ResourceArgs::augment_args(to)),
    },
    Topic {
        name: "output",
        about: "Formats, files, colours and messages",
        text: || OUTPUT.into(),
        options: |to| {
            let to = HeaderArg::augment_args(OutputArgs::augment_args(to));
            ColorArgs::augment_args(QuietArgs::augment_args(to))
        },
    },
    Topic {
        name: "exit-status",
        about: "The exit status of each command",
        text: || EXIT_STATUS.into(),
        options: |to| to,
    },
    Topic {
        name: "environment",
        about: "Environment variables, and files outside of stores",
        text: || ENVIRONMENT.into(),
        options: |to| to,
    },
];

impl Topic {
    /// The topic with this name, if there is one.
    pub(crate) fn named(name: &str) -> Option<&'static Topic> {
        TOPICS.iter().find(|topic| topic.name == name)
    }

    /// The text of the topic before its options.
    pub(crate) fn text(&self) -> String {
        (self.text)()
    }

    /// A parser command with the options of the topic, from which help and manual are generated.
    pub(crate) fn command(&self) -> Command {
        let command = Command::new(self.name).about(self.about).disable_help_flag(true);
        // Removes conflicts and requirements, which can name options that the topic does not have.
        let none = || Resettable::<Id>::Reset;
        (self.options)(command).mut_args(|arg| {
            let alone = arg.conflicts_with(none()).requires(none());
            alone.hide_short_help(false).help_heading(None::<&str>)
        })
    }

    /// The complete topic, as `fpstore help` prints it.
    pub(crate) fn help(&self) -> clap::builder::StyledStr {
        let options = self.command();
        let has_options = options.get_arguments().next().is_some();
        let text = format!("{}.\n\n{}", self.about, self.text());
        let template = if has_options { "{about}\n\nOptions:\n{options}" } else { "{about}\n" };
        options.about(text).help_template(template).render_long_help()
    }

    /// Whether the topic describes `arg`, an option of a command. False if the command gives the
    /// option another help text. `own` is the result of [`Topic::command`].
    fn has(&self, arg: &Arg, own: &Command) -> bool {
        own.get_arguments().any(|it| it.get_id() == arg.get_id() && help_of(it) == help_of(arg))
    }
}

/// Hides the options of the command that topics describe. Returns the command, and a line for each
/// topic with the names of these options.
pub(crate) fn with_topics(mut command: Command) -> (Command, String) {
    let mut list = String::new();
    for topic in &TOPICS {
        let own = topic.command();
        let told: Vec<Arg> =
            command.get_arguments().filter(|arg| topic.has(arg, &own)).cloned().collect();
        if told.is_empty() {
            continue;
        }
        let ids: Vec<_> = told.iter().map(|arg| arg.get_id().clone()).collect();
        command = command.mut_args(|arg| {
            let is_told = ids.contains(arg.get_id());
            if is_told { arg.hide(true) } else { arg }
        });
        write_names(&mut list, topic.name, &told);
    }
    (command, list)
}

/// A list, after `title`, of the options that neither the short help nor a topic describes.
pub(crate) fn rare_options(command: &Command, title: &str) -> String {
    let is_rare = |arg: &&Arg| arg.is_hide_short_help_set() && !arg.is_hide_set();
    let rare: Vec<Arg> = command.get_arguments().filter(is_rare).cloned().collect();
    let mut list = String::new();
    if !rare.is_empty() {
        write_names(&mut list, title, &rare);
    }
    list
}

/// Appends lines with the names of `options`. The first line begins with `title`.
fn write_names(list: &mut String, title: &str, options: &[Arg]) {
    let mut line = format!("  {title:<11}");
    for option in options {
        let word = spelling(option);
        if line.len() + word.len() + 2 > WIDTH {
            let _ = writeln!(list, "{}", line.trim_end());
            line = " ".repeat(13);
        }
        let _ = write!(line, "{word}, ");
    }
    let _ = writeln!(list, "{}", line.trim_end_matches(", "));
}

fn spelling(arg: &Arg) -> String {
    match (arg.get_short(), arg.get_long()) {
        (Some(short), Some(long)) => format!("-{short}/--{long}"),
        (Some(short), None) => format!("-{short}"),
        (None, long) => format!("--{}", long.unwrap_or_default()),
    }
}

/// A list of all topics with their descriptions.
pub(crate) fn list_of_topics() -> String {
    let line = |topic: &Topic| format!("  {:<12} {}\n", topic.name, topic.about);
    TOPICS.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_option_is_told_by_two_topics() {
        let mut known = std::collections::HashMap::new();
        for topic in &TOPICS {
            for arg in topic.command().get_arguments() {
                let before = known.insert(arg.get_id().clone(), topic.name);
                assert_eq!(before, None, "{}: {}", topic.name, arg.get_id());
            }
        }
    }

    #[test]
    fn topics_have_the_names_of_no_command() {
        let program = crate::program();
        for topic in &TOPICS {
            assert!(program.find_subcommand(topic.name).is_none(), "{}", topic.name);
        }
    }
}
