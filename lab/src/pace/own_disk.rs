//! The disk that the repository is on: a filesystem in an image, over a loop device, is trimmed
//! beside reads of another file.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ::tests::Need::{Filesystem, Loop, Program, Root};
use ::tests::{LoopDevice, Mounted, is_mounted};
use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;
use trimbench_core::rng::Rng;
use trimbench_core::{Bytes, Nanos};
use trimbench_linux::pause;
use trimbench_results::statistics::median;
use xtask::process;
use xtask::steps::Deadline;

use super::counters::Disk;
use super::reads::ResponseTimes;
use super::trial::{LIMIT, ReadLoad, Trimmed, fill, fill_directly, trim_beside_reads};
use crate::entry::{Entry, NotMeasured};
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

pub(crate) const ENTRY: Entry = Entry {
    name: "own_disk",
    title: "Reads beside `trimpace --p99 1.5ms` on the disk that the repository is on, which must \
            be calm, against `fstrim` with smaller discards",
    needs: &[Root, Loop, Filesystem("ext4"), Program("mkfs.ext4"), Program("fstrim")],
    sources: &[
        "crates/trimbench-claim",
        "crates/trimbench-core",
        "crates/trimbench-linux",
        "crates/trimbench-policy",
        "crates/trimpace",
        "lab/src/pace/reads.rs",
        "lab/src/pace/trial.rs",
    ],
    run,
};

/// The image, and what must be free for it, for the file that is read and for others.
const IMAGE_MIB: u64 = 11 << 10;
const ROOM: Bytes = Bytes::gib(14);
/// Bytes of the file that is read, how often a second, and for how long before a trim.
const READ: u64 = 512 << 20;
const RATE: u64 = 500;
const BEFORE: Nanos = Nanos::from_secs(2);
/// After the free space was written and deleted.
const REST: Nanos = Nanos::from_secs(1);
const TARGET: Nanos = Nanos::from_micros(1_500);
/// The longest discard of the peer, bytes.
const PEER: u64 = 4 << 20;
/// A trial counts where others wrote less than this, and the reads alone stay below these, ms.
const WRITTEN_BY_OTHERS: u64 = 8_000_000;
const ALONE_P99_MS: f64 = 0.5;
const ALONE_P999_MS: f64 = 2.0;
/// How many pairs of ours and the peer's are to count; how long they are waited for; and with how
/// many it is measured all the same. Short and in full.
const PAIRS: [usize; 2] = [2, 10];
const PATIENCE: [Duration; 2] = [Duration::from_secs(4 * 60), Duration::from_secs(60 * 60)];
const LEAST_PAIRS: [usize; 2] = [1, 4];
/// Over those of the peer and of fstrim.
const MOST_P99_RATIO: f64 = 1.2;
const MOST_TIME_RATIO: f64 = 1.5;
const MOST_P999_MS: f64 = 5.0;
/// The filesystem's own blocks are not always the same.
const BYTES_OFF: f64 = 0.001;

/// How the filesystem is trimmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Fstrim,
    /// `fstrim` with discards of at most [`PEER`].
    Peer,
    Trimpace,
}

/// The image on its loop device, and the file that is read.
pub(super) struct Bench {
    device: LoopDevice,
    loop_disk: Disk,
    disk: Disk,
    read: PathBuf,
    place: TempDir,
}

/// Trials that count.
#[derive(Default)]
struct Accepted {
    /// By the peer and by us, in turns of one round.
    pairs: Vec<[Trimmed; 2]>,
    by_fstrim: Vec<Trimmed>,
    /// How many do not count, and why the last one does not.
    refused: (usize, String),
}

/// The longest discard of a loop device as it was; put back when dropped.
struct Shortened {
    path: PathBuf,
    before: u64,
}

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let form = usize::from(!lab.is_short());
    let bench = Bench::new(lab)?;
    let mut rng = Rng::new(fs::metadata(lab.folder())?.ino());
    let mut accepted = Accepted::default();
    let patience = Deadline::after(PATIENCE[form]);
    let is_enough = |it: &Accepted| it.pairs.len() >= PAIRS[form] && !it.by_fstrim.is_empty();
    while !is_enough(&accepted) && !patience.remaining().is_zero() && !process::interrupted() {
        accepted.add_round(lab, &bench, &mut rng)?;
    }
    let (pairs, fstrims) = (accepted.pairs.len(), accepted.by_fstrim.len());
    if pairs < LEAST_PAIRS[form] || fstrims == 0 {
        let (refused, why) = &accepted.refused;
        let found = format!(
            "not measured: the disk was calm beside {pairs} pairs and {fstrims} fstrims; {refused} \
             trials do not count, the last because {why}"
        );
        return Err(NotMeasured(found).into());
    }
    accepted.figures()
}

