//! What every help page ends with: two examples, and the manual page.

/// The end of the help page of the command with these words.
macro_rules! end {
    ([$($word:literal),*], $first:literal, $second:literal) => {
        concat!(
            "Examples:\n  trimbench ",
            $first,
            "\n  trimbench ",
            $second,
            "\n\nManual: `man trimbench",
            $("-", $word,)*
            "`, or `trimbench man",
            $(" ", $word,)*
            " | man -l -`"
        )
    };
}

/// Of the program itself, with the exit codes, as in `docs/reference/exit-codes.md`.
pub(crate) const TRIMBENCH: &str = concat!(
    "Exit codes: 0 done and valid; 1 a limit failed; 2 usage error; 3 target unsuitable; 4 run \
     invalid, results kept and marked; 101 bug; 130 interrupted, partial results saved.\n\n",
    end!([], "run", "run /srv/data --dry-run")
);
pub(crate) const DOCTOR: &str =
    end!(["doctor"], "doctor /srv/data", "doctor --full --json /dev/nvme0n1");
pub(crate) const RUN: &str = end!(
    ["run"],
    "run /srv/data",
    "run delete-stall --target ext4:sim:generic-nvme-tlc --deletes 1GiB"
);
pub(crate) const ATTACH: &str =
    end!(["attach"], "attach vendor2 --capacity 16GiB", "attach --fault power-cut /dev/loop0");
pub(crate) const LIST: &str = end!(["list"], "list steady-state", "list generic-nvme-tlc --json");
pub(crate) const REPORT: &str =
    end!(["report"], "report", "report trimbench-runs/20261127T120000Z --html report.html");
pub(crate) const COMPARE: &str =
    end!(["compare"], "compare before after", "compare before after --limit stutter=5");
pub(crate) const FIT: &str =
    end!(["fit"], "fit my-run --output my-drive.toml", "fit --measure /srv/data my-run --dry-run");
pub(crate) const WHAT_IF: &str = end!(
    ["what-if"],
    "what-if generic-sata-tlc",
    "what-if my-drive.toml --free 0%,25% --drive-writes 0.3"
);
pub(crate) const IMPORT: &str = end!(
    ["import"],
    "import postmark results.txt",
    "import postmark results.txt --number 30000 --json"
);
pub(crate) const TRACE: &str =
    end!(["trace"], "trace stat disk.blktrace.0", "trace convert disk.iolog disk.parquet");
pub(crate) const STAT: &str = end!(
    ["trace", "stat"],
    "trace stat disk.blktrace.0",
    "trace stat disk.csv --format msr --json"
);
pub(crate) const CONVERT: &str = end!(
    ["trace", "convert"],
    "trace convert disk.iolog disk.parquet",
    "trace convert disk.csv - --to blkparse --lenient"
);
pub(crate) const GENERATE: &str = end!(
    ["trace", "generate"],
    "trace generate master.parquet --length 1%",
    "trace generate mix.iolog --commands 100000 --reads 70% --trims 5%"
);
pub(crate) const RECORD: &str = end!(
    ["trace", "record"],
    "trace record /dev/nvme0n1 disk.parquet --time 60s",
    "trace record /dev/sdb1 disk.iolog"
);
pub(crate) const RESTORE: &str = end!(["restore"], "restore", "restore --json");
pub(crate) const COMPLETIONS: &str = end!(["completions"], "completions bash", "completions zsh");
pub(crate) const MAN: &str = end!(["man"], "man", "man trace convert");

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory as _};

    use crate::args::Args;

    fn each(command: &Command, words: &[&str], look: &mut dyn FnMut(&Command, &[&str])) {
        look(command, words);
        for inner in command.get_subcommands().filter(|it| it.get_name() != "help") {
            each(inner, &[words, &[inner.get_name()]].concat(), look);
        }
    }

    #[test]
    fn every_help_page_ends_with_two_examples_that_are_read_and_its_manual() {
        let mut command = Args::command();
        command.build();
        each(&command, &["trimbench"], &mut |command, words| {
            let page = words.join("-");
            let end = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let (_, end) = end.split_once("Examples:\n").unwrap_or_else(|| panic!("{page}"));
            let examples: Vec<&str> = end.lines().map_while(|it| it.strip_prefix("  ")).collect();
            assert_eq!(examples.len(), 2, "{page}");
            for example in examples {
                let read = Args::command().try_get_matches_from(example.split(' '));
                assert!(read.is_ok(), "{example}: {read:?}");
                assert!(example.starts_with(&words.join(" ")), "{example}");
            }
            let man = [&["trimbench", "man"], &words[1..]].concat().join(" ");
            let manual = format!("Manual: `man {page}`, or `{man} | man -l -`");
            assert!(end.contains(&manual), "{page}: {end}");
        });
    }
}
