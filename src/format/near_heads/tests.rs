//! The kernels against a walk gap by gap.

use proptest::prelude::*;

use super::*;
use crate::format::heads::LONG_BLOCK_MIN;
use crate::varint;

/// The near heads of gaps after `inner`, and where the values end; `None` where a kernel must hand them back.
fn slow(
    bytes: &[u8],
    block: BlockIndex,
    (mut inner, mut rank): (u64, u64),
    spare: u32,
    needle: Needle,
) -> Option<(Vec<NearHead>, u64)> {
    let (mut rest, mut found) = (bytes, Vec::new());
    while !rest.is_empty() {
        let (gap, len) = varint::read(rest).ok()?;
        if len > 8 {
            return None;
        }
        inner += gap;
        rest = &rest[len..];
        let head = needle.head_in(block, inner);
        if needle.is_near(inner, head, spare) {
            found.push(NearHead { rank: Rank(rank), head });
        }
        rank += 1;
    }
    Some((found, rank))
}

/// As [`slow`], of a block.
fn slow_job(file: &[u8], job: &Job, needle: Needle) -> Option<Vec<NearHead>> {
    let Job { block, span, spare } = *job;
    if span.value_count() > LONG_BLOCK_MIN {
        return None;
    }
    let bytes = file.get(span.heads_start as usize..span.heads_end as usize)?;
    let (found, rank) = slow(bytes, block, (0, span.rank_start), spare, needle)?;
    (rank == span.rank_end).then_some(found)
}

fn needle(inner: u64, mask: u64, k: u32) -> Needle {
    Needle { head: 5 << 52 | inner, inner_bits: 52, inner, mask, k }
}

/// Whether all windows of these bytes lie in the file: windows start where gaps do.
fn has_room(file: &[u8], start: usize, end: usize) -> bool {
    let mut at = start;
    loop {
        if at + WINDOW_LEN > file.len() {
            return false;
        }
        let window = &file[at..(at + WINDOW_LEN).min(end)];
        let Some(last) = window.iter().rposition(|&byte| byte < 0x80) else { return true };
        at += last + 1;
        if at >= end || window.len() < WINDOW_LEN {
            return true;
        }
    }
}

/// Each job by itself against a walk; then all at once, which must come to the same.
fn check(file: &[u8], jobs: &[Job], needle: Needle) {
    for kernel in Kernel::all() {
        let (mut heads, mut left) = (Vec::new(), Vec::new());
        for (number, job) in jobs.iter().enumerate() {
            let alone = check_job(kernel, file, job, needle);
            heads.extend(alone.heads);
            left.extend(alone.left.iter().map(|_| number));
            check_stretch(kernel, file, job, needle);
        }
        let mut together = NearHeads::default();
        kernel.find(file, jobs, needle, &mut together);
        together.left.sort_unstable();
        assert_eq!((together.heads, together.left), (heads, left), "{kernel:?}");
    }
}

fn check_job(kernel: Kernel, file: &[u8], job: &Job, needle: Needle) -> NearHeads {
    let mut out = NearHeads::default();
    kernel.find(file, std::slice::from_ref(job), needle, &mut out);
    let BlockSpan { heads_start, heads_end, .. } = job.span;
    let has_room = has_room(file, heads_start as usize, heads_end as usize);
    let handed_back = !out.left.is_empty();
    assert!(!handed_back || out.heads.is_empty(), "{kernel:?} handed back {job:?} and found");
    match slow_job(file, job, needle).filter(|_| has_room && kernel != Kernel::Portable) {
        Some(heads) => assert_eq!((&out.heads, handed_back), (&heads, false), "{kernel:?}"),
        None if kernel == Kernel::Portable => assert!(handed_back),
        // What breaks a rule may be overlooked where nothing is near, or above the range that is
        // looked for; no more is promised.
        None => {
            assert!(handed_back || out.heads.is_empty() || job.spare == 0, "{kernel:?} {job:?}")
        }
    }
    out
}

