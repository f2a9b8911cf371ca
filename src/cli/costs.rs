//! The unit costs of this machine, in a file in the cache folder of the user.

use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;

use anyhow::Context;
use etcetera::BaseStrategy;
use fpstore::plan::UnitCosts;

/// The first line of the file. A release with other steps has another line.
const MAGIC: &str = "fpstore unit costs 1, nanoseconds";
/// The greatest length of the file that is read.
const LEN_MAX: u64 = 1 << 16;

/// The measured costs, or the shipped ones if none were measured.
pub(super) fn of_this_machine() -> UnitCosts {
    measured().unwrap_or(UnitCosts::SHIPPED)
}

/// The measured costs. `None` if the file is missing, damaged or of another release.
pub(super) fn measured() -> Option<UnitCosts> {
    let mut text = String::new();
    fs::File::open(path().ok()?).ok()?.take(LEN_MAX).read_to_string(&mut text).ok()?;
    read(&text)
}

/// Saves costs for later commands and returns the path of the file.
pub(super) fn keep(costs: &UnitCosts) -> anyhow::Result<PathBuf> {
    let path = path()?;
    let folder = path.parent().context("the cache folder has no parent")?;
    let write = || -> std::io::Result<()> {
        fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(written(costs).as_bytes())?;
        file.persist(&path)?;
        Ok(())
    };
    write().with_context(|| format!("cannot keep unit costs in {}", path.display()))?;
    Ok(path)
}

fn path() -> anyhow::Result<PathBuf> {
    let strategy = etcetera::choose_base_strategy().context("cannot find the cache folder")?;
    Ok(strategy.cache_dir().join("fpstore").join("unit-costs.txt"))
}

fn written(costs: &UnitCosts) -> String {
    let lines = costs.entries().into_iter().map(|(name, value)| format!("{name} {value}\n"));
    format!("{MAGIC}\n{}", lines.collect::<String>())
}

fn read(text: &str) -> Option<UnitCosts> {
    let mut lines = text.lines();
    if lines.next()? != MAGIC {
        return None;
    }
    let entry = |line: &str| {
        let (name, value) = line.split_once(' ')?;
        Some((name.to_owned(), value.parse().ok()?))
    };
    UnitCosts::from_entries(&lines.map(entry).collect::<Option<Vec<_>>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_read_back_and_a_damaged_file_counts_as_none() {
        let mut costs = UnitCosts::SHIPPED;
        costs.probe = 12.345_678;
        let text = written(&costs);
        assert_eq!(read(&text), Some(costs));
        for (at, _) in text.char_indices() {
            // A shorter last number is still a number; anything else is refused.
            if let Some(found) = read(&text[..at]) {
                assert!(text[at..].lines().count() == 1 && found.touch[0] == costs.touch[0]);
            }
        }
        for damaged in [
            text.replace("probe", "prove"),
            text.replace("12.345678", "-1"),
            text.replace("12.345678", "nan"),
            text.replace("costs 1", "costs 2"),
            format!("{text}probe 1\n"),
            "\0\x01".into(),
        ] {
            assert_eq!(read(&damaged), None, "{damaged}");
        }
    }
}
