//! What people mistype, and what the program is to answer. Which mistakes, and what each answer
//! must say, was written down before the program was asked; the words are the program's own where
//! they say the same.

use trimbench_core::exit::{DONE, TARGET, USAGE};

/// A command line with a mistake in it.
#[derive(Debug)]
pub(super) struct Mistake {
    /// The arguments, separated by blanks; `_` within an argument stands for a blank.
    pub(super) arguments: &'static str,
    pub(super) exit: u8,
    /// What stands behind `error: `; `$SCENE` is the folder in which the program runs.
    pub(super) message: &'static str,
    /// What stands behind `hint: `, or how that begins.
    pub(super) hint: &'static str,
}

const fn usage(arguments: &'static str, message: &'static str, hint: &'static str) -> Mistake {
    Mistake { arguments, exit: USAGE, message, hint }
}

/// No mistake: `said` stands in the answer.
const fn right(arguments: &'static str, said: &'static str) -> Mistake {
    Mistake { arguments, exit: DONE, message: said, hint: "" }
}

const fn target(arguments: &'static str, message: &'static str, hint: &'static str) -> Mistake {
    Mistake { arguments, exit: TARGET, message, hint }
}

/// What there is instead of a kind of target that there is not.
const KINDS: &str = "emulated drives are `sim:NAME`, filesystems `ext4:`, `xfs:`, `btrfs:`, \
    `f2fs:`, pools `stripe:sim:NAME*10`, `raidz1:sim:NAME*10`, `raidz2:sim:NAME*10`, \
    `raidz3:sim:NAME*10`, attached drives `attach:NAME`, \
    scratch images `scratch,size=1GiB:DIRECTORY`; anything else is a path";

/// Files of jobs that lie in the scene.
pub(super) const JOBS: &[(&str, &str)] = &[
    ("unknown.toml", "format = 1\npresett = \"quick\"\n"),
    ("newer.toml", "format = 99\nsomething = \"new\"\n"),
    ("destroys.toml", "format = 1\ndestroy = [\"/dev/vdb\"]\n"),
    ("no-format.toml", "methods = [\"delete-stall\"]\n"),
    ("bare.toml", "format = 1\n\n[settings]\nwindow = 10\n"),
    ("good.toml", "format = 1\nmethods = [\"delete-stall\"]\n"),
];

