use super::*;

#[test]
fn every_name_that_is_made_is_known_again_and_others_are_not() {
    let most = FileId(u32::MAX - 1);
    for (place, expected) in [
        (Place::Top, "file-4294967294"),
        (Place::In(DirectoryId::OWN), "4294967294"),
        (Place::In(DirectoryId(1)), "s0/4294967294"),
        (Place::In(DirectoryId(u32::MAX)), "s4294967294/4294967294"),
    ] {
        let name = Name::of(most, place);
        assert_eq!(name.text(), expected);
        let (directory, file) = expected.rsplit_once('/').unwrap_or(("s0", expected));
        assert!(
            is_directory_name(directory, u32::MAX) && is_file_name(file, u32::MAX),
            "{expected}"
        );
    }
    assert_eq!(Name::of_directory(DirectoryId(7)).text(), "s6");
    for foreign in ["", "file-", "file-1a", "notes", "1a", "-1", "+1", "007", "4294967296"] {
        assert!(!is_file_name(foreign, u32::MAX), "{foreign}");
    }
    for foreign in ["", "s", "s1a", "1", "src", "s01"] {
        assert!(!is_directory_name(foreign, u32::MAX), "{foreign}");
    }
    assert!(is_file_name("1023", 1024) && !is_file_name("1024", 1024));
    assert!(is_directory_name("s1023", 1024) && !is_directory_name("s1024", 1024));
}
