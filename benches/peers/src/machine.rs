//! The context of all measurements: machine, date, versions.

use std::collections::BTreeMap;
use std::process::Command;

/// The machine, the date and the versions of a run.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Processor, cores, memory, system.
    pub name: String,
    /// Year, month and day.
    pub date: String,
    /// The version of each crate or program, by its name.
    pub versions: BTreeMap<String, String>,
}

impl Machine {
    /// Reads the machine, the date and the versions from the system.
    pub fn look() -> Self {
        let (brand, cores, memory) = match sysinfo::System::new_all() {
            Ok(system) => {
                let brand = system.cpus().first().map_or("", |cpu| cpu.brand().trim()).to_string();
                (brand, system.cpus().len(), system.total_memory())
            }
            Err(_) => ("unknown".to_string(), 0, 0),
        };
        let gib = memory as f64 / f64::from(1 << 30);
        let system_name = sysinfo::System::name().unwrap_or_default();
        let mut versions: BTreeMap<String, String> = ["gaoya", "mih-rs"]
            .into_iter()
            .filter_map(|name| Some((name.to_string(), locked(name)?)))
            .collect();
        let source = said("git", &["describe", "--always", "--dirty", "--exclude=*"]);
        versions.insert("fpstore".into(), source.unwrap_or_else(|| "unknown".into()));
        if let Some(rustc) = said("rustc", &["--version"]) {
            let number = rustc.split(' ').nth(1).unwrap_or(&rustc).to_string();
            versions.insert("rustc".into(), number);
        }
        Machine {
            name: format!("{brand}, {cores} cores, {gib:.0} GiB, {system_name}"),
            date: chrono::Local::now().format("%Y-%m-%d").to_string(),
            versions,
        }
    }
}

/// The version of a crate in the lock file of this package.
fn locked(name: &str) -> Option<String> {
    let (_, after) =
        include_str!("../Cargo.lock").split_once(&format!("name = \"{name}\"\nversion = \""))?;
    Some(after.split_once('"')?.0.to_string())
}

/// The output of a program started in the folder of this package, on one line.
fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR"));
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_string())
}