pub(super) const MISTAKES: &[Mistake] = &[
    // Commands and methods.
    usage(
        "rnu",
        "there is no command `rnu`; did you mean `run`?",
        "commands: doctor, run, attach, list, report, ",
    ),
    usage(
        "delete-stall",
        "there is no command `delete-stall`",
        "it is a method: `trimbench run delete-stall`",
    ),
    right("help --help", "Usage: trimbench <COMMAND>"),
    usage(
        "run delete-stal",
        "there is no method `delete-stal`; did you mean `delete-stall`?",
        "methods: delete-stall, ",
    ),
    usage(
        "run all",
        "there is no method `all`",
        "leave it out: `trimbench run` without methods measures all that suit the target",
    ),
    usage(
        "run --all",
        "there is no option `--all`",
        "leave it out: `trimbench run` without methods measures all that suit the target",
    ),
    usage(
        "run delete-stall delete-stall",
        "method `delete-stall` is given twice",
        "leave one out: a run measures each method once on each target",
    ),
    usage(
        "list method",
        "there is no method or profile `method`; did you mean `methods`?",
        "`trimbench list` lists all of them",
    ),
    usage(
        "list steady-state --explain recovery",
        "`steady-state` is not one of methods, profiles",
        "write `trimbench list --explain NAME`",
    ),
    // What people write instead, and what is right as well.
    right("list steady-state", "steady-state: sustained random writes"),
    right("list --explain steady-state", "steady-state: sustained random writes"),
    right("list like-rc100", "like-rc100: "),
    right("list methods --json", "[ { \"id\": \"delete-stall\""),
    right("run dir --dry-run", "delete-stall (quick) on $SCENE/dir"),
    right("run delete-stall ./dir --dry-run", "delete-stall (quick) on $SCENE/dir"),
    right("run sim:vendor2 --dry-run", "delete-stall (quick) on sim:vendor2"),
    right(
        "run trim-sweep disk.img --destroy disk.img --dry-run",
        "destroys everything on it purge",
    ),
    right("run delete-stall --deletes 4GiB --dry-run", "delete-stall (quick) on "),
    target(
        "run ./nowhere",
        "`./nowhere` does not exist",
        "name a directory, a block device or an image file that exists, ",
    ),
    usage(
        "run --capacity 1G",
        "`--capacity 1G`: `1G` could be 1GB (powers of 1000) or 1GiB (powers of 1024); write which",
        "write `1GB` or `1GiB`",
    ),
    usage(
        "run delete-stall --set sizes=1G",
        "option `sizes` of `delete-stall`: `1G` could be 1GB (powers of 1000) or 1GiB (powers of \
         1024); write which",
        "see `trimbench list methods --explain delete-stall`",
    ),
    usage(
        "report run --deletes 1GiB --compat 1.51",
        "`--deletes` and `--compat` exclude each other",
        "",
    ),
    usage(
        "list methods --explain recovry",
        "there is no method `recovry`; did you mean `recovery`?",
        "methods: ",
    ),
    usage(
        "import pgbench results",
        "`pgbench` is not one of postmark",
        "`trimbench import --help` ",
    ),
    // Options.
    usage(
        "run --outptu x",
        "there is no option `--outptu`; did you mean `--output`?",
        "`trimbench run --help` lists all options",
    ),
    usage(
        "run --dryrun",
        "there is no option `--dryrun`; did you mean `--dry-run`?",
        "`trimbench run --help` lists all options",
    ),
    usage("run -t", "`--target` has no value", "write for example `--target sim:generic-nvme-tlc`"),
    usage(
        "run -t sim:vendor2 --preset",
        "`--preset` has no value",
        "write for example `--preset standard`",
    ),
    usage("run --preset fast", "there is no preset `fast`", "presets: quick, standard, published"),
    usage(
        "run --preset quik",
        "there is no preset `quik`; did you mean `quick`?",
        "presets: quick, standard, published",
    ),
    usage("run --seed abc", "`--seed abc` is not a whole number", "give 0 to 18446744073709551615"),
    usage("run --seed -1", "`--seed -1` is out of range", "give 0 to 18446744073709551615"),
    usage("run --jobs 0", "`--jobs 0` is out of range", "give 1 to 1024"),
    usage(
        "run --output-format yaml",
        "`--output-format yaml` is not one of human, json, ndjson, toml",
        "`trimbench run --help` ",
    ),
    usage(
        "run --output-format toml",
        "`--output-format toml` prints a job file, which only `--dry-run` does",
        "add `--dry-run`",
    ),
    // Sizes and times.
    usage(
        "run --capacity 1G",
        "`--capacity 1G`: `1G` could be 1GB (powers of 1000) or 1GiB (powers of 1024); \
         write which",
        "write `1GB` or `1GiB`",
    ),
    usage(
        "run --capacity 10mb",
        "`--capacity 10mb`: `mb` is not a unit here; use one of B, KiB, MiB, GiB, TiB, PiB \
         (1024) or KB, MB, GB, TB, PB (1000); did you mean `MB`?",
        "write `10MB`",
    ),
    usage(
        "run --capacity lots",
        "`--capacity lots`: `lots` does not begin with a number",
        "write for example `--capacity 32GiB`",
    ),
    usage(
        "run --set window=10",
        "option `window` of `delete-stall`: `10` has no unit (ns, us, ms, s, min, h)",
        "write for example `window=10s`; see `trimbench list methods --explain delete-stall`",
    ),
    usage(
        "run --set window=10S",
        "option `window` of `delete-stall`: `S` is not a unit here; use one of ns, us, ms, \
         s, min, h; did you mean `s`?",
        "see `trimbench list methods --explain delete-stall`",
    ),
    usage(
        "run --set window=9h",
        "option `window` of `delete-stall`: `9h` is out of range; give 100ms to 1h",
        "see `trimbench list methods --explain delete-stall`",
    ),
    usage(
        "run --set window",
        "`--set window` is not `KEY=VALUE`",
        "write for example `--set window=10s`",
    ),
    usage(
        "run --set windw=1s",
        "there is no option `windw`; did you mean `window`?",
        "options of `delete-stall`, the nearest first: window, ",
    ),
    usage(
        "run delete-stall --set row-time-max=1s",
        "`row-time-max` is an option of `trim-sweep`, which is not in this run",
        "run `trim-sweep` as well, or leave the option out; \
         `trimbench list methods --explain delete-stall` lists those of `delete-stall`",
    ),
    usage(
        "run --set mode=burn",
        "option `mode` of `delete-stall`: `burn` is not one of unlink",
        "see `trimbench list methods --explain delete-stall`",
    ),
    usage("run --set window=1s --set window=2s", "`--set window` is given twice", "leave one out"),
    // Limits.
    usage(
        "run --limit p99=5",
        "`p99=5` has no unit, and `response-p99` is in `ms`",
        "write for example `--limit p99=5ms`",
    ),
    usage("run --limit p99.9", "`p99.9` is not a limit", "write for example `--limit p99.9=5ms`"),
    usage(
        "run --limit stuter=1s/GB",
        "no figure is called `stuter`; did you mean `stutter`?",
        "figures of this run, the nearest first: stutter, stutter-",
    ),
    usage(
        "run --limit stutter=1ms",
        "`stutter` is in `s/GB`, which cannot be compared with `ms`",
        "write for example `--limit stutter=1s/GB`",
    ),
    // Targets.
    usage(
        "run -t sim:vendr2",
        "there is no profile `vendr2`; did you mean `vendor2`?",
        "profiles: generic-sata-tlc, ",
    ),
    usage(
        "run -t vendor2",
        "`vendor2` is not a target; did you mean `sim:vendor2`?",
        "emulated drives begin with `sim:`",
    ),
    usage(
        "run -t sim:",
        "`sim:` does not name an emulated drive",
        "write for example `sim:generic-nvme-tlc`; `trimbench list profiles` lists them",
    ),
    usage(
        "run -t sim:vendor2,capacity",
        "`capacity` is not a setting; write `KEY=VALUE`",
        "write for example `sim:vendor2,capacity=32GiB`",
    ),
    usage(
        "run -t sim:vendor2,capcity=1GiB",
        "an emulated drive has no setting `capcity`; did you mean `capacity`?",
        "write for example `sim:vendor2,capacity=32GiB`",
    ),
    usage("run -t zfs:sim:like-p3500*10", "there is no kind of target `zfs`", KINDS),
    usage("run -t zfs:", "there is no kind of target `zfs`", KINDS),
    usage("run -t ext3:disk.img", "there is no kind of target `ext3`; did you mean `ext4`?", KINDS),
    usage(
        "run -t raidz2:sim:like-p3500",
        "setting `drives` of the modelled pool: write for example `raidz2:sim:NAME*10`, of \
         3 to 64",
        "",
    ),
    usage(
        "run -t sim:vendor2 -t sim:vendor2",
        "`--target sim:vendor2` is given twice",
        "leave one out: a run measures each target once",
    ),
    target(
        "run -t /dev/sdzz",
        "`/dev/sdzz` does not exist",
        "`ls -l /dev/disk/by-id` lists drives by names that stay",
    ),
    // Consent.
    target(
        "run trim-integrity -t disk.img",
        "`$SCENE/disk.img`: `$SCENE/disk.img` would be destroyed, and `--destroy` does not \
         name it",
        "if everything on it may be destroyed, add `--destroy $SCENE/disk.img`",
    ),
    target(
        "run trim-integrity -t disk.img --destroy $SCENE/other.img",
        "`$SCENE/disk.img`: `--destroy $SCENE/other.img` names `$SCENE/other.img`, which is \
         not the target `$SCENE/disk.img`",
        "if everything on it may be destroyed, add `--destroy $SCENE/disk.img`",
    ),
    target(
        "run delete-stall -t ext4:disk.img",
        "`ext4:$SCENE/disk.img`: `$SCENE/disk.img` would be destroyed, and `--destroy` does \
         not name it",
        "if everything on it may be destroyed, add `--destroy $SCENE/disk.img`",
    ),
    usage(
        "run --destroy disk.img",
        "`--destroy disk.img`, and no `--target` is a block device or an image file",
        "name it with `--target` as well",
    ),
    usage(
        "run -t disk.img --overwrite-signature ext4",
        "`--overwrite-signature` needs `--destroy`",
        "add `--destroy PATH`, the name of the target",
    ),
    // Records.
    usage(
        "run -o run",
        "`run` has the record of another run",
        "`trimbench run --resume run` continues it; for a new run name another directory",
    ),
    usage(
        "run --resume run delete-stall",
        "`--resume` and METHOD|TARGET exclude each other",
        "an interrupted run continues with the plan and the seed of its record",
    ),
    usage(
        "report dir",
        "cannot read `dir/run.json`: ENOENT (no such file or directory)",
        "name the directory of a run: it holds a `run.json`",
    ),
    usage(
        "report nowhere",
        "cannot read `nowhere/run.json`: cannot open the directory `nowhere`: ENOENT (no \
         such file or directory)",
        "name the directory of a run: it holds a `run.json`",
    ),
    usage(
        "report",
        "no run is named, and there is none in `trimbench-runs`",
        "write `trimbench report RUN`, the directory of a run",
    ),
    usage("compare run", "AFTER is missing", "write `trimbench compare BEFORE AFTER`"),
    // Jobs.
    usage(
        "run --job unknown.toml",
        "`unknown.toml`, line 2: there is no key `presett`; did you mean `preset`?",
        "keys: format, methods, targets, preset, settings, ",
    ),
    usage(
        "run --job newer.toml",
        "`newer.toml` has format 99, and this trimbench reads format 1",
        "use the release of trimbench that wrote it, or a later one",
    ),
    usage(
        "run --job destroys.toml",
        "`destroys.toml`, line 2: `destroy` cannot stand in a job file",
        "permission to destroy is given on the command line only: `--destroy /dev/vdb`",
    ),
    usage(
        "run --job no-format.toml",
        "`no-format.toml` does not say its format",
        "its first line is `format = 1`",
    ),
    usage(
        "run --job bare.toml",
        "`bare.toml`: option `window` of `delete-stall`: `10` has no unit (ns, us, ms, s, min, h)",
        "write for example `window=10s`",
    ),
    usage(
        "run --job good.toml --preset standard",
        "`--job` and `--preset` exclude each other",
        "change it in the job file",
    ),
    usage(
        "run --job nowhere.toml",
        "`nowhere.toml` does not exist",
        "`trimbench run --dry-run --output-format toml` prints a job file",
    ),
    // Other commands.
    usage(
        "completions fishy",
        "`fishy` is not one of bash, elvish, fish, powershell, zsh; did you mean `fish`?",
        "`trimbench completions --help` ",
    ),
    usage(
        "trace convert a b",
        "`--to` is missing",
        "write `--to` and one of trimbench, blkparse, iolog, or a name that ends with `.parquet`, ",
    ),
    usage("trace convert nowhere x.parquet", "cannot read `nowhere`", ""),
];
