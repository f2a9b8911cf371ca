//! The command line is a contract: names, columns, exit statuses, and what is said where.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use assert_cmd::cargo::CommandCargoExt;
use serde_json::Value;
use tempfile::TempDir;

const INPUT: &str = "\
# comment
0123456789abcdef\ta.html
0x0123456789ABCDEE,b, with comma

fedcba9876543210:17
0123456789abcdef   second\r
ffffffffffffffff
";

/// A folder to work in, with `input.tsv` in it.
struct Desk {
    folder: TempDir,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("input.tsv"), INPUT).unwrap();
        Desk { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run_with(&self, args: &[&str], input: &[u8]) -> Output {
        let mut command = Command::cargo_bin("fpstore").unwrap();
        command.args(args).current_dir(self.folder.path()).env_remove("FPSTORE");
        // Unit costs that were measured for the user of the machine would decide schemes here.
        command.env("XDG_CACHE_HOME", self.path("cache"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // The program may end without reading all of it.
        let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), input);
        child.wait_with_output().unwrap()
    }

    /// Runs, checks the exit status, and gives standard output and standard error.
    fn run(&self, args: &[&str], status: i32) -> (String, String) {
        let output = self.run_with(args, b"");
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(status), "{args:?}\n{out}\n{err}");
        assert!(err.lines().all(|line| line.starts_with("fpstore: ")), "{args:?}: {err}");
        (out, err)
    }
}

fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn build_and_query_work_with_nothing_else_said() {
    let desk = Desk::new();
    let (out, err) = desk.run(&["build", "input.tsv"], 0);
    assert_eq!(out, "");
    assert!(err.contains("5 records, 4 fingerprints, 4 ids"), "{err}");
    assert_eq!(names_in(desk.folder.path()), ["input.tsv", "store.fps"]);
    let (out, _) = desk.run(&["query", "0123456789abcdef"], 0);
    assert_eq!(
        out,
        "0123456789abcdef\t0123456789abcdef\t0\ta.html\n\
         0123456789abcdef\t0123456789abcdef\t0\tsecond\n\
         0123456789abcdef\t0123456789abcdee\t1\tb, with comma\n"
    );
    let (out, _) = desk.run(&["query", "-k", "0", "0xFFFFFFFFFFFFFFFF", "1"], 0);
    assert_eq!(out, "ffffffffffffffff\tffffffffffffffff\t0\t\n");
    let (out, err) = desk.run(&["query", "00000000ffffffff"], 1);
    assert_eq!((out, err), (String::new(), String::new()));
}

#[test]
fn json_has_one_object_a_query() {
    let desk = Desk::new();
    desk.run(&["build", "input.tsv"], 0);
    let (out, _) = desk.run(&["query", "--format", "json", "0123456789abcdef", "5"], 0);
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(
        out.lines().next().unwrap(),
        "{\"query\":\"0123456789abcdef\",\"matches\":[\
         {\"fingerprint\":\"0123456789abcdef\",\"distance\":0,\"ids\":[\"a.html\",\"second\"]},\
         {\"fingerprint\":\"0123456789abcdee\",\"distance\":1,\"ids\":[\"b, with comma\"]}]}"
    );
    assert_eq!(out.lines().nth(1).unwrap(), "{\"query\":\"0000000000000005\",\"matches\":[]}");
}

#[test]
fn a_cut_answer_says_so() {
    let desk = Desk::new();
    desk.run(&["build", "input.tsv"], 0);
    let (out, err) = desk.run(&["query", "--limit", "1", "0123456789abcdef"], 0);
    assert_eq!(out.lines().count(), 2);
    assert!(err.contains("cut"), "{err}");
    let json = ["query", "--limit", "1", "0123456789abcdef", "--format", "json"];
    let (out, err) = desk.run(&json, 0);
    assert!(out.ends_with(",\"cut\":true}\n"), "{out}");
    assert_eq!(err, "");
    let (_, err) = desk.run(&["query", "--limit", "2", "0123456789abcdef"], 0);
    assert_eq!(err, "");
}

