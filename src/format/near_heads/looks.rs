//! A first look at all blocks, without a branch, and a second one where it pays.

use super::windows;
use super::{Job, NearHead, NearHeads, Needle, Progress, Stretch, WINDOW_LEN};
use crate::format::heads::LONG_BLOCK_MIN;
use crate::format::prefix_index::BlockSpan;

/// One look at the bytes of a window; a bit for each, the first one lowest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Glance {
    /// Bytes with the high bit set: the gap goes on in the next one.
    pub(super) open: u64,
    /// Bytes at which the lowest byte of the sum is near that of the needle.
    pub(super) perhaps: u64,
}

/// What is made of the instructions at hand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes<O, Z, G, S, A> {
    /// Names by bits the bytes of a window that have the high bit set.
    pub(super) open: O,
    /// Names by bits those that are zero.
    pub(super) zero: Z,
    /// Looks at a window, with the lowest byte of the sum before it and the flips that are forgiven.
    pub(super) glance: G,
    /// Adds the lower seven bits of those bytes of a window that are named by bits.
    pub(super) sum: S,
    /// Takes the lower 32 bits of the sums at all bytes of a window, given which are open, and names by bits those that are near.
    pub(super) all: A,
}

pub(super) trait BitsFn: Fn(&[u8; WINDOW_LEN]) -> u64 {}
impl<F: Fn(&[u8; WINDOW_LEN]) -> u64> BitsFn for F {}
pub(super) trait GlanceFn: Fn(&[u8; WINDOW_LEN], u8, u32) -> Glance {}
impl<F: Fn(&[u8; WINDOW_LEN], u8, u32) -> Glance> GlanceFn for F {}
pub(super) trait SumFn: Fn(&[u8; WINDOW_LEN], u64) -> u64 {}
impl<F: Fn(&[u8; WINDOW_LEN], u64) -> u64> SumFn for F {}
pub(super) trait AllFn:
    Fn(&[u8; WINDOW_LEN], u64, NearSums) -> ([u32; WINDOW_LEN], u64)
{
}
impl<F: Fn(&[u8; WINDOW_LEN], u64, NearSums) -> ([u32; WINDOW_LEN], u64)> AllFn for F {}

/// What all sums of a window are compared with: 32 bits of everything.
#[derive(Clone, Copy, Debug)]
pub(super) struct NearSums {
    /// What comes before the first gap, and what must agree but for so many flips.
    pub(super) before: u32,
    pub(super) inner: u32,
    pub(super) mask: u32,
    pub(super) spare: u32,
    /// The same of the whole heads.
    pub(super) head_before: u32,
    pub(super) head: u32,
    pub(super) k: u32,
    /// How many bytes are of interest.
    pub(super) len: usize,
}

/// A block that deserves a second look, and what the first one told.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Again {
    /// The position of its job.
    number: usize,
    /// What was seen in its first window, whatever lies behind it.
    open: u64,
    /// Ends of gaps in the block that may be near; none, if it does not lie in one window of the file.
    perhaps: u64,
}

/// Adds the near heads of all jobs.
///
/// What a block holds is known late, after its bytes came and were summed. A branch on it that
/// turned out wrong would throw away the work on the blocks after it, so the first loop has none.
#[inline(always)]
#[expect(unsafe_code, reason = "one bounds test a block, instead of two")]
pub(super) fn find_with(
    heads: &[u8],
    jobs: &[Job],
    needle: Needle,
    out: &mut NearHeads,
    lanes: &Lanes<impl BitsFn, impl BitsFn, impl GlanceFn, impl SumFn, impl AllFn>,
) {
    let NearHeads { heads: found, left, again } = out;
    let last_start = (heads.len() as u64).checked_sub(WINDOW_LEN as u64);
    let mut count = 0;
    for (number, job) in jobs.iter().enumerate() {
        let BlockSpan { heads_start, heads_end, .. } = job.span;
        let mut look = Again { number, ..Again::default() };
        let mut deserves = true;
        if last_start.is_some_and(|last| heads_start <= last) {
            // SAFETY: a window that starts there ends in the file.
            let bytes = unsafe { &*heads.as_ptr().add(heads_start as usize).cast() };
            let Glance { open, perhaps } = (lanes.glance)(bytes, 0, job.spare);
            // What breaks a rule is seen to where something seems near: at the second look.
            look.open = open;
            look.perhaps = perhaps & !open & within(heads_end - heads_start);
            deserves = (look.perhaps != 0) | (heads_end - heads_start > WINDOW_LEN as u64);
        }
        if let Some(slot) = again.get_mut(count) {
            *slot = look;
        }
        count += usize::from(deserves);
    }
    for look in again.iter().take(count) {
        let Some(job) = jobs.get(look.number) else { break };
        let found_before = found.len();
        let done = match job.span.heads_len() <= WINDOW_LEN as u64 && look.perhaps != 0 {
            true => second_look(heads, job, look, needle, found, lanes),
            false => whole_look(heads, job, needle, found, lanes),
        };
        if !done {
            found.truncate(found_before);
            left.push(look.number);
        }
    }
}

/// The bytes of a window that belong to so many.
#[inline(always)]
fn within(len: u64) -> u64 {
    u64::MAX >> ((WINDOW_LEN as u64).wrapping_sub(len) % WINDOW_LEN as u64)
}

/// Adds the near heads of a block in one window; `false` if it breaks a rule, or its gaps are too long.
#[inline(always)]
fn second_look(
    heads: &[u8],
    job: &Job,
    look: &Again,
    needle: Needle,
    found: &mut Vec<NearHead>,
    lanes: &Lanes<impl BitsFn, impl BitsFn, impl GlanceFn, impl SumFn, impl AllFn>,
) -> bool {
    let BlockSpan { heads_start, heads_end, rank_start, rank_end } = job.span;
    let rest = heads.get(heads_start as usize..);
    let Some(bytes) = rest.and_then(|rest| rest.first_chunk()) else {
        return false;
    };
    let within = within(heads_end - heads_start);
    let open = look.open & within;
    let ends = within & !open;
    let overlong = open << 1 & (lanes.zero)(bytes) & ends;
    let unended = open & !(within >> 1);
    let miscounted = u64::from(ends.count_ones()) ^ (rank_end - rank_start);
    if overlong | unended | miscounted != 0 {
        return false;
    }
    let window = windows::Window { bytes, open, ends, inner: 0, rank: rank_start };
    window.add_near(look.perhaps, job.block, job.spare, needle, found, lanes)
}

/// Adds the near heads of a block of any length but a long one; `false` if it breaks a rule.
#[inline(always)]
fn whole_look(
    heads: &[u8],
    job: &Job,
    needle: Needle,
    found: &mut Vec<NearHead>,
    lanes: &Lanes<impl BitsFn, impl BitsFn, impl GlanceFn, impl SumFn, impl AllFn>,
) -> bool {
    let Job { block, span, spare } = *job;
    if span.value_count() > LONG_BLOCK_MIN {
        // It starts with restart points.
        return false;
    }
    let mut stretch = Stretch {
        block,
        start: span.heads_start,
        end: span.heads_end,
        inner: 0,
        rank: span.rank_start,
        rank_end: span.rank_end,
        spare,
        last: needle.range(spare).1,
    };
    let done = windows::search_with(heads, &mut stretch, needle, found, usize::MAX, lanes);
    done == Progress::Done
}
