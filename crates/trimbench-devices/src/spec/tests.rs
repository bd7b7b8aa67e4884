use trimbench_core::{Caveat, Drive as _};

use super::*;

fn refused(text: &str) -> TargetError {
    TargetSpec::parse(text, None).expect_err("the text is wrong")
}

#[test]
fn a_drive_prints_as_the_text_that_means_it() {
    for (text, capacity, printed) in [
        ("sim:vendor2", None, "sim:vendor2"),
        ("sim:vendor2", Some(Bytes::gib(4)), "sim:vendor2,capacity=4GiB"),
        ("sim:vendor2,capacity=8GiB", Some(Bytes::gib(4)), "sim:vendor2,capacity=8GiB"),
        (
            "sim:vendor2,freeze-on-discard=2s,capacity=8GiB,eio-from=5s",
            None,
            "sim:vendor2,capacity=8GiB,freeze-on-discard=2s,eio-from=5s",
        ),
        (
            "sim:vendor2,trim-eats-before=8KiB,vanish-from=1s,trim-promise=zeroes",
            None,
            "sim:vendor2,trim-promise=zeroes,vanish-from=1s,trim-eats-before=8KiB",
        ),
        (
            "sim:vendor2,trim-eats-neighbour=4KiB,trim-reads=unstable",
            None,
            "sim:vendor2,trim-reads=unstable,trim-eats-neighbour=4KiB",
        ),
        ("ext4:sim:vendor2", Some(Bytes::gib(4)), "ext4:sim:vendor2,capacity=4GiB"),
        (
            "ext4,memory=2048MiB,era=4.13:sim:vendor2,capacity=8GiB",
            None,
            "ext4,era=4.13,memory=2GiB:sim:vendor2,capacity=8GiB",
        ),
        ("btrfs,wbt=0s,discard=sync:sim:vendor2", None, "btrfs,discard=sync,wbt=0ns:sim:vendor2"),
        ("sim:vendor2,wbt=0", None, "sim:vendor2,wbt=0ns"),
        (
            "f2fs,commit=90s,memory=1GiB:sim:vendor2",
            None,
            "f2fs,memory=1GiB,commit=90s:sim:vendor2",
        ),
        ("attach:vendor2", None, "attach:vendor2"),
        ("attach:sim:vendor2", Some(Bytes::gib(4)), "attach:vendor2,capacity=4GiB"),
        ("attach,slow-down=1:vendor2,capacity=8GiB", None, "attach:vendor2,capacity=8GiB"),
        (
            "xfs,memory=1GiB:attach,slow-down=10:vendor2,nand.program=900us",
            Some(Bytes::gib(4)),
            "xfs,memory=1GiB:attach,slow-down=10:vendor2,capacity=4GiB,nand.program=900us",
        ),
        ("xfs,scheduler=mq-deadline:sim:vendor2", None, "xfs,scheduler=mq-deadline:sim:vendor2"),
        (
            // The machine is what the others change, wherever it stands.
            "ext4,memory=2GiB,machine=s0:sim:vendor2",
            None,
            "ext4,machine=s0,memory=2GiB:sim:vendor2",
        ),
        (
            "ext4,cpu-kib=300ns,cpu-call=1us,cpu-metadata=20us,commit=1s,journal=64MiB:sim:vendor2",
            None,
            "ext4,journal=64MiB,commit=1s,cpu-metadata=20us,cpu-call=1us,cpu-kib=300ns:sim:vendor2",
        ),
    ] {
        assert_eq!(TargetSpec::parse(text, capacity).unwrap().to_string(), printed);
        assert_eq!(TargetSpec::parse(printed, None).unwrap().to_string(), printed);
    }
}

#[test]
fn wrong_names_get_the_nearest_right_one() {
    let error = refused("sim:vendor22").to_string();
    assert!(error.contains("did you mean `vendor2`?"), "{error}");
    let error = refused("sim:vendor2,capcity=1GiB").to_string();
    assert!(error.contains("did you mean `capacity`?"), "{error}");
    let error = refused("ext4,memry=1GiB:sim:vendor2").to_string();
    assert!(error.contains("the modelled filesystem has no setting `memry`"), "{error}");
    assert!(error.contains("did you mean `memory`?"), "{error}");
    let error = refused("ext3:sim:vendor2").to_string();
    assert!(error.contains("did you mean `ext4`?"), "{error}");
    let error = refused("vendor2").to_string();
    assert!(error.contains("did you mean `sim:vendor2`?"), "{error}");
}

#[test]
fn absurd_capacities_are_refused() {
    for capacity in ["0", "1MiB", "5000B", "17TiB", "99999999TiB", "16", "sixteen"] {
        let error = refused(&format!("sim:vendor2,capacity={capacity}"));
        assert!(error.is_usage(), "{capacity}: {error}");
    }
}

#[test]
fn a_filesystem_needs_a_device_below_and_sound_settings() {
    assert!(matches!(*refused("ext4:vendor2").0, Problem::NothingBelow { .. }));
    assert!(matches!(*refused("ext4:sim:vendor22").0, Problem::UnknownProfile { .. }));
    for setting in
        ["memory=1MiB", "journal=2GiB", "commit=0s", "cpu-call=2s", "era=2.4", "machine=s1"]
    {
        let error = refused(&format!("ext4,{setting}:sim:vendor2"));
        assert!(matches!(*error.0, Problem::Setting(_)), "{setting}: {error}");
        assert!(error.is_usage(), "{setting}: {error}");
    }
}

