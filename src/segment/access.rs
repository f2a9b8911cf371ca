//! How the bytes of segment files get into memory: by a memory map, or by reading whole files.
//!
//! The user chooses an [`Access`], and [`Access::settle`] turns `Auto` into one of the other two
//! for the files of a store. The rest of `segment` works the same with both. Nothing here opens a
//! file.

use std::path::Path;
use std::sync::OnceLock;

use sysinfo::{
    MemoryRefreshKind, Process, ProcessRefreshKind, ProcessesToUpdate, RefreshKind, System,
};

use crate::base::error::{Error, Result};
use fpstore_disk::system;

fpstore_base::choices! {
    /// How a store accesses the bytes of its segments; see
    /// [`OpenOptions::access`](crate::OpenOptions).
    ///
    /// The choice changes no answer, and pages are verified on first use in either case. Queries of
    /// files that are in memory take the same time with both; `Memory` takes less where the system
    /// provides huge pages.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize))]
    #[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
    #[non_exhaustive]
    pub enum Access {
        /// Maps the files. Opening takes the same time for few and many fingerprints, processes
        /// share the memory, and the system reclaims it when memory is short. If a program shortens
        /// a mapped file, or a network disk or device fails, the system ends the process with
        /// SIGBUS.
        Map = "map": "Through a memory map",
        /// Reads the files into memory of this process, which is freed when the store and
        /// everything that uses the store are dropped. Opening reads every byte. Later changes to
        /// the files have no effect, and the files may be removed.
        Memory = "memory":
            "Load the store first; later changes to its files have no effect",
        /// `Memory` if the directory is on a network file system, the segments together take at
        /// most a quarter of the memory of the machine or of the control group, and the system
        /// reports both; otherwise `Map`. Known network file systems, on Linux only: NFS, SMB,
        /// FUSE, 9p, AFS, BeeGFS, Ceph, Coda, GPFS, Lustre, VirtualBox folders.
        #[default]
        Auto = "auto":
            "Like memory if the store is on a network file system and takes at most a quarter of \
             the memory, else like map",
    }
}

/// `Auto` reads files into memory if they take at most this fraction of it (a quarter).
const AUTO_SHARE: u64 = 4;

impl Access {
    /// Turns `Auto` into `Map` or `Memory` for the segments in a directory, `len` bytes in total.
    /// Rejects `Memory` if they do not fit.
    pub(crate) fn settle(self, directory: &Path, len: u64) -> Result<Self> {
        match self {
            Access::Map => Ok(Access::Map),
            Access::Auto if !system::is_on_network(directory) => Ok(Access::Map),
            Access::Auto | Access::Memory => self.settle_within(directory, len, usable_memory()),
        }
    }

    /// The part of [`Access::settle`] that depends on the memory; `memory` is 0 if its size is
    /// unknown.
    fn settle_within(self, directory: &Path, len: u64, memory: u64) -> Result<Self> {
        if self == Access::Auto {
            return Ok(if len <= memory / AUTO_SHARE { Access::Memory } else { Access::Map });
        }
        if memory > 0 && len > memory {
            let reason = format!(
                "the segments of {} take {len} bytes, more than the {memory} bytes of memory; map \
                 them instead of reading them",
                directory.display()
            );
            return Err(Error::InvalidOptions { reason });
        }
        Ok(Access::Memory)
    }
}

/// Bytes of memory of the machine, or of the control groups that limit this process; 0 if the
/// system does not report them.
///
/// The system is asked once per process, because asking takes 0.3 ms, longer than a small batch.
pub(crate) fn usable_memory() -> u64 {
    static MEMORY: OnceLock<u64> = OnceLock::new();
    *MEMORY.get_or_init(|| ask_for_memory().0)
}

/// Bytes of the usable memory that no program uses now, so that the system can cache files in them;
/// 0 if unknown.
pub(crate) fn free_memory() -> u64 {
    ask_for_memory().1
}

/// The usable memory, and the part of it that is free.
fn ask_for_memory() -> (u64, u64) {
    let memory = MemoryRefreshKind::nothing().with_ram();
    let Ok(mut system) = System::new_with_specifics(RefreshKind::nothing().with_memory(memory))
    else {
        return (0, 0);
    };
    // The limits of the control group of this process (systemd makes such groups) and of the root
    // group, the only group visible in some containers.
    let own = sysinfo::get_current_pid().ok().and_then(|pid| {
        let of = ProcessRefreshKind::nothing().without_tasks();
        system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), false, of);
        system.process(pid).and_then(Process::cgroup_limits)
    });
    let (mut total, mut free) = (system.total_memory(), system.available_memory());
    for group in [own, system.cgroup_limits()].into_iter().flatten() {
        total = total.min(group.total_memory);
        free = free.min(group.total_memory.saturating_sub(group.rss));
    }
    (total, free)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_reads_what_fits_a_quarter_of_the_memory() {
        let settle = |access: Access, len, memory| {
            access.settle_within(Path::new("pages.fps"), len, memory).map_err(|e| e.to_string())
        };
        assert_eq!(settle(Access::Auto, 0, 100), Ok(Access::Memory));
        assert_eq!(settle(Access::Auto, 25, 100), Ok(Access::Memory));
        assert_eq!(settle(Access::Auto, 26, 100), Ok(Access::Map));
        assert_eq!(settle(Access::Auto, 26, 0), Ok(Access::Map), "the memory is unknown");
        assert_eq!(settle(Access::Memory, 100, 100), Ok(Access::Memory));
        assert_eq!(settle(Access::Memory, 101, 0), Ok(Access::Memory), "the memory is unknown");
        let refused = settle(Access::Memory, 101, 100).unwrap_err();
        assert!(refused.contains("pages.fps take 101 bytes, more than the 100"), "{refused}");
    }

    #[test]
    fn this_machine_tells_its_memory() {
        assert!(usable_memory() > 1 << 20);
        assert!(free_memory() > 1 << 20 && free_memory() < usable_memory());
    }
}
