//! Tests `man`: the manual has a page for every command and topic, with all options of the help.

use crate::common::program::{TestDir, names_in};

/// The long options in a help text or a manual page, which escapes hyphens.
fn options(text: &str) -> Vec<String> {
    let text = ["\\fB", "\\fI", "\\fR", "\\"]
        .iter()
        .fold(text.to_string(), |text, code| text.replace(code, ""));
    let is_part = |c: char| c.is_ascii_lowercase() || c == '-';
    let words = text.split(|c: char| !is_part(c));
    let mut options: Vec<String> =
        words.filter(|word| word.starts_with("--") && word.len() > 3).map(String::from).collect();
    options.sort();
    options.dedup();
    options
}

/// Fails unless the manual page of a topic has the same options as its help, and `page`, the page
/// of the program, lists the topic.
fn assert_topic(dir: &TestDir, topic: &str, page: &str, all: &str) {
    let (help, _) = dir.run(&["help", topic], 0);
    let in_page = options(page);
    for option in options(&help) {
        assert!(in_page.contains(&option), "{topic} lacks {option}: {in_page:?}");
    }
    let name = format!("fpstore-help-{topic}(1)");
    assert!(all.replace('\\', "").contains(&name), "{name}");
    if topic == "documents" {
        assert!(page.replace('\\', "").contains("In folders, read hidden files too"), "{page}");
    }
}

#[test]
fn every_command_has_a_page_with_its_options_and_exit_status() {
    let dir = TestDir::new();
    let (out, err) = dir.run(&["man", "made/man1"], 0);
    assert_eq!(out, "");
    assert!(err.contains("pages to made/man1"), "{err}");
    let names = names_in(&dir.path("made/man1"));
    assert!(names.len() >= 25 && names.contains(&"fpstore.1".to_string()), "{names:?}");
    let all = dir.read("made/man1/fpstore.1");
    for name in &names {
        let page = dir.read(&format!("made/man1/{name}"));
        if let Some(topic) = name.strip_prefix("fpstore-help-") {
            assert_topic(&dir, topic.strip_suffix(".1").unwrap(), &page, &all);
            continue;
        }
        for part in [".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH EXAMPLES", ".SH OPTIONS"] {
            let has_none = name == "fpstore-completions.1" && part == ".SH OPTIONS";
            assert!(page.contains(part) || has_none, "{name}: {part}");
        }
        let (_, status) = page.split_once(".SH \"EXIT STATUS\"").expect(name);
        for part in ["0 ", "2 error", "130 ended by a signal"] {
            assert!(status.contains(part), "{name}: {part}: {status}");
        }
        let Some(command) = name.strip_prefix("fpstore-") else { continue };
        let command = command.strip_suffix(".1").unwrap();
        assert!(all.replace('\\', "").contains(&format!("fpstore-{command}(1)")), "{name}");
        let (help, _) = dir.run(&[command, "--help"], 0);
        let help = help.replace(&format!("fpstore help {command} --all"), "");
        let in_page = options(&page);
        for option in options(&help) {
            assert!(in_page.contains(&option), "{name} lacks {option}: {in_page:?}");
        }
        // Options that the short help omits are described, too.
        if command == "build" {
            assert!(page.replace('\\', "").contains("Write one segment to FILE"), "{page}");
        }
    }
}

#[test]
fn pages_do_not_depend_on_the_user_and_are_replaced_only_by_force() {
    let dir = TestDir::new();
    dir.run(&["man", "pages"], 0);
    let names = names_in(&dir.path("pages"));
    let mut other = dir.command(&["man", "other", "-q"]);
    other.env("FPSTORE", "elsewhere.fps").env("FPSTORE_THREADS", "7").env("COLUMNS", "40");
    assert!(other.output().unwrap().status.success());
    for name in &names {
        assert_eq!(dir.read(&format!("pages/{name}")), dir.read(&format!("other/{name}")));
    }
    dir.write("pages/fpstore-query.1", "mine");
    std::fs::remove_file(dir.path("pages/fpstore.1")).unwrap();
    let (_, err) = dir.run(&["man", "pages"], 2);
    assert!(err.contains("exists; to replace it once"), "{err}");
    assert_eq!(dir.read("pages/fpstore-query.1"), "mine");
    assert!(!dir.path("pages/fpstore.1").exists(), "all or none");
    dir.run(&["man", "pages", "-f"], 0);
    assert_eq!(names_in(&dir.path("pages")), names);
    assert!(dir.read("pages/fpstore-query.1").contains(".TH fpstore-query 1 \" \""));
}
