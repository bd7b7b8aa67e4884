use std::process::Stdio;

use super::*;
use crate::testing::Holder;

#[test]
fn standard_output_and_error_are_known_whatever_they_are() {
    for stream in [Inode::of(io::stdout()).unwrap(), Inode::of(io::stderr()).unwrap()] {
        let found = standard_stream(stream).expect("it is open");
        assert_eq!(Inode::of(&found).unwrap(), stream);
    }
    let other = tempfile::tempfile().unwrap();
    assert!(standard_stream(Inode::of(&other).unwrap()).is_none());
}

#[test]
fn a_file_that_another_process_writes_has_a_user_and_one_that_is_read_has_none() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let open = || Stdio::from(file.reopen().unwrap());
    let read_only = || Stdio::from(File::open(file.path()).unwrap());
    let user = || OutputPlace::of(file.path()).unwrap().user().unwrap();
    assert_eq!(user(), None);
    for (output, expected) in [(read_only(), false), (open(), true)] {
        let holder = Holder::of(Stdio::null(), output);
        let found = user();
        let by_child = format!("is open for writing by process {}", holder.0.id());
        assert_eq!(found.as_ref().is_some_and(|it| it.contains(&by_child)), expected, "{found:?}");
        assert_eq!(found.is_some(), expected, "{found:?}");
    }
    let place = OutputPlace::of(&file.path().with_extension("new")).unwrap();
    assert_eq!(place.user().unwrap(), None);
}
