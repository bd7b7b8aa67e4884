//! The runs that are killed.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use tempfile::TempDir;
use tests::program::UNLOOKED;
use tests::{LoopDevice, LoopFilesystem};

use super::record::Promise;

/// Something that is run.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::safety) struct Variant {
    /// Its name in the result.
    pub(in crate::safety) name: &'static str,
    /// What it runs on.
    place: Place,
    /// Of the program, with a space between, without the target and the output.
    arguments: &'static str,
    /// What is made.
    pub(in crate::safety) makes: Makes,
}

/// What a variant makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::safety) enum Makes {
    /// A record whose bytes repeat.
    SameRecord,
    /// A record of measured numbers.
    Record,
    /// A trace whose bytes repeat.
    SameTrace,
    /// A recording of a device.
    Recording,
}

impl Makes {
    /// What the program promises to have kept.
    pub(in crate::safety) fn promise(self) -> Promise {
        match self {
            Self::SameRecord => Promise::Sessions,
            _ => Promise::Steps,
        }
    }
}

/// What a variant runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// What the arguments say.
    Emulated,
    /// An image of so many MiB.
    Image(u64),
    /// A filesystem that the program makes on an image.
    Made(&'static str),
    /// The same on a disk and with limited memory.
    Limited(&'static str),
    /// A directory in a filesystem of this type.
    Directory(&'static str),
    /// A loop device of so many MiB.
    Device(u64),
}

/// Small files in a filesystem whose deletions are not waited for.
const FILES: &str = "run postmark --set repetitions=5 --set number=100 --set transactions=100";
const MADE_FILES: &str = "run postmark --set repetitions=5 --set number=100 \
                          --set transactions=100 --set mounts=nodiscard --set bufferings=one";
/// A device with little latency, in three sessions on two drives.
const DRIVES: &str = "run recovery trim-integrity idle-trim \
                      --target sim:generic-sata-tlc,capacity=128MiB \
                      --target sim:generic-nvme-tlc,capacity=128MiB";
const DELETIONS: &str =
    "run delete-stall --capacity 1GiB --set sizes=16MiB,32MiB,64MiB --set span=64MiB";
const MODELLED: &str = "run postmark --set size-high=40000B --set number=300 \
                        --target ext4,memory=16MiB:sim:vendor6,capacity=4GiB";

const fn run(name: &'static str, place: Place, arguments: &'static str) -> Variant {
    let makes = if matches!(place, Place::Emulated) { Makes::SameRecord } else { Makes::Record };
    Variant { name, place, arguments, makes }
}

const fn trace(name: &'static str, arguments: &'static str) -> Variant {
    Variant { name, place: Place::Emulated, arguments, makes: Makes::SameTrace }
}

const fn recording(name: &'static str, arguments: &'static str) -> Variant {
    Variant { name, place: Place::Device(64), arguments, makes: Makes::Recording }
}

/// Everything that is killed; each is drawn as often as any other.
pub(in crate::safety) const VARIANTS: [Variant; 24] = [
    run("drives", Place::Emulated, DRIVES),
    run("drives", Place::Emulated, DRIVES),
    run("deletions", Place::Emulated, DELETIONS),
    run("deletions", Place::Emulated, DELETIONS),
    run("modelled filesystem", Place::Emulated, MODELLED),
    run("modelled filesystem", Place::Emulated, MODELLED),
    INTEGRITY,
    INTEGRITY,
    run("image", Place::Image(64), "run idle-trim --set repetitions=2 --set rest=0"),
    run("made ext4", Place::Made("ext4"), MADE_FILES),
    run("made xfs", Place::Made("xfs"), MADE_FILES),
    run("made btrfs", Place::Made("btrfs"), MADE_FILES),
    run("made ext4, limited memory", Place::Limited("ext4"), MADE_FILES),
    run("directory on ext4", Place::Directory("ext4"), FILES),
    run("directory on xfs", Place::Directory("xfs"), FILES),
    run("directory on btrfs", Place::Directory("btrfs"), FILES),
    trace("generate trimbench", "trace generate --to trimbench --capacity 8GiB"),
    trace("generate iolog", "trace generate --to iolog --capacity 4GiB"),
    trace("convert to trimbench", "trace convert --to trimbench"),
    trace("convert to iolog", "trace convert --to iolog"),
    trace("convert to blkparse", "trace convert --to blkparse"),
    recording("record trimbench", "trace record --to trimbench"),
    recording("record iolog", "trace record --to iolog"),
    recording("record blkparse", "trace record --to blkparse"),
];

/// Many steps on an image, each kept when it is done.
pub(in crate::safety) const INTEGRITY: Variant =
    run("image", Place::Image(64), "run trim-integrity --set region=1MiB");

/// Runs whose records are written to a disk that loses power.
pub(in crate::safety) const CRASHED: [Variant; 4] = [
    INTEGRITY,
    run("drives", Place::Emulated, DRIVES),
    INTEGRITY,
    run("deletions", Place::Emulated, DELETIONS),
];

/// What a variant runs on, made for it alone. All is gone when dropped.
#[derive(Debug)]
pub(in crate::safety) struct Scene {
    // The order is that of dropping.
    filesystem: Option<LoopFilesystem>,
    device: Option<LoopDevice>,
    /// Of the arguments: what is run and what may be destroyed.
    target: Vec<String>,
    consent: Vec<String>,
    folder: TempDir,
}

impl Scene {
    /// For this variant; `input` is the trace that is converted.
    pub(in crate::safety) fn new(variant: &Variant, input: &Path) -> Result<Self> {
        let parent = match variant.place {
            // What lies in memory would count.
            Place::Limited(_) => "/var/tmp",
            _ => "/dev/shm",
        };
        let folder =
            tempfile::tempdir_in(parent).with_context(|| format!("make a folder in {parent}"))?;
        let mut scene = Self {
            filesystem: None,
            device: None,
            target: Vec::new(),
            consent: Vec::new(),
            folder,
        };
        match variant.place {
            Place::Emulated if variant.arguments.starts_with("trace convert") => {
                scene.target = vec![text(input)];
            }
            Place::Emulated => {}
            Place::Image(mebibytes) => scene.image("", mebibytes)?,
            Place::Made(filesystem) => scene.image(&format!("{filesystem}:"), 320)?,
            Place::Limited(filesystem) => {
                scene.image(&format!("{filesystem},memory=400MiB:"), 64)?;
            }
            Place::Directory(filesystem) => {
                let made =
                    LoopFilesystem::within(Path::new("/dev/shm"), filesystem, 512, "nodiscard");
                scene.target = vec!["--target".to_owned(), text(made.path())];
                scene.filesystem = Some(made);
            }
            Place::Device(mebibytes) => {
                let device = LoopDevice::new(mebibytes);
                scene.target = vec![device.node().to_owned()];
                scene.device = Some(device);
            }
        }
        std::fs::create_dir(scene.temporary()).context("make a folder")?;
        Ok(scene)
    }

    fn image(&mut self, prefix: &str, mebibytes: u64) -> Result<()> {
        let path = self.folder().join("image");
        let file = std::fs::File::create_new(&path).context("make an image")?;
        file.set_len(mebibytes << 20).context("make an image")?;
        self.target = vec!["--target".to_owned(), format!("{prefix}{}", path.display())];
        self.consent = vec!["--destroy".to_owned(), text(&path)];
        if let Some((filesystem, _)) = prefix.split_once([',', ':']) {
            self.consent.extend(["--overwrite-signature".to_owned(), filesystem.to_owned()]);
        }
        Ok(())
    }

    /// Where everything is that the variant makes and runs on, but a filesystem of its own.
    pub(in crate::safety) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The program's temporary directory.
    pub(in crate::safety) fn temporary(&self) -> PathBuf {
        self.folder().join("tmp")
    }

    /// The filesystem of its own.
    pub(in crate::safety) fn directory(&self) -> Option<&Path> {
        self.filesystem.as_ref().map(LoopFilesystem::path)
    }

    /// The device that is recorded.
    pub(in crate::safety) fn device(&self) -> Option<&LoopDevice> {
        self.device.as_ref()
    }

    /// The arguments that begin the variant, and write to `output`.
    pub(in crate::safety) fn begin(&self, variant: &Variant, output: &Path) -> Vec<String> {
        let mut arguments: Vec<String> = variant.arguments.split(' ').map(str::to_owned).collect();
        if arguments[0] == "trace" {
            let operands = self.target.iter().cloned().chain([text(output)]);
            arguments.splice(2..2, operands);
        } else {
            arguments.extend(self.target.iter().chain(&self.consent).cloned());
            arguments.extend(
                ["--no-report", "--output-format", "ndjson", "--output"].map(str::to_owned),
            );
            arguments.push(text(output));
            arguments.extend(UNLOOKED.map(str::to_owned));
        }
        arguments
    }

    /// The arguments that go on with the run in `output`.
    pub(in crate::safety) fn resume(&self, output: &Path) -> Vec<String> {
        let resume = ["run", "--no-report", "--resume"].map(str::to_owned);
        let named = [text(output)].into_iter().chain(self.consent.iter().cloned());
        resume.into_iter().chain(named).chain(UNLOOKED.map(str::to_owned)).collect()
    }
}

fn text(path: &Path) -> String {
    path.to_str().expect("temporary names are ASCII").to_owned()
}
