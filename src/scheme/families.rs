//! The single list of named families of masks.
//!
//! [`FAMILIES`] is used by [`Scheme::named`](crate::Scheme::named), the help of `--scheme`, the
//! planner, and a test that compares it with the documentation. A new family needs an entry here, a
//! design in `designs`, and a line in `PROMISES`, which the tests of `cover` prove.
//!
//! Blocks are cut from the most significant bit.

use super::cover::TABLE_COUNT_MAX;
use super::designs::{Design, Member};
use crate::base::error::{Error, Result};

/// A family of masks with a name that [`Scheme::named`](crate::Scheme::named) accepts.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Family {
    /// The name. A capital letter stands for an argument: `blocks-M` for `blocks-5`.
    pub name: &'static str,
    /// Another name for the same masks, if there is one.
    pub alias: Option<&'static str>,
    /// A short description of the masks.
    pub about: &'static str,
    /// Makes the member of the family for an argument and a distance `k`. The argument is the text
    /// that replaces the capital letter of `name`, such as `5` in `blocks-5`.
    member: fn(argument: &str, k: u32) -> Result<Member>,
    /// The designs that the planner considers for a distance `k`.
    pub(crate) planned: fn(k: u32) -> Vec<Design>,
}

/// All families, simplest first: among equally good schemes the planner takes the first.
pub const FAMILIES: &[Family] = &[
    one("1", "archive", "one table over all 64 bits", |_, _| even(Design::Blocks(1))),
    one("2", "halves", "two halves of 32 bits", |_, _| even(Design::Blocks(2))),
    one("3", "blocks-26+19+19", "three blocks of 26, 19 and 19 bits", |_, _| {
        Ok(Member { design: Design::Blocks(3), widths: vec![26, 19, 19] })
    }),
    one("4", "blocks-4", "four blocks of 16 bits", |_, _| even(Design::Blocks(4))),
    Family {
        name: "blocks-M",
        alias: None,
        about: "M disjoint blocks, M from 1 to 64, or blocks of these widths, as 26+19+19",
        member: blocks,
        planned: |k| (1..=(k + 1).min(10)).map(Design::Blocks).collect(),
    },
    one("10", "choose-5-for-3", "pairs of 5 blocks, for k = 3", |_, _| choices(5, 3)),
    one("20", "choose-6-for-3", "triples of 6 blocks, for k = 3", |_, _| choices(6, 3)),
    Family {
        name: "choose-R",
        alias: None,
        about: "every choice of R-k of R blocks, R from k+1 to 64; choose-R-for-K has a k of its own",
        member: choose,
        planned: planned_choices,
    },
    covering::<6>("6", "covering-6", "pairs of 6 blocks, for k = 3"),
    covering::<8>("8", "covering-8", "triples of 8 bytes, for k = 3"),
    covering::<11>("11", "covering-11", "fives of 11 blocks, for k = 3"),
    covering::<14>("14", "covering-14", "fours of 8 bytes, for k = 3"),
    covering::<15>("15", "covering-15", "eights of 15 blocks, for k = 3"),
    Family {
        name: "hyperplanes",
        alias: None,
        about: "2^(k+1)-2 halves of 2^k blocks, k from 1 to 5",
        member: |_, k| hyperplanes(k),
        planned: |k| if k == 4 || k == 5 { vec![Design::Hyperplanes { k }] } else { Vec::new() },
    },
    Family {
        planned: |k| if k == 3 { vec![Design::Nested16] } else { Vec::new() },
        ..one("16", "nested-16", "a block of 4, then a quarter of the rest, for k = 3", |_, _| {
            even(Design::Nested16)
        })
    },
];

/// Names of members with `k` and radii, at least one entry for each family: with these radii for
/// its first tables and radius 0 for its other tables, the member covers `k`.
#[cfg(test)]
pub(crate) const PROMISES: &[(&str, u32, &[u32])] = &[
    ("1", 3, &[3]),
    ("2", 3, &[1, 1]),
    ("3", 3, &[1]),
    ("4", 3, &[]),
    ("blocks-5", 4, &[]),
    ("blocks-30+20+14", 5, &[1, 1, 1]),
    ("10", 3, &[]),
    ("20", 3, &[]),
    ("choose-4", 1, &[]),
    ("choose-5", 2, &[]),
    ("choose-10", 3, &[]),
    ("choose-7", 4, &[]),
    ("choose-8", 5, &[]),
    ("6", 3, &[]),
    ("8", 3, &[]),
    ("11", 3, &[]),
    ("14", 3, &[]),
    ("15", 3, &[]),
    ("hyperplanes", 1, &[]),
    ("hyperplanes", 2, &[]),
    ("hyperplanes", 3, &[]),
    ("hyperplanes", 4, &[]),
    ("hyperplanes", 5, &[]),
    ("16", 3, &[]),
];

