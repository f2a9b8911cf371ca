//! Tests the user interface: help, aliases, row formats, colours, completions, exit statuses.

use crate::common::program::{TestDir, text};

/// Maximum number of lines of a help page for a terminal of 100 columns.
const PAGE: usize = 60;

fn dir() -> TestDir {
    let dir = TestDir::new();
    dir.write("in.tsv", "00000000000000ff\ta\n00000000000000fe\tb, \"c\"\nff00ff00ff00ff00\td\n");
    dir.ok(&["build", "in.tsv", "-s", "store.fps", "-q"], "");
    dir
}

/// The error message of the argument parser for rejected arguments.
fn refused(dir: &TestDir, args: &[&str]) -> String {
    let output = dir.output(args, "");
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    text(output.stderr)
}

/// The names of the commands, or of the topics, that `fpstore help` lists.
fn names(dir: &TestDir, is_topic: bool) -> Vec<String> {
    let help = dir.ok(&["help"], "");
    let (commands, rest) = help.split_once("\nOptions:").unwrap();
    let (_, topics) = rest.split_once("\nTopics").unwrap();
    let (topics, _) = topics.split_once("\nExamples").unwrap();
    let lines = if is_topic { topics } else { commands }.lines();
    let listed = lines.filter_map(|line| line.strip_prefix("  "));
    listed.filter_map(|line| line.split_whitespace().next()).map(String::from).collect()
}

#[test]
fn the_help_of_a_command_is_a_page_and_names_every_option() {
    let dir = dir();
    let commands = names(&dir, false);
    assert!(commands.len() > 25, "{commands:?}");
    for command in &commands {
        let page = dir.ok(&[command, "--help"], "");
        assert!(page.lines().count() <= PAGE, "{command}: {}", page.lines().count());
        assert_eq!(dir.ok(&["help", command], ""), page);
        let last = format!("All options in full: fpstore help {command} --all");
        assert_eq!(page.trim_end().lines().next_back(), Some(last.as_str()), "{page}");
        let all = dir.ok(&["help", command, "--all"], "");
        for line in all.lines().filter(|line| line.trim_start().starts_with('-')) {
            let Some((_, name)) = line.split_once("--") else { continue };
            let end = name.find(|c: char| !c.is_ascii_lowercase() && c != '-');
            let option = format!("--{}", &name[..end.unwrap_or(name.len())]);
            assert!(page.contains(&option) || option == "--color", "{command}: {option}\n{page}");
        }
    }
}

#[test]
fn each_topic_that_a_page_names_is_printed() {
    let dir = dir();
    let topics = names(&dir, true);
    assert!(topics.len() > 10, "{topics:?}");
    for topic in &topics {
        let page = dir.ok(&["help", topic], "");
        assert!(page.lines().count() > 5 && !page.contains("Usage:"), "{topic}: {page}");
    }
    for command in names(&dir, false) {
        let page = dir.ok(&[&command, "--help"], "");
        for (_, named) in
            page.match_indices("fpstore help ").map(|(at, it)| page[at..].split_at(it.len()))
        {
            let end = named.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap();
            let name = &named[..end];
            let is_known = topics.iter().any(|topic| topic == name) || name == command;
            assert!(is_known || name.is_empty(), "{command}: {name}");
        }
    }
}

#[test]
fn other_words_for_commands_and_options_are_understood() {
    let dir = dir();
    let expected = dir.ok(&["query", "ff", "-k", "1", "-s", "store.fps"], "");
    for args in [
        &["search", "ff", "--distance", "1", "-s", "store.fps"][..],
        &["find", "ff", "--max-distance", "1", "--db", "store.fps"],
        &["query", "ff", "--radius=1", "-s", "store.fps", "--tsv"],
    ] {
        assert_eq!(dir.ok(args, ""), expected, "{args:?}");
    }
    let json = dir.ok(&["query", "ff", "-s", "store.fps", "--json", "-n", "1"], "");
    assert_eq!(json, dir.ok(&["query", "ff", "-s", "store.fps", "--format=json", "--limit=1"], ""));
    refused(&dir, &["query", "ff", "-s", "store.fps", "--json", "--format", "tsv"]);
    dir.ok(&["create", "in.tsv", "-s", "new.fps", "-q", "-j", "1"], "");
    dir.ok(&["insert", "in.tsv", "-s", "new.fps", "-q", "--jobs", "1"], "");
    dir.ok(&["rm", "--id", "a", "-s", "new.fps", "-q"], "");
    dir.ok(&["merge", "-s", "new.fps", "-q"], "");
    assert_eq!(dir.json(&["ls", "new.fps"])["ids"], dir.json(&["info", "new.fps"])["ids"]);
}