#[test]
fn queries_come_from_standard_input_too() {
    let desk = Desk::new();
    desk.run(&["build", "input.tsv"], 0);
    let output = desk.run_with(&["query", "-k1", "-"], b"fedcba9876543211 new\n# no\n\n7\n");
    assert_eq!(output.status.code(), Some(0));
    let out = String::from_utf8(output.stdout).unwrap();
    assert_eq!(out, "fedcba9876543211\tfedcba9876543210\t1\t17\n");
    let output = desk.run_with(&["query", "-"], b"7\nxyz\n");
    assert_eq!(output.status.code(), Some(2));
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.contains("standard input: line 2: 'xyz' is not a fingerprint"), "{err}");
}

#[test]
fn explain_says_tables_radii_and_work() {
    let desk = Desk::new();
    desk.run(&["build", "input.tsv"], 0);
    let (_, err) = desk.run(&["query", "--explain", "0123456789abcdef"], 0);
    for part in ["k=3", "probes (", "candidates (", "us (", "expected", "pages"] {
        assert!(err.contains(part), "{part}: {err}");
    }
    let (_, err) = desk.run(&["query", "--explain", "-k", "60", "5"], 0);
    assert!(err.contains("scan of table 0"), "{err}");
}

#[test]
fn the_store_is_found_by_option_then_environment_then_name() {
    let desk = Desk::new();
    desk.run(&["build", "input.tsv", "-s", "one.fps", "-q"], 0);
    let (_, err) = desk.run(&["query", "5"], 2);
    assert!(err.contains("there is no store at store.fps"), "{err}");
    assert!(err.contains("fpstore build"), "{err}");
    let mut command = Command::cargo_bin("fpstore").unwrap();
    command.args(["query", "ffffffffffffffff"]).env("FPSTORE", desk.path("one.fps"));
    assert!(command.output().unwrap().status.success());
    desk.run(&["query", "--store", "one.fps", "ffffffffffffffff"], 0);
}

#[test]
fn an_existing_store_is_replaced_only_by_force_and_never_harmed() {
    let desk = Desk::new();
    desk.run(&["build", "input.tsv"], 0);
    let before = names_in(&desk.path("store.fps"));
    let (_, err) = desk.run(&["build", "input.tsv"], 2);
    assert!(err.contains("there is a store at store.fps already"), "{err}");
    assert!(err.contains("--force"), "{err}");

    fs::write(desk.path("bad.tsv"), "1\n2\nxyz\n").unwrap();
    let (_, err) = desk.run(&["build", "bad.tsv", "--force"], 2);
    assert!(err.contains("bad.tsv: line 3: 'xyz' is not a fingerprint: digit 1 is 'x'"), "{err}");
    assert_eq!(names_in(&desk.path("store.fps")), before);
    desk.run(&["query", "0123456789abcdef"], 0);

    fs::write(desk.path("other.tsv"), "7 x\n").unwrap();
    desk.run(&["build", "other.tsv", "--force"], 0);
    desk.run(&["query", "7"], 0);
    desk.run(&["query", "0123456789abcdef"], 1);
    desk.run(&["verify"], 0);
    let after = names_in(&desk.path("store.fps"));
    assert_eq!(after, ["LOCK", "MANIFEST", "PUBLISH", "segment-0000000000000002.fps"]);
}

#[test]
fn what_is_no_store_is_never_replaced() {
    let desk = Desk::new();
    fs::create_dir(desk.path("photos")).unwrap();
    fs::write(desk.path("photos/cat.jpg"), "cat").unwrap();
    for target in ["photos", "input.tsv"] {
        let (_, err) = desk.run(&["build", "input.tsv", "-s", target, "--force"], 2);
        assert!(err.contains("is not a store"), "{err}");
    }
    assert_eq!(names_in(&desk.path("photos")), ["cat.jpg"]);
    fs::create_dir(desk.path("empty")).unwrap();
    desk.run(&["build", "input.tsv", "-s", "empty"], 0);
    // A folder that cannot be moved away from, as a mount point, is filled in place.
    let here = desk.path("here");
    fs::create_dir(&here).unwrap();
    let mut command = Command::cargo_bin("fpstore").unwrap();
    command.args(["build", "../input.tsv", "-s", ".", "-q"]).current_dir(&here);
    assert!(command.status().unwrap().success());
    desk.run(&["verify", "-s", "here"], 0);
}

