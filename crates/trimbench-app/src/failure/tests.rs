use super::*;

#[test]
fn a_full_filesystem_says_nothing_of_a_run_that_may_not_be_there() {
    let full = || MethodError::File {
        step: "repetition-1".to_owned(),
        operation: "creation",
        file: 20,
        errno: Errno::ENOSPC,
    };
    let failure = Failure::from(full()).on("/srv");
    assert!(failure.is_for_room());
    let said = format!("{} {}", failure.message(), failure.hint.unwrap());
    assert!(said.contains("free some space"), "{said}");
    for word in ["kept", "resume"] {
        assert!(!said.contains(word), "{word}: {said}");
    }
    let other = MethodError::Run(RunError::Interrupted);
    assert!(!Failure::from(other).is_for_room());
}
