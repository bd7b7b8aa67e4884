use super::TrimOutcome::{Done, Failed, Unsupported};
use super::*;

#[test]
fn codes_are_those_of_fstrim() {
    let [named, quiet] =
        [false, true].map(|quiet_unsupported| TrimRequest::Named { quiet_unsupported });
    for (request, outcomes, expected) in [
        (named, &[Done][..], 0),
        (named, &[Failed], 1),
        (named, &[Unsupported], 1),
        (quiet, &[Unsupported], 0),
        (quiet, &[Failed], 1),
        (TrimRequest::Listed, &[], 0),
        (TrimRequest::Listed, &[Done, Unsupported], 0),
        (TrimRequest::Listed, &[Unsupported], 0),
        (TrimRequest::Listed, &[Failed, Failed], 32),
        (TrimRequest::Listed, &[Failed, Done], 64),
        // As fstrim counts: what is not supported has not failed.
        (TrimRequest::Listed, &[Failed, Unsupported], 64),
    ] {
        assert_eq!(exit_code(request, outcomes, false), expected, "{request:?} {outcomes:?}");
    }
    assert_eq!(exit_code(TrimRequest::Listed, &[Done], true), 130);
}
