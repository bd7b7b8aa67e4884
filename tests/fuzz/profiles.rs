//! Profiles: one that is read has a source for each value; one that passes its checks is built, if
//! its estimated memory is small, and takes commands.

use serde_json::Value;
use trimbench_core::units::narrow;
use trimbench_core::{BlockCommand, Blocks, Bytes, Instant, Lba, LbaRange, Tag, Target, Virtual};
use trimbench_ssd::{BUILT_IN, Profile, SsdConfig};

use crate::harness::{Draw, Drawn, Watched};
use crate::{damage, document};

/// One in so many drives that can be built is, and with the capacity that the profile says.
const BUILT: usize = 16;
const BUILT_WHOLE: usize = 500;
/// The tables that are built at most.
const MEMORY_MAX: Bytes = Bytes::mib(32);
/// Superblocks of the small drives.
const SUPERBLOCKS: u64 = 8;

/// A profile, and whether what it describes is built: small, or as it is.
#[derive(Clone, Debug)]
struct DrawnProfile {
    text: String,
    is_built: [bool; 2],
}

#[test]
fn damaged_profiles_are_refused_or_describe_drives_that_work() {
    let files: Vec<Vec<u8>> = BUILT_IN.iter().map(|it| it.text.as_bytes().to_vec()).collect();
    let tree = |profile: &trimbench_ssd::ProfileText| toml::from_str(profile.text).unwrap();
    let trees: Vec<Value> = BUILT_IN.iter().map(tree).collect();
    let watched = Watched::new("profiles");
    bolero::check!()
        .with_iterations(10_000)
        .with_generator(Drawn(|draw: &mut dyn Draw| draw_profile(&files, &trees, draw)))
        .for_each(|profile| watched.read(profile, is_sound));
    watched.expect_understood(0.1..0.9);
}

fn draw_profile(files: &[Vec<u8>], trees: &[Value], draw: &mut dyn Draw) -> DrawnProfile {
    let file = if draw.one_in(4) {
        damage::file(files, draw)
    } else {
        document::to_toml(&document::damaged(trees, draw)).into_bytes()
    };
    // What is not UTF-8 is refused before it is parsed.
    let text = String::from_utf8_lossy(&file).into_owned();
    DrawnProfile { text, is_built: [draw.one_in(BUILT), draw.one_in(BUILT_WHOLE)] }
}

fn is_sound(drawn: &DrawnProfile) -> bool {
    let Ok(profile) = Profile::parse(&drawn.text) else { return false };
    let (counts, values) = (profile.provenance, &profile.values);
    assert_eq!(u32::try_from(values.len()), Ok(counts.total()), "{counts}");
    assert!(values.is_sorted_by(|one, other| one.key <= other.key));
    let _: Vec<String> = values.iter().map(trimbench_ssd::ProfileValue::with_unit).collect();
    let config = profile.config;
    if config.check().is_err() {
        return false;
    }
    let capacity = Bytes(config.geometry.superblock.0.saturating_mul(SUPERBLOCKS));
    let small = SsdConfig { capacity, ..config.clone() };
    match drawn.is_built {
        [_, true] => works(config),
        [true, _] if small.check().is_ok() => works(small),
        _ => {}
    }
    true
}

/// Builds a drive that says that it takes little memory, and sends it each command.
fn works(config: SsdConfig) {
    if config.memory() > MEMORY_MAX {
        return;
    }
    let end = config.capacity.0 / 512;
    let mut drive = Virtual::new(config.build().expect("it was checked"));
    let range = |start: u64, blocks: u64| {
        LbaRange::new(Lba(start), Blocks(blocks)).expect("it is neither empty nor beyond the end")
    };
    let commands = [
        BlockCommand::write(range(0, 2048)),
        BlockCommand::write(range(end - 8, 8)),
        BlockCommand::Read(range(8, 64)),
        BlockCommand::Discard(range(0, 1024)),
        BlockCommand::write(range(512, 256)),
        BlockCommand::Flush,
    ];
    for (tag, command) in commands.into_iter().enumerate() {
        drive.submit(Tag(narrow(tag as u64)), command).expect("it is within the drive");
    }
    let mut out = Vec::new();
    while out.len() < commands.len() {
        let before = out.len();
        drive.reap(Instant::NEVER, &mut out);
        assert!(out.len() > before, "{before} of {} commands end", commands.len());
    }
}
