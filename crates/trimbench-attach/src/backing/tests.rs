use std::sync::mpsc::channel;

use trimbench_core::Errno;
use trimbench_core::fault::{FaultPlan, Faulty};
use trimbench_ssd::Profile;

use super::*;
use crate::engine::{Engine, Request, RequestOutcome, Timer};
use crate::store::Store;

fn config(profile: &str) -> SsdConfig {
    let own = Profile::built_in(profile).unwrap().config;
    SsdConfig { capacity: Bytes::gib(1), ..own }
}

fn place(path: &Path, profile: &str) -> BackingPlace {
    BackingPlace { path: path.to_owned(), profile: profile.to_owned(), profile_hash: 1 }
}

/// A drive that a file keeps, served.
fn served(path: &Path, profile: &str, state: InitialState) -> (Engine, Timer) {
    let config = config(profile);
    let (may_lose, capacity) = (drive::may_lose(&config), config.capacity.0);
    let Kept { file, start, drive, map } = open(&place(path, profile), config, state).unwrap();
    let store = Store::new(file, start, may_lose).with_map(map, start + capacity);
    Engine::start(Faulty::new(drive, FaultPlan::default()), store, 1, false).unwrap()
}

fn run(engine: &Engine, request: Request<'_>) -> RequestOutcome {
    let (sender, receiver) = channel();
    engine.submit(request, Box::new(move |outcome| drop(sender.send(outcome))));
    receiver.recv().unwrap()
}

fn read(engine: &Engine, offset: u64) -> Vec<u8> {
    run(engine, Request::Read { offset, length: 4_096 }).unwrap()
}

fn write(engine: &Engine, offset: u64, byte: u8) {
    run(engine, Request::Write { offset, data: &[byte; 4_096] }).unwrap();
}

#[test]
fn what_a_drive_held_is_there_when_its_file_is_attached_again() {
    for profile in ["generic-sata-tlc", "generic-nvme-tlc"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("drive");
        let (engine, timer) = served(&path, profile, InitialState::Fresh);
        (0..64).for_each(|number| write(&engine, number * 4_096, 7));
        run(&engine, Request::Discard { offset: 8 * 4_096, length: 8 * 4_096 }).unwrap();
        run(&engine, Request::Zero { offset: 16 * 4_096, length: 4_096 }).unwrap();
        write(&engine, (1 << 30) - 4_096, 9);
        drop(timer);
        drop(engine);
        let (engine, timer) = served(&path, profile, InitialState::Fresh);
        for number in 0..64 {
            let byte = if (8..17).contains(&number) { 0 } else { 7 };
            assert!(read(&engine, number * 4_096) == [byte; 4_096], "{profile}: {number}");
        }
        assert!(read(&engine, (1 << 30) - 4_096) == [9; 4_096]);
        write(&engine, 0, 3);
        run(&engine, Request::Flush).unwrap();
        // As if it were killed: nothing is kept at the end.
        let copy = folder.path().join("copy");
        std::fs::copy(&path, &copy).unwrap();
        write(&engine, 64 * 4_096, 3);
        drop(timer);
        drop(engine);
        let path = copy;
        let config = config(profile);
        let mut kept = open(&place(&path, profile), config, InitialState::Fresh).unwrap();
        let mut held = |number: u64| kept.drive.holds_data(Bytes(number * 4_096));
        assert!(held(0) && !held(8) && !held(15) && held(16) && held(63) && !held(64));
    }
}

#[test]
fn a_filled_drive_reads_the_same_before_and_after() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive");
    for state in [InitialState::Filled, InitialState::Fresh] {
        let (engine, timer) = served(&path, "generic-nvme-tlc", state);
        assert!(read(&engine, 1 << 20) == [0; 4_096]);
        drop(timer);
    }
    let config = config("generic-nvme-tlc");
    let place = place(&path, "generic-nvme-tlc");
    let mut kept = open(&place, config, InitialState::Fresh).unwrap();
    assert!(kept.drive.holds_data(Bytes((1 << 30) - 4_096)), "its file says that it is filled");
}

#[test]
fn a_file_that_takes_its_place_meanwhile_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let [path, moved] = ["drive", "moved"].map(|name| folder.path().join(name));
    let (engine, timer) = served(&path, "generic-nvme-tlc", InitialState::Fresh);
    write(&engine, 0, 7);
    std::fs::rename(&path, &moved).unwrap();
    std::fs::write(&path, "a letter").unwrap();
    write(&engine, 4_096, 8);
    run(&engine, Request::Flush).unwrap();
    drop(timer);
    drop(engine);
    assert_eq!(std::fs::read(&path).unwrap(), b"a letter");
    let (engine, _timer) = served(&moved, "generic-nvme-tlc", InitialState::Fresh);
    assert!(read(&engine, 0) == [7; 4_096] && read(&engine, 4_096) == [8; 4_096]);
}

#[test]
fn a_file_that_is_cut_off_meanwhile_gives_errors_and_no_zeroes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive");
    let (engine, _timer) = served(&path, "generic-nvme-tlc", InitialState::Fresh);
    let [first, last] = [0, (1 << 30) - 4_096];
    write(&engine, first, 7);
    write(&engine, last, 8);
    let length = std::fs::metadata(&path).unwrap().len();
    File::options().write(true).open(&path).unwrap().set_len(2 << 20).unwrap();
    let beyond = |offset| run(&engine, Request::Read { offset, length: 4_096 });
    assert_eq!(beyond(last), Err(Errno::EIO));
    // A write there would fill what is between with zeroes.
    let data = [9; 4_096];
    for offset in [first, last] {
        assert_eq!(run(&engine, Request::Write { offset, data: &data }), Err(Errno::EIO));
    }
    assert_eq!(beyond(last), Err(Errno::EIO));
    // What is longer is still a drive of the same size.
    File::options().write(true).open(&path).unwrap().set_len(2 * length).unwrap();
    assert_eq!(beyond(1 << 30), Err(Errno::EINVAL));
}

#[test]
fn a_file_of_another_drive_is_refused_and_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive");
    let state = InitialState::Fresh;
    let refused = |place: &BackingPlace, config: SsdConfig| {
        open(place, config, state).err().expect("it is not this drive's").to_string()
    };
    std::fs::write(&path, "a letter").unwrap();
    let foreign = refused(&place(&path, "vendor2"), config("vendor2"));
    assert!(foreign.contains("not a file that trimbench made"), "{foreign}");
    assert_eq!(std::fs::read(&path).unwrap(), b"a letter");
    std::fs::remove_file(&path).unwrap();
    drop(open(&place(&path, "vendor2"), config("vendor2"), state).unwrap());
    let head = |path: &Path| {
        let mut head = vec![0; 8_192];
        File::open(path).unwrap().read_exact_at(&mut head, 0).unwrap();
        head
    };
    let before = head(&path);
    let other = refused(&place(&path, "vendor3"), config("vendor3"));
    assert!(other.contains("vendor2") && other.contains("vendor3"), "{other}");
    let large = SsdConfig { capacity: Bytes::gib(2), ..config("vendor2") };
    assert!(refused(&place(&path, "vendor2"), large).contains("2GiB"));
    let newer = BackingPlace { profile_hash: 2, ..place(&path, "vendor2") };
    assert!(refused(&newer, config("vendor2")).contains("0000000000000002"));
    File::options().write(true).open(&path).unwrap().set_len(1 << 20).unwrap();
    assert!(refused(&place(&path, "vendor2"), config("vendor2")).contains("1048576 B"));
    assert!(head(&path) == before);
}
