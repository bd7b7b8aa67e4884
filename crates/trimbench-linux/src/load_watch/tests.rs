use super::*;

#[test]
fn the_totals_of_pressure_are_read() {
    const TEXT: &str = "some avg10=31.72 avg60=8.45 avg300=3.57 total=56759430\n\
                        full avg10=0.00 avg60=0.00 avg300=0.00 total=2319260\n";
    for (text, line, expected) in [
        (TEXT, "some", Some(Nanos(56_759_430_000))),
        (TEXT, "full", Some(Nanos(2_319_260_000))),
        ("some avg10=0.00 total=7\n", "full", None),
        ("something total=7\n", "some", None),
        ("some total=-1\n", "some", None),
        ("some total=18446744073709551615\n", "some", None),
        ("", "some", None),
    ] {
        assert_eq!(stalled(text, line), expected, "{line} of {text:?}");
    }
    assert_eq!(some("/proc/pressure/nothing"), None);
}

#[test]
fn a_look_lasts_as_long_as_it_is_to_and_sees_what_there_is() {
    let window = Nanos::from_millis(200);
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let watch = LoadWatch::of(folder.path());
    let seen = watch.look(window, &Interrupt::default()).unwrap();
    assert!(seen.window >= window && seen.window < Nanos::from_secs(20), "{seen:?}");
    assert_eq!(seen.devices.is_some(), watch.devices.is_some());
    assert!(seen.reads.is_none_or(|reads| reads.count <= 20 && reads.median <= reads.p99));
    // procfs is on no device.
    let nowhere = LoadWatch::of(Path::new("/proc")).look(window, &Interrupt::default()).unwrap();
    assert_eq!((nowhere.devices, nowhere.reads), (None, None));
}

#[test]
fn the_users_wish_to_stop_ends_a_look() {
    let interrupt = Interrupt::default();
    interrupt.request();
    let watch = LoadWatch::of(Path::new("/proc"));
    assert_eq!(watch.look(Nanos::from_secs(3_600), &interrupt), None);
}
