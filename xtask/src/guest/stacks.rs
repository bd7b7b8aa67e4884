//! Storage stacks that a guest can build: which layer of each drops discards, and what mends it.
//!
//! The table is here, the building in `stacks.sh`. `cargo xtask guest --stacks` builds all of them,
//! trims each before and after its fix and compares what arrived with the table.

use std::fmt::Write as _;
use std::io::{Write as _, stdout};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};

use super::GuestKind::{Cloud, Uml};
use super::{Guest, GuestDisk, GuestKind, GuestOutput};

use StackFix::{Inside, Nothing, Outside};

/// Shell functions, for scripts of guests: `make_stack`, `fix_stack`, `remove_stack`, `trim_stack`,
/// each with the name of a stack.
pub const STACKS_SCRIPT: &str = include_str!("stacks.sh");

/// Enough for all stacks of a guest, one after the other.
const DEADLINE: Duration = Duration::from_secs(300);
/// Four drives of 128 MiB are in the guest's memory.
const MEMORY_MIB: u32 = 1024;
const DISK_MIB: u32 = 256;
const MIB: i64 = 1 << 20;
/// Of 40 MiB that are freed, at least these arrive where chunks are large and extents small, MiB.
const ARRIVES_MIB: i64 = 30;

const TABLE_HEAD: &str = "\
| stack | guest | layers | what drops discards | fix | before | after |
|---|---|---|---|---|---:|---:|
";

/// A stack of block devices below a filesystem on `/mnt/t` (or below swap).
#[derive(Clone, Copy, Debug)]
pub struct StorageStack {
    /// Its name.
    pub name: &'static str,
    /// The guest that can build it.
    pub guest: GuestKind,
    /// What it is made of, from the bottom to the top.
    pub layers: &'static str,
    /// The layer that drops discards, and why; `None` if they reach the bottom.
    pub dropped_by: Option<&'static str>,
    /// What mends it.
    pub fix: StackFix,
}

/// What makes discards reach the bottom of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackFix {
    /// Nothing is dropped, or nothing can mend it.
    Nothing,
    /// This, which `fix_stack` does.
    Inside(&'static str),
    /// This, outside the guest.
    Outside(&'static str),
}

/// What one trim of a stack came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackTrim {
    /// What `fstrim` says that it trimmed; `None` if it was refused, or there is none (swap).
    pub top_bytes: Option<i64>,
    /// What arrived at the bottom, all disks together. Below 0 where discards became writes.
    pub bottom_bytes: i64,
}

/// Stacks that were trimmed in a guest.
#[derive(Clone, Debug)]
pub struct MeasuredStacks {
    /// Each with its trims: before its fix, and after it.
    pub stacks: Vec<(&'static StorageStack, Vec<StackTrim>)>,
    /// What the guest printed.
    pub output: GuestOutput,
}

impl MeasuredStacks {
    /// An error if what arrived is not what the table says.
    pub fn check(&self) -> Result<()> {
        let wrong = self.stacks.iter().filter(|(stack, trims)| !stack.is_met(trims));
        let wrong: Vec<String> =
            wrong.map(|(stack, trims)| format!("{}: {trims:?}", stack.name)).collect();
        ensure!(wrong.is_empty(), "not as the table of stacks says: {}", wrong.join("; "));
        Ok(())
    }
}

impl StackTrim {
    /// Whether as much arrived as must where no layer drops it.
    pub fn arrived(self) -> bool {
        self.bottom_bytes >= ARRIVES_MIB * MIB
    }
}

impl StorageStack {
    /// The stack of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        STACKS.iter().find(|stack| stack.name == name)
    }

    /// A guest with the disks and the memory that the stacks of its kind need.
    pub fn guest(kind: GuestKind) -> Guest {
        let disk = GuestDisk::of_mib(DISK_MIB);
        let guest = Guest::new(kind).memory_mib(MEMORY_MIB).deadline(DEADLINE);
        let guest = guest.disk(disk).disk(GuestDisk { discard: false, ..disk });
        match kind {
            Uml => guest,
            Cloud => guest.disk(GuestDisk { nvme: true, ..disk }),
        }
    }

