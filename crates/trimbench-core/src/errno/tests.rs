use super::*;

#[test]
fn names_are_in_order_and_each_number_has_one() {
    assert!(ERRNO_NAMES.windows(2).all(|pair| pair[0].0 < pair[1].0));
    assert_eq!(Errno(39).to_string(), "ENOTEMPTY (directory not empty)");
    assert_eq!(Errno(4_000).to_string(), "errno 4000");
}

#[test]
fn the_systems_reason_is_found_below_others() {
    let system = || io::Error::from_raw_os_error(28);
    let wrapped = io::Error::other(io::Error::other(system()));
    for error in [system(), wrapped] {
        assert_eq!(reason(&error), "ENOSPC (no space left on device)");
    }
    let own = io::Error::other("it is too long");
    assert_eq!((Errno::of(&own), reason(&own)), (None, "it is too long".to_owned()));
}
