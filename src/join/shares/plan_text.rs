//! The text form of a plan, in which one process passes it to others.

use std::fmt;
use std::str::FromStr;

use super::{AGREEING_MAX, GROUPS_MAX, JoinPlan};
use crate::base::error::{Error, Result};
use crate::base::text_version::fault_of_version;
use crate::join::engine::cut::leads_with;

/// The first words of the text form.
const TITLE: &str = "join-plan 1";
/// Advice in the error message for a plan text of another version.
const REMEDY: &str = "make the plan again, with one version of fpstore on all machines";

impl fmt::Display for JoinPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |masks: &[u64]| {
            let masks: Vec<String> = masks.iter().map(|mask| format!("{mask:016x}")).collect();
            masks.join("+")
        };
        write!(f, "{TITLE} k={} reads={}", self.k, self.reads())?;
        write!(f, " groups={} blocks={}", self.group_count(), list(&self.blocks))?;
        if self.tables.is_empty() { Ok(()) } else { write!(f, " tables={}", list(&self.tables)) }
    }
}

impl FromStr for JoinPlan {
    type Err = Error;

    /// Parses the text form of a plan.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidPlan`] if the text is not a valid plan of this version.
    fn from_str(text: &str) -> Result<Self> {
        let refuse = |reason: &str| Error::InvalidPlan {
            reason: format!("'{}' is not a join plan: {reason}", text.escape_debug()),
        };
        if let Some(fault) = fault_of_version(text, TITLE, REMEDY) {
            return Err(refuse(&fault));
        }
        let fields = text.trim().strip_prefix(TITLE);
        let mut words = fields.ok_or_else(|| refuse("it does not begin 'join-plan 1'"))?.split(' ');
        if words.next() != Some("") {
            return Err(refuse("it does not begin 'join-plan 1'"));
        }
        let mut field = |name: &str| {
            let value = words.next().and_then(|word| word.strip_prefix(name)?.strip_prefix('='));
            value.ok_or_else(|| refuse(&format!("expected {name}=...")))
        };
        let number = |text: &str| text.parse::<u32>().ok().filter(|n| n.to_string() == text);
        let k = number(field("k")?).filter(|&k| k < 64);
        let k = k.ok_or_else(|| refuse("k is not a number from 0 to 63"))?;
        let reads = field("reads")?;
        let groups = number(field("groups")?).filter(|&of| of > 0 && of.is_multiple_of(k + 1));
        let groups = groups.filter(|&of| of / (k + 1) <= GROUPS_MAX);
        let groups = groups.ok_or_else(|| refuse("groups is not a multiple of k + 1"))?;
        let masks = |text: &str| -> Option<Vec<u64>> {
            let mask = |text: &str| {
                let mask = u64::from_str_radix(text, 16).ok()?;
                (mask != 0 && format!("{mask:016x}") == text).then_some(mask)
            };
            text.split('+').map(mask).collect()
        };
        let blocks = masks(field("blocks")?).ok_or_else(|| refuse("bad mask in 'blocks'"))?;
        let total: u32 = blocks.iter().map(|block| block.count_ones()).sum();
        let agreeing = blocks.len().saturating_sub(k as usize);
        if agreeing == 0 || agreeing > AGREEING_MAX as usize {
            return Err(refuse("there must be k + 1 to k + 4 blocks"));
        }
        if blocks.iter().fold(0, |all, block| all | block).count_ones() != total {
            return Err(refuse("blocks overlap"));
        }
        let tables = match reads {
            "everything" => Vec::new(),
            "ranges" => masks(field("tables")?).ok_or_else(|| refuse("bad mask in 'tables'"))?,
            _ => return Err(refuse("the field 'reads' is neither 'ranges' nor 'everything'")),
        };
        if !(tables.is_empty() || tables.len() == k as usize + 1) {
            return Err(refuse("expected k + 1 tables"));
        }
        if !tables.iter().zip(&blocks).all(|(&mask, &block)| leads_with(mask, block)) {
            return Err(refuse(
                "the leading bits of each table mask must be the block at the same position",
            ));
        }
        if words.next().is_some() {
            return Err(refuse("there is text after the plan"));
        }
        Ok(JoinPlan { k, blocks, tables, parts: groups / (k + 1) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_no_plan_is_refused() {
        let plan = JoinPlan::new(3).unwrap().with_groups(30).unwrap();
        assert_eq!(plan.group_count(), 32);
        let text = plan.to_string();
        assert_eq!(text.parse::<JoinPlan>().unwrap(), plan);
        assert!(text.starts_with("join-plan 1 k=3 reads=everything groups=32 blocks="), "{text}");
        let blocks: Vec<&str> = text.split_once("blocks=").unwrap().1.split('+').collect();
        // A plan has at least `k + 1` blocks, so that a pair agrees on one, and at most `k + 4`.
        let with = |k: usize, blocks: &str| {
            let groups = 8 * (k + 1);
            format!("join-plan 1 k={k} reads=everything groups={groups} blocks={blocks}")
        };
        assert!(with(blocks.len() - 1, &blocks.join("+")).parse::<JoinPlan>().is_ok());
        let bits: Vec<String> = (0..8).map(|bit| format!("{:016x}", 1_u64 << bit)).collect();
        assert!(with(4, &bits.join("+")).parse::<JoinPlan>().is_ok());
        // This plan has one table instead of a table for each of the first `k + 1` blocks.
        let few = format!("{} tables={}", text.replace("everything", "ranges"), blocks[0]);
        let wrong = [
            with(blocks.len(), &blocks.join("+")),
            with(3, &bits.join("+")),
            few,
            String::new(),
            "join-plan 2 k=3".into(),
            "join-plan 1".into(),
            format!("{text} more=1"),
            text.replace("k=3", "k=64"),
            text.replace("k=3", "k=03"),
            text.replace("k=3", "k=8"),
            text.replace("groups=32", "groups=33"),
            text.replace("groups=32", "groups=0"),
            text.replace("everything", "ranges"),
            text.replace("everything", "nothing"),
            text.replace("blocks=f", "blocks=g"),
            text.replace("blocks=fff0", "blocks=ffff"),
            format!("{text}+0000000000000000"),
        ];
        for wrong in wrong {
            let refused = wrong.parse::<JoinPlan>();
            assert!(matches!(refused, Err(Error::InvalidPlan { .. })), "{wrong}: {refused:?}");
        }
    }
}