impl Bench {
    pub(super) fn new(lab: &Lab<'_>) -> Result<Self> {
        let room = rustix::fs::statvfs(lab.folder()).context("how much is free")?;
        let free = Bytes(room.f_bavail.saturating_mul(room.f_frsize));
        if free < ROOM {
            let free = free.0 as f64 / f64::from(1 << 30);
            let reason = format!("{free:.1} GiB are free in the target folder, not {ROOM}");
            return Err(NotMeasured(reason).into());
        }
        let Some(disk) = Disk::below(lab.folder())? else {
            return Err(NotMeasured("the target folder is on no single disk".to_owned()).into());
        };
        let mut rng = Rng::new(1);
        let data: Vec<u8> = (0..READ / 8).flat_map(|_| rng.bits().to_le_bytes()).collect();
        let read = lab.folder().join("read");
        fill(&read, &data, READ)?;
        let device = lab.loop_device(lab.folder(), IMAGE_MIB)?;
        let mut mkfs = Command::new("mkfs.ext4");
        mkfs.args(["-q", "-F", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"]);
        lab.call_well(mkfs.arg(device.node()))?;
        let place = tempfile::tempdir_in(lab.folder()).context("make a mount point")?;
        let loop_disk = Disk::of_node(device.node());
        Ok(Self { device, loop_disk, disk, read, place })
    }

    fn mounted(&self) -> Result<Mounted> {
        ensure!(!is_mounted(self.place.path()), "the filesystem is still in use");
        Ok(Mounted::new(&["-o", "nodiscard", self.device.node()], self.place.path()))
    }

    /// Writes and frees all the space that is free, and trims it beside so many reads a second.
    pub(super) fn trial(&self, lab: &Lab<'_>, way: Way, rate: u64) -> Result<Trimmed> {
        {
            let _mounted = self.mounted()?;
            let zeros = self.place.path().join("zeros");
            fill_directly(&zeros)?;
            fs::remove_file(&zeros).context("delete the zeros")?;
            File::open(self.place.path())?.sync_all().context("sync the deletion")?;
        }
        let _mounted = self.mounted()?;
        rustix::fs::sync();
        pause(REST);
        let place = self.place.path().to_str().context("a path in UTF-8")?;
        let mut command = if way == Way::Trimpace {
            lab.trimpace(&["once", "--p99", "1.5ms", "--output-format", "json"])?
        } else {
            Command::new("fstrim")
        };
        command.args(["-v", place]);
        let _shortened = (way == Way::Peer).then(|| Shortened::new(&self.loop_disk)).transpose()?;
        let load = ReadLoad { path: &self.read, rate, before: BEFORE };
        let disks = [&self.loop_disk, &self.disk];
        let trimmed = trim_beside_reads(&lab.programs(LIMIT)?, &mut command, load, disks)?;
        eprintln!("    {way:?}: {}", trimmed.note(TARGET));
        Ok(trimmed)
    }
}

impl Accepted {
    /// A trial of each way, in random order.
    fn add_round(&mut self, lab: &Lab<'_>, bench: &Bench, rng: &mut Rng) -> Result<()> {
        let mut order = [Way::Fstrim, Way::Peer, Way::Trimpace];
        rng.shuffle(&mut order);
        let (mut peer, mut ours) = (None, None);
        for way in order {
            let trimmed = bench.trial(lab, way, RATE)?;
            if let Some(why) = refusal(&trimmed) {
                eprintln!("    does not count: {why}");
                self.refused = (self.refused.0 + 1, why);
                continue;
            }
            match way {
                Way::Fstrim => self.by_fstrim.push(trimmed),
                Way::Peer => peer = Some(trimmed),
                Way::Trimpace => ours = Some(trimmed),
            }
        }
        self.pairs.extend(peer.zip(ours).map(<[Trimmed; 2]>::from));
        Ok(())
    }

    fn figures(&self) -> Result<Vec<Figure>> {
        let [peers, our] = [0, 1].map(|which| {
            let of_way = self.pairs.iter().map(|pair| &pair[which]);
            of_way.collect::<Vec<_>>()
        });
        let fstrims: Vec<&Trimmed> = self.by_fstrim.iter().collect();
        let [peer, ours, fstrim] = [&peers, &our, &fstrims].map(|trials| pooled(trials));
        let times = |trials: &[&Trimmed]| middle(trials, |it| it.time.seconds());
        let bytes = |trials: &[&Trimmed]| middle(trials, |it| it.counts.discarded as f64);
        let (peer_time, our_time, fstrim_time) = (times(&peers)?, times(&our)?, times(&fstrims)?);
        let (our_bytes, fstrim_bytes) = (bytes(&our)?, bytes(&fstrims)?);
        let p99 = ours.quantile_ms(0.99);
        let counted = format!(
            "{} pairs and {} fstrims; {} trials do not count",
            self.pairs.len(),
            self.by_fstrim.len(),
            self.refused.0
        );
        let ratio = p99 / peer.quantile_ms(0.99);
        let times = format!("{our_time:.2} s, fstrim {fstrim_time:.2} s, peer {peer_time:.2} s");
        let p999 = ours.quantile_ms(0.999);
        let own = format!("{}; {counted}", ours.note());
        let others = format!("peer: {}; fstrim: {}", peer.note(), fstrim.note());
        let counts =
            format!("{our_bytes} and {fstrim_bytes} bytes, as the loop device counts them");
        let target = Bar::AtMost(TARGET.seconds() * 1e3);
        let same = Bar::Near { value: 1.0, share: BYTES_OFF };
        let (most_p99, most_time) = (Bar::AtMost(MOST_P99_RATIO), Bar::AtMost(MOST_TIME_RATIO));
        let all = [
            ("p99 of reads beside trimpace", (p99, "ms"), target, own),
            ("that over the peer's, fstrim by 4 MiB", (ratio, ""), most_p99, others),
            ("p99.9 of reads beside trimpace", (p999, "ms"), Bar::AtMost(MOST_P999_MS), counted),
            ("time over fstrim's", (our_time / fstrim_time, ""), most_time, times),
            ("bytes discarded over fstrim's", (our_bytes / fstrim_bytes, ""), same, counts),
        ];
        let figure = |(what, value, bar, note)| Figure::new(what, value, bar).with_note(note);
        Ok(all.map(figure).into())
    }
}

impl Shortened {
    fn new(disk: &Disk) -> Result<Self> {
        let attribute = "discard_max_bytes";
        let granularity = disk.queue("discard_granularity")?.max(1);
        // The kernel's own value may be no multiple, which it does not take back.
        let before = disk.queue(attribute)? / granularity * granularity;
        let shortened = Self { path: disk.queue_path(attribute), before };
        write(&shortened.path, PEER)?;
        Ok(shortened)
    }
}

impl Drop for Shortened {
    fn drop(&mut self) {
        if let Err(error) = write(&self.path, self.before) {
            eprintln!("error: {error:#}");
        }
    }
}

/// The reads beside all these trials.
fn pooled(trials: &[&Trimmed]) -> ResponseTimes {
    trials.iter().fold(ResponseTimes::default(), |all, trial| all.and(&trial.beside))
}

/// The median of a value of these trials.
fn middle(trials: &[&Trimmed], value: impl Fn(&Trimmed) -> f64) -> Result<f64> {
    let values: Vec<f64> = trials.iter().map(|trial| value(trial)).collect();
    median(&values).context("no trial")
}

fn write(path: &Path, value: u64) -> Result<()> {
    fs::write(path, value.to_string()).with_context(|| format!("set {}", path.display()))
}

/// Why a trial does not count. What the trial writes itself is what the loop device writes, and
/// what the filesystem below changes of its own, which counts as that of others: an upper bound.
fn refusal(trimmed: &Trimmed) -> Option<String> {
    let by_others = trimmed.read_disk.written.saturating_sub(trimmed.counts.written);
    let [p99, p999] = [0.99, 0.999].map(|share| trimmed.alone.quantile_ms(share));
    // So that a time that is no number is refused, too.
    let is_calm = p99 <= ALONE_P99_MS && p999 <= ALONE_P999_MS;
    if by_others >= WRITTEN_BY_OTHERS {
        Some(format!("others wrote {:.1} MB", by_others as f64 / 1e6))
    } else if !is_calm {
        Some(format!("the reads alone have p99 {p99:.2} and p99.9 {p999:.2} ms"))
    } else {
        None
    }
}
