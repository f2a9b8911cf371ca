//! Which instructions are used, chosen when the program runs.

use super::looks::Again;
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
use super::neon;
use super::{Job, NearHead, NearHeads, Needle, Progress, Stretch};
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};

/// The instructions that are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// None: all jobs are handed back.
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    Neon,
}

impl Kernel {
    /// The fastest on this processor.
    pub(crate) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if avx512::is_available() {
                return Kernel::Avx512;
            }
            if avx2::is_available() {
                return Kernel::Avx2;
            }
        }
        #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
        if neon::is_available() {
            return Kernel::Neon;
        }
        Kernel::Portable
    }

    /// All that this processor has.
    #[cfg(all(test, feature = "build"))]
    pub(crate) fn all() -> Vec<Self> {
        let mut kernels = vec![Kernel::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            kernels.extend(avx2::is_available().then_some(Kernel::Avx2));
            kernels.extend(avx512::is_available().then_some(Kernel::Avx512));
        }
        #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
        kernels.extend(neon::is_available().then_some(Kernel::Neon));
        kernels
    }

    /// Adds the near heads of all jobs to `out`; `heads` starts where the heads section does.
    ///
    /// Long blocks are handed back: who knows their restart points asks for stretches.
    #[expect(unsafe_code, reason = "a function for more instructions than every processor has")]
    pub(crate) fn find(self, heads: &[u8], jobs: &[Job], needle: Needle, out: &mut NearHeads) {
        out.left.clear();
        if out.again.len() < jobs.len() {
            out.again.resize(jobs.len(), Again::default());
        }
        // SAFETY: `detect` is the one place outside tests that makes the kernels with more
        // instructions, and makes them only where the processor has those.
        match self {
            Kernel::Portable => out.left.extend(0..jobs.len()),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 => unsafe {
                debug_assert!(avx2::is_available());
                avx2::find(heads, jobs, needle, out);
            },
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512 => unsafe {
                debug_assert!(avx512::is_available());
                avx512::find(heads, jobs, needle, out);
            },
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            Kernel::Neon => unsafe {
                debug_assert!(neon::is_available());
                neon::find(heads, jobs, needle, out);
            },
        }
    }

    /// Adds the near heads of a stretch to `found`, about as many as `enough`.
    #[expect(unsafe_code, reason = "a function for more instructions than every processor has")]
    pub(crate) fn search(
        self,
        heads: &[u8],
        stretch: &mut Stretch,
        needle: Needle,
        found: &mut Vec<NearHead>,
        enough: usize,
    ) -> Progress {
        // SAFETY: as in `find`.
        match self {
            Kernel::Portable => Progress::HandedBack,
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 => unsafe {
                debug_assert!(avx2::is_available());
                avx2::search(heads, stretch, needle, found, enough)
            },
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512 => unsafe {
                debug_assert!(avx512::is_available());
                avx512::search(heads, stretch, needle, found, enough)
            },
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            Kernel::Neon => unsafe {
                debug_assert!(neon::is_available());
                neon::search(heads, stretch, needle, found, enough)
            },
        }
    }
}