/// Old names of options work only in the commands that had them, because `--segment`, `--link`,
/// `--ids` and `--refresh` have other meanings in other commands.
#[test]
fn old_names_of_options_are_understood_where_they_stood() {
    let dir = dir();
    dir.ok(&["build", "in.tsv", "-s", "old.fps", "-q", "--ids", "none"], "");
    assert_eq!(dir.json(&["info", "old.fps"])["ids"], 0);
    dir.ok(&["export", "--link", "--segment", "1", "-o", "link.fps", "-s", "store.fps", "-q"], "");
    let out = dir.ok(&["help", "export", "--all"], "");
    assert!(out.contains("--hard-link") && !out.contains("--link"), "{out}");
}

#[test]
fn no_tip_leads_to_a_loss() {
    let dir = dir();
    let losing = ["'expire'", "'delete'", "'remove'", "'--skip-bad'", "'--force'", "'--drop'"];
    for args in [
        &["expir"][..],
        &["remov"],
        &["delet"],
        &["build", "in.tsv", "--skip"],
        &["add", "--forc"],
        &["cluster", "in.tsv", "--dro"],
    ] {
        let err = refused(&dir, args);
        assert!(!losing.iter().any(|word| err.contains(&format!("exists: {word}"))), "{err}");
    }
    let err = refused(&dir, &["querry"]);
    assert!(err.contains("'query'"), "{err}");
    let err = refused(&dir, &["query", "ff", "--jsn"]);
    assert!(!err.contains("-- --"), "{err}");
}

#[test]
fn csv_has_names_and_quotes_and_lines_with_tabs_have_names_on_demand() {
    let dir = dir();
    let query = ["query", "ff", "-k", "1", "-s", "store.fps"];
    let csv = dir.ok(&[&query[..], &["--format", "csv"]].concat(), "");
    assert_eq!(
        csv,
        "query,fingerprint,distance,id\n00000000000000ff,00000000000000ff,0,a\n\
         00000000000000ff,00000000000000fe,1,\"b, \"\"c\"\"\"\n"
    );
    let tsv = dir.ok(&query, "");
    let named = dir.ok(&[&query[..], &["--header"]].concat(), "");
    assert_eq!(named, format!("query\tfingerprint\tdistance\tid\n{tsv}"));
    // The header names the columns of the pairs in order.
    let csv = dir.ok(&["pairs", "store.fps", "-k", "1", "--csv", "-q"], "");
    assert_eq!(
        csv,
        "first,second,distance,first_id,second_id\n\
         00000000000000fe,00000000000000ff,1,\"b, \"\"c\"\"\",a\n"
    );
    let csv = dir.ok(&["dump", "store.fps", "--csv"], "");
    assert_eq!(csv.lines().next(), Some("fingerprint,id"));
    // Without rows the header is still printed.
    let (csv, _) =
        dir.run(&["query", "0f0f0f0f0f0f0f0f", "-k", "1", "-s", "store.fps", "--csv"], 1);
    assert_eq!(csv, "query,fingerprint,distance,id\n");
    // `build` can read the output.
    dir.write("again.csv", dir.ok(&["dump", "store.fps", "--csv"], ""));
    dir.ok(&["build", "again.csv", "-s", "again.fps", "-q"], "");
    assert_eq!(dir.ok(&["dump", "again.fps"], ""), dir.ok(&["dump", "store.fps"], ""));
}

#[test]
fn digits_that_differ_are_marked_where_colours_are_wanted() {
    let dir = dir();
    let query = ["query", "ff", "-k", "1", "-s", "store.fps"];
    let plain = dir.ok(&query, "");
    assert!(!plain.contains('\u{1b}'));
    let marked = dir.ok(&[&["--color", "always"], &query[..]].concat(), "");
    assert!(marked.contains("00000000000000f\u{1b}[1;31me\u{1b}[0m\t1"), "{marked:?}");
    assert_eq!(marked.replace("\u{1b}[1;31m", "").replace("\u{1b}[0m", ""), plain);
    // JSON and CSV are never coloured.
    for more in [&["--format", "json"][..], &["--csv"]] {
        let out = dir.ok(&[&query[..], &["--color=always"], more].concat(), "");
        assert!(!out.contains('\u{1b}'), "{out:?}");
    }
    refused(&dir, &["query", "ff", "--color", "sometimes"]);
}