    /// A script that builds these stacks, one after the other, and runs `check` in each: with
    /// `STAGE=before`, and if the guest can mend the stack, once more with `STAGE=after`. `STACK`
    /// is its name. It ends with an error as soon as a stack cannot be built, mended or removed;
    /// what `check` ends with is its own affair.
    pub fn script<'a>(stacks: impl IntoIterator<Item = &'a Self>, check: &str) -> String {
        let mut script = format!("{STACKS_SCRIPT}\ncheck() {{\n{check}\n}}\n");
        for Self { name, fix, .. } in stacks {
            let mend = match fix {
                StackFix::Inside(_) => "fix_stack $STACK || exit 9; STAGE=after; check;",
                StackFix::Nothing | StackFix::Outside(_) => "",
            };
            writeln!(
                script,
                "STACK={name} STAGE=before; make_stack $STACK || exit 9; check; {mend} \
                 remove_stack $STACK || exit 9"
            )
            .expect("a string takes text");
        }
        script
    }

    /// Builds these stacks in one guest of this kind and trims each, before its fix and after it.
    pub fn measure(kind: GuestKind, stacks: &[&'static Self]) -> Result<MeasuredStacks> {
        let script = Self::script(stacks.iter().copied(), "trim_stack $STACK");
        let output = Self::guest(kind).run(&script)?.checked()?;
        let parse = |stack: &&'static Self| Ok((*stack, parse_trims(&output.stdout, stack.name)?));
        let stacks = stacks.iter().map(parse).collect::<Result<_>>()?;
        Ok(MeasuredStacks { stacks, output })
    }

    /// Whether these trims, before the fix and after it, are what the table says.
    fn is_met(&self, trims: &[StackTrim]) -> bool {
        let arrived: Vec<bool> = trims.iter().map(|trim| trim.arrived()).collect();
        match self.fix {
            Inside(_) => arrived == [false, true],
            Nothing => arrived == [self.dropped_by.is_none()],
            // Inside the guest, what the host drops has arrived.
            Outside(_) => arrived == [true],
        }
    }
}

/// Every stack.
pub const STACKS: [StorageStack; 31] = [
    stack("plain", Uml, "disk", None, Nothing),
    stack("no-discard", Uml, "disk", Some("disk: takes no discards"), Nothing),
    stack("f2fs", Uml, "drive, f2fs with `nodiscard`", None, Nothing),
    stack(
        "swap",
        Uml,
        "disk, swap",
        Some("swap: switched on without `discard`"),
        Inside("`swapon --discard`"),
    ),
    stack(
        "crypt",
        Uml,
        "drive, LUKS",
        Some("dm-crypt: opened without discards"),
        Inside("`cryptsetup refresh --allow-discards`"),
    ),
    stack("crypt-discards", Uml, "drive, LUKS with `--allow-discards`", None, Nothing),
    stack("linear", Uml, "two drives, LVM linear", None, Nothing),
    stack("thin-64k", Uml, "drive, LVM thin, chunks of 64 KiB", None, Nothing),
    stack("thin-2m", Uml, "drive, LVM thin, chunks of 2 MiB", None, Nothing),
    stack(
        "thin-nopassdown",
        Uml,
        "drive, LVM thin, `--discards nopassdown`",
        Some("dm-thin: frees chunks of its pool only"),
        Inside("`lvchange --discards passdown`"),
    ),
    stack(
        "thin-ignore",
        Uml,
        "drive, LVM thin, `--discards ignore`",
        Some("dm-thin: takes no discards"),
        Inside("`lvchange --discards passdown`"),
    ),
    stack(
        "thin-short",
        Uml,
        "disk, LVM thin, chunks of 64 KiB",
        Some("dm-thin: the disk takes 32 KiB a discard, less than a chunk"),
        Nothing,
    ),
    stack("cache", Uml, "two drives, LVM cache, chunks of 64 KiB", None, Nothing),
    stack(
        "cache-short",
        Uml,
        "disk and drive, LVM cache, chunks of 64 KiB",
        Some("dm-cache: the disk takes 32 KiB a discard, less than a chunk"),
        Inside("LVM cache with `--chunksize 32k`"),
    ),
    stack(
        "cache-nopassdown",
        Uml,
        "three drives, dm-cache with `no_discard_passdown`",
        Some("dm-cache: its table says so"),
        Inside("a table without `no_discard_passdown`"),
    ),
    stack("bcache", Uml, "two drives, bcache", None, Nothing),
    stack("raid0", Uml, "two drives, md", None, Nothing),
    stack("raid1", Uml, "two drives, md", None, Nothing),
    stack("raid10", Uml, "four drives, md", None, Nothing),
    stack(
        "raid5",
        Uml,
        "three drives, md",
        Some("md: does not trust that trimmed blocks read as zeroes"),
        Inside("`devices_handle_discard_safely=Y`, and the array started again"),
    ),
    stack("raid5-safe", Uml, "three drives, md, `devices_handle_discard_safely=Y`", None, Nothing),
    stack("scsi-none", Uml, "SCSI disk", Some("disk: takes no discards"), Nothing),
    stack("scsi-unmap", Uml, "SCSI disk with UNMAP", None, Nothing),
    stack("scsi-writesame-16", Uml, "SCSI disk with WRITE SAME(16)", None, Nothing),
    stack("scsi-writesame-10", Uml, "SCSI disk with WRITE SAME(10)", None, Nothing),
    stack(
        "scsi-writesame-zero",
        Uml,
        "SCSI disk, `provisioning_mode` `writesame_zero`",
        Some("sd: writes zeroes instead"),
        Inside("`unmap` in `provisioning_mode`"),
    ),
    stack(
        "scsi-full",
        Uml,
        "SCSI disk, `provisioning_mode` `full`",
        Some("sd: sends none"),
        Inside("`unmap` in `provisioning_mode`"),
    ),
    stack(
        "scsi-disabled",
        Uml,
        "SCSI disk, `provisioning_mode` `disabled`",
        Some("sd: sends none"),
        Inside("`unmap` in `provisioning_mode`"),
    ),
    stack("virtio", Cloud, "virtio disk, `discard=unmap`", None, Nothing),
    stack(
        "virtio-ignored",
        Cloud,
        "virtio disk, `discard=ignore`",
        Some("host: qemu takes them and does nothing"),
        Outside("`discard=unmap` in the definition of the virtual machine"),
    ),
    stack("nvme", Cloud, "NVMe drive", None, Nothing),
];

