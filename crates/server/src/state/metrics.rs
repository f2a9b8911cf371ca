//! The counters of the server, and their text for Prometheus.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use hyper::StatusCode;
use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

use super::following::Following;
use super::health::Health;
use fpstore::info::StoreInfo;
use fpstore::{FORMAT_VERSIONS, SearchStats, VerifyReport};

use crate::protocol::failure::chain;

/// Classes of status codes, from 1xx to 5xx.
const CLASSES: usize = 5;
/// The codes of failures for a missing right.
const DENIALS: [&str; 3] = ["no-token", "wrong-token", "read-only-token"];
/// The number of bounds of the histogram of times: powers of 2 from 1 us to about 33 s.
const BUCKETS: usize = 26;

/// The counters: totals since the start.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    /// The counters of each route, in the order of the table of routes; the last one is for unknown
    /// paths.
    requests: Vec<RouteCounts>,
    denied: [AtomicU64; DENIALS.len()],
    pub(crate) connections: AtomicU64,
    pub(crate) connections_open: AtomicU64,
    pub(crate) connections_refused: AtomicU64,
    pub(crate) accept_failures: AtomicU64,
    pub(crate) queries: AtomicU64,
    pub(crate) inline: AtomicU64,
    pub(crate) pooled: AtomicU64,
    pub(crate) slow: AtomicU64,
    pub(crate) id_passes: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) cut: AtomicU64,
    probes: AtomicU64,
    candidates: AtomicU64,
    scanned: AtomicU64,
    pages: AtomicU64,
    pub(crate) refreshes: AtomicU64,
    pub(crate) refresh_failures: AtomicU64,
    pub(crate) commits: AtomicU64,
    pub(crate) commit_nanos: AtomicU64,
    pub(crate) commit_failures: AtomicU64,
    pub(crate) added: AtomicU64,
    pub(crate) found_near: AtomicU64,
    pub(crate) pending: AtomicU64,
    pub(crate) deleted_ids: AtomicU64,
    pub(crate) merges: AtomicU64,
    pub(crate) merge_failures: AtomicU64,
}

/// The counters of a route.
#[derive(Debug, Default)]
struct RouteCounts {
    method: &'static str,
    path: &'static str,
    by_class: [AtomicU64; CLASSES],
    times: [AtomicU64; BUCKETS + 1],
    time_nanos: AtomicU64,
}

/// The counters and the faults of scrubbing, for the metrics and for `/readyz`.
#[derive(Debug, Default)]
pub(crate) struct Scrubbed {
    /// The number of finished passes.
    pub(crate) passes: AtomicU64,
    /// The number of failed passes.
    pub(crate) failures: AtomicU64,
    /// The number of bytes read by scrubbing, repeated reads included.
    pub(crate) bytes: AtomicU64,
    /// Pages whose checksums were compared, in finished passes.
    pub(crate) pages: AtomicU64,
    /// Faults found by the last pass.
    pub(crate) faults: AtomicU64,
    /// The end of the last pass in seconds since 1970; 0 before the first.
    pub(crate) last_pass: AtomicU64,
    /// The first fault of the last pass.
    first_fault: Mutex<Option<String>>,
}

impl Scrubbed {
    /// The number of faults of the last pass, and the first fault, if there are any.
    pub(crate) fn found(&self) -> Option<(u64, String)> {
        let first = self.first_fault.lock().unwrap_or_else(PoisonError::into_inner);
        Some((self.faults.load(Relaxed), first.clone()?))
    }

    /// Notes a finished pass.
    pub(super) fn note(&self, report: &VerifyReport) {
        self.pages.fetch_add(report.page_count, Relaxed);
        self.faults.store(report.faults.len() as u64, Relaxed);
        let first = report.faults.first().map(|fault| chain(fault));
        *self.first_fault.lock().unwrap_or_else(PoisonError::into_inner) = first;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        self.last_pass.store(now.map_or(0, |since| since.as_secs()), Relaxed);
        self.passes.fetch_add(1, Relaxed);
    }
}

impl Metrics {
    /// All counters at 0; `routes` are the method and the path of each route.
    pub(crate) fn new(routes: Vec<(&'static str, &'static str)>) -> Self {
        let routes = routes.into_iter().chain([("", "other")]);
        let counted = |(method, path)| RouteCounts { method, path, ..RouteCounts::default() };
        Metrics { requests: routes.map(counted).collect(), ..Metrics::default() }
    }

    /// Counts an answered request; `route` is its position in the table.
    pub(crate) fn answered(&self, route: Option<usize>, status: StatusCode, time: Duration) {
        let route = &self.requests[route.unwrap_or(self.requests.len() - 1)];
        let class = usize::from(status.as_u16() / 100).clamp(1, CLASSES) - 1;
        route.by_class[class].fetch_add(1, Relaxed);
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let micros = nanos.div_ceil(1000).max(1);
        let bucket = (u64::BITS - (micros - 1).leading_zeros()) as usize;
        route.times[bucket.min(BUCKETS)].fetch_add(1, Relaxed);
        route.time_nanos.fetch_add(nanos, Relaxed);
    }

