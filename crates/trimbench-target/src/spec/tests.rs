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
fn paths_that_are_no_directory_are_refused() {
    assert!(matches!(refused("/nowhere/at/all"), TargetError::Missing { .. }));
    assert!(matches!(refused("/proc/self/exe"), TargetError::NotADirectory { .. }));
    assert!(matches!(refused("sim:./nowhere.toml"), TargetError::Unreadable { .. }));
}