const fn stack(
    name: &'static str,
    guest: GuestKind,
    layers: &'static str,
    dropped_by: Option<&'static str>,
    fix: StackFix,
) -> StorageStack {
    StorageStack { name, guest, layers, dropped_by, fix }
}

/// Builds and trims every stack, and prints a table in Markdown. An error if what arrived is not
/// what [`STACKS`] says.
pub(super) fn print_table() -> Result<()> {
    let (mut rows, mut ends, mut measured) = (String::new(), String::new(), Vec::new());
    for kind in [Uml, Cloud] {
        let stacks: Vec<&StorageStack> = STACKS.iter().filter(|it| it.guest == kind).collect();
        let trims = StorageStack::measure(kind, &stacks)?;
        for (stack, trims) in &trims.stacks {
            rows.push_str(&row(stack, trims));
        }
        let allocated = trims.output.allocated_bytes.iter().map(|bytes| (bytes >> 20).to_string());
        let allocated = allocated.collect::<Vec<_>>().join(", ");
        let (program, elapsed) = (kind.program(), trims.output.elapsed.as_secs_f64());
        writeln!(ends, "\n{program}: {elapsed:.0} s; allocated in the images: {allocated} MiB")
            .expect("a string takes text");
        measured.push(trims);
    }
    let table = format!("{TABLE_HEAD}{rows}{ends}");
    stdout().write_all(table.as_bytes()).context("print the table")?;
    measured.iter().try_for_each(MeasuredStacks::check)
}

fn row(stack: &StorageStack, trims: &[StackTrim]) -> String {
    let StorageStack { name, guest, layers, dropped_by, fix } = stack;
    let kind = if *guest == Uml { "uml" } else { "cloud" };
    let fix = match fix {
        Nothing => "",
        Inside(fix) | Outside(fix) => fix,
    };
    let shown = |trim: Option<&StackTrim>| {
        let Some(trim) = trim else { return String::new() };
        let top = trim.top_bytes.map_or("-".to_owned(), |bytes| (bytes / MIB).to_string());
        format!("{top} / {}", trim.bottom_bytes / MIB)
    };
    let (before, after) = (shown(trims.first()), shown(trims.get(1)));
    let dropped_by = dropped_by.unwrap_or_default();
    format!("| `{name}` | {kind} | {layers} | {dropped_by} | {fix} | {before} | {after} |\n")
}

/// The trims of this stack, out of what `trim_stack` printed: `trimmed NAME TOP BOTTOM`.
fn parse_trims(printed: &str, stack: &str) -> Result<Vec<StackTrim>> {
    let lines = printed.lines().filter_map(|line| line.strip_prefix("trimmed "));
    let words = lines.map(|line| line.split(' ').collect::<Vec<_>>());
    let own = words.filter(|words| words.first() == Some(&stack));
    own.map(|words| {
        let [_, top, bottom] = words[..] else { bail!("`{stack}` was trimmed without numbers") };
        let bottom_bytes = bottom.parse().with_context(|| format!("read `{bottom}`"))?;
        Ok(StackTrim { top_bytes: top.parse().ok(), bottom_bytes })
    })
    .collect()
}

#[cfg(test)]
mod tests;
