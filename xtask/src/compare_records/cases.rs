//! The cases: every method, every kind of target in virtual time, every profile, and every format
//! of traces. Profiles and formats that no written case has are added.

use std::borrow::Cow;

use trimbench_ssd::BUILT_IN;
use trimbench_trace::FORMATS;

/// A run of `trimbench`.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) name: Cow<'static, str>,
    /// The words behind `trimbench run`.
    pub(super) arguments: Cow<'static, str>,
}

const fn case(name: &'static str, arguments: &'static str) -> Case {
    Case { name: Cow::Borrowed(name), arguments: Cow::Borrowed(arguments) }
}

/// Runs that are also ended at some points and resumed. They take some tenths of a second, and are
/// made of several sessions.
pub(super) const RESUMED: [&str; 2] = ["sessions", "filesystems"];

/// All of them. Together with three seeds they take about four minutes of one processor.
pub(super) fn all() -> Vec<Case> {
    let written = |text: &str| WRITTEN.iter().any(|case| case.arguments.contains(text));
    let profiles = BUILT_IN.iter().filter(|profile| !written(&format!("sim:{}", profile.name)));
    let targets: Vec<String> =
        profiles.map(|profile| format!("--target sim:{}", profile.name)).collect();
    let of_profiles = PROFILES.map(|(name, arguments)| Case {
        name: Cow::Borrowed(name),
        arguments: Cow::Owned(format!("{arguments} {}", targets.join(" "))),
    });
    let formats = FORMATS.iter().filter(|it| !written(&format!("trace={}.trace", it.id)));
    let of_formats = formats.map(|format| Case {
        name: Cow::Owned(format!("replay-{}", format.id)),
        arguments: Cow::Owned(format!(
            "replay --target sim:generic-sata-tlc --set trace={}.trace --set passes={}",
            format.id,
            if format.has_discards { "kept" } else { "stripped" }
        )),
    });
    WRITTEN.iter().cloned().chain(of_profiles).chain(of_formats).collect()
}

/// Runs on every profile that no written case has.
const PROFILES: [(&str, &str); 2] = [
    ("profiles", "trim-sweep delete-stall"),
    (
        "profiles-written",
        "steady-state trim-integrity idle-trim --capacity 2GiB --set rounds-max=8",
    ),
];