#[test]
fn bad_lines_are_counted_shown_and_passed_over_on_demand() {
    let desk = Desk::new();
    let mut input: String = (0..12).map(|i| format!("bad{i}!\n")).collect();
    input.push_str("1 a\n");
    fs::write(desk.path("bad.tsv"), input).unwrap();
    let (_, err) = desk.run(&["build", "bad.tsv", "--skip-bad"], 0);
    assert_eq!(err.matches("is not a fingerprint").count(), 10);
    assert!(err.contains("12 bad records skipped"), "{err}");
    desk.run(&["query", "1"], 0);
}

#[test]
fn every_input_spelling_gives_the_same_store() {
    let desk = Desk::new();
    let values = [0x8000_0000_0000_0001_u64, 0x0123_4567_89ab_cdef, 5];
    let write = |name: &str, line: &dyn Fn(u64, usize) -> String| {
        let text: String = values.iter().enumerate().map(|(id, &v)| line(v, id) + "\n").collect();
        fs::write(desk.path(name), text).unwrap();
    };
    write("hex", &|v, id| format!("{v:x}\t{id}"));
    write("dec", &|v, id| format!("{v} {id}"));
    write("sdec", &|v, id| format!("{},{id}", v.cast_signed()));
    let pairs: Vec<u8> = values
        .iter()
        .zip(0_u64..)
        .flat_map(|(v, id)| [v.to_le_bytes(), id.to_le_bytes()].concat())
        .collect();
    fs::write(desk.path("bin"), &pairs).unwrap();
    let gz = fs::File::create(desk.path("hex.gz")).unwrap();
    let mut encoder = flate2::write::GzEncoder::new(gz, flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, &fs::read(desk.path("hex")).unwrap()).unwrap();
    encoder.finish().unwrap();
    let zst = zstd::encode_all(fs::File::open(desk.path("hex")).unwrap(), 3).unwrap();
    fs::write(desk.path("hex.zst"), zst).unwrap();

    let mut files: Vec<Vec<u8>> = Vec::new();
    for (number, args) in [
        vec!["hex"],
        vec!["dec", "--radix", "dec"],
        vec!["sdec", "--radix", "sdec"],
        vec!["bin", "--input-format", "u64le-id"],
        vec!["hex.gz"],
        vec!["hex.zst"],
    ]
    .iter()
    .enumerate()
    {
        let store = format!("store{number}.fps");
        desk.run(&[vec!["build", "-s", &store], args.clone()].concat(), 0);
        files.push(fs::read(desk.path(&store).join("segment-0000000000000001.fps")).unwrap());
    }
    assert!(files.iter().all(|file| *file == files[0]));
    let (out, _) = desk
        .run(&["query", "-s", "store0.fps", "-k0", "--radix", "sdec", "-9223372036854775807"], 0);
    assert_eq!(out, "8000000000000001\t8000000000000001\t0\t0\n");

    fs::write(desk.path("cut"), &pairs[..41]).unwrap();
    let cut = ["build", "cut", "--input-format", "u64le-id", "-s", "c.fps"];
    let (_, err) = desk.run(&cut, 2);
    assert!(err.contains("cut: byte 32: 9 bytes left over, expected 16"), "{err}");
    assert!(!desk.path("c.fps").exists());
}