    /// Counts a request that was refused for a missing right.
    pub(crate) fn denied(&self, code: &str) {
        if let Some(at) = DENIALS.iter().position(|denial| *denial == code) {
            self.denied[at].fetch_add(1, Relaxed);
        }
    }

    /// Counts the steps of searches.
    pub(crate) fn searched(&self, queries: u64, cut: u64, stats: &SearchStats) {
        self.queries.fetch_add(queries, Relaxed);
        self.probes.fetch_add(stats.probes, Relaxed);
        self.candidates.fetch_add(stats.candidates, Relaxed);
        if stats.scanned > 0 {
            self.scanned.fetch_add(stats.scanned, Relaxed);
        }
        if stats.pages_checked > 0 {
            self.pages.fetch_add(stats.pages_checked, Relaxed);
        }
        if cut > 0 {
            self.cut.fetch_add(cut, Relaxed);
        }
    }

    /// All counters, and the state of the server, in the text format of Prometheus.
    pub(crate) fn text(
        &self,
        info: &StoreInfo,
        (health, is_ready): (&Health, bool),
        scrubbed: &Scrubbed,
        following: Option<&Following>,
        [held, lost]: [u64; 2],
    ) -> String {
        let mut out = String::new();
        let name = "fpstore_requests_total";
        head(&mut out, "counter", name, "Requests that were answered.");
        for RouteCounts { method, path, by_class, .. } in &self.requests {
            for (class, count) in by_class.iter().enumerate() {
                let count = count.load(Relaxed);
                if count > 0 {
                    let _ = writeln!(
                        out,
                        "{name}{{method=\"{method}\",route=\"{path}\",status=\"{}xx\"}} {count}",
                        class + 1
                    );
                }
            }
        }
        self.write_denied(&mut out);
        self.write_times(&mut out);
        write_process(&mut out);
        let mut number = |kind, name, help, value| {
            write_number(&mut out, kind, &format!("fpstore_{name}"), help, value);
        };
        let mut total = |name, help, counter: &AtomicU64| {
            number("counter", name, help, counter.load(Relaxed) as f64);
        };
        total("connections_total", "Connections that were accepted.", &self.connections);
        total(
            "connections_refused_total",
            "Connections refused because of the limit.",
            &self.connections_refused,
        );
        total(
            "accept_failures_total",
            "Attempts to accept a connection that the system refused.",
            &self.accept_failures,
        );
        total("queries_total", "Fingerprints that were searched for.", &self.queries);
        total(
            "inline_total",
            "Requests searched at once, on the thread that read them.",
            &self.inline,
        );
        total("pooled_total", "Requests searched by the pool of search threads.", &self.pooled);
        total("slow_total", "Requests searched in the lane for costly requests.", &self.slow);
        let help = "Passes over all ids, which deletions and replacements share.";
        total("id_passes_total", help, &self.id_passes);
        total("refused_total", "Requests refused because the server was busy.", &self.refused);
        total("cut_total", "Answers that a limit cut.", &self.cut);
        total("probes_total", "Blocks looked up.", &self.probes);
        total("candidates_total", "Values compared after a probe.", &self.candidates);
        total("scanned_total", "Values compared in passes.", &self.scanned);
        total("pages_checked_total", "Pages verified by a query.", &self.pages);
        total("refreshes_total", "States of the store that were served.", &self.refreshes);
        total("refresh_failures_total", "Refreshes that failed.", &self.refresh_failures);
        total("commits_total", "Commits.", &self.commits);
        total("commit_failures_total", "Commits that failed.", &self.commit_failures);
        total("added_total", "Items that were new.", &self.added);
        total("near_total", "Items that were near a stored or pending item.", &self.found_near);
        total("deleted_ids_total", "Deleted ids.", &self.deleted_ids);
        total("merges_total", "Merges of segments.", &self.merges);
        total("merge_failures_total", "Merges that failed.", &self.merge_failures);
        total("scrub_passes_total", "Times that the whole store was read.", &scrubbed.passes);
        total("scrub_failures_total", "Scrubs that could not be done.", &scrubbed.failures);
        total(
            "scrub_bytes_total",
            "Bytes that scrubs read, including bytes read again.",
            &scrubbed.bytes,
        );
        total("scrub_pages_total", "Pages whose checksums scrubs compared.", &scrubbed.pages);
        let lost = AtomicU64::new(lost);
        total("access_log_lost_total", "Lines missing in the access log.", &lost);
        if let Some(following) = following {
            total("follow_failures_total", "Attempts to follow that failed.", &following.failures);
            total("follow_bytes_total", "Bytes of copied segments.", &following.bytes);
        }
        let commit = self.commit_nanos.load(Relaxed) as f64 / 1e9;
        number("counter", "commit_seconds_total", "Time spent in commits.", commit);
        let mut now = |name, help, value| number("gauge", name, help, value);
        let open = self.connections_open.load(Relaxed) as f64;
        now("open_connections", "Connections that are open.", open);
        now(
            "body_bytes",
            "Bytes of the bodies of requests and of long answers that are held.",
            held as f64,
        );
        now("pending", "Added items that are not durable yet.", self.pending.load(Relaxed) as f64);
        now("generation", "The generation that is served.", info.generation as f64);
        now("segments", "Live segments.", info.segments.len() as f64);
        now("fingerprints", "Live fingerprints.", info.fingerprint_count() as f64);
        now("ids", "Live ids.", info.id_count() as f64);
        now("store_bytes", "Bytes of all segments.", info.file_len() as f64);
        now("ready", "1 if the server is ready, see /readyz.", f64::from(u8::from(is_ready)));
        let failing = f64::from(u8::from(health.failing_commit().is_some()));
        now("commits_failing", "1 while commits fail; /readyz has the reason.", failing);
        let faults = scrubbed.faults.load(Relaxed) as f64;
        now("scrub_faults", "Faults that the last scrub found; the log has them.", faults);
        let last = scrubbed.last_pass.load(Relaxed) as f64;
        now(
            "scrub_last_pass_timestamp_seconds",
            "Time when the last scrub ended, since 1970; 0 before the first.",
            last,
        );
        let age = health.seconds_since_good_refresh();
        if let Some(lag) = following.map(|it| it.lag(info.generation)) {
            let help = "Time since this server last had the newest state of the followed server.";
            now("follow_lag_seconds", help, lag.seconds);
            if let Some(generations) = lag.generations {
                let help = "States of the followed server that are not served here yet.";
                now("follow_lag_generations", help, generations as f64);
            }
        }
        now("refresh_age_seconds", "Time since the last successful refresh.", age);
        out
    }

