//! Layouts: how the 64 bits are assigned to the blocks of a design, depending on the data.
//!
//! A bit that is the same in all values carries no information, and narrows no search. So blocks
//! get equal shares of the entropy instead of equal numbers of bits.

use crate::plan::sample_model::SampleModel;
use crate::scheme::designs::blocks_of_widths;

/// Bits with less information than this are left out of masks: nearly all values agree in them.
const DEAD_ENTROPY: f64 = 0.02;

/// How the 64 bits are assigned to blocks. Dead bits are bits that hardly vary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Blocks of consecutive bits from the most significant bit on, dead bits included.
    Natural,
    /// Blocks of consecutive bits from the most significant on, without dead bits, equal in
    /// information.
    Live,
    /// From the most significant on, each bit is assigned to the block that lacks the most
    /// information.
    Dealt,
    /// Like [`Layout::Dealt`], but bits with more information are assigned first.
    Sorted,
}

impl Layout {
    /// The layouts that depend on the data.
    const OF_DATA: [Layout; 3] = [Layout::Live, Layout::Dealt, Layout::Sorted];

    /// The suffix in the name of a scheme with this layout.
    fn suffix(self) -> &'static str {
        match self {
            Layout::Natural => "",
            Layout::Live => "-live",
            Layout::Dealt => "-dealt",
            Layout::Sorted => "-sorted",
        }
    }

    /// The name of a design with this layout, such as `halves-live`.
    pub(crate) fn name(self, design: &str) -> String {
        format!("{design}{}", self.suffix())
    }

    /// Splits the layout from the name of a scheme: `halves-live` into `halves` and
    /// [`Layout::Live`].
    pub(crate) fn split(name: &str) -> (&str, Layout) {
        let found = Layout::OF_DATA
            .into_iter()
            .find_map(|layout| Some((name.strip_suffix(layout.suffix())?, layout)));
        found.unwrap_or((name, Layout::Natural))
    }

    /// Disjoint blocks whose shares of the information are in proportion to `widths`. In the
    /// natural layout, and always without a model of the data, `widths` are their numbers of bits.
    pub(crate) fn blocks(self, widths: &[u32], model: Option<&SampleModel>) -> Vec<u64> {
        let Some(model) = model.filter(|_| self != Layout::Natural) else {
            return blocks_of_widths(widths);
        };
        let mut bits: Vec<(u32, f64)> = (0..64)
            .rev()
            .map(|bit| (bit, model.entropy(bit)))
            .filter(|&(_, entropy)| entropy >= DEAD_ENTROPY)
            .collect();
        if self == Layout::Sorted {
            bits.sort_by(|a, b| b.1.total_cmp(&a.1));
        }
        let all_widths = f64::from(widths.iter().sum::<u32>());
        let all_entropy: f64 = bits.iter().map(|&(_, entropy)| entropy).sum();
        let wanted: Vec<f64> =
            widths.iter().map(|&width| f64::from(width) / all_widths * all_entropy).collect();
        let mut blocks = vec![0_u64; widths.len()];
        let mut held = vec![0.0; widths.len()];
        let mut current = 0;
        for (bit, entropy) in bits {
            let at = match self {
                Layout::Live => {
                    // A bit starts the next block if less than half of its information fits into
                    // this one.
                    let full = held[current] + entropy / 2.0 > wanted[current];
                    current += usize::from(full && current + 1 < blocks.len());
                    current
                }
                _ => {
                    let lack = |at: &usize| (held[*at] + entropy / 2.0) / wanted[*at];
                    let by_lack = |a: &usize, b: &usize| lack(a).total_cmp(&lack(b));
                    (0..blocks.len()).min_by(by_lack).unwrap_or(0)
                }
            };
            blocks[at] |= 1 << bit;
            held[at] += entropy;
        }
        blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::profile::Sample;
    use fpstore_base::Fingerprint;

    #[test]
    fn dead_bits_are_left_out_and_live_ones_shared_out() {
        let values = (1..4000_u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let values = values.map(|value| Fingerprint::new((value ^ value >> 29) & 0xffff_ffff));
        let model = SampleModel::new(&Sample::of_kind(values).unwrap(), 1_000_000);
        for layout in Layout::OF_DATA {
            let found = layout.blocks(&[32, 32], Some(&model));
            assert_eq!(found[0] & found[1], 0);
            assert_eq!(found[0] | found[1], 0xffff_ffff, "{layout:?}");
            let [a, b] = [found[0].count_ones(), found[1].count_ones()];
            assert!(a.abs_diff(b) <= 2, "{layout:?}: {a}, {b}");
        }
        assert_eq!(Layout::Live.blocks(&[32, 32], Some(&model))[0] >> 32, 0);
        let natural = Layout::Natural.blocks(&[32, 32], Some(&model));
        assert_eq!(natural, [0xffff_ffff_0000_0000, 0xffff_ffff]);
    }

    #[test]
    fn names_are_split_where_the_layout_begins() {
        assert_eq!(Layout::split("halves-live"), ("halves", Layout::Live));
        assert_eq!(Layout::split("blocks-26+19+19-dealt"), ("blocks-26+19+19", Layout::Dealt));
        assert_eq!(Layout::split("covering-6"), ("covering-6", Layout::Natural));
        assert_eq!(Layout::Sorted.name("2"), "2-sorted");
    }
}