#[test]
fn paths_that_are_no_target_are_refused() {
    assert!(matches!(*refused("/nowhere/at/all").0, Problem::Missing { .. }));
    assert!(matches!(*refused("/dev/null").0, Problem::NotATarget { .. }));
    assert!(matches!(*refused("sim:./nowhere.toml").0, Problem::Unreadable { .. }));
}

fn provisioned(text: &str) -> crate::Provisioned<crate::EmulatedDrive> {
    let spec = TargetSpec::parse(text, None).unwrap();
    spec.emulated_drive().expect("it is an emulated drive").provision(Bytes(0)).unwrap()
}

#[test]
fn every_kind_of_read_and_promise_reaches_the_drive_and_its_identity() {
    let text = "sim:generic-sata-tlc,capacity=1GiB";
    for reads in ["zeroes", "old-data", "unstable"] {
        for promise in ["unknown", "nothing", "deterministic", "zeroes", "ones"] {
            let full = format!("{text},trim-reads={reads},trim-promise={promise}");
            assert_eq!(TargetSpec::parse(&full, None).unwrap().to_string(), full);
            let drive = provisioned(&full);
            assert_eq!(drive.target.trim_promise().id(), promise);
            assert_eq!(drive.description.identity["trim-reads"], reads);
            assert_eq!(drive.description.identity["trim-promise"], promise);
            assert!(!drive.description.caveats.contains(&Caveat::PlantedFault));
        }
    }
    assert_eq!(provisioned(text).target.trim_promise().id(), "zeroes", "the profile's own");
}

#[test]
fn an_attached_drive_is_no_model_in_virtual_time_and_its_contents_take_memory() {
    let sized = |text: &str| {
        let spec = TargetSpec::parse(text, None).unwrap();
        spec.settled(None, Bytes::gib(40))
    };
    let attached = sized("attach:vendor2");
    assert_eq!(attached.to_string(), "attach:vendor2,capacity=50GiB");
    assert!(attached.emulated_drive().is_none() && attached.place().is_none());
    let tables = sized("sim:vendor2").memory();
    assert!(tables > Bytes(0) && attached.memory() > tables + Bytes::gib(50));
    let filesystem = sized("ext4:attach:vendor2");
    assert_eq!(filesystem.to_string(), "ext4:attach:vendor2,capacity=54GiB", "its own tables");
    assert!(filesystem.is_filesystem() && filesystem.memory() > attached.memory());
    assert!(filesystem.drain().is_some() && filesystem.place().is_none());
    for wrong in ["attach:vendor2,wbt=0", "attach:vendor2,fill=none", "attach,memory=1GiB:vendor2"]
    {
        assert!(refused(wrong).is_usage(), "{wrong}");
    }
}

#[test]
fn every_planted_fault_is_said() {
    for fault in [
        "freeze-on-discard=1s",
        "eio-from=1s",
        "vanish-from=1s",
        "trim-eats-neighbour=4KiB",
        "trim-eats-before=4KiB",
    ] {
        let drive = provisioned(&format!("sim:generic-sata-tlc,capacity=1GiB,{fault}"));
        assert!(drive.description.caveats.contains(&Caveat::PlantedFault), "{fault}");
    }
}

#[test]
fn settings_out_of_range_are_refused_with_what_would_be_right() {
    for (setting, part) in [
        ("trim-reads=ones", "`ones` is not one of zeroes, old-data, unstable"),
        ("trim-promise=", "`` is not one of unknown, nothing"),
        ("trim-eats-neighbour=512B", "multiple of 4KiB"),
        ("trim-eats-before=2GiB", "out of range; give 0 to 1GiB"),
        ("trim-eats-before=4096", "unit"),
        ("vanish-from=soon", "soon"),
        ("freeze-on-discard=25h", "out of range"),
        ("trim-eats-neighbor=4KiB", "did you mean `trim-eats-neighbour`?"),
    ] {
        let error = refused(&format!("sim:vendor2,{setting}"));
        assert!(error.is_usage() && error.to_string().contains(part), "{error}");
    }
}

#[test]
fn paths_of_any_bytes_come_back_from_their_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(OsStr::from_bytes(b"raw\xff"));
    std::fs::write(&path, "image").unwrap();
    let argument = |prefix: &str| [prefix.as_bytes(), path.as_os_str().as_bytes()].concat();
    for prefix in ["", "ext4:", "xfs,memory=1GiB:"] {
        let text = TargetSpec::text_of(OsStr::from_bytes(&argument(prefix)));
        assert!(text.starts_with(&format!("{prefix}$'/")), "{text}");
        let spec = TargetSpec::parse(&text, None).unwrap();
        assert_eq!(spec.to_string(), text);
        assert_eq!(spec.place(), Some(&*path), "{text}");
    }
    assert_eq!(TargetSpec::text_of(OsStr::new("sim:vendor2")), "sim:vendor2");
}