    fn write_denied(&self, out: &mut String) {
        let name = "fpstore_denied_total";
        head(out, "counter", name, "Requests denied for a missing, wrong or read-only token.");
        for (code, count) in DENIALS.iter().zip(&self.denied) {
            let _ = writeln!(out, "{name}{{code=\"{code}\"}} {}", count.load(Relaxed));
        }
    }

    fn write_times(&self, out: &mut String) {
        let name = "fpstore_request_seconds";
        head(out, "histogram", name, "Time to answer; for streams, to the head of the answer.");
        for RouteCounts { method, path, times, time_nanos, .. } in &self.requests {
            let times: Vec<u64> = times.iter().map(|count| count.load(Relaxed)).collect();
            if times.iter().all(|count| *count == 0) {
                continue;
            }
            let labels = format!("method=\"{method}\",route=\"{path}\"");
            let mut sum = 0;
            for (bucket, count) in times.into_iter().enumerate() {
                sum += count;
                if bucket < BUCKETS {
                    let most = (1_u64 << bucket) as f64 / 1e6;
                    let _ = writeln!(out, "{name}_bucket{{{labels},le=\"{most}\"}} {sum}");
                }
            }
            let seconds = time_nanos.load(Relaxed) as f64 / 1e9;
            let _ = writeln!(out, "{name}_bucket{{{labels},le=\"+Inf\"}} {sum}");
            let _ = writeln!(out, "{name}_sum{{{labels}}} {seconds}");
            let _ = writeln!(out, "{name}_count{{{labels}}} {sum}");
        }
    }
}

/// Writes the lines that describe a metric.
fn head(out: &mut String, kind: &str, name: &str, help: &str) {
    let _ = writeln!(out, "# HELP {name} {help}");
    let _ = writeln!(out, "# TYPE {name} {kind}");
}

/// Writes a metric that is a single number.
fn write_number(out: &mut String, kind: &str, name: &str, help: &str, value: f64) {
    head(out, kind, name, help);
    let _ = writeln!(out, "{name} {value}");
}

/// Writes the version of the program, and the metrics of the process under the names of the
/// Prometheus client libraries. Values that the system does not report are omitted.
fn write_process(out: &mut String) {
    let name = "fpstore_build_info";
    head(out, "gauge", name, "The version of the program, and the formats that it reads.");
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
    let mut number = |kind, name, help, value| {
        write_number(out, kind, &format!("process_{name}"), help, value);
    };
    let cpu = process.accumulated_cpu_time() as f64 / 1e3;
    number("counter", "cpu_seconds_total", "Processor time of all threads.", cpu);
    let mut now = |name, help, value| number("gauge", name, help, value);
    now("resident_memory_bytes", "Memory in use, mapped files included.", process.memory() as f64);
    now("virtual_memory_bytes", "Addresses in use.", process.virtual_memory() as f64);
    now("start_time_seconds", "Start of the process, since 1970.", process.start_time() as f64);
    if let Some(open) = process.open_files() {
        now("open_fds", "Open files.", open as f64);
    }
    if let Some(most) = process.open_files_limit() {
        now("max_fds", "Maximum number of open files.", most as f64);
    }
}
