//! The doctor in stacks of storage layers that guests build: the verdict, the layer that drops
//! TRIM, and that both turn once the stack is mended. It looks, and tests with a file.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use serde_json::Value;
use tests::Need;
use xtask::guest::{GuestKind, STACKS, StackFix, StorageStack};

use crate::entry::Entry;
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

pub(crate) const ENTRY: Entry = Entry {
    name: "stacks",
    title: "In stacks of storage layers the doctor names the layer that drops TRIM, and is content \
            once it is mended",
    needs: &[Need::Root],
    sources: &[
        "crates/trimbench-core",
        "crates/trimbench-claim",
        "crates/trimbench-linux",
        "crates/trimbench-doctor",
        "xtask/src/guest",
    ],
    run,
};

/// Which layer each stack must be told of, as the doctor calls its kind; `None`: TRIM arrives.
/// Whether a swap area discards, the kernel does not show: there is no verdict.
const EXPECTED: [(&str, Option<&str>); 16] = [
    ("no-discard", Some("drive")),
    ("swap", Some("swap")),
    ("crypt", Some("dm-crypt")),
    ("thin-nopassdown", Some("dm-thin-pool")),
    ("thin-ignore", Some("dm-thin-pool")),
    ("thin-short", Some("dm-thin-pool")),
    ("cache-short", Some("dm-cache")),
    ("cache-nopassdown", Some("dm-cache")),
    ("raid5", Some("md")),
    ("scsi-none", Some("drive")),
    ("scsi-writesame-zero", Some("drive")),
    ("scsi-full", Some("drive")),
    ("scsi-disabled", Some("drive")),
    ("virtio-ignored", Some("drive")),
    ("virtio", None),
    ("nvme", None),
];

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let (mut right, mut all, mut wrong) = (0, 0, Vec::new());
    let mut longest: f64 = 0.0;
    for kind in [GuestKind::Uml, GuestKind::Cloud] {
        let stacks: Vec<&StorageStack> = STACKS.iter().filter(|it| it.guest == kind).collect();
        for ((name, stage), (found, seconds)) in diagnoses(lab, kind, &stacks)? {
            let stack = StorageStack::named(&name).context("a stack of ours")?;
            all += 1;
            longest = longest.max(seconds);
            match verdict(stack, &stage, &found) {
                Ok(()) => right += 1,
                Err(said) => wrong.push(format!("{name} {stage}: {said}")),
            }
        }
    }
    let what = format!("verdicts that are right, of {all}");
    Ok(vec![
        Figure::new(what, (f64::from(right), ""), Bar::Equals(f64::from(all)))
            .with_note(wrong.join("; ")),
        Figure::new("stacks", (STACKS.len() as f64, ""), Bar::AtLeast(24.0)),
        Figure::new(
            "the longest of all looks, each with its test",
            (longest, "s"),
            Bar::AtMost(30.0),
        ),
    ])
}

/// What the doctor says in each of these stacks, before and after its fix, and how long it took.
fn diagnoses(
    lab: &Lab<'_>,
    kind: GuestKind,
    stacks: &[&'static StorageStack],
) -> Result<BTreeMap<(String, String), (Value, f64)>> {
    let program = lab.program()?.path().display().to_string();
    // A swap area is named by its device. Where something is mounted, it sends.
    let check = format!(
        "place=/mnt/t; probe='--probe --yes --probe-size 8MiB'\n\
         if [ $STACK = swap ]; then place=$TOP probe=; else mount -o remount,discard /mnt/t; fi\n\
         begun=$(date +%s.%N)\n\
         {program} doctor --output-format ndjson $probe $place >/run/guest/said 2>/run/guest/log\n\
         echo \"doctor $STACK $STAGE $begun $(date +%s.%N) $(tail -n 1 /run/guest/said)\"\n\
         [ -s /run/guest/said ] || cat /run/guest/log"
    );
    let script = StorageStack::script(stacks.iter().copied(), &check);
    let output = StorageStack::guest(kind).run(&script)?.checked()?;
    let mut found = BTreeMap::new();
    for line in output.stdout.lines().filter_map(|line| line.strip_prefix("doctor ")) {
        let mut words = line.splitn(5, ' ');
        let mut word = || words.next().context("too few words");
        let (name, stage, begun, ended, said) = (word()?, word()?, word()?, word()?, word()?);
        let seconds = ended.parse::<f64>()? - begun.parse::<f64>()?;
        let value = serde_json::from_str(said)
            .with_context(|| format!("{name}: {said}\n{}", output.stdout))?;
        found.insert((name.to_owned(), stage.to_owned()), (value, seconds));
    }
    Ok(found)
}

/// Whether this is what must be said of a stack; otherwise what was said.
fn verdict(stack: &StorageStack, stage: &str, found: &Value) -> Result<(), String> {
    let reach = &found["reach"];
    let said = reach["verdict"].as_str().unwrap_or_default();
    let stops = reach["stops"].as_array().or(reach["unknown"].as_array());
    let kinds: Vec<&str> =
        stops.into_iter().flatten().filter_map(|stop| stop["kind"].as_str()).collect();
    let expected = EXPECTED.iter().find(|(name, _)| *name == stack.name);
    let layer = expected.and_then(|(_, layer)| *layer);
    let is_mended = stage == "after" && matches!(stack.fix, StackFix::Inside(_));
    let health = found["drives_say"][0].as_str().unwrap_or_default();
    if stack.name == "nvme" && !health.contains("no critical warning") {
        return Err(format!("the drive says {health:?} of its health"));
    }
    let is_right = match layer {
        _ if stack.name == "swap" => said == "cannot-tell" && kinds.first() == Some(&"swap"),
        Some(layer) if !is_mended => said == "does-not" && kinds == [layer],
        _ => said == "reaches",
    };
    if is_right { Ok(()) } else { Err(format!("{said} {kinds:?}: {reach}")) }
}
