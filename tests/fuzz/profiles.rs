//! Profiles: one that is read has a source for each value; one that passes its checks is built, if
//! its estimated memory is small, and takes commands.

use anyhow::{Context as _, Result};
use trimbench_core::rng::Rng;
use trimbench_core::units::narrow;
use trimbench_core::{
    BlockCommand, Blocks, Bytes, Instant, Lba, LbaRange, Ppm, Tag, Target, Virtual,
};
use trimbench_ssd::{BUILT_IN, Profile, ProfileError, SsdConfig};

use super::mutate;
use super::subject::{Done, Feed, guarded};
use super::tree::Node;

/// How often a drive that can be built is, and how often with the capacity that the profile says.
const BUILT: Ppm = Ppm(60_000);
const BUILT_WHOLE: Ppm = Ppm(2_000);
/// The tables that are built at most.
const MEMORY_MAX: Bytes = Bytes::mib(32);
/// Superblocks of the small drives.
const SUPERBLOCKS: u64 = 8;

/// How an input ended that is no TOML.
#[derive(Debug)]
struct NotToml;

/// What damaged profiles are made of.
#[derive(Debug)]
pub(super) struct Profiles {
    trees: Vec<Node>,
    files: Vec<Vec<u8>>,
}

impl Profiles {
    pub(super) fn new() -> Result<Self> {
        let tree = |text| toml::from_str::<toml::Value>(text).map(Node::from);
        let texts = || BUILT_IN.iter().map(|profile| profile.text);
        Ok(Self {
            trees: texts().map(tree).collect::<Result<_, _>>().context("read the profiles")?,
            files: texts().map(|text| text.as_bytes().to_vec()).collect(),
        })
    }
}

impl Feed for Profiles {
    fn run(&self, rng: &mut Rng) -> Result<Done, String> {
        let mut file = if rng.below(8) == 0 {
            mutate::file(&self.files, rng)
        } else {
            let tree = mutate::pick(&self.trees, rng).damaged(&self.trees, rng);
            tree.toml(rng.below(4) == 0).into_bytes()
        };
        if rng.below(8) == 0 {
            mutate::damage(&mut file, &self.files, rng);
        }
        // What is not UTF-8 is refused before it is parsed.
        let text = String::from_utf8_lossy(&file);
        let (built, whole) = (rng.chance(BUILT), rng.chance(BUILT_WHOLE));
        guarded(|| read(&text, built, whole), || text.escape_debug().to_string())
    }
}

fn read(text: &str, built: bool, whole: bool) -> Result<Done, String> {
    let profile = match Profile::parse(text) {
        Ok(profile) => profile,
        // What is no TOML never reached what reads profiles.
        Err(ProfileError::Syntax(_)) if text.parse::<toml::Table>().is_err() => {
            return Ok(Done::refused(&NotToml));
        }
        Err(error) => return Ok(Done::refused(&error)),
    };
    let (counts, values) = (profile.provenance, profile.values.len());
    if u32::try_from(values) != Ok(counts.total()) {
        return Err(format!("{values} values, and {counts}"));
    }
    if profile.values.is_sorted_by(|one, other| one.key <= other.key) {
        profile.values.iter().for_each(|value| drop(value.with_unit()));
    } else {
        return Err("values are not sorted".to_owned());
    }
    let superblock = profile.config.geometry.superblock;
    let capacity = Bytes(superblock.0.saturating_mul(SUPERBLOCKS));
    let small = SsdConfig { capacity, ..profile.config.clone() };
    if let Err(error) = profile.config.check() {
        return Ok(Done::refused(&error));
    }
    if whole {
        drive(profile.config)?;
    } else if built && small.check().is_ok() {
        drive(small)?;
    }
    Ok(Done::whole("sound"))
}

/// Builds a drive that says that it takes little memory, and sends it each command.
fn drive(config: SsdConfig) -> Result<(), String> {
    if config.memory() > MEMORY_MAX {
        return Ok(());
    }
    let capacity = config.capacity;
    let drive = config.build().map_err(|error| format!("what was checked: {error}"))?;
    let mut drive = Virtual::new(drive);
    let range = |start: u64, blocks: u64| {
        LbaRange::new(Lba(start), Blocks(blocks)).expect("it is neither empty nor beyond the end")
    };
    let end = capacity.0 / 512;
    let commands = [
        BlockCommand::write(range(0, 2048)),
        BlockCommand::write(range(end - 8, 8)),
        BlockCommand::Read(range(8, 64)),
        BlockCommand::Discard(range(0, 1024)),
        BlockCommand::write(range(512, 256)),
        BlockCommand::Flush,
    ];
    let mut out = Vec::new();
    for (tag, command) in commands.into_iter().enumerate() {
        drive.submit(Tag(narrow(tag as u64)), command).map_err(|error| format!("{error:?}"))?;
    }
    while out.len() < commands.len() {
        let before = out.len();
        drive.reap(Instant::NEVER, &mut out);
        if out.len() == before {
            return Err(format!("{before} of {} commands end", commands.len()));
        }
    }
    Ok(())
}