#[test]
fn a_shell_is_offered_what_an_option_takes() {
    let dir = dir();
    dir.ok(&["add", "in.tsv", "-s", "store.fps", "-q", "--label", "2026-11"], "");
    let offered = |words: &[&str]| {
        let mut command = dir.command(&[&["--", "fpstore"], words].concat());
        command.env("FPSTORE_COMPLETE", "bash").env("_CLAP_IFS", "\n");
        command.env("_CLAP_COMPLETE_INDEX", words.len().to_string());
        command.env("_CLAP_COMPLETE_COMP_TYPE", "9");
        text(command.output().unwrap().stdout)
    };
    assert!(offered(&["build", "--recipe", "min"]).contains("minhash"));
    assert!(offered(&["build", "--scheme", "hal"]).contains("halves"));
    assert!(offered(&["clean", "--keep", "lo"]).contains("longest"));
    assert!(offered(&["query", "-s", "store.fps", "--label", "20"]).contains("2026-11"));
    let stores = offered(&["info", ""]);
    assert!(stores.contains("store.fps") && !stores.contains("in.tsv"), "{stores}");
    assert!(offered(&["build", "in"]).contains("in.tsv"));
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = dir.ok(&["completions", shell], "");
        assert!(script.contains("FPSTORE_COMPLETE"), "{shell}: {script}");
    }
}

#[test]
fn statuses_tell_what_is_not_there_from_what_is_wrong() {
    let dir = dir();
    for (args, status) in [
        (&["query", "ff", "-s", "store.fps"][..], 0),
        (&["query", "0f0f0f0f0f0f0f0f", "-s", "store.fps"], 1),
        (&["query", "--id", "nobody", "-s", "store.fps"], 1),
        (&["query", "ff", "-s", "nowhere.fps"], 2),
        (&["delete", "--id", "nobody", "-s", "store.fps"], 1),
        (&["delete", "--id", "nobody", "--dry-run", "-s", "store.fps"], 1),
        (&["delete", "--fingerprint", "0f0f", "-s", "store.fps"], 1),
        (&["delete", "--id", "nobody", "--id", "a", "--dry-run", "-s", "store.fps"], 0),
        (&["delete", "--id", "a", "-s", "nowhere.fps"], 2),
        (&["compare", "-s", "store.fps", "a", "nobody"], 1),
        (&["compare", "-s", "nowhere.fps", "a", "d"], 2),
        (&["pairs", "store.fps", "-k", "0"], 1),
        (&["cluster", "store.fps", "-k", "0"], 1),
        (&["pairs", "nowhere.fps"], 2),
        (&["expire", "--before", "2026-01", "-s", "store.fps"], 0),
        (&["verify", "store.fps"], 0),
    ] {
        dir.run(args, status);
    }
    // An empty list of ids: status 0, because no id is missing.
    dir.write("none.txt", "");
    dir.run(&["delete", "--ids", "none.txt", "-s", "store.fps"], 0);
}

#[test]
fn a_target_or_a_text_in_the_wrong_place_is_told_its_option() {
    let dir = dir();
    for (args, tip) in [
        (&["backup", "store.fps", "copy"][..], "fpstore backup copy -s store.fps"),
        (&["export", "store.fps", "new.fps"], "fpstore export store.fps -o new.fps"),
    ] {
        let err = refused(&dir, args);
        assert!(err.contains("unexpected argument") && err.contains(tip), "{err}");
    }
    for (args, tip) in [
        (
            &["compare", "some text", "other text"][..],
            "if it is the text itself, add --literal; if it is the id of a record, add -s",
        ),
        (&["features", "some text"], "if it is the text itself, add --literal"),
    ] {
        let err = refused(&dir, args);
        assert!(err.contains("cannot open some text") && err.contains(tip), "{err}");
    }
    dir.write("docs.jsonl", "{\"id\":\"a\",\"text\":\"a quick brown fox jumps\"}\n");
    dir.ok(&["build", "docs.jsonl", "docs.fps", "-q"], "");
    let err = refused(&dir, &["query", "--file", "some text", "docs.fps"]);
    assert!(err.contains("to search for a text, use --text"), "{err}");
}
