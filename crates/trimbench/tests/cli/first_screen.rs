//! What `trimbench run` prints in 80 columns: the verdicts and the table first, nothing twice; and
//! the block of the README that shows them.

use tempfile::tempdir;
use trimbench_methods::{BY_NAME_ONLY, METHODS};

use super::{code, looking, stderr, stdout};

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

#[test]
fn a_run_prints_every_verdict_and_the_table_on_its_first_screen_as_the_readme_shows() {
    let folder = tempdir().unwrap();
    let run = looking(folder.path(), &["run", "--jobs", "2", "--output", "run"]).output().unwrap();
    assert_eq!(code(&run), Some(0), "{}", stderr(&run));
    let (output, errors) = (stdout(&run), stderr(&run));
    let printed: Vec<&str> = output.lines().collect();
    let first = &printed[..SCREEN - OF_CARGO];
    let has_answer = |line: &&&str| {
        let behind = line.split_once("  ").map_or("", |(_, rest)| rest.trim_start());
        ANSWERS.iter().any(|answer| behind.starts_with(answer))
    };
    assert_eq!(first.iter().take_while(has_answer).count(), DRIVES, "{output}");
    let readme = include_str!("../../../../README.md");
    let blocks = readme.split("```text\n").skip(1).filter_map(|rest| rest.split_once("```"));
    let shown = blocks.map(|(block, _)| block).find(|block| block.contains("\nmethod ")).unwrap();
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
