use std::collections::BTreeSet;
use std::fs;

use trimbench_core::rng::Rng;

use super::draw::{Draw, End};
use super::event::{Deed, Event, Step};
use super::judge::{Below, Bounds, kernel_number};

/// A deed on what has this inode and lies in directories with these, in the filesystem of `device`.
fn deed(deed: Deed, device: u32, path: &[(u64, &str)]) -> Event {
    let step = |(inode, name): &(u64, &str)| Step { inode: *inode, name: name.as_bytes().into() };
    Event {
        attempt: 1,
        deed,
        command: 0,
        device,
        storage: 0,
        node: 0,
        mode: 0o100_644,
        backing: (0, 0),
        inode: path.first().map_or(0, |(inode, _)| *inode),
        text: Vec::new(),
        magic: 0,
        process: 1,
        program: "test".to_owned(),
        path: path.iter().map(step).collect(),
    }
}

fn device_of(path: &std::path::Path) -> (u32, u64) {
    use std::os::unix::fs::MetadataExt as _;
    let metadata = path.metadata().unwrap();
    (kernel_number(metadata.dev()), metadata.ino())
}

#[test]
fn what_was_named_may_be_changed_and_nothing_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let [out, image, foreign] = ["out", "image", "foreign"].map(|name| folder.path().join(name));
    fs::create_dir(&out).unwrap();
    fs::write(&image, "").unwrap();
    fs::write(&foreign, "").unwrap();
    let mut bounds = Bounds::of(folder.path());
    bounds.permit(&out, Below::All);
    bounds.name(&image);
    bounds.forbid(&foreign);
    let (device, folder_inode) = device_of(folder.path());
    let [out, image, foreign] = [out, image, foreign].map(|path| device_of(&path).1);
    let write = |path: &[(u64, &str)]| bounds.allow(&deed(Deed::Write, device, path));
    assert!(write(&[(9_999, "run.json"), (out, "out"), (folder_inode, "x")]));
    assert!(write(&[(image, "image"), (folder_inode, "x")]));
    assert!(!write(&[(foreign, "foreign"), (folder_inode, "x")]));
    assert!(!write(&[(foreign, "foreign"), (out, "out"), (folder_inode, "x")]), "linked into it");
    assert!(!write(&[(9_999, "other"), (folder_inode, "x")]));
    let elsewhere = deed(Deed::Write, device + 1, &[(image, "image")]);
    assert!(!bounds.allow(&elsewhere), "an inode is one of its filesystem");
}

#[test]
fn a_path_counts_by_where_its_words_lead() {
    let folder = tempfile::tempdir().unwrap();
    let mut bounds = Bounds::of(folder.path());
    bounds.permit(folder.path(), Below::Name(b"out".to_vec()));
    let (device, inode) = device_of(folder.path());
    let create = |text: &str| {
        let at = deed(Deed::Create, device, &[(inode, "x")]);
        bounds.allow(&Event { text: text.into(), ..at })
    };
    let absolute = |name: &str| folder.path().join(name).display().to_string();
    assert!(create("out/run.json") && create(&absolute("out")) && create("out/../out/x"));
    assert!(!create("other") && !create(&absolute("outer")) && !create("out/../other"));
    assert!(create("/run/.trimbench-0123/x") && !create("/run/other"));
    assert!(create("/sys/fs/cgroup/memory/trimbench-1") && !create("/sys/fs/cgroup/memory/a"));
    assert!(create("/sys/fs/cgroup/memory/a/cgroup.procs"), "where the process came from");
}

#[test]
fn a_loop_device_is_what_it_shows() {
    let folder = tempfile::tempdir().unwrap();
    let [image, foreign] = ["image", "foreign"].map(|name| folder.path().join(name));
    fs::write(&image, "").unwrap();
    fs::write(&foreign, "").unwrap();
    let mut bounds = Bounds::of(folder.path());
    bounds.name(&image);
    bounds.forbid(&foreign);
    let write = |backing| {
        let node = deed(Deed::Write, 5, &[(77, "loop0")]);
        bounds.allow(&Event { mode: 0o060_660, node: 7 << 20, storage: 7 << 20, backing, ..node })
    };
    assert!(write(device_of(&image)));
    assert!(!write(device_of(&foreign)), "the same node, another file");
    assert!(!write((0, 0)));
}

#[test]
fn an_event_is_read_as_the_kernel_wrote_it() {
    let words = [1_u32, 3, 0x1277, 2, 3, 4, 0o060_000, 6];
    let longs = [7_u64, 8, 9];
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    bytes.extend(longs.iter().flat_map(|long| long.to_ne_bytes()));
    bytes.resize(bytes.len() + 192, 0);
    bytes.extend(0x1234_u64.to_ne_bytes());
    bytes.extend(42_u32.to_ne_bytes());
    bytes.extend(b"mkfs.ext4\0\0\0\0\0\0\0");
    bytes.extend(1_u32.to_ne_bytes());
    bytes.extend(8_u64.to_ne_bytes());
    bytes.extend(b"loop0");
    bytes.resize(760, 0);
    let event = Event::parse(&bytes).unwrap();
    assert_eq!((event.deed, event.command), (Deed::Ioctl, 0x1277));
    assert_eq!((event.backing, event.inode, event.process), ((6, 7), 8, 42));
    assert_eq!((event.program.as_str(), event.magic), ("mkfs.ext4", 0x1234));
    assert_eq!(event.path, [Step { inode: 8, name: b"loop0".to_vec() }]);
    assert_eq!(Event::parse(&bytes[..759]), None);
}

#[test]
fn a_fifth_of_the_runs_is_killed_and_hardly_two_are_alike() {
    let draws: Vec<Draw> = (0..1_000).map(|seed| Draw::new(&mut Rng::new(seed))).collect();
    let killed = draws.iter().filter(|draw| matches!(draw.end, End::Killed(_))).count();
    assert!((150..250).contains(&killed), "{killed} of 1,000 are killed");
    let shown: BTreeSet<String> = draws.iter().map(|draw| format!("{draw:?}")).collect();
    assert!(shown.len() > 990, "{} of 1,000 differ", shown.len());
}