/// A family with one member, and without designs for the planner.
const fn one(
    name: &'static str,
    alias: &'static str,
    about: &'static str,
    member: fn(&str, u32) -> Result<Member>,
) -> Family {
    Family { name, alias: Some(alias), about, member, planned: |_| Vec::new() }
}

/// The family of the covering design with `TABLES` tables; the planner considers it from k = 3.
const fn covering<const TABLES: u32>(
    name: &'static str,
    alias: &'static str,
    about: &'static str,
) -> Family {
    Family {
        planned: |k| if k >= 3 { vec![Design::Covering(TABLES)] } else { Vec::new() },
        ..one(name, alias, about, |_, _| even(Design::Covering(TABLES)))
    }
}

impl Family {
    /// The argument in `name`, if `name` is a member of this family; empty for a family without an
    /// argument.
    pub(super) fn argument_in<'n>(&self, name: &'n str) -> Option<&'n str> {
        if self.alias == Some(name) {
            return Some("");
        }
        let fixed = self.name.trim_end_matches(|letter: char| letter.is_ascii_uppercase());
        let argument = name.strip_prefix(fixed)?;
        (argument.is_empty() == (fixed == self.name)).then_some(argument)
    }
}

/// Finds the member with this name. `k` is the distance, for families whose masks depend on it.
pub(crate) fn member(name: &str, k: u32) -> Result<Member> {
    let found = FAMILIES.iter().find_map(|family| Some((family, family.argument_in(name)?)));
    match found {
        Some((family, argument)) => (family.member)(argument, k),
        None => {
            let known: Vec<&str> = FAMILIES.iter().map(|family| family.name).collect();
            refuse(format!(
                "'{name}' is not a family of schemes, expected one of {}",
                known.join(", ")
            ))
        }
    }
}

/// The masks of a named member, over blocks cut from the most significant bit.
pub(super) fn masks_of(name: &str, k: u32) -> Result<Vec<u64>> {
    Ok(member(name, k)?.masks())
}

fn refuse<T>(reason: String) -> Result<T> {
    Err(Error::InvalidScheme { reason })
}

fn even(design: Design) -> Result<Member> {
    Ok(Member::even(design))
}

/// Parses the argument of `blocks-M`: a number such as `5`, or widths such as `26+19+19`.
fn blocks(argument: &str, _: u32) -> Result<Member> {
    let numbers: Option<Vec<u32>> = argument.split('+').map(|n| n.parse().ok()).collect();
    match numbers.as_deref() {
        Some([count @ 1..=64]) => even(Design::Blocks(*count)),
        Some(widths @ [_, _, ..]) if widths_fit(widths) => {
            let design = Design::Blocks(widths.len() as u32);
            Ok(Member { design, widths: widths.to_vec() })
        }
        _ => refuse(format!(
            "blocks-{argument}: expected a number from 1 to 64, or widths that sum to 64 bits"
        )),
    }
}

fn widths_fit(widths: &[u32]) -> bool {
    let sum = widths.iter().try_fold(0_u32, |sum, &width| sum.checked_add(width));
    sum == Some(64) && !widths.contains(&0)
}

/// Parses the argument of `choose-R`: `5` for distance `k`, or `5-for-2` for distance 2.
fn choose(argument: &str, k: u32) -> Result<Member> {
    let (count, own) = match argument.split_once("-for-") {
        Some((count, own)) => (count, own.parse().ok()),
        None => (argument, Some(k)),
    };
    match (count.parse(), own) {
        (Ok(count), Some(k)) => choices(count, k),
        _ => refuse(format!("choose-{argument}: expected a number, as choose-5 or choose-5-for-2")),
    }
}