#[test]
fn dump_is_input_for_the_same_store() {
    let desk = Desk::new();
    desk.run(&["build", "input.tsv", "--scheme", "14"], 0);
    let (dumped, _) = desk.run(&["dump"], 0);
    assert_eq!(
        dumped,
        "0123456789abcdee\tb, with comma\n0123456789abcdef\ta.html\n0123456789abcdef\tsecond\n\
         fedcba9876543210\t17\nffffffffffffffff\n"
    );
    for separator in ["tab", ":", "comma", "space"] {
        let (dumped, _) = desk.run(&["dump", "--separator", separator], 0);
        fs::write(desk.path("again.tsv"), dumped).unwrap();
        desk.run(&["build", "again.tsv", "-s", "again.fps", "--scheme", "14", "--force"], 0);
        let (again, _) = desk.run(&["dump", "-s", "again.fps"], 0);
        assert_eq!(again.lines().count(), 5, "{separator}");
    }
    assert!(!desk.run_with(&["dump", "--separator", "x"], b"").status.success());
    // 'build' passes over spaces after a comma, so such an id would come back changed.
    fs::write(desk.path("space.tsv"), "1\t lead\n").unwrap();
    desk.run(&["build", "space.tsv", "-s", "space.fps"], 0);
    assert_eq!(desk.run(&["dump", "-s", "space.fps"], 0).0, "0000000000000001\t lead\n");
    let (_, err) = desk.run(&["dump", "-s", "space.fps", "--separator", ","], 2);
    assert!(err.contains("--separator tab"), "{err}");
}