/// The same bytes as a stretch that goes on after some head, in steps.
fn check_stretch(kernel: Kernel, file: &[u8], job: &Job, needle: Needle) {
    let Job { block, span, spare } = *job;
    for (before, enough) in [(0, usize::MAX), (1000, 1), (1 << 40, 3)] {
        let mut stretch = Stretch {
            block,
            start: span.heads_start,
            end: span.heads_end,
            inner: before,
            rank: span.rank_start,
            rank_end: span.rank_end,
            spare,
            last: u64::MAX,
        };
        let mut found = Vec::new();
        let came = loop {
            match kernel.search(file, &mut stretch, needle, &mut found, enough.max(1)) {
                Progress::More => {}
                came => break came,
            }
        };
        // Whoever goes on where it stopped finds the rest.
        let whole = &file[span.heads_start as usize..span.heads_end as usize];
        let read = slow(whole, block, (before, span.rank_start), spare, needle);
        match read {
            Some((expected, rank)) => {
                if came == Progress::Done {
                    assert_eq!((found, span.rank_end), (expected, rank), "{kernel:?}");
                } else {
                    let rest = &file[stretch.start as usize..span.heads_end as usize];
                    let from = (stretch.inner, stretch.rank);
                    let (more, end) = slow(rest, block, from, spare, needle).unwrap();
                    found.extend(more);
                    assert_eq!((found, end), (expected, rank), "{kernel:?}");
                }
            }
            // What lies below the range that is looked for is passed over.
            None => assert!(came == Progress::HandedBack || spare == 0, "{kernel:?}"),
        }
    }
}

fn job(start: usize, len: usize, value_count: u64, spare: u32) -> Job {
    let (heads_start, heads_end) = (start as u64, (start + len) as u64);
    let span = BlockSpan { heads_start, heads_end, rank_start: 1000, rank_end: 1000 + value_count };
    Job { block: BlockIndex(heads_start), span, spare }
}

fn gap() -> impl Strategy<Value = u64> {
    prop_oneof![
        60 => 0..128_u64, 6 => 128..2000_u64, 2 => Just(0), 2 => 0..60_000_u64, 1 => 0..10_000_000_u64,
        1 => 0..1_u64 << 36, 1 => 0..1_u64 << 44,
    ]
}

proptest! {
    #[test]
    fn kernels_find_what_a_walk_finds(
        blocks in prop::collection::vec((prop::collection::vec(gap(), 1..150), 0..4_u32), 1..9),
        mask: u64, pick: u16, k in prop_oneof![Just(64_u32), 0..9_u32], after: [u8; 32], lie in 0..30_u8,
    ) {
        let (mut file, mut jobs, mut sums) = (Vec::new(), Vec::new(), vec![0]);
        for (gaps, spare) in &blocks {
            let (start, mut sum) = (file.len(), 0_u64);
            for gap in gaps {
                varint::write(*gap, &mut file);
                sum += gap;
                sums.push(sum);
            }
            let value_count = gaps.len() as u64 + u64::from(lie == 0);
            jobs.push(job(start, file.len() - start, value_count, *spare));
        }
        file.extend_from_slice(&after);
        file.extend_from_slice(&after);
        for mask in [mask, u64::MAX, u64::MAX << 3, u64::MAX << 12, 0] {
            for inner in [u64::from(pick), sums[usize::from(pick) % sums.len()]] {
                check(&file, &jobs, needle(inner, mask, k));
            }
        }
    }

    #[test]
    fn kernels_take_any_bytes(file in prop::collection::vec(any::<u8>(), 0..300), jobs in prop::collection::vec((0..300_usize, 1..140_usize, 0..4_u32), 1..5), inner: u16, mask: u16) {
        let mut jobs: Vec<Job> = jobs.into_iter().map(|(start, len, spare)| {
            let start = start.min(file.len());
            let len = len.min(file.len() - start);
            let ends = file[start..].iter().take(len).filter(|&&byte| byte < 0x80).count();
            job(start, len, ends as u64, spare)
        }).collect();
        jobs.retain(|job| job.span.heads_len() > 0);
        let mask = u64::MAX << 16 | u64::from(mask);
        check(&file, &jobs, needle(inner.into(), mask, 64));
    }
}

#[test]
fn a_stretch_ends_above_its_last_head() {
    for kernel in Kernel::all() {
        let file = [1_u8; 512];
        let start = Stretch {
            block: BlockIndex(5),
            start: 0,
            end: 400,
            inner: 0,
            rank: 0,
            rank_end: 400,
            spare: 0,
            last: 70,
        };
        let (mut stretch, mut found) = (start, Vec::new());
        let needle = needle(70, u64::MAX, 0);
        let came = kernel.search(&file, &mut stretch, needle, &mut found, 10);
        if kernel == Kernel::Portable {
            assert_eq!((came, stretch), (Progress::HandedBack, start));
            continue;
        }
        assert_eq!(came, Progress::Done);
        assert_eq!(found, [NearHead { rank: Rank(69), head: 5 << 52 | 70 }]);
        assert_eq!(stretch.start, 128, "{kernel:?}");
    }
}

#[test]
fn what_is_long_is_what_the_cost_model_takes_for_long() {
    assert_eq!(crate::scheme::PLAIN_VALUES_MAX, LONG_BLOCK_MIN);
}