const WRITTEN: &[Case] = &[
    case("every-method", ""),
    case(
        "sessions",
        "delete-stall trim-sweep recovery steady-state trim-integrity settle --capacity 4GiB \
         --target sim:generic-sata-tlc --target sim:generic-nvme-tlc",
    ),
    case(
        "filesystems",
        "delete-stall postmark delete-storm \
         --target ext4:sim:generic-sata-tlc --target ext4:sim:vendor2",
    ),
    case(
        "filesystem-settings",
        "delete-storm postmark \
         --target ext4,machine=s0,memory=2GiB:sim:vendor2,capacity=32GiB \
         --target ext4,commit=1s:sim:like-m500,capacity=32GiB",
    ),
    case(
        "pools",
        "delete-storm --target raidz2:sim:like-p3500*10 \
         --target raidz1,policy=paced+target=5ms,scale=32:sim:generic-sata-tlc*4 \
         --target stripe:sim:generic-nvme-tlc*2",
    ),
    case(
        "policies",
        "policy --target ext4:sim:vendor2 --target ext4:sim:generic-nvme-qlc --set cycles=8 \
         --set policies=none,paced",
    ),
    case(
        "systems",
        "kernels --target ext4:sim:generic-sata-tlc --target ext4:sim:vendor6 \
         --set systems=ext4,ext4-4.13,xfs,btrfs-async,fstrim-ext4,none --set drive-writes=1",
    ),
    case(
        "search",
        "delete-stall --target sim:generic-sata-tlc --target ext4:sim:generic-sata-tlc \
         --set p999-limit=5ms --set rate-chunks=1MiB,8MiB --set arrivals=poisson \
         --set chunk=64MiB",
    ),
    case(
        "rates",
        "latency-under-load --target sim:generic-nvme-tlc --target sim:vendor2 --capacity 2GiB \
         --set rates=20%,60%,120%,200 --set reads=100 --set trim-rate=0,10 --set places=64",
    ),
    case("truncate", "delete-stall --target ext4:sim:generic-nvme-tlc --set mode=truncate"),
    case("punch-hole", "delete-stall --target ext4:sim:generic-nvme-tlc --set mode=punch-hole"),
    case("placebo", "delete-stall --target sim:vendor2 --set placebo-only=yes"),
    case(
        "sweep",
        "trim-sweep --target sim:generic-nvme-tlc --target sim:vendor2 --preset standard \
         --set commands=100 --set load-time=1s --set fill=50% --capacity 8GiB",
    ),
    case(
        "idle",
        "idle-trim --target sim:vendor2 --preset published --capacity 4GiB --set queue-depth=4",
    ),
    case(
        "data",
        "recovery --target sim:generic-sata-compressing --target sim:like-vertex4 \
         --set compare-data=compressible-10% --set torture=steady --capacity 4GiB",
    ),
    case("torture", "recovery --target sim:generic-nvme-tlc --set torture=5s --set span=2GiB"),
    case(
        "ageing",
        "steady-state --target sim:generic-sata-tlc --capacity 2GiB --preset standard \
         --set ageing-rounds=5 --set read-share=30% --set round-time=0 \
         --set data=compressible-25%",
    ),
    case(
        "plateau",
        "settle --target sim:vendor6 --target sim:generic-nvme-tlc --set reference=plateau \
         --set smoothing=3",
    ),
    case(
        "postmark",
        "postmark --target ext4,machine=s0:sim:vendor1 --target ext4:sim:vendor4,capacity=32GiB \
         --set number=1000 --set transactions=3000 --set buffering=false --set subdirectories=10",
    ),
    case(
        "postmark-published",
        "postmark --target ext4,machine=s0:sim:vendor3 --preset published --set repetitions=1",
    ),
    case(
        "planted",
        "trim-integrity trim-sweep --target sim:generic-sata-tlc,trim-eats-neighbour=4KiB \
         --target sim:generic-nvme-tlc,trim-reads=old-data,trim-promise=zeroes",
    ),
    case("broken", "trim-sweep --target sim:generic-sata-tlc,eio-from=5s"),
    case("vanished", "idle-trim --target sim:generic-sata-tlc,vanish-from=3s"),
    case(
        "limits",
        "delete-stall trim-sweep --target sim:generic-sata-tlc,freeze-on-discard=20ms \
         --limit p99.9=1ms --limit hlk",
    ),
    case(
        "generated",
        "replay --target sim:generic-nvme-tlc --set pace=100% --set length=1% --set passes=kept",
    ),
    case("replay-trimbench", "replay --target sim:generic-sata-tlc --set trace=trimbench.trace"),
    case(
        "replay-blktrace",
        "replay --target sim:generic-sata-tlc --set trace=blktrace.trace --set reads=kept",
    ),
    case(
        "replay-blkparse",
        "replay --target sim:vendor2 --set trace=blkparse.trace --set window-counts=writes",
    ),
    case(
        "replay-iolog",
        "replay --target sim:vendor2 --set trace=iolog.trace --set pace=200% --set reads=kept",
    ),
    case("replay-jedec", "replay --target sim:generic-nvme-tlc --set trace=jedec.trace"),
    case(
        "replay-midas",
        "replay --target sim:generic-nvme-qlc --set trace=midas.trace --set scaling=linear \
         --set span=256MiB",
    ),
    case(
        "replay-msr",
        "replay --target sim:generic-sata-tlc --set trace=msr.trace \
         --set passes=stripped,synthesised --set trim-after=64MiB",
    ),
    case(
        "replay-alibaba",
        "replay --target sim:generic-sata-tlc --set trace=alibaba.trace --set passes=stripped \
         --set scaling=modulo --set span=256MiB",
    ),
    case(
        "replay-tencent",
        "replay --target sim:generic-sata-tlc --set trace=tencent.trace --set passes=stripped \
         --set scaling=truncate --set span=256MiB",
    ),
    case(
        "replay-spc",
        "replay --target sim:generic-sata-tlc --set trace=spc.trace --set passes=stripped \
         --set data=compressible-25%",
    ),
];

impl Case {
    /// The words behind `trimbench run`.
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        self.arguments.split_whitespace()
    }

    /// The names of the traces among them.
    pub(super) fn traces(&self) -> impl Iterator<Item = &str> {
        self.words().filter_map(|word| word.strip_prefix("trace="))
    }

    /// Whether its run is also killed and resumed.
    pub(super) fn is_resumed(&self) -> bool {
        RESUMED.contains(&self.name.as_ref())
    }
}