#[test]
fn info_counts_and_measures() {
    let desk = Desk::new();
    desk.run(&["build", "input.tsv", "-k", "5", "--scheme", "4"], 0);
    let (text, _) = desk.run(&["info"], 0);
    for part in ["fingerprints   4", "ids            4", "tuned for k    5", "external"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let (json, _) = desk.run(&["info", "--format", "json"], 0);
    let info: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(info["fingerprints"], 4);
    assert_eq!(info["segments"][0]["tables"].as_array().unwrap().len(), 4);
    assert_eq!(info["segments"][0]["tables"][1]["mask"], "0000ffff00000000");
    assert!(info["segments"][0]["information_limit"].is_number());
}

#[test]
fn verify_tells_sound_from_damaged() {
    let desk = Desk::new();
    desk.run(&["build", "input.tsv"], 0);
    let (_, err) = desk.run(&["verify", "--sample", "9"], 0);
    assert!(err.contains("sound") && err.contains("9 samples"), "{err}");
    let segment = desk.path("store.fps/segment-0000000000000001.fps");
    let mut bytes = fs::read(&segment).unwrap();
    bytes[0x4001] ^= 1;
    fs::remove_file(&segment).unwrap();
    fs::write(&segment, bytes).unwrap();
    let (_, err) = desk.run(&["verify"], 1);
    assert!(err.contains("heads of table 0 is corrupt at byte 0x4000: checksum"), "{err}");
    let (out, err) = desk.run(&["query", "0123456789abcdef"], 2);
    assert_eq!(out, "");
    assert!(err.contains("run 'fpstore verify -s store.fps'"), "{err}");
    fs::remove_file(&segment).unwrap();
    let (_, err) = desk.run(&["verify"], 1);
    assert!(err.contains("missing"), "{err}");
}

#[test]
fn segments_are_written_read_only_and_nothing_else_is_left() {
    let desk = Desk::new();
    desk.run(&["build", "input.tsv"], 0);
    assert_eq!(
        names_in(&desk.path("store.fps")),
        ["LOCK", "MANIFEST", "segment-0000000000000001.fps"]
    );
    let segment = desk.path("store.fps/segment-0000000000000001.fps");
    assert!(fs::metadata(segment).unwrap().permissions().readonly());
    // What a builder that was killed left behind goes with the next build.
    fs::create_dir(desk.path(".next.fps.tmp-abc")).unwrap();
    fs::write(desk.path(".next.fps.tmp-abc/LOCK"), "").unwrap();
    desk.run(&["build", "input.tsv", "-s", "next.fps"], 0);
    assert_eq!(names_in(desk.folder.path()), ["input.tsv", "next.fps", "store.fps"]);
}

#[test]
fn schemes_come_by_name_or_from_a_file_of_masks() {
    let desk = Desk::new();
    fs::write(desk.path("masks.txt"), "# halves\nffffffff00000000\nffffffff\n").unwrap();
    desk.run(&["build", "input.tsv", "--scheme", "masks.txt", "-s", "a.fps"], 0);
    desk.run(&["build", "input.tsv", "--scheme", "2", "-s", "b.fps"], 0);
    let segment =
        |store: &str| fs::read(desk.path(store).join("segment-0000000000000001.fps")).unwrap();
    assert!(segment("a.fps") == segment("b.fps"));
    let (_, err) = desk.run(&["build", "input.tsv", "--scheme", "7", "-s", "c.fps"], 2);
    assert!(err.contains("'7' is no family, expected one of"), "{err}");
    assert!(!desk.path("c.fps").exists());
}

#[test]
fn a_closed_pipe_is_no_error() {
    let desk = Desk::new();
    let input: String = (0..50_000).map(|i| format!("{i:x} id-{i}\n")).collect();
    fs::write(desk.path("many.tsv"), input).unwrap();
    desk.run(&["build", "many.tsv"], 0);
    let mut command = Command::cargo_bin("fpstore").unwrap();
    command.arg("dump").current_dir(desk.folder.path());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(output.stderr, b"");
}

/// Messages that no one reads are no reason to stop, least of all to panic.
#[cfg(target_os = "linux")]
#[test]
fn a_standard_error_that_takes_nothing_changes_no_answer() {
    let desk = Desk::new();
    let full = || fs::File::options().write(true).open("/dev/full").unwrap();
    for (args, status) in [
        (&["build", "input.tsv"][..], 0),
        (&["query", "--explain", "0123456789abcdef"], 0),
        (&["query", "zz"], 2),
        (&["verify"], 0),
        (&["build", "input.tsv"], 2),
    ] {
        let mut command = Command::cargo_bin("fpstore").unwrap();
        command.args(args).current_dir(desk.folder.path()).stdin(Stdio::null());
        let code = command.stdout(Stdio::null()).stderr(full()).status().unwrap().code();
        assert_eq!(code, Some(status), "{args:?}");
    }
    // An answer that cannot be written is another matter.
    let mut command = Command::cargo_bin("fpstore").unwrap();
    command.arg("dump").current_dir(desk.folder.path()).stdout(full());
    assert_eq!(command.output().unwrap().status.code(), Some(2));
}

#[test]
fn usage_errors_exit_with_2_and_help_with_0() {
    let desk = Desk::new();
    for args in [
        vec![],
        vec!["query"],
        vec!["query", "5", "--limit", "0"],
        vec!["frobnicate"],
        vec!["build", "-k", "65"],
    ] {
        assert_eq!(desk.run_with(&args, b"").status.code(), Some(2), "{args:?}");
    }
    for command in ["build", "query", "info", "stats", "verify", "dump", "completions"] {
        let output = desk.run_with(&[command, "--help"], b"");
        assert_eq!(output.status.code(), Some(0));
        assert!(String::from_utf8(output.stdout).unwrap().contains("Example"), "{command}");
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(desk.run(&["completions", shell], 0).0.contains("fpstore"));
    }
}

#[test]
fn compressed_input_that_is_damaged_says_so() {
    let desk = Desk::new();
    for name in ["fake.zst", "fake.GZ"] {
        fs::write(desk.path(name), "no frame").unwrap();
        let (_, err) = desk.run(&["build", name], 2);
        assert!(err.contains(&format!("cannot decompress {name}")), "{err}");
    }
    let whole = zstd::encode_all(INPUT.as_bytes(), 3).unwrap();
    fs::write(desk.path("cut.zst"), &whole[..whole.len() - 5]).unwrap();
    let (_, err) = desk.run(&["build", "cut.zst"], 2);
    assert!(err.contains("cannot decompress cut.zst"), "{err}");
    assert!(!desk.path("store.fps").exists());
}
