//! The list of commands in groups, for the help of the program and for the manual.

use std::fmt::Write;

use clap::{Args, Command};

use crate::args::recipe_args::RecipeArgs;

/// The groups of commands. A test checks that each command is in exactly one group.
pub(crate) const GROUPS: [(&str, &[&str]); 7] = [
    ("Make a store", &["build", "commit", "import", "plan"]),
    ("Search a store", &["query", "join", "serve"]),
    ("Find and remove duplicates", &["pairs", "cluster", "clean", "dedup", "contamination"]),
    ("Change a store", &["add", "delete", "expire", "compact", "export", "backup", "promote"]),
    ("Inspect a store", &["info", "log", "stats", "verify", "dump"]),
    ("Work with texts", &["fingerprint", "simhash", "compare", "features", "df", "evaluate"]),
    ("Set up a shell", &["completions", "man"]),
];

/// Adds the grouped list of commands to the help of the program.
pub(crate) fn with_groups(program: Command) -> Command {
    let header = *program.get_styles().get_header();
    let literal = *program.get_styles().get_literal();
    let names = program.get_subcommands().map(|command| command.get_name().len());
    let width = names.max().unwrap_or_default();
    let mut list = String::new();
    for (group, names) in GROUPS {
        let _ = writeln!(list, "{header}{group}:{header:#}");
        for command in commands(&program, names) {
            let name = command.get_name();
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let padding = " ".repeat(width - name.len());
            let _ = writeln!(list, "  {literal}{name}{literal:#}{padding}  {about}");
        }
        list.push('\n');
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}\
         {header}Options:{header:#}\n{{options}}{{after-help}}"
    );
    program.help_template(template)
}

/// Moves options from a heading under which they do not belong to the general options: in clap, the
/// heading of a flattened group also applies to all options after the group.
pub(crate) fn with_own_headings(program: Command) -> Command {
    let recipe = RecipeArgs::augment_args(Command::new("recipe"));
    let of_recipe: Vec<_> = recipe.get_arguments().map(|arg| arg.get_id().clone()).collect();
    let heading = recipe.get_arguments().find_map(|arg| arg.get_help_heading());
    program.mut_subcommands(|command| {
        command.mut_args(|arg| match arg.get_help_heading() == heading {
            true if !of_recipe.contains(arg.get_id()) => arg.help_heading(None::<&str>),
            _ => arg,
        })
    })
}

/// The commands with these names.
pub(crate) fn commands<'a>(
    program: &'a Command,
    names: &'a [&str],
) -> impl Iterator<Item = &'a Command> {
    names.iter().filter_map(|name| program.find_subcommand(name))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn options_of_every_command_stand_under_no_heading() {
        let program = crate::program();
        for command in program.get_subcommands() {
            let common = ["quiet", "output", "force", "format", "skip_bad", "memory", "threads"];
            let common =
                command.get_arguments().filter(|it| common.contains(&it.get_id().as_str()));
            for arg in common.filter(|arg| arg.get_help_heading().is_some()) {
                // Some of these options belong to a heading after all: in `query` they need --from,
                // in
                // `serve` --writable.
                let own = match command.get_name() {
                    "query" => "Queries from files",
                    "serve" => "Writing",
                    name => panic!("{name}: {arg:?}"),
                };
                assert_eq!(arg.get_help_heading(), Some(own), "{arg:?}");
            }
        }
    }

    #[test]
    fn every_command_stands_in_one_group() {
        let program = crate::Cli::command();
        let mut names: Vec<&str> = program.get_subcommands().map(Command::get_name).collect();
        let mut listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        names.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, names);
    }
}
