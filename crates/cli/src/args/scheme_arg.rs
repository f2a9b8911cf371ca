//! The options `--scheme`, `--budget` and `--distance` for the tables of a new segment.

use anyhow::bail;
use clap::Args;
use fpstore::plan::{Budget, FAMILIES};
use fpstore::{SchemeChoice, Store};

use super::first_given;
use crate::session::choice::distance;

/// The options for the usual distance of queries and for the space of the tables.
#[derive(Args, Debug)]
pub(crate) struct BudgetArgs {
    /// Usual distance of queries, in bits [default: from the recipe or the store, else 3]
    #[arg(short, long = "distance", value_name = "K", value_parser = distance())]
    pub(crate) k: Option<u32>,
    /// Space for the tables, such as 12GB or 16B/fp [default: 1 MiB and 12 bytes for each
    /// fingerprint, 18.5 if K is 6 or more]
    #[arg(long, value_name = "BYTES")]
    pub(crate) budget: Option<Budget>,
}

/// The options for the tables of a new segment.
#[derive(Args, Debug)]
pub(crate) struct SchemeArgs {
    /// Tables: auto, a name or a file of masks; see 'fpstore help schemes' [default: auto, or as in
    /// the largest segment]
    #[arg(long, value_name = "SCHEME")]
    scheme: Option<String>,
    #[command(flatten)]
    auto: BudgetArgs,
}

impl SchemeArgs {
    /// The usual distance of queries, if the user gives it.
    pub(crate) fn k(&self) -> Option<u32> {
        self.auto.k
    }

    pub(crate) fn budget(&self) -> Option<Budget> {
        self.auto.budget
    }

    /// The first of these options that the user gave.
    pub(crate) fn first_given(&self) -> Option<&'static str> {
        first_given([
            (self.auto.k.is_some(), "-k"),
            (self.scheme.is_some(), "--scheme"),
            (self.auto.budget.is_some(), "--budget"),
        ])
    }

    /// Which tables to build for a new store whose queries usually have the distance `k`.
    pub(crate) fn choice(&self, k: u32) -> anyhow::Result<SchemeChoice> {
        scheme_choice(self.scheme.as_deref().unwrap_or("auto"), k, self.auto.budget)
    }

    /// Which tables to build for a new segment of an existing store, if the user gives any of these
    /// options.
    pub(crate) fn choice_beside(&self, store: &Store) -> anyhow::Result<Option<SchemeChoice>> {
        match self.first_given() {
            None => Ok(None),
            Some(_) => self.choice(self.auto.k.unwrap_or(store.tuned_k())).map(Some),
        }
    }
}

/// Parses the value of `--scheme`: `auto`, the name of a scheme, or a file of masks.
fn scheme_choice(text: &str, k: u32, budget: Option<Budget>) -> anyhow::Result<SchemeChoice> {
    if budget.is_some() && text != "auto" {
        bail!("--budget is for --scheme auto, not for --scheme {text}");
    }
    Ok(SchemeChoice::parse(text, k, budget)?)
}

/// A list of all scheme names with descriptions, for the help.
pub(crate) fn scheme_names() -> String {
    let mut help = String::new();
    for family in FAMILIES {
        let name = match family.alias {
            Some(alias) => format!("{}, {alias}", family.name),
            None => family.name.into(),
        };
        help += &format!("  {name:<20} {}\n", family.about);
    }
    help
}
