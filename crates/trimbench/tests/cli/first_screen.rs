//! `trimbench run` without arguments: what it finds of the four drives, what it prints in 80
//! columns (the verdicts and the table first, nothing twice), and the block of the README that
//! shows it.

use tempfile::tempdir;
use tests::code_blocks;
use trimbench_methods::{BY_NAME_ONLY, METHODS};
use trimbench_results::RunRecord;

use super::{code, looking, record, stderr, stdout};

/// Lines and columns of a small terminal.
const SCREEN: usize = 24;
const COLUMNS: usize = 80;
/// What `cargo run` prints before the program: `Finished` and `Running`.
const OF_CARGO: usize = 2;
/// Lines of the whole output, stderr and cargo included.
const LINES_MAX: usize = 80;
/// The drives of a run without arguments.
const DRIVES: usize = 4;
/// Hexadecimal digits from which on a word is a hash.
const HASH_MIN: usize = 12;
/// A line of fewer characters may stand twice: a rule, a name.
const SAID_MIN: usize = 30;
const ANSWERS: [&str; 5] = [
    "mount with `discard`",
    "weekly `fstrim`",
    "smaller discards",
    "either will do",
    "leave TRIM off",
];

/// One test: the run takes longer than to look at it.
#[test]
fn the_default_run_tells_four_drives_apart_on_its_first_screen_as_the_readme_shows() {
    let folder = tempdir().unwrap();
    let run = looking(folder.path(), &["run", "--jobs", "2", "--output", "run"]).output().unwrap();
    assert_eq!(code(&run), Some(0), "{}", stderr(&run));
    assert_apart(&record(folder.path(), "run"));
    let (output, errors) = (stdout(&run), stderr(&run));
    for name in ["vendor2", "like-optane-900p", "virtual time", "seed 1"] {
        assert!(output.contains(name), "{output}");
    }
    let printed: Vec<&str> = output.lines().collect();
    let first = &printed[..SCREEN - OF_CARGO];
    let has_answer = |line: &&&str| {
        let behind = line.split_once("  ").map_or("", |(_, rest)| rest.trim_start());
        ANSWERS.iter().any(|answer| behind.starts_with(answer))
    };
    assert_eq!(first.iter().take_while(has_answer).count(), DRIVES, "{output}");
    let readme = include_str!("../../../../README.md");
    let shown = code_blocks(readme, "text").find(|block| block.contains("\nmethod ")).unwrap();
    for method in METHODS.iter().filter(|method| !BY_NAME_ONLY.contains(&method.id)) {
        let is_row = |line: &str| line.starts_with(&format!("{} ", method.id));
        assert!(first.iter().any(|line| is_row(line)), "no {} in {output}", method.id);
        assert!(shown.lines().any(is_row), "the README does not show {}", method.id);
    }
    for line in shown.lines() {
        assert!(printed.contains(&line), "the README shows `{line}`, which is not in {output}");
    }
    let lines = printed.len() + errors.lines().count() + OF_CARGO;
    assert!(lines <= LINES_MAX, "{lines} lines: {output}{errors}");
    for (index, line) in printed.iter().enumerate() {
        let length = line.chars().count();
        assert!(length <= COLUMNS, "{length} columns: {line}");
        assert!(length < SAID_MIN || !printed[..index].contains(line), "twice: {line}");
        let words = line.split(|letter: char| !letter.is_ascii_alphanumeric());
        let is_hash = |word: &str| {
            word.len() >= HASH_MIN && word.chars().all(|letter| letter.is_ascii_hexdigit())
        };
        assert!(!words.into_iter().any(is_hash), "a hash: {line}");
    }
}

fn assert_apart(record: &RunRecord) {
    let stutter = |name: &str| {
        let session = record.sessions.iter().find(|session| session.target.name == name).unwrap();
        session.headline().unwrap().value
    };
    // S1: the 900P prints 0.000. vendor2 pays 82 ms for each TRIM, 8 of them a GiB, and then 3 ms
    // for each write that has gathered.
    assert!(stutter("like-optane-900p").abs() < 0.000_5);
    assert!((0.61..1.2).contains(&stutter("vendor2")));
    assert!(stutter("generic-sata-tlc") > 10.0 * stutter("generic-nvme-tlc"));
    assert!(stutter("vendor2") > 10.0 * stutter("generic-sata-tlc"));
}
