use std::fs;

use serde_json::{Value, json};

use super::draw::{Draw, End};
use super::event::{Deed, Event, Step};
use super::judge::{Below, Bounds, kernel_number};
use super::{CAMPAIGN, RUNS, planted};
use crate::campaign::{About, Ledger, Sources};

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
fn a_number_draws_the_same_attempt_again_and_another_number_another() {
    let shown = |seed, number| format!("{:?}", Draw::new(seed, number));
    assert_eq!(shown(1, 30), shown(1, 30));
    let others: std::collections::BTreeSet<String> = (0..200).map(|at| shown(1, at)).collect();
    assert!(others.len() > 195 && shown(2, 30) != shown(1, 30));
    let killed = (0..1_000).filter(|at| matches!(Draw::new(1, *at).end, End::Killed(_))).count();
    assert!((150..250).contains(&killed), "{killed} of 1,000 are killed");
}

/// The figures of these lines that miss their bars.
fn failing(lines: Vec<Value>) -> Vec<String> {
    let count = u64::try_from(planted::count()).unwrap() + RUNS;
    let about = About::new(CAMPAIGN.id, 1, count, (String::new(), Sources::default()));
    let findings = super::judge(&Ledger::whole(&about, lines)).unwrap();
    findings.into_iter().filter(|finding| !finding.holds()).map(|finding| finding.what).collect()
}

#[test]
fn each_figure_can_miss_its_bar() {
    let good = || -> Vec<Value> {
        let plant = json!({ "what": "a", "end": "exit 0", "planted": true, "deeds": 1,
            "processes": 1, "eyes": ["call"], "violations": ["call: x"] });
        let run = json!({ "what": "b", "end": "signal 9", "deeds": 1, "processes": 1, "stops": 1 });
        let mut lines = vec![plant; 10];
        lines.extend(vec![run; usize::try_from(RUNS).unwrap()]);
        lines
    };
    assert_eq!(failing(good()), Vec::<String>::new());
    let changed = |at: usize, key: &str, value: Value| {
        let mut lines = good();
        lines[at][key] = value;
        failing(lines)
    };
    let violation = changed(20, "violations", json!(["call: y"]));
    assert_eq!(violation, ["runs that changed what was not theirs"]);
    assert_eq!(changed(20, "end", json!("hung")), ["runs that did not end after Ctrl-C"]);
    assert_eq!(changed(0, "violations", json!([])), ["planted violations that were not seen"]);
    assert_eq!(failing(good()[1..].to_vec()), ["planted violations"]);
    assert_eq!(failing(good()[..5_000].to_vec()), ["runs watched"]);
}
