use super::*;

use std::fs::{self, File};
use std::os::fd::AsFd as _;
use std::path::PathBuf;

fn here() -> (Mount, File) {
    let mount = trimbench_claim::mounts::mount_of(Path::new("/")).unwrap();
    (mount, File::open("/").unwrap())
}

#[test]
fn a_file_that_is_there_is_in_the_way_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let lock = folder.path().join("backup.lock");
    let rules = PauseRules { while_exists: vec![lock.clone()], ..PauseRules::default() };
    let (mount, root) = here();
    assert_eq!(hindrance(&rules, &mount, root.as_fd()), None);
    fs::write(&lock, "").unwrap();
    let said = hindrance(&rules, &mount, root.as_fd()).unwrap();
    assert_eq!(said, format!("`{}` is there", lock.display()));
}

#[test]
fn a_unit_is_active_as_long_as_it_has_a_process() {
    let folder = tempfile::tempdir().unwrap();
    let units: PathBuf = folder.path().into();
    let populate = |unit: &str, populated: u8| {
        fs::create_dir_all(units.join(unit)).unwrap();
        let events = format!("populated {populated}\nfrozen 0\n");
        fs::write(units.join(unit).join("cgroup.events"), events).unwrap();
    };
    populate("system.slice/borgmatic.service", 1);
    populate("system.slice/idle.service", 0);
    populate("system.slice/system-backup.slice/backup@data.service", 1);
    let active = ["borgmatic.service", "backup@data.service", "idle.service", "other.service"];
    assert_eq!(active.map(|unit| is_active(&units, unit, SLICES)), [true, true, false, false]);
}
