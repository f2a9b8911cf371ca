//! The options `--scheme` and `--budget`: which tables a segment gets.

use anyhow::bail;
use clap::Args;
use fpstore::plan::{Budget, FAMILIES};
use fpstore::{SchemeChoice, Store};

use crate::cli::session::choice::distance;
use crate::cli::session::costs;

/// What the choice of the tables of a new segment depends on, in a store that has some.
#[derive(Args, Debug)]
pub(in crate::cli) struct AutoArgs {
    /// With --scheme auto: the usual distance of queries [default: that of the store]
    #[arg(short, value_parser = distance())]
    k: Option<u32>,
    /// With --scheme auto: space for the tables, such as 12GB or 16B/fp
    #[arg(long, value_name = "BYTES")]
    budget: Option<Budget>,
}

impl AutoArgs {
    /// The choice that the user made, if any.
    pub(in crate::cli) fn choice(
        &self,
        scheme: Option<&str>,
        store: &Store,
    ) -> anyhow::Result<Option<SchemeChoice>> {
        if scheme.is_none() && self.k.is_none() && self.budget.is_none() {
            return Ok(None);
        }
        let k = self.k.unwrap_or(store.tuned_k());
        scheme_choice(scheme.unwrap_or("auto"), k, self.budget).map(Some)
    }
}

/// The choice that `--scheme` names, by the costs of this machine.
pub(in crate::cli) fn scheme_choice(
    text: &str,
    k: u32,
    budget: Option<Budget>,
) -> anyhow::Result<SchemeChoice> {
    if budget.is_some() && text != "auto" {
        bail!("--budget is for --scheme auto, not for --scheme {text}");
    }
    Ok(SchemeChoice::parse(text, k, budget)?.by_costs(costs::of_this_machine()))
}

/// The long help of `--scheme`: every name with the masks that it stands for.
pub(in crate::cli) fn scheme_help() -> String {
    let mut help = String::from(
        "The tables: auto, a name or a file of masks\n\n\
         auto is the fastest scheme for the fingerprints and -k within --budget. A file has one \
         mask on each line, in hex. More tables are larger and mostly faster. The names:\n\n",
    );
    for family in FAMILIES {
        let name = match family.alias {
            Some(alias) => format!("{}, {alias}", family.name),
            None => family.name.into(),
        };
        help += &format!("  {name:<20} {}\n", family.about);
    }
    help + "\nWith -live, -dealt or -sorted after a name the masks are cut from the bits that vary in \
            the data; 'fpstore plan --sample' compares them"
}
