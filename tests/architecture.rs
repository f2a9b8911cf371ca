//! ARCHITECTURE.md is true: its links lead somewhere, its names exist, its layers hold.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).into()
}

fn page() -> String {
    fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap()
}

/// All Rust files below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The targets of the links of a page.
fn links(page: &str) -> Vec<&str> {
    page.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect()
}

/// The texts between single backticks outside of indented blocks.
fn code_spans(page: &str) -> Vec<&str> {
    let prose = page.lines().filter(|line| !line.starts_with("    "));
    prose.flat_map(|line| line.split('`').skip(1).step_by(2)).collect()
}

/// The modules of the table of layers, lowest first.
fn layers(page: &str) -> Vec<&str> {
    let rows = page.lines().skip_while(|line| !line.starts_with("| module |")).skip(2);
    rows.take_while(|line| line.starts_with("| ["))
        .filter_map(|row| row.strip_prefix("| [")?.split(']').next())
        .collect()
}

#[test]
fn every_link_leads_to_a_file_or_folder() {
    let page = page();
    for link in links(&page) {
        let path = link.split('#').next().unwrap();
        assert!(path.starts_with("http") || root().join(path).exists(), "{link}");
    }
}

#[test]
fn every_name_is_that_of_a_path_or_of_an_item() {
    let mut code = String::new();
    for folder in ["src", "crates", "tests", "benches", "tools"] {
        for path in sources(&root().join(folder)) {
            code.push_str(&fs::read_to_string(path).unwrap());
        }
    }
    let words: BTreeSet<&str> =
        code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    let packages = ["fpstore-base", "fpstore-plot", "fpstore-text"];
    let page = page();
    for span in code_spans(&page).into_iter().filter(|span| !packages.contains(span)) {
        let is_path = span.contains('/') || span.contains('.') || span.contains(' ');
        let known = if is_path {
            span.contains(' ') || root().join(span).exists()
        } else {
            span.trim_end_matches("()").split("::").all(|name| words.contains(name))
        };
        assert!(known, "`{span}` is neither a path nor an item");
    }
}

#[test]
fn the_table_of_layers_has_every_module_once() {
    let page = page();
    let listed = layers(&page);
    let mut modules: Vec<String> = fs::read_dir(root().join("src"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .map(|name| name.trim_end_matches(".rs").to_owned())
        .filter(|name| !["lib", "main", "cli"].contains(&name.as_str()))
        .collect();
    modules.sort();
    let mut sorted: Vec<&str> = listed.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, modules);
}

#[test]
fn no_module_imports_one_above_it() {
    let page = page();
    let layers = layers(&page);
    let level = |name: &str| layers.iter().position(|&layer| layer == name);
    let source = root().join("src");
    let mut wrong = Vec::new();
    for path in sources(&source) {
        let below = path.strip_prefix(&source).unwrap();
        let module = below.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
        let is_test = below.iter().any(|part| part == "tests" || part == "tests.rs");
        let Some(own) = level(module).filter(|_| !is_test) else { continue };
        let text = fs::read_to_string(&path).unwrap();
        // Tests may look around; documentation links to what users know.
        let text = text.split("#[cfg(test)]").next().unwrap();
        let text = text.split("#[cfg(all(test").next().unwrap();
        for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
            for import in line.split("crate::").skip(1) {
                let name: String =
                    import.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
                // A name that is no module is one of the root, which is above all.
                if level(&name).is_none_or(|other| other > own) {
                    wrong.push(format!("{}: {}", below.display(), line.trim()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "imports that point up:\n{}", wrong.join("\n"));
}

/// The words by which code changes files.
const CHANGES_OF_FILES: [&str; 22] = [
    "fs::write(",
    "fs::rename(",
    "fs::remove_",
    "fs::create_dir",
    "fs::copy(",
    "fs::hard_link(",
    "fs::set_permissions(",
    "File::create",
    ".write(true)",
    ".append(true)",
    ".create(true)",
    ".create_new(true)",
    "DirBuilder",
    "fs::symlink(",
    ".set_len(",
    ".set_permissions(",
    ".sync_all(",
    ".sync_data(",
    ".set_modified(",
    "tempfile::",
    "NamedTempFile",
    "TempDir",
];

/// What goes past `disk` is neither made to fail nor replayed by the tests of fail points and of
/// losses of power.
#[test]
fn only_disk_changes_files() {
    let source = root().join("src");
    let mut wrong = Vec::new();
    for path in sources(&source) {
        let below = path.strip_prefix(&source).unwrap();
        let is_test = below.iter().any(|part| part == "tests" || part == "tests.rs");
        // The program writes its output. A lock file holds nothing that a store needs, and a store
        // for calibration is thrown away.
        let free = ["disk", "cli", "directory/lock.rs", "directory/lock_file.rs", "calibrate.rs"];
        if is_test || free.iter().any(|path| below.starts_with(path)) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let text = text.split("mod tests {").next().unwrap();
        for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
            let begins = |at: usize| !line[..at].ends_with(|c: char| c.is_ascii_alphanumeric());
            if CHANGES_OF_FILES.iter().any(|word| line.match_indices(word).any(|of| begins(of.0))) {
                wrong.push(format!("{}: {}", below.display(), line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "changes of files outside disk:\n{}", wrong.join("\n"));
}
