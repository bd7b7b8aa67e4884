use ::tests::Need::{Loop, Root};
use ::tests::{LoopDevice, requires, scratch};

use super::*;

#[test]
fn a_loop_device_and_a_workspace_that_are_left_are_found() {
    let test = "a_loop_device_and_a_workspace_that_are_left_are_found";
    if !requires(test, &[Root, Loop]) {
        return;
    }
    let folder = scratch();
    let workspace = folder.path().join(".trimbench-0123456789abcdef");
    let mut held = Held::default();
    held.note(&workspace.join("trimbench-workspace"));
    held.note(&workspace);
    held.note(Path::new("/gone/.trimbench-0123456789abcdef/f0 (deleted)"));
    held.note(&folder.path().join("run.json"));
    assert_eq!(held.paths, [workspace.as_path()]);
    assert_eq!(held.left(folder.path()), Vec::<String>::new());

    let device = LoopDevice::over(&folder.path().join("image"), 1);
    fs::create_dir(&workspace).unwrap();
    assert_eq!(
        held.left(folder.path()),
        ["loop device".to_owned(), format!("workspace {}", workspace.display())]
    );
    fs::remove_dir(&workspace).unwrap();
    drop(device);
    assert_eq!(held.left(folder.path()), Vec::<String>::new());
}

#[test]
fn tracing_instances_are_known_by_their_names() {
    let mut held = Held::default();
    held.note(Path::new("/instances/trimbench-12-0/per_cpu/cpu0/trace_pipe_raw"));
    held.note(Path::new("/sys/kernel/tracing/instances/trimbench-12-0"));
    held.note(Path::new("/sys/kernel/tracing/instances/others/trace"));
    assert_eq!((held.instances.as_slice(), held.count()), (&["trimbench-12-0".to_owned()][..], 1));
    assert!(!is_group("trimbench-no-such-group"));
}
