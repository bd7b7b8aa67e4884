//! What people mistype, and what the program is to answer: written down before the program was
//! asked.

use trimbench_core::exit::{DONE, TARGET, USAGE};

/// A command line with a mistake in it.
#[derive(Debug)]
pub(in crate::acceptance) struct Mistake {
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

const fn target(arguments: &'static str, message: &'static str, hint: &'static str) -> Mistake {
    Mistake { arguments, exit: TARGET, message, hint }
}

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
    usage("rnu", "there is no command `rnu`, did you mean `run`?", "commands: run, list, report, "),
    usage(
        "delete-stall",
        "there is no command `delete-stall`",
        "it is a method: `trimbench run delete-stall`",
    ),
    Mistake {
        arguments: "help --help",
        exit: DONE,
        message: "Usage: trimbench <COMMAND>",
        hint: "",
    },
    usage(
        "run delete-stal",
        "there is no method `delete-stal`, did you mean `delete-stall`?",
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
    usage("list method", "`method` cannot be listed, did you mean `methods`?", "give methods or profiles, or neither to list both"),
    usage(
        "list methods --explain recovry",
        "there is no method `recovry`, did you mean `recovery`?",
        "methods: ",
    ),
    usage("import pgbench results", "`pgbench` is not one of postmark", "`trimbench import --help` "),
    // Options.
    usage(
        "run --outptu x",
        "there is no option `--outptu`, did you mean `--output`?",
        "`trimbench run --help` lists all options",
    ),
    usage(
        "run --dryrun",
        "there is no option `--dryrun`, did you mean `--dry-run`?",
        "`trimbench run --help` lists all options",
    ),
    usage(
        "run -t",
        "`--target` has no value",
        "write for example `--target sim:generic-nvme-tlc`",
    ),
    usage("run -t sim:vendor2 --preset", "`--preset` has no value", "write for example `--preset standard`"),
    usage(
        "run --preset fast",
        "there is no preset `fast`",
        "presets: quick, standard, published",
    ),
    usage(
        "run --preset quik",
        "there is no preset `quik`, did you mean `quick`?",
        "presets: quick, standard, published",
    ),
    usage(
        "run --seed abc",
        "`--seed abc` is not a whole number",
        "give 0 to 18446744073709551615",
    ),
    usage("run --seed -1", "`--seed -1` is out of range", "give 0 to 18446744073709551615"),
    usage("run --jobs 0", "`--jobs 0` is out of range", "give 1 to 1024"),
    usage("run --output-format yaml", "`--output-format yaml` is not one of human, json, ndjson, toml", "`trimbench run --help` "),
    usage(
        "run --output-format toml",
        "`--output-format toml` prints a job file, which only `--dry-run` does",
        "add `--dry-run`",
    ),
    // Sizes and times.
    usage(
        "run --capacity 1G",
        "`--capacity 1G`: `G` could be 10^9 or 2^30 bytes",
        "write `1GB` or `1GiB`",
    ),
    usage(
        "run --capacity 10mb",
        "`--capacity 10mb`: there is no unit `mb`, did you mean `MB`?",
        "units: B, KB, MB, GB, TB, PB (powers of 1000), KiB, MiB, GiB, TiB, PiB (powers of 1024)",
    ),
    usage(
        "run --capacity 10_GB",
        "`--capacity 10 GB`: there is a blank between the number and its unit",
        "write `10GB`",
    ),
    usage(
        "run --set window=10",
        "option `window`: `10` has no unit",
        "write for example `--set window=10s`; units: ns, us, ms, s, min, h",
    ),
    usage(
        "run --set window=10S",
        "option `window`: there is no unit `S`, did you mean `s`?",
        "units: ns, us, ms, s, min, h",
    ),
    usage(
        "run --set window=9h",
        "option `window`: `9h` is out of range; give 100ms to 1h",
        "see `trimbench list methods --explain delete-stall`",
    ),
    usage(
        "run --set window",
        "`--set window` is not `KEY=VALUE`",
        "write for example `--set window=10s`",
    ),
    usage(
        "run --set windw=1s",
        "there is no option `windw`, did you mean `window`?",
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
        "option `mode`: `burn` is not one of unlink",
        "see `trimbench list methods --explain delete-stall`",
    ),
    usage(
        "run --set window=1s --set window=2s",
        "`--set window` is given twice",
        "leave one out",
    ),
    // Limits.
    usage(
        "run --limit p99=5",
        "`--limit p99=5` has no unit",
        "write for example `--limit p99=5ms`; units: ns, us, ms, s",
    ),
    usage(
        "run --limit p99.9",
        "`--limit p99.9` is not `FIGURE=VALUE`",
        "write for example `--limit p99.9=5ms`",
    ),
    usage(
        "run --limit stuter=1s/GB",
        "there is no figure `stuter` in this run, did you mean `stutter`?",
        "",
    ),
    usage(
        "run --limit stutter=1ms",
        "`--limit stutter=1ms`: `stutter` is in `s/GB`, not in `ms`",
        "write for example `--limit stutter=1s/GB`",
    ),
    // Targets.
    usage(
        "run -t sim:vendr2",
        "there is no profile `vendr2`, did you mean `vendor2`?",
        "`trimbench list profiles` lists them",
    ),
    usage(
        "run -t vendor2",
        "`vendor2` is not a target, did you mean `sim:vendor2`?",
        "emulated drives begin with `sim:`",
    ),
    usage(
        "run -t sim:",
        "`sim:` lacks the name of an emulated drive",
        "write for example `sim:generic-nvme-tlc`; `trimbench list profiles` lists them",
    ),
    usage(
        "run -t sim:vendor2,capacity",
        "`capacity` in `sim:vendor2,capacity` has no value",
        "write for example `sim:vendor2,capacity=32GiB`",
    ),
    usage(
        "run -t sim:vendor2,capcity=1GiB",
        "there is no setting `capcity`, did you mean `capacity`?",
        "",
    ),
    usage(
        "run -t zfs:sim:like-p3500*10",
        "there is no kind of target `zfs`",
        "pools are `raidz2:sim:NAME*10`, also raidz1, raidz3, stripe; filesystems: ext4, xfs, \
         btrfs, f2fs; emulated drives: sim",
    ),
    usage(
        "run -t zfs:",
        "there is no kind of target `zfs`",
        "pools are `raidz2:sim:NAME*10`, also raidz1, raidz3, stripe; filesystems: ext4, xfs, \
         btrfs, f2fs; emulated drives: sim",
    ),
    usage(
        "run -t ext3:disk.img",
        "there is no kind of target `ext3`, did you mean `ext4`?",
        "pools are `raidz2:sim:NAME*10`, also raidz1, raidz3, stripe; filesystems: ext4, xfs, \
         btrfs, f2fs; emulated drives: sim",
    ),
    usage(
        "run -t raidz2:sim:like-p3500",
        "`raidz2:sim:like-p3500` does not say of how many drives",
        "write for example `raidz2:sim:like-p3500*10`",
    ),
    usage(
        "run -t sim:vendor2 -t sim:vendor2",
        "`--target sim:vendor2` is given twice",
        "leave one out: a run measures each target once",
    ),
    target(
        "run -t /dev/sdzz",
        "`/dev/sdzz` does not exist",
        "`lsblk -o NAME,ID-LINK,MODEL,SIZE` lists block devices",
    ),
    // Consent.
    target(
        "run trim-integrity -t disk.img",
        "everything in it would be lost",
        "add `--destroy $SCENE/disk.img`",
    ),
    target(
        "run trim-integrity -t disk.img --destroy $SCENE/other.img",
        "`--destroy` names `$SCENE/other.img`, not this target",
        "add `--destroy $SCENE/disk.img`",
    ),
    target(
        "run delete-stall -t ext4:disk.img",
        "everything in it would be lost",
        "add `--destroy $SCENE/disk.img`",
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
        "`--resume` and METHOD exclude each other",
        "an interrupted run continues with the plan and the seed of its record",
    ),
    usage(
        "report dir",
        "`dir` has no record: there is no `run.json` in it",
        "name the directory of a run, as `trimbench run` printed it behind `kept in`",
    ),
    usage(
        "report nowhere",
        "`nowhere` does not exist",
        "name the directory of a run, as `trimbench run` printed it behind `kept in`",
    ),
    usage("report", "RUN is missing", "write `trimbench report RUN`, the directory of a run"),
    usage(
        "compare run",
        "AFTER is missing",
        "write `trimbench compare BEFORE AFTER`, the directories of two runs",
    ),
    // Jobs.
    usage(
        "run --job unknown.toml",
        "`unknown.toml`, line 2: there is no key `presett`, did you mean `preset`?",
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
        "`bare.toml`, line 4: option `window`: `10` has no unit",
        "write for example `window = \"10s\"`",
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
        "`completions fishy` is not one of bash, elvish, fish, powershell, zsh",
        "`trimbench completions --help` ",
    ),
    usage(
        "trace convert a b",
        "`--to` is missing",
        "write `--to FORMAT`: trimbench, iolog, blkparse",
    ),
];
