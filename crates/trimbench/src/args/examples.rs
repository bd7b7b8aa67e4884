//! What every help page ends with: two examples, and the manual page.

/// The end of the help page of the command with these words.
macro_rules! end {
    ($words:literal, $page:literal, $first:literal, $second:literal) => {
        concat!(
            "Examples:\n  trimbench ",
            $first,
            "\n  trimbench ",
            $second,
            "\n\nManual: `man trimbench",
            $page,
            "`, or `trimbench man",
            $words,
            " | man -l -`"
        )
    };
}

/// Of the program itself, with the exit codes, as in `docs/reference/exit-codes.md`.
pub(crate) const TRIMBENCH: &str = concat!(
    "Exit codes: 0 done and valid; 1 a limit failed; 2 usage error; 3 target unsuitable; 4 run \
     invalid, results kept and marked; 101 bug; 130 interrupted, partial results saved.\n\n",
    end!("", "", "run", "run /srv/data --dry-run")
);
pub(crate) const RUN: &str = end!(
    " run",
    "-run",
    "run /srv/data",
    "run delete-stall --target ext4:sim:generic-nvme-tlc --deletes 1GiB"
);
pub(crate) const LIST: &str =
    end!(" list", "-list", "list steady-state", "list generic-nvme-tlc --json");
pub(crate) const REPORT: &str = end!(
    " report",
    "-report",
    "report",
    "report trimbench-runs/20261127T120000Z --html report.html"
);
pub(crate) const COMPARE: &str =
    end!(" compare", "-compare", "compare before after", "compare before after --limit stutter=5");
pub(crate) const FIT: &str = end!(
    " fit",
    "-fit",
    "fit my-run --output my-drive.toml",
    "fit --measure /srv/data my-run --dry-run"
);
pub(crate) const WHAT_IF: &str = end!(
    " what-if",
    "-what-if",
    "what-if generic-sata-tlc",
    "what-if my-drive.toml --free 0%,25% --drive-writes 0.3"
);
pub(crate) const IMPORT: &str = end!(
    " import",
    "-import",
    "import postmark results.txt",
    "import postmark results.txt --number 30000 --json"
);
pub(crate) const TRACE: &str =
    end!(" trace", "-trace", "trace stat disk.blktrace.0", "trace convert disk.iolog disk.parquet");
pub(crate) const STAT: &str = end!(
    " trace stat",
    "-trace-stat",
    "trace stat disk.blktrace.0",
    "trace stat disk.csv --format msr --json"
);
pub(crate) const CONVERT: &str = end!(
    " trace convert",
    "-trace-convert",
    "trace convert disk.iolog disk.parquet",
    "trace convert disk.csv - --to blkparse --lenient"
);
pub(crate) const GENERATE: &str = end!(
    " trace generate",
    "-trace-generate",
    "trace generate master.parquet --length 1%",
    "trace generate mix.iolog --commands 100000 --reads 70% --trims 5%"
);
pub(crate) const RECORD: &str = end!(
    " trace record",
    "-trace-record",
    "trace record /dev/nvme0n1 disk.parquet --time 60s",
    "trace record /dev/sdb1 disk.iolog"
);
pub(crate) const COMPLETIONS: &str =
    end!(" completions", "-completions", "completions bash", "completions zsh");
pub(crate) const MAN: &str = end!(" man", "-man", "man", "man trace convert");

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory as _};

    use crate::args::Args;

    fn each(command: &Command, page: &str, look: &mut dyn FnMut(&Command, &str)) {
        look(command, page);
        for inner in command.get_subcommands().filter(|it| it.get_name() != "help") {
            each(inner, &format!("{page}-{}", inner.get_name()), look);
        }
    }

    #[test]
    fn every_help_page_ends_with_two_examples_that_are_read_and_its_manual() {
        let mut command = Args::command();
        command.build();
        each(&command, "trimbench", &mut |command, page| {
            let end = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let (_, end) = end.split_once("Examples:\n").unwrap_or_else(|| panic!("{page}"));
            let examples: Vec<&str> = end.lines().map_while(|it| it.strip_prefix("  ")).collect();
            assert_eq!(examples.len(), 2, "{page}");
            for example in examples {
                let words: Vec<&str> = example.split(' ').collect();
                let read = Args::command().try_get_matches_from(&words);
                assert!(read.is_ok(), "{example}: {read:?}");
                let called: Vec<&str> = page.split('-').skip(1).collect();
                let called = called.join("-").replace("what-if", "what_if").replace('-', " ");
                let called = called.replace("what_if", "what-if");
                assert!(page == "trimbench" || example.contains(&called), "{example}");
            }
            assert!(end.contains(&format!("Manual: `man {page}`")), "{page}: {end}");
            let man = page.replacen("trimbench", "trimbench man", 1);
            let man = man.replacen("man-", "man ", 1).replace("trace-", "trace ");
            assert!(end.contains(&format!("`{man} | man -l -`")), "{page}: {end}");
        });
    }
}
