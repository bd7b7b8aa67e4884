use super::*;

fn amount(discards: u64, bytes: u64) -> Amount {
    Amount { discards, bytes: Bytes(bytes) }
}

#[test]
fn amounts_add_up_and_saturate() {
    assert_eq!(amount(1, 20).and(amount(3, 5)), amount(4, 25));
    assert_eq!(amount(4, 25).without(amount(3, 5)), amount(1, 20));
    assert_eq!(amount(1, 1).without(amount(2, 2)), amount(0, 0));
    assert_eq!(amount(u64::MAX, 1).and(amount(1, u64::MAX)), amount(u64::MAX, u64::MAX));
}

#[test]
fn a_span_is_scaled_exactly_and_saturates() {
    assert_eq!(scaled(Nanos(100), 3, 4), Nanos(75));
    assert_eq!(scaled(Nanos(u64::MAX), u64::MAX, u64::MAX), Nanos(u64::MAX));
    assert_eq!(scaled(Nanos(u64::MAX), 2, 1), Nanos(u64::MAX));
    assert_eq!(scaled(Nanos(1), 1, 0), Nanos(u64::MAX));
}

#[test]
fn instants_saturate_and_a_latency_is_from_submission_to_completion() {
    let at = |nanos| Instant::from_start(Nanos(nanos));
    assert_eq!(later(at(5), Nanos(7)), at(12));
    assert_eq!(later(at(5), Nanos(u64::MAX)), at(u64::MAX));
    let seen = SeenRequest { submitted: at(5), completed: at(12), stands_for: Nanos(1) };
    assert_eq!(seen.latency(), Nanos(7));
}
