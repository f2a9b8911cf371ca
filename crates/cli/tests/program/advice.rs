//! Tests messages that propose a command: each proposed command is run, and must do what the
//! message promises.

use std::process::Command;

use crate::common::program::{TestDir, text};

const A: &str = "f2a74de452e6b430";
const B: &str = "0123456789abcde0";
const FERRY: &str = "the ferry leaves at nine and returns before the tide";
const ROOF: &str = "seven carpenters rebuilt the old theatre roof";

/// A test case: a file, a command whose messages propose another command, the words before the
/// proposed command, and a command that shows the result.
struct Case {
    file: &'static str,
    content: String,
    given: &'static str,
    before: &'static str,
    shown_by: &'static str,
    outcome: String,
}

fn case(
    (file, content): (&'static str, String),
    given: &'static str,
    before: &'static str,
    (shown_by, outcome): (&'static str, String),
) -> Case {
    Case { file, content, given, before, shown_by, outcome }
}

/// Runs a line in a shell in which `fpstore` is the tested program.
fn shell(dir: &TestDir, line: &str) -> (i32, String, String) {
    let program = dir.command(&[]).get_program().to_owned();
    let line = format!("fpstore() {{ \"$PROGRAM\" \"$@\"; }}; {line}");
    let mut shell = Command::new("sh");
    shell.args(["-c", &line]).current_dir(dir.folder()).env("PROGRAM", program);
    let done = shell.env_remove("FPSTORE").output().unwrap();
    (done.status.code().unwrap(), text(done.stdout), text(done.stderr))
}

/// Extracts the proposed command from a message: it ends at the closing quote, the next clause or
/// the end of the line.
fn proposed(err: &str, before: &str) -> String {
    let (_, rest) = err.split_once(before).unwrap_or_else(|| panic!("no '{before}' in: {err}"));
    let line = rest.lines().next().unwrap();
    let line = if before.ends_with('\'') { line.split('\'').next().unwrap() } else { line };
    let ends = [
        "; if it contains a field",
        "; name the columns",
        ", and name the new file",
        ", fpstore cluster",
    ];
    let end = ends.iter().filter_map(|end| line.find(end)).min().unwrap_or(line.len());
    line[..end].replace("FILE", "in.tsv").replace("NAME", "made").replace("FINGERPRINT", A)
}

fn cases() -> Vec<Case> {
    let hashes = || format!("a.jpg,{A},{B}\nb.jpg,{B},{A}\n");
    let table =
        |separator: &str| format!("id{separator}text\n1{separator}{FERRY}\n2{separator}{ROOF}\n");
    let both = || ("fpstore dump -s s.fps | cut -f2 | sort", "1\n2\n".to_string());
    let dumped = |rows: &str| ("fpstore dump -s s.fps", rows.to_string());
    let objects = |of: &dyn Fn(u32, &str) -> String| format!("{}\n{}\n", of(1, FERRY), of(2, ROOF));
    let kept = ("wc -l < k.jsonl | tr -d ' '", "2\n".to_string());
    let is_so = "if so, run: ";
    vec![
        // Cases about columns of fingerprints.
        case(
            ("two.csv", hashes()),
            "build two.csv -s s.fps",
            is_so,
            dumped(&format!("{B}\tb.jpg\n{A}\ta.jpg\n")),
        ),
        case(
            ("sixteen.csv", "x,1731234567890123\ny,1731234567890124\n".into()),
            "build sixteen.csv -s s.fps",
            "if they are decimal, run: ",
            dumped("0006268c757124cb\tx\n0006268c757124cc\ty\n"),
        ),
        case(
            ("sixteen.csv", "x,1731234567890123\ny,1731234567890124\n".into()),
            "build sixteen.csv -s s.fps",
            "if they are hex, run: ",
            dumped("1731234567890123\tx\n1731234567890124\ty\n"),
        ),
        case(
            ("32.txt", "f2a74de4\n012345ab\n".into()),
            "build 32.txt -s s.fps",
            is_so,
            dumped("012345ab\nf2a74de4\n"),
        ),
        case(
            ("prints.jsonl", format!("{{\"id\":1,\"phash\":\"{A}\"}}\n")),
            "build prints.jsonl -s s.fps",
            is_so,
            dumped(&format!("{A}\t1\n")),
        ),
        // Cases about fields of documents.
        case(
            (
                "elastic.jsonl",
                objects(&|id, text| {
                    format!(
                        "{{\"_index\":\"news\",\"_id\":\"{id}\",\"_source\":{{\"content\":\"{text}\"}}}}"
                    )
                }),
            ),
            "clean elastic.jsonl -o k.jsonl",
            is_so,
            kept.clone(),
        ),
        case(
            (
                "deep.jsonl",
                objects(&|id, text| {
                    format!("{{\"id\":\"{id}\",\"hash\":\"x\",\"meta\":{{\"page\":{{\"body\":\"{text}\"}}}}}}").replace("\"hash\":\"x\",", "")
                }),
            ),
            "clean deep.jsonl -o k.jsonl",
            is_so,
            kept.clone(),
        ),
        case(
            (
                "chat.jsonl",
                objects(&|id, text| {
                    format!(
                        "{{\"id\":\"{id}\",\"messages\":[{{\"role\":\"user\",\"content\":\"{text}\"}}]}}"
                    )
                }),
            ),
            "build chat.jsonl -s s.fps",
            is_so,
            both(),
        ),
        case(
            (
                "dated.jsonl",
                objects(&|_, text| {
                    format!(
                        "{{\"date\":\"2026-11-22T00:00:00.000000Z\",\"lang\":\"en\",\"summary\":\"{text}\"}}"
                    )
                }),
            ),
            "build dated.jsonl -s s.fps",
            is_so,
            both(),
        ),
        case(
            ("only.jsonl", objects(&|_, text| format!("{{\"text\":\"{text}\"}}"))),
            "build only.jsonl -s s.fps",
            is_so,
            both(),
        ),
        // Cases about layouts of tables.
        case(("tabs.csv", table("\t")), "build --docs tabs.csv -s s.fps", is_so, both()),
        case(("commas.tsv", table(",")), "build --docs commas.tsv -s s.fps", is_so, both()),
        case(
            ("note.csv", format!("# exported\n{}", table(","))),
            "build --docs note.csv -s s.fps",
            "run: ",
            (
                "fpstore build --docs note.new.csv -s s.fps -q && fpstore dump -s s.fps | cut -f2 | sort",
                "1\n2\n".into(),
            ),
        ),
        case(
            ("excel.csv", format!("sep=;\r\n{}", table(";"))),
            "build --docs excel.csv -s s.fps",
            "run: ",
            (
                "fpstore build --docs excel.new.csv 2>&1 | grep -c \"separated by ';'\"",
                "1\n".into(),
            ),
        ),
        case(
            ("table.csv", table(",")),
            "build table.csv -s s.fps",
            "if the table contains documents, run: ",
            both(),
        ),
        // Cases about documents in place of fingerprints.
        case(
            ("j.txt", objects(&|id, text| format!("{{\"id\":\"{id}\",\"text\":\"{text}\"}}"))),
            "build j.txt -s s.fps",
            "if it contains documents, run: ",
            both(),
        ),
        case(
            ("j.txt", objects(&|id, text| format!("{{\"id\":\"{id}\",\"text\":\"{text}\"}}"))),
            "pairs j.txt -k 64",
            "if it contains documents, run: ",
            ("fpstore pairs --docs --docs-format jsonl j.txt -k 64 -q | cut -f4-", "2\t1\n".into()),
        ),
        case(
            ("page.txt", format!("<html><p>{FERRY}</p></html>\n")),
            "build page.txt -s s.fps",
            "if it contains documents, run: ",
            ("fpstore dump -s s.fps | cut -f2", "page.txt\n".into()),
        ),
        // Cases about stores.
        case(
            ("in.tsv", format!("{A}\tx\n")),
            "query 0 -s s.fps",
            "make one with '",
            dumped(&format!("{A}\tx\n")),
        ),
        case(
            ("in.tsv", format!("{A}\tx\n")),
            "query 0 -s in.tsv",
            "to make a store of the file, run: ",
            ("fpstore dump -s made.fps", format!("{A}\tx\n")),
        ),
        case(
            ("in.tsv", format!("{A}\tx\n")),
            "dedup in.tsv -o other.tsv -q; fpstore query --from in.tsv -s other.tsv",
            "to compare the records of two files, run: ",
            ("fpstore join in.tsv other.tsv -q | cut -f1,4-", "x\t0\tx\n".into()),
        ),
        case(
            ("in.tsv", format!("{A}\tx\n")),
            "build in.tsv -s s.fps",
            "next: ",
            ("fpstore cluster s.fps -q | wc -l | tr -d ' '", "0\n".into()),
        ),
        case(
            ("in.tsv", format!("{A}\tx\n")),
            "build in.tsv -s deep/er/s.fps",
            "there is no folder deep/er; to make it, run: ",
            (
                "fpstore build in.tsv -s deep/er/s.fps -q; fpstore dump -s deep/er/s.fps",
                format!("{A}\tx\n"),
            ),
        ),
    ]
}

#[cfg(unix)]
#[test]
fn a_proposed_command_does_what_its_message_promises() {
    for Case { file, content, given, before, shown_by, outcome } in cases() {
        let dir = TestDir::with(file, &content);
        let (status, _, err) = shell(&dir, &format!("fpstore {given}"));
        assert!(status == 2 || before == "next: ", "{given}: {err}");
        let command = proposed(&err, before);
        let (status, _, told) = shell(&dir, &command);
        assert_eq!(status, 0, "{command}: {told}");
        let (_, shown, told) = shell(&dir, shown_by);
        assert_eq!(shown, outcome, "{command}: {err}{told}");
    }
}

/// For tables with other separators the proposed command uses Python; skipped if it is not
/// installed.
#[cfg(unix)]
#[test]
fn a_table_with_other_separators_is_named_and_converted() {
    let has_python = Command::new("python3").arg("--version").output().is_ok();
    for (separator, quote) in [(";", ""), ("|", ""), (";", "\"")] {
        let row =
            |id: &str, text: &str| format!("{quote}{id}{quote}{separator}{quote}{text}{quote}\r\n");
        let content = row("id", "text") + &row("1", "nine, at the tide") + &row("2", ROOF);
        let dir = TestDir::with("t.csv", &content);
        let (_, err) = dir.run(&["build", "--docs", "t.csv", "-s", "s.fps"], 2);
        assert!(err.contains(&format!("the columns are separated by '{separator}'")), "{err}");
        assert!(!err.contains("--line-ids") && !err.contains("--skip-bad"), "{err}");
        if has_python {
            let (status, _, told) = shell(&dir, &proposed(&err, "run: "));
            assert_eq!(status, 0, "{told}");
            dir.ok(&["build", "--docs", "t.new.csv", "-s", "s.fps", "-q"], "");
            let dumped = dir.ok(&["dump", "-s", "s.fps"], "");
            assert!(dumped.contains("\t1\n") && dumped.contains("\t2\n"), "{dumped}");
        }
        let hashes = row("hash", "id").replace("hash", "h") + &row(A, "x");
        dir.write("h.csv", hashes);
        let (_, err) = dir.run(&["build", "h.csv", "-s", "h.fps", "--fingerprint-field", "h"], 2);
        assert!(err.contains(&format!("separated by '{separator}'")), "{err}");
        assert!(!err.contains("--line-ids"), "{err}");
    }
}

/// Proposed commands that use other programs; skipped if these are not installed.
#[cfg(unix)]
#[test]
fn converted_and_unpacked_files_have_the_documents_of_their_originals() {
    let has = |program: &str| Command::new(program).arg("--version").output().is_ok();
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let table = format!("id;text\r\n1;{FERRY}\r\n2;{ROOF} na\u{ef}vely\r\n");
    let long = format!("id;text\n1;{FERRY}\n2;{}\n", "roof ".repeat(40_000));
    let gbk = [b"id;text\n1;the ferry\n2;\xd6\xd0\xce\xc4\n".as_slice()].concat();
    let excel = format!("sep=,\nid,text\n1,{FERRY}\n2,{ROOF}\n");
    let cases = [
        (wide(&format!("\u{feff}{table}")), &[][..]),
        (format!("\u{feff}{table}").into_bytes(), &[]),
        (long.into_bytes(), &[]),
        (gbk, &["--encoding", "gbk"]),
        (wide(&format!("\u{feff}{excel}")), &[]),
    ];
    for (content, more) in cases.iter().filter(|_| has("python3")) {
        let dir = TestDir::new();
        dir.write("t.csv", content);
        let given = ["build", "--docs", "t.csv", "-s", "s.fps"];
        let (_, err) = dir.run(&[&given[..], more].concat(), 2);
        let (status, _, told) = shell(&dir, &proposed(&err, "run: "));
        assert_eq!(status, 0, "{err}{told}");
        dir.run(&[&["build", "--docs", "t.new.csv", "-s", "s.fps", "-q"][..], more].concat(), 0);
        let dumped = dir.ok(&["dump", "-s", "s.fps"], "");
        assert!(dumped.contains("\t1\n") && dumped.contains("\t2\n"), "{err}{dumped}");
    }
    if has("xz") {
        let dir = TestDir::with("a.jsonl", &format!("{{\"id\":1,\"text\":\"{FERRY}\"}}\n"));
        shell(&dir, "xz a.jsonl && mv a.jsonl.xz a.jsonl");
        let (_, err) = dir.run(&["build", "--docs", "a.jsonl", "-s", "s.fps"], 2);
        let (status, _, told) = shell(&dir, &proposed(&err, "unpack it: "));
        assert_eq!(status, 0, "{told}");
        dir.run(&["build", "--docs", "a.new.jsonl", "-s", "s.fps", "-q"], 0);
        assert!(dir.ok(&["dump", "-s", "s.fps"], "").ends_with("\t1\n"));
    }
}

#[test]
fn parquet_is_named_where_lines_are_expected() {
    let dir = TestDir::with("t.tsv", &format!("{A}\tx\n"));
    dir.ok(&["build", "t.tsv", "-s", "s.fps", "-q"], "");
    for (name, middle) in [("a.parquet", "\0\r\0"), ("a.tsv", "\0\r\n"), ("b.tsv", "\n")] {
        dir.write(name, format!("PAR1\x15\x04{middle}PAR1"));
        for args in [
            &["stats", name][..],
            &["join", name, "t.tsv"],
            &["delete", "-s", "s.fps", "--fingerprints", name],
            &["build", "--docs", "--docs-format", "jsonl", name, "-s", "n.fps"],
        ] {
            let (_, err) = dir.run(args, 2);
            // With the extension 'parquet' the file is read as documents anyway.
            let is_docs = err.contains("a.parquet is Parquet, so --docs is assumed");
            let is_named = err.contains("it is a Parquet file, expected lines of text");
            assert!((is_named || is_docs) && !err.contains("tr '"), "{args:?}: {err}");
        }
    }
}

/// If a key or a whole row were taken as the text, different documents would look equal.
#[test]
fn no_key_and_no_whole_row_is_proposed_as_a_text() {
    for (file, content) in [
        ("keys.jsonl", "{\"_index\":\"news\",\"_type\":\"doc\",\"n\":1}\n"),
        ("dates.jsonl", "{\"date\":\"2026-11-22\",\"sha\":\"a0b1c2\",\"lang\":\"en\"}\n"),
        ("only.csv", "title of everything\none two three\nfour five\n"),
    ] {
        let dir = TestDir::with(file, content);
        let (_, err) = dir.run(&["clean", "--docs", file, "-o", "kept"], 2);
        assert!(
            !err.contains("--text-field _")
                && !err.contains("if so, run: fpstore clean --docs only.csv"),
            "{err}"
        );
        assert!(
            !err.contains("--text-field date") && !err.contains("--text-field 'title"),
            "{err}"
        );
    }
}

/// A proposal that takes a title or an author as the text, or the first document as a header, would
/// lose documents.
#[test]
fn no_command_is_proposed_where_several_fields_could_be_the_text() {
    let row =
        |title: &str, prose: &str| format!("{{\"title\":\"{title}\",\"prose\":\"{prose}\"}}\n");
    for (file, content) in [
        ("titles.jsonl", row("a title that is longer", "one two") + &row("a title", FERRY)),
        ("headless.csv", format!("1,{FERRY}\n2,{ROOF}\n")),
        ("names.csv", "a.html,the ferry leaves\nb.html,the ferry leaves\n".into()),
    ] {
        let dir = TestDir::with(file, &content);
        let (_, err) = dir.run(&["clean", file, "-o", "kept"], 2);
        assert!(err.contains("among") && !err.contains("run: "), "{err}");
    }
}
