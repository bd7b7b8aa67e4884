use super::*;

#[test]
fn a_line_is_read_whatever_the_name_contains() {
    let line = "42 (a) S (b) D 1 42 42 0 -1 4194560 100 0 0 0";
    assert_eq!(state(line), Some(('D', 4_194_560, "a) S (b")));
    let kernel = "60 (kworker/u8:3-loop0) I 2 0 0 0 -1 69238880 0 0";
    let (_, flags, _) = state(kernel).unwrap();
    assert_ne!(flags & PF_KTHREAD, 0);
    assert_eq!(state("42 (cut"), None);
}

#[test]
fn this_thread_is_not_waiting_and_its_switches_are_counted() {
    let path = PathBuf::from(format!("/proc/self/task/{}", rustix::thread::gettid()));
    assert!(switches(&path).is_some());
    let mut waiting = WaitingThreads::new(Path::new("/proc"), &[]);
    waiting.look(Nanos(1));
    waiting.look(Nanos::from_secs(1));
    assert_eq!(waiting.end(), []);
}

#[test]
fn a_call_names_the_file_that_it_waits_for() {
    let (ioctl, files) = CALLS;
    assert_eq!(waits_for(&format!("{ioctl} 0x3 0xc0185879 0x0")), WaitsFor::Ioctl);
    assert_eq!(waits_for(&format!("{} 0x1f 0x7f00 0x1000", files[3])), WaitsFor::File("31".into()));
    // mkdir has a path; a thread that runs is in no call.
    for other in ["83000 0x7ffd 0x1ff", "running", "", "-1 0x7ffd 0x7f00"] {
        assert_eq!(waits_for(other), WaitsFor::Other, "{other}");
    }
}
