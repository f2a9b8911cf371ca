//! The summary that `fpstore build` prints.

use fpstore::info::StoreInfo;
use fpstore::profile::Collector;
use fpstore::{BuildReport, SegmentReceipt, Store};

use fpstore_report::doctor::{self, Severity};

use super::text::{bytes, counted, quoted};

/// The bits per fingerprint are printed only from this number of fingerprints on.
const BITS_SHOWN_MIN: u64 = 10_000;

/// Prints the doctor's most severe warning about the fingerprints, if any, in at most two lines.
pub(crate) fn warn(store: &Store, collector: Collector) -> anyhow::Result<()> {
    let info = store.info();
    let Some(segment) = info.segments.first() else { return Ok(()) };
    let findings = doctor::findings(&collector.finish(&segment.scheme()?));
    let mut warnings = findings.iter().filter(|finding| finding.severity >= Severity::Warning);
    if let Some(first) = warnings.next() {
        message!("warning: {}", first.sentence);
        let more = match warnings.count() as u64 {
            0 => String::new(),
            count => format!("{}; ", counted(count, "more warning", "more warnings")),
        };
        message!("{more}run 'fpstore stats -s {}' for advice", info.path.display());
    }
    Ok(())
}

pub(crate) fn print_report(store: &Store, report: &BuildReport, read_len: Option<u64>) {
    let info = store.info();
    let distinct = report.fingerprint_count;
    message!(
        "{}: {}, {}, {}, {}",
        info.path.display(),
        counted(report.record_count, "record", "records"),
        counted(distinct, "fingerprint", "fingerprints"),
        counted(info.id_count(), "id", "ids"),
        bytes(info.file_len()),
    );
    if distinct == 0 {
        message!("the input has no fingerprints, so the store is empty");
        return;
    }
    let tables: Vec<f64> = info
        .segments
        .iter()
        .flat_map(|segment| &segment.tables)
        .filter_map(|table| table.bits_per_fingerprint)
        .collect();
    let seconds: f64 = report.phases.iter().map(|(_, time)| time.as_secs_f64()).sum();
    let phases: Vec<String> = report
        .phases
        .iter()
        .map(|(phase, time)| format!("{} {:.2}", phase.name(), time.as_secs_f64()))
        .collect();
    // Not printed for a small store, where the fixed parts of a file dominate the number.
    let bits = match tables.iter().sum::<f64>() / tables.len() as f64 {
        bits if distinct >= BITS_SHOWN_MIN => {
            format!(", {bits:.1} bits for each fingerprint and table")
        }
        _ => String::new(),
    };
    message!(
        "  {}{}{bits}",
        counted(report.record_count - distinct, "duplicate", "duplicates"),
        read_len.map_or(String::new(), |len| format!(", {} read", bytes(len))),
    );
    let memory = peak_memory().map_or(String::new(), |len| format!(", {} of memory", bytes(len)));
    let temporary = match report.temporary_len {
        0 => String::new(),
        len => format!(", {} of temporary files", bytes(len)),
    };
    message!("  {seconds:.2} s ({}){memory}{temporary}", phases.join(", "));
    next_steps(&info);
}

/// Prints the distance for which the store is tuned, and useful next commands.
fn next_steps(info: &StoreInfo) {
    let Some(segment) = info.segments.first() else { return };
    let path = quoted(&info.path);
    let asked = match segment.recipe.text() {
        recipe if recipe.starts_with("fpstore-images=") => "--image PICTURE",
        _ if segment.recipe.is_external() => "FINGERPRINT",
        _ => "--file PAGE",
    };
    message!(
        "  tuned for -k {}; next: fpstore query {asked} -s {path}, fpstore cluster {path}",
        segment.tuned_k
    );
}

/// The peak memory of this process, if the system reports it.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// Prints a summary of a new segment file.
pub(crate) fn report_segment(receipt: &SegmentReceipt) {
    message!(
        "{}: {}, {}, {}",
        receipt.path.display(),
        counted(receipt.fingerprint_count, "fingerprint", "fingerprints"),
        counted(receipt.id_count, "id", "ids"),
        bytes(receipt.file_len),
    );
}
