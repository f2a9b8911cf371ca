//! The kernels against a walk gap by gap.

use proptest::prelude::*;

use super::*;
use crate::varint;

fn kernels() -> Vec<Kernel> {
    let mut kernels = vec![Kernel::Portable];
    #[cfg(target_arch = "x86_64")]
    {
        kernels.extend(avx2::is_available().then_some(Kernel::Avx2));
        kernels.extend(avx512::is_available().then_some(Kernel::Avx512));
    }
    kernels
}

/// The near heads of a plain block; `None` where a kernel must hand it back.
fn slow(file: &[u8], job: &Job, needle: Needle) -> Option<Vec<NearHead>> {
    if job.span.value_count() > LONG_BLOCK_MIN || job.span.heads_len() == 0 {
        return None;
    }
    let mut bytes = file.get(job.span.heads_start as usize..job.span.heads_end as usize)?;
    let (mut sum, mut rank, mut found) = (0_u64, job.span.rank_start, Vec::new());
    while !bytes.is_empty() {
        let (gap, len) = varint::read(bytes).ok()?;
        if len > 2 {
            return None;
        }
        sum = (sum + gap).min(u64::from(u16::MAX));
        bytes = &bytes[len..];
        let diff = (sum as u16 ^ needle.inner) & needle.mask;
        if diff.count_ones() <= job.spare {
            found.push(NearHead { block: job.block, rank, inner: sum });
        }
        rank += 1;
    }
    (rank - job.span.rank_start == job.span.value_count()).then_some(found)
}

fn check(file: &[u8], jobs: &[Job], needle: Needle) {
    for kernel in kernels() {
        let mut out = NearHeads::default();
        kernel.find(file, jobs, needle, &mut out);
        if kernel == Kernel::Portable {
            assert_eq!((out.left.len(), out.heads.len()), (jobs.len(), 0));
            continue;
        }
        let mut expected = NearHeads::default();
        for (number, job) in jobs.iter().enumerate() {
            let end = job.span.heads_start as usize
                + (job.span.heads_len() as usize).max(1).next_multiple_of(WINDOW_LEN);
            match slow(file, job, needle).filter(|_| end <= file.len()) {
                Some(heads) => expected.heads.extend(heads),
                None => expected.left.push(number),
            }
        }
        assert_eq!(out.heads, expected.heads, "{kernel:?}");
        assert_eq!(out.left, expected.left, "{kernel:?}");
    }
}

fn job(start: usize, len: usize, value_count: u64, spare: u32) -> Job {
    let (heads_start, heads_end) = (start as u64, (start + len) as u64);
    let span = BlockSpan { heads_start, heads_end, rank_start: 1000, rank_end: 1000 + value_count };
    Job { block: BlockIndex(heads_start), span, spare }
}

fn gap() -> impl Strategy<Value = u64> {
    prop_oneof![30 => 0..128_u64, 3 => 128..2000_u64, 1 => Just(0), 1 => 0..60_000_u64]
}

proptest! {
    #[test]
    fn kernels_find_what_a_walk_finds(
        blocks in prop::collection::vec((prop::collection::vec(gap(), 0..90), 0..4_u32), 1..9),
        mask: u16, pick: u16, after: [u8; 32], lie in 0..30_u8,
    ) {
        let (mut file, mut jobs, mut sums) = (Vec::new(), Vec::new(), vec![0]);
        for (gaps, spare) in &blocks {
            let (start, mut sum) = (file.len(), 0_u64);
            for gap in gaps {
                varint::write(*gap, &mut file);
                sum = (sum + gap).min(u64::from(u16::MAX));
                sums.push(sum as u16);
            }
            let value_count = gaps.len() as u64 + u64::from(lie == 0);
            jobs.push(job(start, file.len() - start, value_count, *spare));
        }
        file.extend_from_slice(&after);
        file.extend_from_slice(&after);
        for mask in [mask, u16::MAX, 0x7fff, 0x03ff, 0] {
            for inner in [pick, sums[usize::from(pick) % sums.len()]] {
                check(&file, &jobs, Needle { inner, mask });
            }
        }
    }

    #[test]
    fn kernels_take_any_bytes(file in prop::collection::vec(any::<u8>(), 0..300), jobs in prop::collection::vec((0..300_usize, 0..140_usize, 0..4_u32), 1..5), inner: u16, mask: u16) {
        let jobs: Vec<Job> = jobs.into_iter().map(|(start, len, spare)| {
            let len = len.min(file.len().saturating_sub(start));
            let bytes = file.get(start..).unwrap_or_default();
            let ends = bytes.iter().take(len).filter(|&&byte| byte < 0x80).count();
            job(start, len, ends as u64, spare)
        }).collect();
        check(&file, &jobs, Needle { inner, mask });
    }
}

#[test]
fn what_is_plain_is_what_the_cost_model_takes_for_plain() {
    use crate::scheme::{PLAIN_INNER_BITS_MAX, PLAIN_VALUES_MAX};
    assert_eq!((PLAIN_INNER_BITS_MAX, PLAIN_VALUES_MAX), (INNER_BITS_MAX, LONG_BLOCK_MIN));
}
