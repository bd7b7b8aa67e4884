use super::*;

#[test]
fn a_violation_is_described_with_all_that_finds_it_again() {
    let canary = (Canary::TrimEatsNeighbour, (Size::Small, 50_000));
    let Err(Broken::Violation(violation)) = configuration::plant(1, canary.0, canary.1) else {
        panic!("the canary lives")
    };
    let text = describe((1, 3), &violation);
    let again = format!("cargo xtask lab part soak 1 3 {}", violation.commands);
    for part in ["configuration 3 of seed 1, long run: Contents", &again, "capacity:"] {
        assert!(text.contains(part), "`{part}` is not in {text}");
    }
    assert!(violation.commands > violation.checked);
}