fn choices(count: u32, k: u32) -> Result<Member> {
    if k > 63 {
        return refuse(format!(
            "choose-{count}: this family has no scheme for k = {k}; blocks-M has \
                               one for every k"
        ));
    }
    if count <= k || count > 64 {
        return refuse(format!("choose-{count}: the number must be {} to 64 for k = {k}", k + 1));
    }
    let most = TABLE_COUNT_MAX;
    let design = Design::Choose { blocks: count, k };
    if design.table_count().is_none_or(|tables| tables > most) {
        return refuse(format!("choose-{count} for k = {k} has more than {most} tables"));
    }
    even(design)
}

/// `Choose` designs for `k`, and designs for smaller distances, which cover `k` with larger radii.
fn planned_choices(k: u32) -> Vec<Design> {
    let all = |k: u32| (k + 2..=k + 4).map(move |blocks| Design::Choose { blocks, k });
    let own = (k <= 8).then_some(k).into_iter().flat_map(all);
    own.chain((1..k.min(4)).flat_map(|less| all(less).take(2))).collect()
}

fn hyperplanes(k: u32) -> Result<Member> {
    // With k = 6 there would be 126 tables, which take too much space.
    if !(1..=5).contains(&k) {
        return refuse(format!("hyperplanes: k must be 1 to 5, not {k}"));
    }
    even(Design::Hyperplanes { k })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_bits_are_those_of_the_design() {
        for (name, low, high) in [
            ("1", 64, 64),
            ("2", 32, 32),
            ("3", 19, 26),
            ("4", 16, 16),
            ("6", 21, 22),
            ("8", 24, 24),
            ("10", 25, 26),
            ("11", 28, 30),
            ("14", 32, 32),
            ("15", 32, 35),
            ("16", 28, 28),
            ("20", 31, 33),
        ] {
            let bits: Vec<u32> =
                masks_of(name, 3).unwrap().iter().map(|mask| mask.count_ones()).collect();
            assert_eq!((bits.iter().min(), bits.iter().max()), (Some(&low), Some(&high)), "{name}");
        }
    }

    #[test]
    fn hyperplanes_for_three_are_the_planes_of_the_design() {
        let mut general = masks_of("hyperplanes", 3).unwrap();
        let mut listed = masks_of("14", 3).unwrap();
        general.sort_unstable();
        listed.sort_unstable();
        assert_eq!(general, listed);
    }

    #[test]
    fn aliases_name_the_same_masks_and_names_are_distinct() {
        let mut names = Vec::new();
        for family in FAMILIES {
            names.extend([Some(family.name), family.alias].into_iter().flatten());
            if let Some(alias) = family.alias {
                assert_eq!(masks_of(family.name, 3).unwrap(), masks_of(alias, 3).unwrap());
                // No family before this one in the list may accept its alias.
                let general = FAMILIES.iter().find_map(|f| Some((f.name, f.argument_in(alias)?)));
                assert_eq!(general, Some((family.name, "")), "{alias}");
            }
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn the_name_of_a_planned_member_names_it() {
        for k in 0..=10 {
            for design in FAMILIES.iter().flat_map(|family| (family.planned)(k)) {
                let member = Member::even(design);
                if design.table_count().is_some_and(|tables| tables <= TABLE_COUNT_MAX) {
                    let named = super::member(&member.name(k), k).unwrap();
                    assert_eq!(named.masks(), member.masks(), "{design:?}");
                }
            }
        }
        let uneven = Member { design: Design::Blocks(3), widths: vec![30, 17, 17] };
        assert_eq!(uneven.name(3), "blocks-30+17+17");
        assert_eq!(super::member("blocks-30+17+17", 3).unwrap().masks(), uneven.masks());
    }

    #[test]
    fn names_that_have_no_member_say_what_would_work() {
        for (name, k, named) in [
            ("7", 3, "expected one of 1, 2, 3, 4"),
            ("hyperplanes-4", 4, "expected one of 1, 2, 3, 4"),
            ("choose-3", 3, "4 to 64"),
            ("choose-64", 32, "more than 256"),
            ("choose-5-for-x", 3, "choose-5-for-2"),
            ("hyperplanes", 6, "1 to 5"),
            ("blocks-65", 3, "from 1 to 64"),
            ("blocks-60+19", 3, "sum to 64"),
            ("blocks-", 3, "expected one of"),
        ] {
            let error = masks_of(name, k).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}
