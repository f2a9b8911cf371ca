//! ARCHITECTURE.md is correct: its links and names exist, and no file imports from a higher layer.

mod imports;

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

/// The link targets of a page.
fn links(page: &str) -> Vec<&str> {
    page.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect()
}

/// The texts in single backticks on a page, except in indented blocks.
fn code_spans(page: &str) -> Vec<&str> {
    let prose = page.lines().filter(|line| !line.starts_with("    "));
    prose.flat_map(|line| line.split('`').skip(1).step_by(2)).collect()
}

/// The rooms in the table whose first column has this heading, from the lowest layer to the
/// highest.
fn rooms<'a>(page: &'a str, heading: &str) -> Vec<&'a str> {
    let rows = page.lines().skip_while(|line| !line.starts_with(&format!("| {heading} |"))).skip(2);
    rows.take_while(|line| line.starts_with("| ["))
        .filter_map(|row| row.strip_prefix("| [")?.split(']').next())
        .collect()
}

/// The names in a folder, without the extension `.rs`.
fn names_in(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(root().join(folder)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> =
        names.map(|name| name.trim_end_matches(".rs").to_owned()).collect();
    names.sort();
    names
}

#[test]
fn every_link_leads_to_a_file_or_folder() {
    for page in [page(), fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap()] {
        for link in links(&page) {
            let path = link.split('#').next().unwrap();
            assert!(path.starts_with("http") || root().join(path).exists(), "{link}");
        }
    }
}

#[test]
fn every_name_is_that_of_a_path_or_of_an_item() {
    let mut code = String::new();
    for folder in ["src", "crates", "bindings", "tests", "benches", "tools"] {
        for path in sources(&root().join(folder)) {
            code.push_str(&fs::read_to_string(path).unwrap());
        }
    }
    let words: BTreeSet<&str> =
        code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    let packages: Vec<String> =
        names_in("crates").iter().map(|it| format!("fpstore-{it}")).collect();
    let page = page();
    for span in code_spans(&page).into_iter().filter(|span| !packages.iter().any(|it| it == span)) {
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
fn the_tables_of_layers_have_every_room_once() {
    let page = page();
    for (heading, folder, root) in [("room", "src", "lib"), ("program", "crates/cli/src", "main")] {
        let mut listed = rooms(&page, heading);
        listed.push(root);
        listed.sort_unstable();
        assert_eq!(listed, names_in(folder), "{folder}");
    }
}

#[test]
fn no_file_imports_from_a_room_above_its_own() {
    let page = page();
    let mut wrong = Vec::new();
    for (heading, folder, file) in
        [("room", "src", "src/lib.rs"), ("program", "crates/cli/src", "crates/cli/src/main.rs")]
    {
        let rooms = rooms(&page, heading);
        let folder = root().join(folder);
        // Files outside all rooms, such as the crate root, form the top layer.
        let level = |path: &Path| {
            let below = path.strip_prefix(&folder).ok()?.iter().next()?.to_str()?;
            rooms.iter().position(|room| *room == below.trim_end_matches(".rs"))
        };
        let level = |path: &Path| level(path).unwrap_or(rooms.len());
        for ((from, to), names) in imports::Crate::read(&root().join(file)).imports() {
            if level(&to) > level(&from) {
                wrong.push(format!("{} -> {}: {names:?}", from.display(), to.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "imports that point up:\n{}", wrong.join("\n"));
}

/// Each command listed in the help has its own file or folder in `commands`.
#[test]
fn each_command_has_a_file_or_folder() {
    let overview = fs::read_to_string(root().join("crates/cli/src/run/overview.rs")).unwrap();
    let list = overview.split("GROUPS: ").nth(1).unwrap().split("];\n").next().unwrap();
    let quoted: Vec<&str> = list.split('"').skip(1).step_by(2).collect();
    let mut commands: Vec<&str> = quoted.into_iter().filter(|name| !name.contains(' ')).collect();
    // `simhash` has no file of its own: it is `fingerprint` with the first recipe.
    commands.retain(|name| *name != "simhash");
    commands.push("mod");
    commands.sort_unstable();
    assert_eq!(commands, names_in("crates/cli/src/commands"));
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let mut wrong = Vec::new();
    let mut roots = vec!["src/lib.rs".to_owned(), "bindings/python/src/lib.rs".to_owned()];
    for name in names_in("crates") {
        let main = if name == "cli" { "main" } else { "lib" };
        roots.push(format!("crates/{name}/src/{main}.rs"));
    }
    for path in roots {
        wrong.extend(imports::circles(&imports::Crate::read(&root().join(path)).imports()));
    }
    let wrong = wrong.join("\n").replace(&format!("{}/", root().display()), "");
    assert!(wrong.is_empty(), "imports on circles:\n{wrong}");
}

/// Parts of code lines that change files.
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

/// A file change that bypasses the package `disk` would be missing in tests of fail points and
/// power losses.
#[test]
fn only_disk_changes_files() {
    let mut wrong = Vec::new();
    let folders = ["src", "crates", "bindings/python/src"].map(|folder| root().join(folder));
    for path in folders.iter().flat_map(|folder| sources(folder)) {
        let below = path.strip_prefix(root()).unwrap();
        let is_other = ["tests", "tests.rs", "benches", "examples"];
        let is_other = below.iter().any(|part| is_other.iter().any(|other| part == *other));
        // Exceptions: a lock file contains no data of the store, and devices and pipes store no
        // bytes.
        let free =
            ["crates/disk/src", "src/writing/directory/lock_file.rs", "crates/base/src/waiting.rs"];
        if is_other || free.iter().any(|path| below.starts_with(path)) {
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

/// All code for differences between operating systems in file handling is in `disk/system`.
#[test]
fn files_differ_between_systems_in_one_place() {
    let mut wrong = Vec::new();
    let folders = ["crates/disk/src", "src/writing"].map(|folder| root().join(folder));
    for path in folders.iter().flat_map(|folder| sources(folder)) {
        let below = path.strip_prefix(root()).unwrap();
        // Unix sockets exist on Unix only.
        if below.starts_with("crates/disk/src/system") || below.ends_with("socket_file.rs") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let text = text.split("mod tests {").next().unwrap();
        let differs = ["(unix)", "(windows)", "target_os", "std::os::", "rustix::"];
        let is_test = |line: &str| line.contains("cfg(all(test");
        for line in text.lines().filter(|line| !is_test(line)) {
            if differs.iter().any(|word| line.contains(word)) {
                wrong.push(format!("{}: {}", below.display(), line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "systems differ outside disk/system:\n{}", wrong.join("\n"));
}
