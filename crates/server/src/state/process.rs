//! What the metrics say of the process and of the program, under the names that Prometheus' own
//! clients use.

use std::fmt::Write;

use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

use fpstore::FORMAT_VERSIONS;

/// Writes the gauges and counters. What the system does not tell is left out.
pub(super) fn write(out: &mut String) {
    let name = "fpstore_build_info";
    let _ =
        writeln!(out, "# HELP {name} The version of the program, and the formats that it reads.");
    let _ = writeln!(out, "# TYPE {name} gauge");
    let (version, formats) = (env!("CARGO_PKG_VERSION"), FORMAT_VERSIONS);
    let (oldest, newest) = (formats.start(), formats.end());
    let _ = writeln!(
        out,
        "{name}{{version=\"{version}\",oldest_format=\"{oldest}\",newest_format=\"{newest}\"}} 1"
    );
    let pid = Pid::from_u32(std::process::id());
    let Ok(mut system) = System::new() else { return };
    let wanted = ProcessRefreshKind::nothing().with_cpu().with_memory().without_tasks();
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), false, wanted);
    let Some(process) = system.process(pid) else { return };
    let mut number = |kind: &str, name: &str, help: &str, value: f64| {
        let _ = writeln!(out, "# HELP process_{name} {help}");
        let _ = writeln!(out, "# TYPE process_{name} {kind}");
        let _ = writeln!(out, "process_{name} {value}");
    };
    let cpu = process.accumulated_cpu_time() as f64 / 1e3;
    number("counter", "cpu_seconds_total", "Processor time of all threads.", cpu);
    let mut now = |name, help, value| number("gauge", name, help, value);
    now("resident_memory_bytes", "Memory in use, mapped files included.", process.memory() as f64);
    now("virtual_memory_bytes", "Addresses in use.", process.virtual_memory() as f64);
    now("start_time_seconds", "The start, since 1970.", process.start_time() as f64);
    if let Some(open) = process.open_files() {
        now("open_fds", "Open files.", open as f64);
    }
    if let Some(most) = process.open_files_limit() {
        now("max_fds", "The most files that may be open.", most as f64);
    }
}
